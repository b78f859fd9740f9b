"""What a fitted expansion is used for: predictions, their errors in single precision, and shorter expansions."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.kernels import Kernel
from mercer.kernels.gram import Gram, single_precision_error, single_precision_product
from mercer.machines.parametric import ParametricPart
from mercer.machines.reduction import ReductionError, reduce_expansion


class Prediction:
    """Values of the fitted function, and `reduce`."""

    kernel_: Kernel
    support_: Array
    support_vectors_: Any
    dual_coef_: Array
    parametric_coef_: Array
    intercept_: Any
    n_features_in_: int
    reduction_error_: ReductionError
    _part: ParametricPart

    def _rows(self, X: Any, *, reset: bool) -> Any:
        raise NotImplementedError

    def reduce(self, tol: float = 1e-2, *, max_functions: int | None = None) -> Self:
        """A copy of this fitted machine with fewer support vectors, whose predictions take as much less time.

        Parameters
        ----------
        tol : float
            Relative error ||f - f_reduced|| / ||f|| in the norm of the feature space, for each target or class.
        max_functions : int, optional
            Largest number of support vectors, whatever the error.

        Returns
        -------
        machine
            With new `support_`, `support_vectors_`, `dual_coef_` and the attribute `reduction_error_`, which holds the
            errors that were made, `relative` and `absolute`, and `uniform`, the bound on the change of any prediction.
            Attributes that describe the fit (`gap_`, `status_`, ...) stay as they were.

        See Also
        --------
        reduce_expansion : The algorithm.

        Examples
        --------
        >>> from mercer import SupportVectorRegressor
        >>> from mercer.datasets import make_sinc
        >>> X, y = make_sinc(200, noise=0.1, random_state=0)
        >>> machine = SupportVectorRegressor(C=10.0).fit(X, y)
        >>> short = machine.reduce(tol=1e-3)
        >>> len(machine.support_) > 100, len(short.support_) < 20, short.reduction_error_.relative < 1e-3
        (True, True, True)
        """
        check_is_fitted(self, "dual_coef_")
        rows = self._kernel_of_support() if self.kernel_.pairwise else self.support_vectors_
        reduction = reduce_expansion(self.kernel_, rows, self.dual_coef_, tol=tol, max_functions=max_functions)
        machine = copy(self)
        machine.support_ = self.support_[reduction.chosen]
        machine.support_vectors_ = _safe_indexing(self.support_vectors_, reduction.chosen)
        machine.dual_coef_ = reduction.coef
        machine.parametric_coef_ = self.parametric_coef_ + self._part.of_polynomials(reduction.polynomial)
        if self._part.constant is not None:
            constant = machine.parametric_coef_[self._part.constant]
            machine.intercept_ = float(constant) if machine.dual_coef_.ndim == 1 else constant
        machine.reduction_error_ = reduction.error
        return machine

    def _kernel_of_support(self) -> Array:
        """The precomputed values between support vectors."""
        rows = np.asarray(self.support_vectors_)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"Samples of a precomputed matrix must all have a weight for {type(self).__name__} to be reduced, got "
                f"{rows.shape[1]} of {self.n_features_in_}; fit again and leave the others out of the matrix."
            )
        return rows[:, self.support_]

    def prediction_error_bound(self, dtype: DTypeLike = np.float32) -> float | Array:
        """Largest error of predictions with ``dtype=np.float32`` at any row, one number for each target.

        It is a few 1e-6 times Σ|dual_coef_| for a Gaussian, the only kernel that is evaluated in single precision, and
        usually a hundred times what is seen; zero for others. Rounding the result to single precision comes on top.
        """
        check_is_fitted(self, "dual_coef_")
        unit = 0.0
        if self._precision(dtype) == np.float32 and len(self.support_) and not self.kernel_.pairwise:
            unit = single_precision_error(self.kernel_, self.support_vectors_)
        return unit * np.sum(np.abs(self.dual_coef_), axis=0)

    def _precision(self, dtype: DTypeLike) -> np.dtype[Any]:
        if dtype is None or np.dtype(dtype) not in (np.float64, np.float32):
            raise ValueError(
                f"dtype of {type(self).__name__} must be float64 or float32, got {dtype!r}; float32 is faster, and "
                "prediction_error_bound tells its error."
            )
        return np.dtype(dtype)

    def _function(self, X: Any, dtype: DTypeLike = np.float64) -> Array:
        """Values of the fitted function at new rows, in blocks."""
        check_is_fitted(self, "dual_coef_")
        precision = self._precision(dtype)
        X = self._rows(X, reset=False)
        if hasattr(self, "metric_"):
            X = self.metric_.transform(X)
        values = self._part.columns(X) @ self.parametric_coef_
        if len(self.support_):
            values = values + self._kernel_functions(X, single=precision == np.float32)
        return values.astype(precision, copy=False)

    def _kernel_functions(self, X: Any, *, single: bool) -> Array:
        """The sum of the kernel functions alone."""
        if self.kernel_.pairwise:
            return np.asarray(np.asarray(X)[:, self.support_] @ self.dual_coef_)
        if single:
            return single_precision_product(self.kernel_, X, self.support_vectors_, self.dual_coef_)
        return np.asarray(Gram(self.kernel_, X, self.support_vectors_) @ self.dual_coef_)
