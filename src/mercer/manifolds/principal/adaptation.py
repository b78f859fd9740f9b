"""Adaptation: the coefficients of the map, given where the rows are projected to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.arrays import Array
from mercer.losses.rows import RowLoss
from mercer.manifolds.latent.maps import LatentBasis, LatentMap
from mercer.manifolds.latent.rows import Rows
from mercer.regularizers.maps import as_map_penalty
from mercer.threads import run_threaded, single_threaded_blas

T = TypeVar("T")


@dataclass(frozen=True)
class AdaptationTuning:
    """Numbers of the adaptation, set by `benchmarks/manifolds.py`.

    Attributes
    ----------
    n_inner : int
        Steps of an inner iteration between two projections.
    few_sweeps, all_sweeps : int
        Sweeps of a lasso: between two projections, which will change again, and at first.
    kept : int
        Functions of so many numbers are kept between products; beyond, they are computed again.
    ridge : float
        A penalty on everything, in units of the matrix: rounding must not make it singular.
    flat : float
        Fraction of its largest curvature that the metric of the manifold is given in all directions.
    """

    n_inner: int = 20
    few_sweeps: int = 200
    all_sweeps: int = 2000
    kept: int = 2**21
    ridge: float = 1e-14
    flat: float = 1e-10


_TUNING = AdaptationTuning()


class Adaptation:
    """Solves for the coefficients of a map with given projections.

    For quadratic penalties min 1/m Σ_i Σ_c w_ic (x_ic - f_c(ζ_i))² + λ/2 Σ β², eq. (33) of [Smola2001]_ in the
    eigenbasis of K: (ΦᵀWΦ + λm/2 I) β = ΦᵀWx for each column; with `tangential` < 1 the residuals along the manifold,
    which the next projection takes away, count only as much (the point-to-tangent step). For penalties that are not
    quadratic proximal steps, such as the lasso of eq. (34).

    Data enter as sums over blocks of rows. Memory: a few MiB, and the tangents of the rows in single precision, q times
    half the data, for steps with `tangential` < 1.

    Parameters
    ----------
    rows : Rows
        The data.
    basis : LatentBasis
        The functions.
    penalty : float
        λ.
    regularizer : {"rkhs", "length", "l2", "l1", "group_l1"}, Regularizer or MapPenalty
        Ω. The first two words and the third are the same in terms of the features; the basis makes the difference.
    """

    def __init__(self, rows: Rows, basis: LatentBasis, penalty: float, regularizer: Any = "rkhs"):
        self._rows, self._basis = rows, basis
        self._penalty, self._regularizer = penalty, as_map_penalty(regularizer)

    def penalty_of(self, f: LatentMap) -> float:
        """What the map costs: λ Ω(f)."""
        return self._penalty * self._regularizer.value(f.coefficients[: self._basis.n_features])

    def solve(self, Z: Array, cost: RowLoss, f: LatentMap | None = None, *, tangential: float = 1.0) -> LatentMap:
        """The best map for these projections, or for a cost that is not squared one that is better than f.

        Parameters
        ----------
        Z : array of shape (m, q)
            Where the rows are projected to.
        cost : RowLoss
            Replaced by the parabola above it that touches it at the residuals of f.
        f : LatentMap, optional
            The present map; None if there is none yet.
        tangential : float
            Weight of residuals along the manifold.
        """
        system = _Sums(self._rows, self._basis, Z, cost, f)
        G, C = system.normal_equations(largest=not self._regularizer.quadratic)
        system.discount_tangents(1.0 - tangential)
        exact = tangential == 1.0 and not system.by_entries
        start = np.zeros_like(C) if f is None else f.coefficients
        if not self._regularizer.quadratic:
            n_iter = 1 if exact or (tangential == 1.0 and f is not None) else _TUNING.n_inner
            sweeps = _TUNING.all_sweeps if f is None else _TUNING.few_sweeps
            return self._basis.map_of(self._sparse(system, G, C, start, n_iter, sweeps))
        ridge = self._ridge(G)
        factor = cho_factor(G + np.diag(ridge))
        if exact:
            return self._basis.map_of(cho_solve(factor, C))
        tol, n_iter = (1e-10, 200) if tangential == 1.0 else (1e-2, _TUNING.n_inner)
        return self._basis.map_of(_conjugate_gradients(system, C, ridge, factor, start, tol, n_iter))

    def _sparse(self, system: _Sums, G: Array, C: Array, V: Array, n_iter: int, sweeps: int) -> Array:
        """Accelerated proximal steps from V, in the metric of G, which is nowhere less than the matrix of the system.

        One step is exact where they are equal, and from any map for no worse. Nesterov's momentum begins anew where it
        points uphill.
        """
        lam, r = self._penalty * len(self._rows) / 2, self._basis.n_features
        B, Y, t = system.right_side(C), V, 1.0
        for _ in range(n_iter):
            target = B - system.product(Y) + G @ Y
            new = self._regularizer.minimise(G, target, lam, r, V, sweeps)
            t = 1.0 if np.vdot(Y - new, G @ (new - V)) > 0 else t
            faster = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
            Y, V, t = new + (t - 1.0) / faster * (new - V), new, faster
        return V

    def _ridge(self, G: Array) -> Array:
        """What the penalty adds to the diagonal of ΦᵀWΦ."""
        ridge = np.full(len(G), _TUNING.ridge * np.trace(G) / len(G))
        ridge[: self._basis.n_features] += self._penalty * len(self._rows) / 2
        return ridge


class _Sums:
    """ΦᵀWΦ, ΦᵀWX and products with the matrix of the system, block by block."""

    def __init__(self, rows: Rows, basis: LatentBasis, Z: Array, cost: RowLoss, f: LatentMap | None):
        self._rows, self._basis, self._Z, self._cost, self._f = rows, basis, Z, cost, f
        self._discount = 0.0
        width = max(len(basis.nodes), rows.X.shape[1])
        self._blocks = list(rows.blocks(4 * width))
        self._slopes: list[Array] = [np.empty(0)] * len(self._blocks)
        self._kept: list[Array | None] = [None] * len(self._blocks)
        self._keep = len(rows) * len(basis.nodes) <= _TUNING.kept
        self._weights: list[Array | None] = [None] * len(self._blocks)
        if rows.seen is not None or cost.weights(rows.X[:1]) is not None:
            self._run(self._weigh)
        self.by_entries = any(w is not None and w.shape[1] > 1 for w in self._weights)

    def _run(self, work: Callable[[int], T]) -> list[T]:
        """Results of all blocks, in order, so that their sum does not depend on which thread was faster."""
        results: list[Any] = [None] * len(self._blocks)

        def one(number: Any, _: None) -> None:
            results[number] = work(number)

        numbers: Any = range(len(self._blocks))
        with single_threaded_blas:
            run_threaded(one, numbers, lambda: None, self._rows.n_threads if len(results) > 1 else 1)
        return results

    def _weigh(self, number: int) -> None:
        """The weights of a block: None for ones, of shape (n, 1) for rows or (n, d) for entries."""
        block, weights = self._blocks[number], None
        if self._f is not None:
            R = self._rows.residuals(block, self._f(self._Z[block]))
            weights = self._cost.weights(R)
        if self._rows.seen is not None:
            weights = self._rows.seen[block] if weights is None else weights * self._rows.seen[block]
        self._weights[number] = weights

    def _functions(self, number: int) -> Array:
        """Functions of the basis, not yet features: for products it is their coefficients that are mixed, once."""
        functions = self._kept[number]
        if functions is None:
            functions = self._basis.functions(self._Z[self._blocks[number]])
            if self._keep:
                self._kept[number] = functions
        return functions

    def normal_equations(self, *, largest: bool) -> tuple[Array, Array]:
        """ΦᵀWΦ, with the mean or the largest weight of each row where its entries differ, and ΦᵀWX."""

        def work(number: int) -> tuple[Array, Array]:
            X, weights = self._rows.X[self._blocks[number]], self._weights[number]
            features = self._functions(number) @ self._basis.mixing
            if weights is None:
                return features.T @ features, features.T @ X
            of_rows = (np.max if largest else np.mean)(weights, axis=1, keepdims=True)
            return features.T @ (of_rows * features), features.T @ (weights * X)

        grams, products = zip(*self._run(work), strict=True)
        return np.sum(grams, axis=0), np.sum(products, axis=0)

    def discount_tangents(self, share: float) -> None:
        """Leave out this share of what lies along the manifold, from now on.

        Tangents are made orthonormal in the metric of the weights, and multiplied by these: L⁻¹ T W with LLᵀ = TWTᵀ.
        Directions in which a row is at the end of the interval are none, since it cannot move there.
        """
        f, is_circle = self._f, self._basis.space.is_circle
        if share == 0.0 or f is None:
            return

        def work(number: int) -> Array:
            Z, weights = self._Z[self._blocks[number]], self._weights[number]
            _, T = f.with_tangents(Z)
            T[(np.abs(Z) >= 1.0) & ~is_circle] = 0.0
            TW = T if weights is None else T * weights[:, None, :]
            A = TW @ T.transpose(0, 2, 1)
            size = np.einsum("iaa->i", A)[:, None, None]
            A += (_TUNING.flat * size + np.finfo(np.float64).tiny) * np.eye(len(is_circle))
            return np.linalg.solve(np.linalg.cholesky(A), TW).astype(np.float32)

        self._discount, self._slopes = share, self._run(work)

    def product(self, V: Array) -> Array:
        """ΦᵀW(ΦV), less the share of ΦV along the manifold."""
        mixed = self._basis.mixing @ V

        def work(number: int) -> Array:
            functions, weights = self._functions(number), self._weights[number]
            values = functions @ mixed
            return functions.T @ self._discounted(number, values, values * (1.0 if weights is None else weights))

        return np.asarray(self._basis.mixing.T @ np.sum(self._run(work), axis=0))

    def right_side(self, C: Array) -> Array:
        """The same with X in the place of ΦV, given ΦᵀWX."""
        if not self._discount:
            return C

        def work(number: int) -> Array:
            X = self._rows.X[self._blocks[number]]
            return self._functions(number).T @ self._discounted(number, X, np.zeros_like(X))

        return np.asarray(C + self._basis.mixing.T @ np.sum(self._run(work), axis=0))

    def _discounted(self, number: int, values: Array, total: Array) -> Array:
        from mercer.manifolds.principal.adaptation_numba import subtract_tangential

        if self._discount:
            subtract_tangential(self._slopes[number], values, self._discount, total)
        return total


def _conjugate_gradients(
    system: _Sums, C: Array, ridge: Array, factor: Any, start: Array, tol: float, n_iter: int
) -> Array:
    """Solve the system from a start, with the one of equal weights as preconditioner; any iterate is an improvement."""
    B, V = system.right_side(C), start.copy()
    r = B - system.product(V) - ridge[:, None] * V
    z = cho_solve(factor, r, check_finite=False)
    p, rz = z.copy(), float(np.sum(r * z))
    first = rz
    for _ in range(n_iter):
        if not rz > tol**2 * first:
            break
        Ap = system.product(p) + ridge[:, None] * p
        curvature = float(np.sum(p * Ap))
        if not curvature > 0:
            break
        V += rz / curvature * p
        r -= rz / curvature * Ap
        z = cho_solve(factor, r, check_finite=False)
        rz, old = float(np.sum(r * z)), rz
        p = z + rz / old * p
    return V
