"""Attributes that follow from a fitted expansion."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.kernels import Kernel
from mercer.kernels.gram import Gram
from mercer.machines.parametric import ParametricPart


class DerivedAttributes:
    """`coef_`, `norm_` and `n_support_`, computed when they are read."""

    kernel_: Kernel
    parametric: Any
    support_: Array
    support_vectors_: Any
    dual_coef_: Array
    parametric_coef_: Array
    _part: ParametricPart

    def _kernel_of_support(self) -> Array:
        raise NotImplementedError

    @property
    def coef_(self) -> Array:
        """Slopes of the fitted function, if it is linear: its values are ``X @ coef_.T + intercept_``.

        One row for each target, or for each class against the rest; a single row for one target or two classes. It
        exists if the kernel is linear (`Linear`, its multiples, sums and restrictions to columns) and all parametric
        functions are linear in X.
        """
        check_is_fitted(self, "dual_coef_")
        slopes = None
        if hasattr(self, "metric_"):
            raise AttributeError(
                f"coef_ of {type(self).__name__} needs the columns of X themselves, got a learned metric; set "
                "metric=None."
            )
        if self.kernel_.linear:
            slopes = self._part.slopes(self.parametric_coef_, np.shape(self.support_vectors_)[1])
        if slopes is None:
            raise AttributeError(
                f"coef_ of {type(self).__name__} needs a linear kernel and parametric functions that are linear in X, "
                f"got {self.kernel_!r} and {self.parametric!r}; choose mercer.kernels.Linear()."
            )
        if len(self.support_):
            slopes += self.kernel_.linear_coefficients(self.support_vectors_, self.dual_coef_)
        slopes.flags.writeable = False  # changes would be lost
        return slopes.T.reshape(-1, len(slopes))

    @property
    def norm_(self) -> float | Array:
        """Norm (aᵀKa)^½ of the kernel part of the fitted function in the feature space, one number for each target.

        For a conditionally positive kernel it is the seminorm, which its polynomials do not change.
        """
        check_is_fitted(self, "dual_coef_")
        if self.kernel_.order is None:
            raise AttributeError(
                f"norm_ of {type(self).__name__} needs a (conditionally) positive definite kernel, got "
                f"{self.kernel_!r}; without it there is no feature space."
            )
        coef = self.dual_coef_
        if not len(self.support_):
            squared = np.zeros(coef.shape[1:])
        else:
            pairwise = self.kernel_.pairwise
            gram: Any = self._kernel_of_support() if pairwise else Gram(self.kernel_, self.support_vectors_)
            squared = np.sum(coef * (gram @ coef), axis=0)
        norm = np.sqrt(np.maximum(squared, 0.0))
        return float(norm) if coef.ndim == 1 else np.asarray(norm)

    @property
    def n_support_(self) -> Array:
        """Number of support vectors of each target."""
        check_is_fitted(self, "dual_coef_")
        return np.atleast_1d(np.count_nonzero(self.dual_coef_, axis=0))
