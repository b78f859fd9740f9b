"""What all kernel features share: rows, kernel, removed functions, and their values at new rows."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.arrays import Array
from mercer.components.removal import REMOVABLE, RemovedFunctions, is_table
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.gram import Gram
from mercer.kernels.gram.landmarks import indexable_rows
from mercer.parameters import check_count


class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of estimators whose features are f(x) = Σ_i a_i k(x_i, x) minus what the removed functions explain.

    A fit stores `rows_` (the x_i), `dual_coef_` (the a_i, one column for each feature), `kernel_`, and `_offset`, the
    coefficients of the removed functions.
    """

    n_components: Any
    kernel: Any
    remove: Any
    tol: Any

    def transform(self, X: Any) -> Array:
        """Features of the rows of X, an array of shape (n, n_components_)."""
        check_is_fitted(self, "dual_coef_")
        X = self._rows(X, reset=False)
        return self._features(_in_double(X)).astype(dtype_of(X), copy=False)

    def _features(self, X: Any) -> Array:
        """Features of validated rows in double precision."""
        return self._against_rows(X, self.dual_coef_) - self._removed(X) @ self._offset

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """Validated rows; kernels on other objects than vectors validate them themselves."""
        kernel = self.kernel if self.kernel is not None else Gaussian()
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"kernel of {type(self).__name__} must be a Kernel or None, got {self.kernel!r}; "
                "wrap a function in mercer.kernels.FromFunction."
            )
        if not kernel.takes_vectors:
            return indexable_rows(X)
        options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "reset": reset}
        return validate_data(self, X, ensure_min_samples=2 if reset else 1, **options)

    def _prepare(self, X: Any) -> tuple[Any, Gram]:
        """Validated rows and their Gram matrix; sets the kernel and the removed functions.

        Rows are brought to double precision, but a given matrix is left as it is: its precision tells what is rounding.
        """
        if self.remove not in REMOVABLE:
            raise ValueError(
                f"remove of {type(self).__name__} must be one of {REMOVABLE}, got {self.remove!r}; "
                "'linear' removes the constant, too."
            )
        X = self._rows(X, reset=True)
        if self.kernel is None or not self.kernel.pairwise:
            X = _in_double(X)
        self.kernel_ = Gaussian.scaled_to(X) if self.kernel is None else clone(self.kernel)
        if self.remove == "linear" and (self.kernel_.pairwise or not is_table(X)):
            raise ValueError(
                f"remove of {type(self).__name__} must be None or 'constant' for such objects, got 'linear'; "
                "only vectors of numbers have linear functions."
            )
        gram = Gram(self.kernel_, X, verbose=bool(getattr(self, "verbose", False)))
        if gram.shape[0] < 2:
            raise ValueError(
                f"X of {type(self).__name__} must hold two objects or more, got one sample; nothing varies in it."
            )
        self._removed = RemovedFunctions(self.remove, self.kernel_).fit(X)
        self._refuse_nothing(gram.shape[0] - self._removed.Q.shape[1])
        return X, gram

    def _against_rows(self, X: Any, coef: Array) -> Array:
        """Σ_i coef_i k(x_i, x) for the rows of X."""
        if self.kernel_.pairwise:
            return np.asarray(X)[:, self._positions] @ coef
        return np.asarray(Gram(self.kernel_, X, self.rows_) @ coef)

    def _keep_rows(self, X: Any, positions: Array) -> None:
        """Store copies of the rows whose kernel functions make up the features; of a given matrix the columns only."""
        self._positions = positions
        self.rows_: Any = positions if self.kernel_.pairwise else _safe_indexing(X, positions)

    def _count(self, parameter: str) -> int:
        """The value of a parameter that must be a whole number."""
        return check_count(getattr(self, parameter), parameter, type(self).__name__)

    def _check_tol(self) -> None:
        tol = self.tol
        if not isinstance(tol, Real) or isinstance(tol, bool) or not 0 < float(tol) < 1:
            raise ValueError(
                f"tol of {type(self).__name__} must be between 0 and 1, got {tol!r}; give a relative error."
            )

    @property
    def _definite(self) -> bool:
        """Whether no eigenvalue can be negative once the functions are removed; a given matrix promises nothing."""
        return self.kernel_.order is not None and not self.kernel_.pairwise

    def _refuse_nothing(self, n_found: int) -> None:
        if not n_found:
            raise ValueError(
                f"X of {type(self).__name__} must vary in the feature space of {self.kernel_!r} beyond remove="
                f"{self.remove!r}, got rows that all look alike; scale the columns, choose another kernel, or remove "
                "less."
            )

    def _warn_of_fewer(self, n_found: int) -> None:
        asked = self.n_components
        if isinstance(asked, Integral) and n_found < int(asked):
            warnings.warn(
                f"{type(self).__name__} found {n_found} components above rounding, not the {asked} asked for; "
                "lower n_components.",
                UserWarning,
                stacklevel=3,
            )

    @property
    def _n_features_out(self) -> int:
        return int(self.dual_coef_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = self.kernel
        tags.input_tags.pairwise = bool(getattr(kernel, "pairwise", False))
        tags.input_tags.sparse = kernel is None or bool(getattr(kernel, "takes_sparse", False))
        tags.input_tags.positive_only = not getattr(kernel, "takes_negative", True)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def dtype_of(X: Any) -> type:
    """The precision of features of validated rows: that of the rows."""
    return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64


def _in_double(X: Any) -> Any:
    return X.astype(np.float64) if dtype_of(X) is np.float32 else X
