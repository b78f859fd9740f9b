"""The norm of the feature space, norms of the coefficients, and a mixture."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.arrays import Array
from mercer.kernels.gram import FormedMatrix, NoMatrix
from mercer.regularizers.base import Penalty, Regularizer, need_matrix, penalty_of_norm, unpenalised
from mercer.regularizers.maps import MapL1, MapL2, MapNorm, MapPenalty


class RKHSNorm(Regularizer):
    """Half the squared norm of the kernel part in its Hilbert space, 1/2 aᵀKa; the parametric part is unpenalised.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.regularizers import RKHSNorm
    >>> RKHSNorm().value(np.eye(2), np.array([3.0, 4.0]), np.zeros(0))
    12.5
    """

    def for_maps(self) -> MapPenalty:
        """½ tr αᵀKα."""
        return MapNorm()

    def penalty(self, gram: Any, parametric: Array) -> Penalty:
        """The dual variables are the coefficients."""
        return penalty_of_norm(gram, parametric, unpenalised(parametric))

    def value(self, gram: Any, coefficients: Array, parametric_coefficients: Array) -> float:
        """1/2 aᵀKa."""
        return 0.5 * float(coefficients @ (gram @ coefficients))


class L1Coefficients(Regularizer):
    """Sum of the moduli Σ_i |a_i|, which leaves few kernel functions; the kernel need not be positive definite.

    Notes
    -----
    The linear programming machine [Smola1998]_, section 3.9.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.regularizers import L1Coefficients
    >>> L1Coefficients().value(np.eye(2), np.array([3.0, -4.0]), np.zeros(0))
    7.0
    """

    needs_positive_kernel = False
    needs_matrix = True

    def for_maps(self) -> MapPenalty:
        """Σ |α|."""
        return MapL1()

    def penalty(self, gram: Any, parametric: Array) -> Penalty:
        """Kernel functions are columns with the weight 1."""
        K = need_matrix(self, gram)
        n, columns = len(K), np.hstack([K, parametric])
        bounds = np.concatenate([np.ones(n), unpenalised(parametric)])
        return Penalty(NoMatrix(n), columns, bounds, lambda B, d: (d[:n], d[n:]))

    def value(self, gram: Any, coefficients: Array, parametric_coefficients: Array) -> float:
        """Σ |a_i|."""
        return float(np.abs(coefficients).sum())


class L2Coefficients(Regularizer):
    """Weight decay 1/2 aᵀMa on the coefficients; the kernel need not be positive definite.

    Parameters
    ----------
    matrix : array of shape (n_samples, n_samples), optional
        M, symmetric and positive definite; by default the identity.

    Notes
    -----
    With h = Ka the cheapest a costs 1/2 hᵀ (K M⁻¹ K)⁺ h: the machine of the kernel matrix K M⁻¹ K, with a = M⁻¹KB.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.regularizers import L2Coefficients
    >>> L2Coefficients().value(2 * np.eye(2), np.array([3.0, 4.0]), np.zeros(0))
    12.5
    """

    needs_positive_kernel = False
    needs_matrix = True

    def __init__(self, matrix: Any = None):
        self.matrix = matrix

    def restricted_to(self, samples: Array) -> Regularizer:
        """The same with the rows and columns of M that belong to some samples."""
        matrix = np.asarray(self.matrix)
        if self.matrix is None or matrix.ndim != 2 or min(matrix.shape) <= max(samples):
            return self  # of a wrong shape: `penalty` will say so
        return L2Coefficients(matrix[np.ix_(samples, samples)])

    def for_maps(self) -> MapPenalty:
        """½ Σ α², if M is the identity."""
        return MapL2() if self.matrix is None else super().for_maps()

    def penalty(self, gram: Any, parametric: Array) -> Penalty:
        """The program of the matrix K M⁻¹ K."""
        K = need_matrix(self, gram)
        half = self._solve(K)
        bounds = unpenalised(parametric)
        return Penalty(FormedMatrix(K @ half), parametric, bounds, lambda B, d: (half @ B, d), rewrites=True)

    def value(self, gram: Any, coefficients: Array, parametric_coefficients: Array) -> float:
        """1/2 aᵀMa."""
        image = coefficients if self.matrix is None else np.asarray(self.matrix) @ coefficients
        return 0.5 * float(coefficients @ image)

    def _solve(self, gram: Array) -> Array:
        """M⁻¹K."""
        if self.matrix is None:
            return gram
        M = np.asarray(self.matrix, dtype=np.float64)
        if M.shape != gram.shape or not np.allclose(M, M.T):
            raise ValueError(
                f"matrix of L2Coefficients must be symmetric of shape {gram.shape}, got shape {M.shape}; "
                "give one row and column for each training row."
            )
        try:
            return cho_solve(cho_factor(M), gram)
        except LinAlgError as error:
            raise ValueError(
                "matrix of L2Coefficients must be positive definite, got one that is not; add to its diagonal."
            ) from error


class Mixed(Regularizer):
    """Half the squared norm of the kernel part plus Σ_j weight_j |b_j| on the parametric part, which it makes sparse.

    Parameters
    ----------
    weight : float or list of float
        Weight of the parametric coefficients, the same for all or one for each; 0 leaves one unpenalised.

    Notes
    -----
    [Smola1998]_, section 3.9.3: the constraint ΦᵀB = 0 of the dual becomes |ΦᵀB| <= weight.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.regularizers import Mixed
    >>> Mixed(weight=2.0).value(np.eye(2), np.zeros(2), np.array([1.0, -1.0]))
    4.0
    """

    def __init__(self, weight: Any = 1.0):
        self.weight = weight

    def penalty(self, gram: Any, parametric: Array) -> Penalty:
        """Parametric columns with an l1 penalty."""
        return penalty_of_norm(gram, parametric, self._weights(parametric.shape[1]))

    def value(self, gram: Any, coefficients: Array, parametric_coefficients: Array) -> float:
        """1/2 aᵀKa + Σ weight_j |b_j|."""
        price = self._weights(len(parametric_coefficients)) @ np.abs(parametric_coefficients)
        return 0.5 * float(coefficients @ (gram @ coefficients)) + float(price)

    def _weights(self, n_columns: int) -> Array:
        weights = np.asarray(self.weight, dtype=np.float64)
        if weights.shape not in ((), (n_columns,)) or not np.all(np.isfinite(weights) & (weights >= 0)):
            raise ValueError(
                f"weight of Mixed must be non-negative, one number or {n_columns}, got {self.weight!r}; "
                "give one for each parametric column."
            )
        return np.broadcast_to(weights, n_columns).copy()


_BY_NAME = {"rkhs": RKHSNorm, "l1": L1Coefficients, "l2": L2Coefficients, "mixed": Mixed}


def as_regularizer(regularizer: Any) -> Regularizer:
    """A regularizer from its name or from itself.

    Examples
    --------
    >>> from mercer.regularizers import as_regularizer
    >>> as_regularizer("l1")
    L1Coefficients()
    """
    if isinstance(regularizer, Regularizer):
        return regularizer
    if not isinstance(regularizer, str) or regularizer not in _BY_NAME:
        raise ValueError(
            f"regularizer must be a Regularizer or one of {sorted(_BY_NAME)}, got {regularizer!r}; choose one of them."
        )
    return _BY_NAME[regularizer]()
