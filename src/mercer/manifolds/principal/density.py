"""The density that a manifold implies: a uniform latent point, its image, and noise in all columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.manifolds.latent.maps import LatentMap
from mercer.manifolds.latent.responsibilities import responsibilities
from mercer.manifolds.latent.rows import Rows
from mercer.threads import run_threaded, single_threaded_blas

# What is wanted of p(g | x), and of the means and covariances of places in the cells.
_OfPlaces = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True)
class DensityTuning:
    """Numbers of the density, set by `benchmarks/manifolds.py`.

    Attributes
    ----------
    steps, change : int, float
        Steps of EM for the noise, and the relative change that ends them.
    least_variance : float
        The least noise, as a fraction of the variance of the rows.
    most_parts, least_part : int
        Rows are done in so many parts at most, no shorter than this.
    block, least_block : int
        Within parts, numbers of a block, which stay in the cache, and the fewest rows.
    few : int
        Pairs of a row and a cell that are done before a second thread has started.
    """

    steps: int = 15
    change: float = 1e-3
    least_variance: float = 1e-9
    most_parts: int = 16
    least_part: int = 256
    block: int = 2**16
    least_block: int = 16
    few: int = 2**17


_TUNING = DensityTuning()
_LOG_2PI = np.log(2 * np.pi)


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
        F, T = f.basis.cell_features.images(f.coefficients)
        squares, turns = _diagonalised(T @ T.transpose(0, 2, 1))
        U = np.ascontiguousarray((turns.transpose(0, 2, 1) @ T).transpose(1, 0, 2))
        centre = F.mean(axis=0)
        return cls(F - centre, U, np.maximum(np.ascontiguousarray(squares.T), 0.0), turns, centre)


@dataclass(frozen=True)
class CellSums:
    """What rows say of the cells g, and of the places e within them, with e_0 = 1; r_ig = p(g | x_i).

    Attributes
    ----------
    moments : array of shape (G, 1 + q, 1 + q)
        Σ_i r_ig E e_a e_b.
    totals : array of shape (G, 1 + q, d)
        Σ_i r_ig E e_a x_i.
    log_likelihood : float
        Σ_i log p(x_i).
    """

    moments: Array
    totals: Array
    log_likelihood: float


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
        least = _TUNING.least_variance * scale
        density = cls(Cells.of(f), max(scale if variance is None else variance, least))
        n_known = rows.X.size if rows.seen is None else rows.seen.sum()
        parts = [rows.part(positions) for positions in rows.divided() if len(positions)]
        for _ in range(_TUNING.steps):
            new = max(sum(noise for part in parts for _, noise, _ in density._over_rows(part)) / n_known, least)
            change = abs(new / density.variance - 1.0)
            density = replace(density, variance=new)
            if change < _TUNING.change:
                break
        return density

    def log_density(self, rows: Rows) -> Array:
        """The value log p of each row, of those of its entries that are known."""
        log_p = np.empty(len(rows))
        for positions in rows.divided():
            if len(positions):
                log_p[positions] = np.concatenate([part for part, _, _ in self._over_rows(rows.part(positions))])
        return log_p

    def sums(self, rows: Rows) -> CellSums:
        """What complete rows say of the cells."""
        parts = self._over_rows(rows, wanted=True)
        sums, seconds = (np.sum([both[k] for _, _, both in parts], axis=0) for k in (0, 1))
        q, G = self.cells.squares.shape
        counts, totals = sums[..., 0], sums[..., 1:] + sums[..., :1] * self.cells.centre
        moments = np.empty((G, 1 + q, 1 + q))
        moments[:, 0] = moments[:, :, 0] = counts
        for a, squares in enumerate(self.cells.squares):
            for b in range(a + 1):
                moments[:, 1 + a, 1 + b] = moments[:, 1 + b, 1 + a] = seconds[a, b]
            moments[:, 1 + a, 1 + a] += counts[:, 0] * self.variance / (self.variance + squares)
        return CellSums(moments, totals, float(sum(log_p.sum() for log_p, _, _ in parts)))

    def filled(self, rows: Rows) -> Array:
        """Rows whose missing entries are what is expected of them, given the others."""
        return self._replaced(rows, rows.X, self._expectations)

    def deviations(self, rows: Rows) -> Array:
        """Standard deviations of the missing entries, given the others, and 0 for those that are known."""
        return self._replaced(rows, np.zeros(rows.X.shape), self._deviations)

    def drawn(self, rows: Rows, rng: np.random.RandomState) -> Array:
        """Rows whose missing entries are drawn from the density, given the others."""
        return self._replaced(rows, rows.X, partial(self._draws, rng=rng), n_threads=1)

    def _replaced(self, rows: Rows, X: Array, of_places: _OfPlaces, n_threads: int | None = None) -> Array:
        """Numbers X of the rows, where the missing ones are those of what is known of places."""
        X, holes = X.copy(), rows.divided()[0]
        if len(holes):
            part = rows.part(holes)
            part.n_threads = n_threads or part.n_threads
            found = [block for _, _, blocks in self._over_rows(part, wanted=of_places) for block in blocks]
            assert part.seen is not None
            X[holes] = np.where(part.seen > 0, X[holes], np.concatenate(found))
        return X

    def _expectations(self, R: Array, e: Array, C: Array) -> Array:
        """Expectations of rows from p(g | x), and the means and covariances of their places in the cells."""
        places = np.einsum("ig,igq->qig", R, e)
        return self.cells.centre + R @ self.cells.F + (places @ self.cells.U).sum(axis=0)

    def _deviations(self, R: Array, e: Array, C: Array) -> Array:
        """Standard deviations of entries, from the same."""
        F, U = self.cells.F, self.cells.U
        means = self._expectations(R, e, C) - self.cells.centre
        squares = R @ F**2
        for a in range(len(U)):
            squares += 2 * (R * e[..., a]) @ (F * U[a])
            for b in range(len(U)):
                squares += (R * (e[..., a] * e[..., b] + C[..., a, b])) @ (U[a] * U[b])
        return np.sqrt(self.variance + np.maximum(squares - means**2, 0.0))

    def _draws(self, R: Array, e: Array, C: Array, rng: np.random.RandomState) -> Array:
        """Rows drawn from the same: a cell, a place in it, and noise."""
        shares = np.cumsum(R, axis=1)
        g = np.minimum((shares < shares[:, -1:] * rng.uniform(size=(len(R), 1))).sum(axis=1), R.shape[1] - 1)
        i = np.arange(len(R))
        roots = np.linalg.cholesky(C[i, g])
        places = e[i, g] + np.einsum("iab,ib->ia", roots, rng.normal(size=(len(R), len(self.cells.U))))
        X = self.cells.centre + self.cells.F[g] + np.einsum("ia,aic->ic", places, self.cells.U[:, g])
        return np.asarray(X + np.sqrt(self.variance) * rng.normal(size=X.shape))

    def sample(self, n: int, rng: np.random.RandomState) -> Array:
        """Rows drawn from the density."""
        F, U = self.cells.F, self.cells.U
        g = rng.randint(len(F), size=n)
        X = self.cells.centre + F[g] + np.einsum("ia,aic->ic", rng.normal(size=(n, len(U))), U[:, g])
        return np.asarray(X + np.sqrt(self.variance) * rng.normal(size=X.shape))

    def _over_rows(self, rows: Rows, *, wanted: _OfPlaces | bool = False) -> list[tuple[Array, float, Any]]:
        """For parts of the rows, in their order, the log densities, Σ E ||x - f||², and what is wanted.

        That is sums over the cells, or for rows with missing entries what a function makes of their places, in blocks.
        Memory: a few MiB for each thread, and for each of at most 16 parts what is wanted.
        """
        kind = self._complete if rows.seen is None else self._incomplete
        height = max(_TUNING.least_part, -(-len(rows) // _TUNING.most_parts))
        parts = [slice(start, min(start + height, len(rows))) for start in range(0, len(rows), height)]
        results: list[Any] = [None] * len(parts)
        with single_threaded_blas:
            n_threads = rows.n_threads if len(rows) * len(self.cells.F) > _TUNING.few else 1
            run_threaded(kind(rows, wanted, parts, results), range(len(parts)), lambda: None, n_threads)
        return results

    def _complete(
        self, rows: Rows, wanted: _OfPlaces | bool, parts: list[slice], results: list[Any]
    ) -> Callable[[int, None], None]:
        """Woodbury's formula with orthogonal U: one product of matrices, then what is near of each row."""
        from mercer.manifolds.principal.density_numba import cell_sums

        cells, s2, d = self.cells, self.variance, rows.X.shape[1]
        q, G = cells.squares.shape
        directions = np.concatenate([cells.F[None], cells.U]).reshape((1 + q) * G, d).T
        norms, offsets = np.einsum("gc,gc->g", cells.F, cells.F), np.einsum("gc,agc->ag", cells.F, cells.U)
        base = -0.5 * (norms / s2 + (d - q) * np.log(s2) + np.log(s2 + cells.squares).sum(axis=0) + d * _LOG_2PI)

        def work(number: int, _: None) -> None:
            part = parts[number]
            log_p, noise = np.empty(part.stop - part.start), 0.0
            totals, seconds = np.zeros((G if wanted else 0, 1 + q, 1 + d)), np.zeros((q, q, G))
            height = max(_TUNING.least_block, _TUNING.block // ((1 + q) * G))
            for start in range(part.start, part.stop, height):
                stop = min(start + height, part.stop)
                X = np.ones((stop - start, 1 + d))
                np.subtract(rows.X[start:stop], cells.centre, out=X[:, 1:])
                P = X[:, 1:] @ directions
                some = log_p[start - part.start : stop - part.start]
                noise += cell_sums(P, X, norms, base, offsets, cells.squares, s2, some, seconds, totals)
            results[number] = log_p, noise, (totals, seconds)

        return work

    def _incomplete(
        self, rows: Rows, wanted: _OfPlaces | bool, parts: list[slice], results: list[Any]
    ) -> Callable[[int, None], None]:
        """The same for entries that are known, which differ from row to row: so do the products of U."""
        # A small matrix for each row and cell.
        height = max(_TUNING.least_block, _TUNING.block // (len(self.cells.F) * (2 + len(self.cells.U) ** 2)))

        def work(number: int, _: None) -> None:
            part = parts[number]
            log_p, noise, expected = [], 0.0, []
            for start in range(part.start, part.stop, height):
                R, e, C, some, more = self._of_known(rows, slice(start, min(start + height, part.stop)))
                log_p.append(some)
                noise += more
                if callable(wanted):
                    expected.append(wanted(R, e, C))
            results[number] = np.concatenate(log_p), noise, expected

        return work

    def _of_known(self, rows: Rows, block: slice) -> tuple[Array, Array, Array, Array, float]:
        """For a block of rows p(g | x), E e and the covariances of e in the cells, log p(x), and Σ E ||x - f||²."""
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
        inverse, det = _inverse_and_determinant(A)
        e = np.einsum("igab,igb->iga", inverse, t)
        explained = np.einsum("igq,igq->ig", t, e)
        log_det = (n_known - q) * np.log(s2) + np.log(det)
        D = -0.5 * ((noise - explained) / s2 + log_det + n_known * _LOG_2PI)
        trace = np.einsum("igaa->ig", inverse)
        noise += s2 * (q - s2 * trace) - explained - s2 * np.einsum("igq,igq->ig", e, e)
        R, log_p = responsibilities(D)
        return R, e, s2 * inverse, log_p, float(np.vdot(R, noise))


def _inverse_and_determinant(A: Array) -> tuple[Array, Array]:
    """Of many small matrices; up to two rows by hand, since a call for each matrix takes longer than to invert it."""
    if A.shape[-1] > 2:
        return np.linalg.inv(A), np.linalg.det(A)
    if A.shape[-1] == 1:
        return 1.0 / A, A[..., 0, 0]
    det = A[..., 0, 0] * A[..., 1, 1] - A[..., 0, 1] ** 2
    adjugate = np.stack([A[..., 1, 1], -A[..., 0, 1], -A[..., 0, 1], A[..., 0, 0]], axis=-1)
    return (adjugate / det[..., None]).reshape(A.shape), det


def _diagonalised(A: Array) -> tuple[Array, Array]:
    """Eigenvalues and orthogonal eigenvectors of many small symmetric matrices; of two rows by their angle."""
    if A.shape[-1] != 2:
        return np.linalg.eigh(A)
    angle = 0.5 * np.arctan2(2.0 * A[:, 0, 1], A[:, 0, 0] - A[:, 1, 1])
    cos, sin = np.cos(angle), np.sin(angle)
    turns = np.stack([cos, -sin, sin, cos], axis=-1).reshape(A.shape)
    return np.einsum("gba,gbc,gca->ga", turns, A, turns), turns
