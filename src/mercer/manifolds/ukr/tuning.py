"""The numbers of unsupervised kernel regression that were set by trials, each class with the benchmarks that set them.

None of them changes what is minimised: they decide how long it takes, and from where descents start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tuning:
    """The way of a fit: starts, samples and iterations.

    Attributes
    ----------
    max_iter : int
        Most iterations of a descent (`benchmarks/ukr.py oil`).
    max_iter_of_all, max_listed_of_all : int
        The same on all rows after those on a sample; by lists, which take less time, more (`benchmarks/ukr.py large`).
    exact_iterations, exact_rows : int
        Iterations by all pairs after those by lists of neighbours, for no more rows than the second number: they take
        O(N²) time (`benchmarks/ukr.py large`).
    start_rows, fast_start_rows : int
        Rows that starts are found and scaled on, and that more are fitted by way of; the second of fast fits, whose few
        starts differ more than by what a larger sample would tell (`benchmarks/ukr.py large`).
    fast_rows : int
        Surfaces of fewer rows are started from several graphs, which takes no longer, and finds more where rows are few
        (`benchmarks/ukr.py peers`).
    most_regressed, regressed : int
        If there are more rows than the first number, as many as the second make the surface, and the others are
        projected on it: on new rows of a sheet in 30 columns that loses 1.44 % instead of 1.43 % with twice as many,
        in two thirds of the time (`benchmarks/ukr.py large`).
    few_rows : int
        Of more rows than this the number within reach grows with a power of theirs, and so does the number that is left
        out (`benchmarks/ukr_defaults.py neighbours`).
    rounds : tuple of int
        Iterations after which starts are compared, and the worse half of them is dropped (`benchmarks/ukr.py oil`).
    few_iterations : int
        Iterations after which a fast start tells how many neighbours are to be left out
        (`benchmarks/ukr_defaults.py structure`).
    clearly : float
        A manifold whose objective is less than this share of those of graphs, before any descent, needs no comparison
        (`benchmarks/ukr.py peers`).
    little_worse : float
        Factor by which pieces that are brought near each other may raise the objective (`benchmarks/ukr.py oil`).
    most_moves : int
        Most passes that move isolated points to others, since a pass can isolate others (`benchmarks/ukr.py large`).
    leading : int
        Leading components in feature space that starts are found and roughly scaled on: all may be as many as rows
        (`benchmarks/ukr.py oil`).
    between : int
        Neighbours in the sample that a row without coordinates is put between (`benchmarks/ukr.py large`).
    tol_of_starts : float
        Short descents end when twenty iterations gain less than this share (`benchmarks/ukr.py oil`).
    """

    max_iter: int = 500
    max_iter_of_all: int = 20
    max_listed_of_all: int = 60
    exact_iterations: int = 10
    exact_rows: int = 3000
    start_rows: int = 3000
    fast_start_rows: int = 2000
    fast_rows: int = 500
    most_regressed: int = 20_000
    regressed: int = 10_000
    few_rows: int = 3000
    rounds: tuple[int, ...] = (10, 20, 60)
    few_iterations: int = 30
    clearly: float = 0.9
    little_worse: float = 1.05
    most_moves: int = 5
    leading: int = 60
    between: int = 5
    tol_of_starts: float = 1e-4


@dataclass(frozen=True)
class DescentTuning:
    """Descents over all latent points (`benchmarks/ukr.py usps`).

    Attributes
    ----------
    before : int
        Iterations of RPROP before L-BFGS takes over.
    patience : int
        Iterations over which the gain is measured that ends a descent.
    corrections, evaluations : int
        Corrections that L-BFGS keeps, and evaluations that it may make for each iteration.
    homotopy_steps : int
        Iterations for each threshold of a homotopy.
    total_variance : float
        A homotopy starts from points so close to each other that all densities are nearly those of one point.
    """

    before: int = 100
    patience: int = 20
    corrections: int = 20
    evaluations: int = 20
    homotopy_steps: int = 100
    total_variance: float = 0.01


@dataclass(frozen=True)
class PassTuning:
    """Passes over pairs of rows (`benchmarks/ukr.py gradients`, of lists `large`).

    Attributes
    ----------
    block : int
        Numbers in the weights of a block of rows: so that a block and its slopes stay in the cache.
    strips : int
        Rows go to threads in so many strips, however many threads there are: sums do not depend on their number.
    few_pairs : int
        So few pairs are done before a second thread has started.
    skin : float
        Lists of the quartic kernel hold what is nearer than 1 + skin, and hold good until a point has moved by half of
        the skin.
    most_share, most_pairs : float, int
        Lists longer than this share of all pairs take more time than the pass over all pairs; longer than this number
        they take more memory than they should (1 GiB).
    points, few_points : int
        Points for one call of a compiled function, and so few that a second thread does not pay.
    counted, nearly : int, float
        Points whose neighbours are counted to know how many pairs there are, and the share of those that fit into lists
        that may be counted so: one too many, and the pass would go over all pairs.
    listed, of_rows : int
        Latent neighbours in a list beside those that are left out, of so many rows: of more rows more are within reach.
        At the scale of the best objective some 50 rows lie within four widths of the Gaussian kernel.
    lasting : int
        Evaluations before lists of the Gaussian kernel are made anew.
    list_strips : int
        Strips of passes over these lists.
    images, sparse_images : int
        Pairs of latent and training points that are weighed at once by a surface; points, where most pairs have no
        weight.
    residuals : int
        Rows whose weights are in memory at the same time, for their residuals.
    checked : int
        Numbers in the squared distances of a block of rows, while a solution is checked.
    """

    block: int = 2**18
    strips: int = 16
    few_pairs: int = 2**17
    skin: float = 0.3
    most_share: float = 0.25
    most_pairs: int = 2**26
    points: int = 512
    few_points: int = 1024
    counted: int = 1000
    nearly: float = 0.9
    listed: int = 64
    of_rows: int = 3000
    lasting: int = 10
    list_strips: int = 4
    images: int = 2**21
    sparse_images: int = 2**13
    residuals: int = 500
    checked: int = 2**20


@dataclass(frozen=True)
class ScaleTuning:
    """The search for the scale of a start (`benchmarks/ukr.py oil`, of fast starts `peers`).

    Attributes
    ----------
    sample : int
        Rows that the likelihood of starts is computed on.
    grid : tuple of float
        Scales around that of the likelihood that are tried first, each the same multiple of the last one.
    factors, ratios : tuple of float
        Scales of a fast start that are tried, and then for each coordinate by itself.
    evaluations : int
        Most evaluations of the direct search for each coordinate.
    precision, gain : float
        The precision of logarithms of scales and, as a share, of errors.
    equal : float
        Distances that are rounding of equal points, as a share of the extent of all.
    widest, narrowest : float
        The widest and the narrowest kernel whose likelihood is computed, in distances of nearest neighbours.
    """

    sample: int = 400
    grid: tuple[float, ...] = tuple(np.geomspace(0.2, 5.0, 6).tolist())
    factors: tuple[float, ...] = tuple(np.geomspace(0.4, 2.5, 7).tolist())
    ratios: tuple[float, ...] = (0.4, 0.65, 1.5, 2.5)
    evaluations: int = 20
    precision: float = 0.05
    gain: float = 1e-3
    equal: float = 1e-9
    widest: float = 1e3
    narrowest: float = 1.0


@dataclass(frozen=True)
class ProjectionTuning:
    """Projection on a surface (`benchmarks/ukr.py new_rows`); numbers of single steps stand in `projection_numba`.

    Attributes
    ----------
    block, fewest_rows : int
        Numbers in the largest temporary array of a block of rows, and how many rows it has at least.
    apart : float
        Starts are apart by so many widths of the kernel.
    shared : float
        Of many training points those in a cell, whose side is this share of the reach, have one list and are one start.
    many : int
        Of more points than this some stand for all, where a place is all that matters.
    slack : float
        Rounding by which a point may be outside of the domain, in the logarithm of the density.
    """

    block: int = 2**18
    fewest_rows: int = 32
    apart: float = 1.0
    shared: float = 0.25
    many: int = 10_000
    slack: float = 1e-9


@dataclass(frozen=True)
class DomainTuning:
    """Pieces of the domain, and of maps (`benchmarks/ukr.py oil`).

    Attributes
    ----------
    neighbours : int
        Neighbours that a point may be joined with.
    between : tuple of float
        Places between two points where the density is computed.
    most_pieces : int
        More pieces than this are dust, and stay where they are.
    many : int
        As in `ProjectionTuning`.
    """

    neighbours: int = 8
    between: tuple[float, ...] = (0.25, 0.5, 0.75)
    most_pieces: int = 300
    many: int = 10_000


TUNING, DESCENTS, PASSES, SCALES = Tuning(), DescentTuning(), PassTuning(), ScaleTuning()
PROJECTIONS, DOMAINS = ProjectionTuning(), DomainTuning()
