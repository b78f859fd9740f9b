"""Kernels for scikit-learn's own estimators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from mercer.arrays import Array
from mercer.kernels import Kernel

# Of the logarithm of a parameter: the cube root of the rounding, best for central differences.
_STEP = float(np.finfo(np.float64).eps) ** (1 / 3)


class ScikitLearnKernel(GaussianProcessKernel):
    """A kernel in the form in which scikit-learn wants it, for Gaussian processes and all that takes a kernel.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    tuned : dict, optional
        Positive parameters that a Gaussian process may change, by name as in ``kernel.get_params()``, and the bounds of
        each, a pair of numbers. By default none.

    Notes
    -----
    `GaussianProcessRegressor` accepts nothing else. `KernelRidge`, `KernelPCA` and `Nystroem` of scikit-learn also take
    a kernel on vectors as it is, but call it for each pair of rows; this form computes whole matrices, and takes sparse
    rows. Derivatives with respect to parameters are central differences: each costs two Gram matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from mercer.compat import ScikitLearnKernel
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> kernel = ScikitLearnKernel(Gaussian(width=0.1), tuned={"width": (0.01, 100.0)})
    >>> process = GaussianProcessRegressor(kernel, alpha=1e-4).fit(X, np.sin(X[:, 0]))
    >>> bool(1.0 < process.kernel_.kernel.width < 4.0)
    True
    """

    def __init__(self, kernel: Kernel, tuned: Mapping[str, tuple[float, float]] | None = None):
        self.kernel = kernel
        self.tuned = tuned

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Gram matrix; with `eval_gradient` also its derivatives by the logarithms of the tuned parameters."""
        K = self._checked()(X, Y)
        if not eval_gradient:
            return K
        if Y is not None:
            raise ValueError(
                "eval_gradient of ScikitLearnKernel must be False for two tables, got True; leave Y out for a gradient."
            )
        theta, slopes = self.theta, np.empty((*K.shape, self.n_dims))
        for i in range(self.n_dims):
            step = _STEP * np.eye(self.n_dims)[i]
            ahead, behind = (self.clone_with_theta(theta + sign * step).kernel(X) for sign in (1, -1))
            slopes[..., i] = (ahead - behind) / (2 * _STEP)
        return K, slopes

    def diag(self, X: Any) -> Array:
        """Values k(x, x) for the rows of X."""
        return self._checked().diag(X)

    def is_stationary(self) -> bool:
        """Whether k is a function of x - y, which scikit-learn calls stationary."""
        return bool(self._checked().translation_invariant)

    @property
    def requires_vector_input(self) -> bool:
        """Whether the input is a table of numbers."""
        return bool(self._checked().takes_vectors)

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """What may be tuned, by names like "kernel__width"."""
        values, found = self._checked().get_params(), []
        for name, bounds in ({} if self.tuned is None else self.tuned).items():
            value = np.asarray(values.get(name))
            if value.dtype.kind not in "fiu" or not np.all(value > 0):
                raise ValueError(
                    f"tuned of ScikitLearnKernel must name positive parameters of {self.kernel!r}, got {name!r}; "
                    "see kernel.get_params()."
                )
            found.append(Hyperparameter(f"kernel__{name}", "numeric", bounds, value.size))
        return found

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, those of the kernel as "kernel__..."."""
        own = {"kernel": self.kernel, "tuned": self.tuned}
        return own | {f"kernel__{name}": value for name, value in self._checked().get_params().items()} if deep else own

    def _checked(self) -> Kernel:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel of ScikitLearnKernel must be a Kernel of mercer.kernels, got {self.kernel!r}.")
        return self.kernel

    def __repr__(self) -> str:
        return f"ScikitLearnKernel({self.kernel!r})"
