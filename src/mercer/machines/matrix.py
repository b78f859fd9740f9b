"""The Gram matrix of the training rows: an operator, until a solver needs it in memory."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from mercer.arrays import Array
from mercer.kernels import Kernel
from mercer.kernels.given import precision_of
from mercer.kernels.gram import FormedMatrix, Gram
from mercer.solvers.cholesky import Cholesky

# Rows on which a matrix that is not formed is examined.
_N_LOOKED_AT = 500
# Negative eigenvalues up to this fraction of the largest are rounding, or more in low precision.
_LEAST_NEGATIVE = 1e-8


class TrainingMatrix:
    """The Gram matrix of a kernel on the training rows, with warnings and errors for degenerate ones.

    Attributes
    ----------
    operator : Gram
        For solvers that never form it.
    in_memory : FormedMatrix
        The matrix, computed once.
    rounding : float
        About the norm of the errors in the matrix; of importance for one that was given in low precision.
    """

    def __init__(self, kernel: Kernel, X: Any, *, needs_positive: bool):
        self.operator = Gram(kernel, X)
        self._kernel = kernel
        self._needs_positive = needs_positive
        n = self.operator.shape[0]
        some = np.unique(np.linspace(0, n - 1, min(n, _N_LOOKED_AT)).astype(np.intp))
        _warn_if_degenerate(kernel, self.operator.block(some, some))
        rows = self.operator.block(some) if kernel.pairwise else np.empty((0, n))
        self.precision = precision_of(rows)
        # Independent errors of standard deviations s_ij make a matrix of norm 2 max_i (Σ_j s_ij²)^½, and those of
        # rounding are uniform: s_ij = precision |K_ij| / 12^½.
        self.rounding = self.precision / np.sqrt(3.0) * float(np.linalg.norm(rows, axis=1).max(initial=0.0))

    @cached_property
    def in_memory(self) -> FormedMatrix:
        """The whole matrix; a precomputed one is refused if it is indefinite where that matters."""
        K = self.operator.toarray(np.float64)
        if self._needs_positive and self._kernel.needs_test:
            _refuse_indefinite(K, max(_LEAST_NEGATIVE, 100 * self.precision))
        return FormedMatrix(K)


def _warn_if_degenerate(kernel: Kernel, K: Array) -> None:
    """Warn of a Gram matrix without information: all rows equal, or all orthogonal."""
    diagonal = np.diagonal(K)
    if len(K) < 3 or np.any(diagonal <= 0):
        return
    between_rows = np.abs(K) / np.sqrt(diagonal) / np.sqrt(diagonal)[:, None]
    np.fill_diagonal(between_rows, 0.0)
    if between_rows.max() < 1e-6:
        message = "the identity: all rows look different; widen the kernel or scale the columns"
    elif np.ptp(K) <= 1e-9 * np.abs(K).max():
        message = "constant: all rows look alike; narrow the kernel or scale the columns"
    else:
        return
    warnings.warn(f"The Gram matrix of {kernel!r} is numerically {message}.", UserWarning, stacklevel=6)


def _refuse_indefinite(K: Array, rounding: float) -> None:
    """An error if an eigenvalue is negative by more than rounding, which is a fraction of the largest.

    A Cholesky factorisation usually shows that there is none.
    """
    n, raised = len(K), K.copy()
    raised[np.diag_indices(n)] += rounding * max(K.diagonal().max(), K.sum() / n)  # below the largest eigenvalue
    try:
        Cholesky(raised)
    except LinAlgError:
        smallest, largest = np.linalg.eigvalsh(K)[[0, -1]]
        if smallest >= -rounding * max(largest, -smallest):
            return
        raise ValueError(
            f"A precomputed Gram matrix must be positive semi-definite for this regularizer, got an eigenvalue of "
            f"{smallest:.3g} beside {largest:.3g}; mend the matrix, or choose the regularizer 'l1' or 'l2'."
        ) from None
