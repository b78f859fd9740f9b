"""What the likelihood of sums over sets of columns needs of all pairs of rows."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.kernels.anova import recursion
from mercer.metrics.pairs import over_rows, tasks


class AnovaPairs:
    """Sums over pairs of n rows for the kernel `Anova` of unit length: two n x n matrices.

    Attributes
    ----------
    K : array of shape (n, n)
        The kernel below the diagonal, after `fill`; whoever factors it may do so in place.
    """

    def __init__(self, nu: float, shares: Array | None, n: int):
        self.K, self._R = np.empty((n, n)), np.empty((n, n))
        self._nu, self._shares = nu, shares

    def fill(self, A: Array, shares: Array | None = None) -> None:
        """Write the kernel of the rows A below the diagonal of K; with the fractions of the family by default."""
        from mercer.metrics.anova_numba import fill

        if shares is not None:
            self._shares = shares
        columns, linear = scaled_columns(A, self._nu)
        numbers = recursion(_all_shares(self._shares, A))
        over_rows(len(A), lambda rows, _: fill(columns, rows.start, rows.stop, *numbers, linear, self._R, self.K))

    def gradient(self, B: Array, turned: Array, C: Array, alpha: Array, share: float) -> Array:
        """Σ_ik S_ik dK_ik for S = share C - alpha alphaᵀ, C below its diagonal, and the rows B of the last fill.

        Its rows are the derivatives by the logarithms of weights, and by those of shares.
        """
        from mercer.metrics.anova_numba import add_gradient

        columns, linear = scaled_columns(B, self._nu)
        shares, rows_of_alpha = _all_shares(self._shares, B), np.ascontiguousarray(alpha.T)
        sums = np.zeros((len(tasks(len(B))), 2, B.shape[1]))

        def work(rows: slice, task: int) -> None:
            fixed = (shares, rest_of(shares), linear, self._R, C, rows_of_alpha, share)
            add_gradient(columns, rows.start, rows.stop, *fixed, sums[task])

        over_rows(len(B), work)
        return np.asarray(2.0 * sums.sum(axis=0))


def anova_slopes(nu: float, shares: Array | None, A: Array, coef: Array) -> Array:
    """Gradients of f_c(a) = Σ_k coef_kc k(a, a_k) at the rows of A, each without its own term: see `slopes`."""
    from mercer.metrics.anova_numba import fill_slopes

    columns, linear = scaled_columns(A, nu)
    shares = _all_shares(shares, A)
    numbers, rows_of_coef = (*recursion(shares), shares, rest_of(shares)), np.ascontiguousarray(coef.T)
    found = np.empty((len(rows_of_coef), *A.shape))
    over_rows(
        len(A), lambda rows, _: fill_slopes(columns, rows.start, rows.stop, *numbers, linear, rows_of_coef, found)
    )
    found *= np.sqrt(2.0 * nu)
    return found


def rest_of(shares: Array) -> float:
    """1 / (Π_j (1 + share_j) - 1)."""
    with np.errstate(over="ignore"):
        return float(1.0 / np.expm1(np.log1p(shares).sum()))


def scaled_columns(A: Array, nu: float) -> tuple[Array, float]:
    """Columns in units of the exponential, and whether its factor is 1 + t (1.0) or 1 (0.0)."""
    return np.ascontiguousarray(np.sqrt(2.0 * nu) * A.T), float(nu > 1.0)


def _all_shares(shares: Array | None, A: Array) -> Array:
    return np.ones(A.shape[1]) if shares is None else np.ascontiguousarray(shares)
