"""The density that a manifold implies: a uniform latent point, its image, and noise in all columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.blas import single_threaded_blas
from mercer.manifolds.grid_mixture import over_blocks, responsibilities
from mercer.manifolds.latent_map import LatentMap
from mercer.manifolds.latent_space import PERIOD, LatentSpace
from mercer.manifolds.projection import Rows

Array = NDArray[Any]
Result = TypeVar("Result")

# Cells along each coordinate, by the number of coordinates.
_SIDES = (140, 22, 8)
_FEWEST_SIDES = 5
# Steps of EM for the noise, the relative change that ends them, and the least noise, as a share of the variance.
_STEPS, _CHANGE, _LEAST_VARIANCE = 15, 1e-3, 1e-9


def latent_cells(space: LatentSpace) -> tuple[Array, float]:
    """Centres of equal cells of a latent space, and the length of their sides."""
    q = space.n_dims
    n = _SIDES[q - 1] if q <= len(_SIDES) else _FEWEST_SIDES
    side = PERIOD / n
    axis = -1.0 + side * (np.arange(n) + 0.5)
    return np.stack(np.meshgrid(*[axis] * q, indexing="ij"), axis=-1).reshape(-1, q), side


@dataclass(frozen=True)
class Cells:
    """Images of the cells of a latent space: x = F_g + Σ_a e_a U_ga, with places e within the cell.

    Attributes
    ----------
    F : array of shape (G, d)
        f(z_g), less the centre.
    U : array of shape (q, G, d)
        Orthogonal vectors, for the columns of J_g δ / √12 turned by `turns`.
    squares : array of shape (q, G)
        ||U_ga||².
    turns : array of shape (G, q, q)
        Orthogonal matrices.
    centre : array of shape (d,)
        Taken from the rows as well, so that no digits are lost where the data are far from zero.
    """

    F: Array
    U: Array
    squares: Array
    turns: Array
    centre: Array

    @classmethod
    def of(cls, f: LatentMap) -> Cells:
        """The cells of a map."""
        points, side = latent_cells(f.basis.space)
        F, T = f.with_tangents(points)
        T *= side / np.sqrt(12.0)
        squares, turns = np.linalg.eigh(T @ T.transpose(0, 2, 1))
        U = np.ascontiguousarray((turns.transpose(0, 2, 1) @ T).transpose(1, 0, 2))
        centre = F.mean(axis=0)
        return cls(F - centre, U, np.maximum(squares.T, 0.0), turns, centre)


@dataclass(frozen=True)
class CellPosterior:
    """What a block of rows says of the cells, and of the places e within them.

    Attributes
    ----------
    R, log_p : array of shape (n, G), array of shape (n,)
        p(g | x_i) and log p(x_i).
    noise : float
        Σ_i E ||x_i - f||² in the entries that are known.
    places : list of q arrays of shape (n, G)
        E e_a given the cell; none if entries are missing.
    """

    R: Array
    log_p: Array
    noise: float
    places: list[Array]


@dataclass(frozen=True)
class ManifoldDensity:
    """p(x) = 1/G Σ_g N(x; f(z_g), s² I + U_g U_gᵀ), with U_g = J_g δ / √12 for cells z_g of side δ.

    A row is f of a place that is uniform in the latent space, and noise of variance s²; within a cell f is taken as
    linear, and the place as normal. Without U_g the cells would have to be as fine as the noise.

    Parameters
    ----------
    cells : Cells
        Of f.
    variance : float
        s².

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.manifolds import Cells, LatentBasis, LatentSpace, ManifoldDensity, Rows
    >>> basis = LatentBasis(LatentSpace(("interval",)), Gaussian(0.5), sides=(2,), linear=True)
    >>> line = basis.map_of(np.vstack([np.zeros((basis.n_features, 2)), [[0, 0], [1, 0]]]))
    >>> density = ManifoldDensity(Cells.of(line), variance=0.01)
    >>> rows = Rows(np.array([[0.0, 0.0], [0.5, 0.0]]))
    >>> np.exp(density.log_density(rows)).round(3)  # 1/2 · 1 / √(2π 0.01)
    array([1.995, 1.995])
    """

    cells: Cells
    variance: float

    @classmethod
    def of(cls, rows: Rows, f: LatentMap, variance: float | None = None) -> ManifoldDensity:
        """The density of f with the most likely noise for the rows, by at most 15 steps of EM from a start."""
        scale = float(rows.X.var(axis=0).mean())
        least = _LEAST_VARIANCE * scale
        density = cls(Cells.of(f), max(scale if variance is None else variance, least))
        n_known = rows.X.size if rows.seen is None else rows.seen.sum()
        for _ in range(_STEPS):
            noise = density.over_rows(rows, lambda block, post: post.noise)
            new = max(float(sum(noise) / n_known), least)
            change = abs(new / density.variance - 1.0)
            density = replace(density, variance=new)
            if change < _CHANGE:
                break
        return density

    def log_density(self, rows: Rows) -> Array:
        """The value log p of each row, of those of its entries that are known."""
        return np.concatenate(self.over_rows(rows, lambda block, post: post.log_p))

    def sample(self, n: int, rng: np.random.RandomState) -> Array:
        """Rows drawn from the density."""
        F, U = self.cells.F, self.cells.U
        g = rng.randint(len(F), size=n)
        X = self.cells.centre + F[g] + np.einsum("ia,aic->ic", rng.normal(size=(n, len(U))), U[:, g])
        return np.asarray(X + np.sqrt(self.variance) * rng.normal(size=X.shape))

    def over_rows(self, rows: Rows, work: Callable[[slice, CellPosterior], Result]) -> list[Result]:
        """Give blocks of rows and what they say of the cells to `work`, in threads; results in the order of the rows.

        Memory: a few MiB for each thread.
        """
        posterior = self._complete if rows.seen is None else self._incomplete
        # Missing entries need a small matrix for each row and cell.
        width = len(self.cells.F) * (1 if rows.seen is None else 2 + len(self.cells.U) ** 2)
        with single_threaded_blas:
            return over_blocks(rows, width, lambda block: work(block, posterior(rows, block)))

    def _complete(self, rows: Rows, block: slice) -> CellPosterior:
        """Woodbury's formula, with orthogonal U: one product of matrices for the centres and for each coordinate."""
        cells, s2, d = self.cells, self.variance, rows.X.shape[1]
        X = rows.X[block] - self.cells.centre
        distances = _squared_distances(X, cells.F)
        log_det = (d - len(cells.U)) * np.log(s2) + np.log(s2 + cells.squares).sum(axis=0)
        D = distances * (-0.5 / s2)
        D -= 0.5 * (log_det + d * np.log(2 * np.pi))
        places, work = [], np.empty_like(D)
        for U, squares in zip(cells.U, cells.squares, strict=True):
            e = X @ (U / (s2 + squares)[:, None]).T
            e -= np.einsum("gc,gc->g", cells.F, U) / (s2 + squares)
            np.multiply(e, e, out=work)
            work *= 0.5 * (s2 + squares) / s2
            D += work
            places.append(e)
        R, log_p = responsibilities(D)
        noise, counts = np.vdot(R, distances), R.sum(axis=0)
        for e, squares in zip(places, cells.squares, strict=True):
            # x - f along U is left as s² / (s² + λ) of what it was, and the place is uncertain.
            noise -= np.einsum("ig,ig,ig->g", R, e, e) @ (squares + 2 * s2) - counts @ (s2 * squares / (s2 + squares))
        return CellPosterior(R, log_p, float(noise), places)

    def _incomplete(self, rows: Rows, block: slice) -> CellPosterior:
        """The same for entries that are known, which differ from row to row: so do the products of U."""
        cells, s2, q = self.cells, self.variance, len(self.cells.U)
        assert rows.seen is not None
        seen = rows.seen[block]
        X = (rows.X[block] - cells.centre) * seen
        noise = np.maximum((X**2).sum(axis=1)[:, None] - 2 * X @ cells.F.T + seen @ (cells.F**2).T, 0.0)
        t = np.stack([X @ U.T - seen @ (cells.F * U).T for U in cells.U], axis=-1)
        A = np.empty((*noise.shape, q, q))
        for a in range(q):
            for b in range(a + 1):
                A[..., a, b] = A[..., b, a] = seen @ (cells.U[a] * cells.U[b]).T
        A += s2 * np.eye(q)
        n_known = seen.sum(axis=1)[:, None]
        inverse = np.linalg.inv(A)
        e = (inverse @ t[..., None])[..., 0]
        explained = np.einsum("igq,igq->ig", t, e)
        log_det = (n_known - q) * np.log(s2) + np.log(np.linalg.det(A))
        D = -0.5 * ((noise - explained) / s2 + log_det + n_known * np.log(2 * np.pi))
        trace = np.einsum("igaa->ig", inverse)
        noise += s2 * (q - s2 * trace) - explained - s2 * np.einsum("igq,igq->ig", e, e)
        R, log_p = responsibilities(D)
        return CellPosterior(R, log_p, float(np.vdot(R, noise)), [])


def _squared_distances(X: Array, F: Array) -> Array:
    D = X @ F.T
    D *= -2.0
    D += np.einsum("ij,ij->i", X, X)[:, None]
    D += np.einsum("ij,ij->i", F, F)
    return np.maximum(D, 0.0, out=D)
