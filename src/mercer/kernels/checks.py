"""Does a kernel keep its promises? A public test, for users' kernels as for Mercer's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from mercer.kernels.base import Kernel
from mercer.kernels.given import FromFunction
from mercer.kernels.spectra import radial_fourier
from mercer.kernels.widths import median_distance

Array = NDArray[Any]

_N_ROWS = 300


@dataclass
class KernelReport:
    """What `check_kernel` measured: the name of each property and its largest relative error.

    For "positivity" the number is the smallest eigenvalue (after projection) over the largest.
    """

    kernel: str
    errors: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{name:<12} {error:.1e}" for name, error in self.errors.items()]
        return "\n".join([f"{self.kernel} passes:", *lines])


def check_kernel(
    kernel: Kernel | Callable[[Any, Any], Any], X: Any, *, tol: float = 1e-8, n_dims: int | None = None
) -> KernelReport:
    """Check that a kernel is what it says it is, on the rows of X.

    Symmetry; the diagonal; agreement of ``k(X)`` with ``k(X, X)``; positive definiteness, or conditional positive
    definiteness of its `order`, on X; its gradient, by finite differences; `of_squared_distance`; its spectrum, by
    quadrature, and that it is nowhere negative (for products over columns in one
    dimension); that `clone` copies it.

    Parameters
    ----------
    kernel : Kernel or callable
        A kernel; or a function of two objects, or of two tables, that claims to be positive definite.
    X : array_like
        Objects to test on; at most 300, evenly spread, are used.
    tol : float
        Relative error that counts as rounding. Gradients and spectra are held to 1e-6, the accuracy of their check.
    n_dims : int, optional
        Dimension for the spectrum; by default the number of columns of X, at most 3.

    Returns
    -------
    KernelReport
        What was measured.

    Raises
    ------
    ValueError
        If a property fails, saying which one and by how much.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian, check_kernel
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> sorted(check_kernel(Gaussian(width=0.7), X).errors)
    ['clone', 'diagonal', 'gradient', 'positivity', 'spectrum', 'symmetry']
    >>> check_kernel(lambda x, y: np.tanh(x @ y - 1), X)
    Traceback (most recent call last):
    ...
    ValueError: FromFunction(...) must be positive definite on X, got ...
    """
    X = _few_rows(kernel, X)
    kernel = kernel if isinstance(kernel, Kernel) else _from_callable(kernel, X)
    report = KernelReport(repr(kernel))
    K = np.asarray(kernel(X), dtype=np.float64)
    report.errors["symmetry"] = _check_symmetry(kernel, X, K, tol)
    report.errors["diagonal"] = _check_diagonal(kernel, X, K, tol)
    report.errors["positivity"] = _check_positivity(kernel, X, K, tol)
    report.errors["clone"] = _check_clone(kernel, X, K, tol)
    if kernel.differentiable:
        report.errors["gradient"] = _check_gradient(kernel, X)
    if kernel.has_spectrum:
        error = _check_spectrum(kernel, X, n_dims)
        if error is not None:
            report.errors["spectrum"] = error
    return report


def _few_rows(kernel: Any, X: Any) -> Any:
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows <= _N_ROWS:
        return X
    rows = np.linspace(0, n_rows - 1, _N_ROWS).astype(int)
    X = _safe_indexing(X, rows, axis=0)
    return X[:, rows] if getattr(kernel, "pairwise", False) else X


def _from_callable(function: Callable[[Any, Any], Any], X: Any) -> Kernel:
    """A kernel from a function of pairs; if it refuses a pair of single objects, it takes tables."""
    first, last = _safe_indexing(X, 0), _safe_indexing(X, -1)
    try:
        of_pairs = np.ndim(function(first, last)) == 0
    except (TypeError, ValueError):
        of_pairs = False
    return FromFunction(function, vectorized=not of_pairs)


def _fail(kernel: Kernel, promise: str, found: str) -> ValueError:
    return ValueError(f"{kernel!r} must {promise}, got {found}.")


def _check_symmetry(kernel: Kernel, X: Any, K: Array, tol: float) -> float:
    rectangular = np.asarray(kernel(X, X), dtype=np.float64)
    error = _relative(np.abs(rectangular - rectangular.T).max(), K)
    if not error <= tol:
        raise _fail(kernel, "be symmetric", f"values k(x, y) and k(y, x) that differ by {error:.1e} (relative)")
    error = max(error, _relative(np.abs(rectangular - K).max(), K))
    if not error <= tol:
        raise _fail(kernel, "give k(X, X) when called on X alone", f"a relative difference of {error:.1e}")
    return error


def _check_diagonal(kernel: Kernel, X: Any, K: Array, tol: float) -> float:
    error = _relative(np.abs(kernel.diag(X) - np.diagonal(K)).max(), K)
    if not error <= tol:
        raise _fail(kernel, "give the diagonal of its Gram matrix by diag(X)", f"a relative difference of {error:.1e}")
    return error


def _check_positivity(kernel: Kernel, X: Any, K: Array, tol: float) -> float:
    largest = np.abs(np.linalg.eigvalsh(K)).max()
    if kernel.order:
        Q, _ = np.linalg.qr(kernel.polynomial_part(X))
        K = K - Q @ (Q.T @ K)
        K = K - (K @ Q) @ Q.T
    smallest = float(np.linalg.eigvalsh((K + K.T) / 2)[0] / largest) if largest else 0.0
    found = f"an eigenvalue of {smallest:.1e} relative to the largest"
    if kernel.order is None:
        raise _fail(kernel, "be positive definite or conditionally so", f"order None, and {found}")
    if smallest < -tol:
        promise = f"conditionally positive definite of order {kernel.order}" if kernel.order else "positive definite"
        raise _fail(kernel, f"be {promise} on X", found)
    return smallest


def _check_clone(kernel: Kernel, X: Any, K: Array, tol: float) -> float:
    error = _relative(np.abs(clone(kernel)(X) - K).max(), K)
    if not error <= tol:
        raise _fail(kernel, "be copied by sklearn.base.clone", f"a relative difference of {error:.1e}")
    return error


def _check_gradient(kernel: Kernel, X: Any) -> float:
    """Compare with central differences of fourth order, between different rows of X."""
    X = np.asarray(X, dtype=np.float64)
    n_left = max(1, min(8, len(X) // 2))
    left, right = X[:n_left], X[n_left : n_left + 8] if len(X) > 1 else X
    gradient = kernel.gradient(left, right)
    numerical = np.empty_like(gradient)
    for column in range(X.shape[1]):
        step = np.zeros(X.shape[1])
        step[column] = 1e-4 * (np.std(X[:, column]) or 1.0)
        near = kernel(left + step, right) - kernel(left - step, right)
        far = kernel(left + 2 * step, right) - kernel(left - 2 * step, right)
        numerical[..., column] = (8 * near - far) / (12 * step[column])
    error = _relative(np.abs(gradient - numerical).max(), numerical)
    if not error <= 1e-6:
        raise _fail(kernel, "have the gradient that finite differences give", f"a relative difference of {error:.1e}")
    return error


def _profile_of(kernel: Any, n_dims: int) -> tuple[Callable[[Array], Array], int] | None:
    """The kernel as a function of the squared distance, and the dimension in which it is one."""
    if kernel.stationary:
        return lambda r2: kernel.of_squared_distance(r2, n_dims), n_dims
    try:
        kernel([[0.0]])
    except ValueError:
        return None  # a width for each column: not a function of one distance
    return lambda r2: kernel(np.sqrt(r2).reshape(-1, 1), [[0.0]]).reshape(r2.shape), 1


def _check_spectrum(kernel: Any, X: Any, n_dims: int | None) -> float | None:
    """Compare with quadrature where the spectrum is not negligible, and look for negative parts."""
    n_columns = np.shape(X)[1]
    known = _profile_of(kernel, n_dims or min(3, n_columns))
    if known is None:
        return None
    profile, n_dims = known
    try:
        length = median_distance(X)
    except ValueError:
        length = 1.0
    fine = np.geomspace(1e-2, 1e4, 200) / length
    spectrum = kernel.spectrum(fine, n_dims)
    if spectrum.min() < -1e-12 * np.abs(spectrum).max():
        worst = fine[np.argmin(spectrum)]
        raise _fail(kernel, "have a non-negative spectrum", f"{spectrum.min():.1e} at frequency {worst:.3g}")
    omega = np.geomspace(0.02, 30, 13) / length
    spectrum = kernel.spectrum(omega, n_dims)
    omega, spectrum = omega[spectrum > 1e-8 * spectrum.max()], spectrum[spectrum > 1e-8 * spectrum.max()]
    error = float(np.max(np.abs(radial_fourier(profile, omega, n_dims) / spectrum - 1)))
    if not error <= 1e-6:
        raise _fail(kernel, "have the spectrum that quadrature gives", f"a relative difference of {error:.1e}")
    return error


def _relative(error: float, values: Array) -> float:
    scale = np.abs(values).max()
    return float(error / scale) if scale else float(error)
