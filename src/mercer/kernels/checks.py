"""Does a kernel keep its promises? A public test, for users' kernels as for Mercer's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from mercer.arrays import Array
from mercer.kernels.base import Kernel
from mercer.kernels.given import FromFunction
from mercer.kernels.promises import Profile, Table, fail, small
from mercer.kernels.spectrum_check import change_length, check_spectrum

_N_ROWS = 300
_EPS = float(np.finfo(np.float64).eps)


@dataclass
class KernelReport:
    """What `check_kernel` measured: the name of each property and its largest relative error.

    For "positivity" the number is the smallest eigenvalue (after projection) over the largest. For "distance" and
    "gradient" it is what exceeds the rounding of the comparison, so that 0 is common.
    """

    kernel: str
    errors: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{name:<13} {error:.1e}" for name, error in self.errors.items()]
        return "\n".join([f"{self.kernel} passes:", *lines])


def check_kernel(
    kernel: Kernel | Callable[[Any, Any], Any], X: Any, *, tol: float = 1e-8, n_dims: int | None = None
) -> KernelReport:
    """Check that a kernel is what it says it is, on the rows of X.

    Symmetry; the diagonal; agreement of ``k(X)`` with ``k(X, X)``; positive definiteness, or conditional positive
    definiteness of its `order`, on X; that `clone` copies it. If the kernel says that it has them: its gradient, by
    finite differences; `of_squared_distance`; invariance under a translation of X; its spectrum, by quadrature, and
    that it is nowhere negative.

    Parameters
    ----------
    kernel : Kernel or callable
        A kernel; or a function of two objects, or of two tables, that claims to be positive definite.
    X : array_like
        Objects to test on; at most 300, evenly spread, are used.
    tol : float
        Relative error that counts as rounding; at least 100 times the precision of the Gram matrix. Gradients,
        translations and spectra are held to 1e-6, the accuracy of their check.
    n_dims : int, optional
        Dimension for the spectrum; by default the number of columns of X.

    Returns
    -------
    KernelReport
        What was measured.

    Raises
    ------
    ValueError
        If a property fails, saying which one and by how much.

    Notes
    -----
    A gradient must lie between the differences to the left and to the right of a point, for steps of all sizes, so that
    at a kink every subgradient passes. Columns of a data frame that hold no numbers stay as they are.

    The spectrum of a kernel that is not a function of the distance is compared in one dimension, if it takes one
    column, and in 2 to 5 dimensions by the means of k and of its spectrum under Gaussians ("spectral mean", to 1e-3 or
    what sampling gives). Left out are such kernels in more dimensions or of an order above 0, all in more than 30
    dimensions, and frequencies where the quadrature does not converge, as for slowly falling kernels in 10 dimensions;
    and gradients of more than ten columns are compared along eight of them and two diagonals.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian, check_kernel
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> sorted(check_kernel(Gaussian(width=0.7), X).errors)
    ['clone', 'diagonal', 'distance', 'gradient', 'log spectrum', 'positivity', 'spectrum', 'symmetry', 'translation']
    >>> check_kernel(lambda x, y: np.tanh(x @ y - 1), X)
    Traceback (most recent call last):
    ...
    ValueError: FromFunction(...) must be positive definite on X, got ...
    """
    if n_dims is not None and (not isinstance(n_dims, Integral) or isinstance(n_dims, bool) or n_dims < 1):
        raise fail("n_dims of check_kernel", "be a whole number >= 1", repr(n_dims))
    X = _few_rows(kernel, X)
    kernel, X = (kernel, X) if isinstance(kernel, Kernel) else _from_callable(kernel, X)
    _check_methods(kernel)
    K = _values(kernel, "k(X)", kernel(X), (_n_rows(X), _n_rows(X)))
    tol = max(tol, 100 * _precision(K))
    report = KernelReport(repr(kernel))
    report.errors["symmetry"] = _check_symmetry(kernel, X, K, tol)
    report.errors["diagonal"] = _check_diagonal(kernel, X, K, tol)
    report.errors["positivity"] = _check_positivity(kernel, X, K.astype(np.float64), tol)
    report.errors["clone"] = _check_clone(kernel, X, K, tol)
    if kernel.stationary or kernel.translation_invariant or kernel.differentiable or kernel.has_spectrum:
        table = Table(kernel, X)
        if kernel.stationary:
            report.errors["distance"] = _check_distance(kernel, table, K, tol)
        if kernel.translation_invariant:
            report.errors["translation"] = _check_translation(kernel, table)
        if kernel.differentiable:
            report.errors["gradient"] = _check_gradient(kernel, table)
        if kernel.has_spectrum and K.any():
            report.errors |= check_spectrum(kernel, table, n_dims)
    return report


def _n_rows(X: Any) -> int:
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


def _few_rows(kernel: Any, X: Any) -> Any:
    if _n_rows(X) <= _N_ROWS:
        return X
    rows = np.linspace(0, _n_rows(X) - 1, _N_ROWS).astype(int)
    if not getattr(kernel, "pairwise", False):
        return _safe_indexing(X, rows, axis=0)
    X = X if hasattr(X, "shape") else np.asarray(X)
    return _safe_indexing(_safe_indexing(X, rows, axis=0), rows, axis=1)


def _from_callable(function: Callable[[Any, Any], Any], X: Any) -> tuple[Kernel, Any]:
    """A kernel from a function of pairs; if it refuses pairs of single objects, it takes tables."""
    X = np.asarray(X) if hasattr(X, "__array__") else X
    if _takes_pairs(function, X):
        return FromFunction(function), X
    if isinstance(X, list | tuple) and all(isinstance(row, list | tuple) and len(row) == len(X[0]) for row in X):
        X = np.array(X)  # rows given as lists
    return FromFunction(function, vectorized=not _takes_pairs(function, X)), X


def _takes_pairs(function: Callable[[Any, Any], Any], X: Any) -> bool:
    try:
        return np.ndim(function(_safe_indexing(X, 0), _safe_indexing(X, -1))) == 0
    except (TypeError, ValueError, IndexError, AttributeError):
        return False


def _check_methods(kernel: Kernel) -> None:
    for flag, method in (("stationary", "of_squared_distance"), ("has_spectrum", "spectrum")):
        if getattr(kernel, flag) and not hasattr(kernel, method):
            raise fail(kernel, f"have a method {method}, since it says {flag}", "none")


def _values(kernel: Kernel, name: str, values: Any, shape: tuple[int, ...]) -> Array:
    values = np.asarray(values)
    if values.shape != shape:
        raise fail(kernel, f"give {name} of shape {shape}", f"shape {values.shape}")
    if not np.isfinite(values).all():
        raise fail(kernel, f"give a finite {name}", f"{values[~np.isfinite(values)][0]}")
    return values


def _precision(values: Array) -> float:
    return float(np.finfo(values.dtype).eps) if values.dtype.kind == "f" else _EPS


def _check_symmetry(kernel: Kernel, X: Any, K: Array, tol: float) -> float:
    both = _values(kernel, "k(X, X)", kernel(X, X), K.shape)
    error = small(_relative(both - both.T, K), tol, kernel, "be symmetric", "values k(x, y) and k(y, x) that differ by")
    return max(error, small(_relative(both - K, K), tol, kernel, "give k(X, X) when called on X alone"))


def _check_diagonal(kernel: Kernel, X: Any, K: Array, tol: float) -> float:
    diagonal = _values(kernel, "diag(X)", kernel.diag(X), K.shape[:1])
    return small(
        _relative(diagonal - np.diagonal(K), K), tol, kernel, "give the diagonal of its Gram matrix by diag(X)"
    )


def _check_clone(kernel: Kernel, X: Any, K: Array, tol: float) -> float:
    values = _values(kernel, "k(X) of its clone", clone(kernel)(X), K.shape)
    return small(_relative(values - K, K), tol, kernel, "be copied by sklearn.base.clone")


def _check_positivity(kernel: Kernel, X: Any, K: Array, tol: float) -> float:
    largest = np.abs(np.linalg.eigvalsh(K)).max()
    if kernel.order:
        Q, _ = np.linalg.qr(kernel.polynomial_part(X.toarray() if sparse.issparse(X) else X))
        K = K - Q @ (Q.T @ K)
        K = K - (K @ Q) @ Q.T
    smallest = float(np.linalg.eigvalsh((K + K.T) / 2)[0] / largest) if largest else 0.0
    found = f"an eigenvalue of {smallest:.1e} relative to the largest"
    if kernel.order is None:
        raise fail(kernel, "be positive definite or conditionally so", f"order None, and {found}")
    if smallest < -tol:
        promise = f"conditionally positive definite of order {kernel.order}" if kernel.order else "positive definite"
        raise fail(kernel, f"be {promise} on X", found)
    return smallest


def _check_distance(kernel: Any, table: Table, K: Array, tol: float) -> float:
    r2 = cdist(table.values, table.values, "sqeuclidean")
    expected = _values(
        kernel, "k by of_squared_distance", kernel.of_squared_distance(r2.copy(), table.n_columns), r2.shape
    )
    # Distances from |x|² + |y|² - 2xᵀy, which are fast, are only as accurate as the squared norms.
    rounding = 64 * _precision(K) * np.einsum("ij,ij->i", table.values, table.values).max()
    near = [kernel.of_squared_distance(np.maximum(r2 + d, 0.0), table.n_columns) for d in (-rounding, rounding)]
    allowed = np.max([np.abs(values - expected) for values in near], axis=0)
    excess = np.abs(K[: len(r2), : len(r2)] - expected) - allowed
    return small(_relative(np.maximum(excess, 0.0), K), tol, kernel, "give its values by of_squared_distance")


def _check_translation(kernel: Kernel, table: Table) -> float:
    scale = _power_of_two(np.abs(table.values).max(axis=0))
    shift = scale * np.random.default_rng(0).uniform(0.5, 2.0, len(scale))
    # On this grid sums are exact, so that the differences x - y stay as they are.
    values, shift = (np.round(2.0**30 * numbers / scale) / 2.0**30 * scale for numbers in (table.values, shift))
    error = 0.0
    for i, others in table.pairs():
        before, after = (
            _values(kernel, "k", kernel(table.moved([i], v[[i]]), table.moved(others, v[others])), (1, len(others)))
            for v in (values, values + shift)
        )
        error = max(error, _relative(after - before, before))
    return small(error, 1e-6, kernel, "be translation invariant", "values that a translation of X changes by")


def _check_gradient(kernel: Kernel, table: Table) -> float:
    typical = np.array([np.median(column[column != 0]) if column.any() else 1.0 for column in np.abs(table.values).T])
    sizes = _power_of_two(np.maximum(np.abs(table.values), typical))
    error = max(_gradient_error(kernel, table, i, others, sizes[i]) for i, others in table.pairs())
    return small(error, 1e-6, kernel, "have the gradient that finite differences give")


def _gradient_error(kernel: Kernel, table: Table, i: int, others: Array, size: Array) -> float:
    """By how much the gradient at a row leaves what differences with steps of all sizes show to be possible."""
    row, values = table.values[i], table.values[others]
    left = table.moved([i], row[None])

    def away(r2: Array) -> Array:
        return np.asarray(kernel(left, table.moved([i] * len(r2), row + np.outer(np.sqrt(r2), size)))[0])

    if kernel.translation_invariant:
        # A narrow kernel may vanish between all rows: add a point where it does not.
        others, values = np.r_[others, i], np.vstack([values, row + change_length(away, table) * size])
    right = table.moved(others, values)
    gradient = _values(kernel, "gradient", kernel.gradient(left, right), (1, len(others), table.n_columns))[0]
    directions = _directions(size)
    claimed = directions @ gradient[:, table.columns].T

    def values_at(offsets: Array) -> Array:
        return np.asarray(kernel(table.moved([i] * len(offsets), row + offsets), right))

    centre = values_at(np.zeros_like(directions[:1]))
    far = np.max(np.abs(values) / size, axis=1, initial=1.0)
    possible = np.clip(claimed, *_slopes(values_at, centre, directions, far))
    # Slopes that change k by less than its rounding cannot be distinguished from zero.
    scale = np.maximum(np.abs(possible).max(axis=1, keepdims=True), 1e-7 * np.abs(centre).max())
    return float(np.max(np.abs(claimed - possible) / np.where(scale > 0, scale, 1.0), initial=0.0))


def _directions(size: Array) -> Array:
    """Along each column, or along eight of many and along two diagonals; powers of two, to keep sums exact."""
    if len(size) <= 10:
        return np.diag(size)
    axes, signs = np.zeros((8, len(size))), np.random.default_rng(0).choice([-1.0, 1.0], size=(2, len(size)))
    axes[np.arange(8), np.linspace(0, len(size) - 1, 8).astype(int)] = 1.0
    return np.vstack([axes, signs]) * size


def _slopes(values_at: Profile, centre: Array, directions: Array, far: Array) -> tuple[Array, Array]:
    """Lower and upper bounds of the slopes, whatever the kernel's length.

    From tiny steps, where rounding allows anything, to long ones: each narrows down the slope and its jump, until one
    is so long that it contradicts the shorter ones. At a kink all slopes between the one-sided ones remain possible.
    """
    eps, noise, consistent = _precision(centre), 0.0, np.bool_(True)
    low = np.full((2, len(directions), centre.shape[1]), -np.inf)  # of the slope, and of its jump
    high = -low
    bounds = low, high  # those before the last step: a contradiction shows only one step too late
    first = int(np.log2(eps)) + 7
    for exponent in range(first, 7, 3):
        step = 2.0**exponent
        try:
            with np.errstate(all="ignore"):
                ahead, behind = np.split(values_at(np.vstack([step * directions, -step * directions])), 2)
        except ValueError:
            break  # a long step may leave the domain of the kernel
        if exponent == first:
            noise = 2 * np.abs(ahead + behind - 2 * centre).max()
        found = np.array([ahead - behind, 2 * (ahead + behind - 2 * centre)]) / (2 * step)
        steepness = np.abs(found).sum(axis=(0, 1))
        rounding = (noise + 128 * eps * (np.abs(centre).max() + far * steepness)) / step * np.array([[[1.0]], [[2.0]]])
        lower, upper = np.maximum(low, found - rounding), np.minimum(high, found + rounding)
        consistent = consistent & (lower <= upper).all(axis=0)
        # Values below the rounding contradict nothing: they go no further than the others do.
        consistent &= (np.abs(centre) > 1e3 * step * rounding[0]) | consistent.all(axis=1, keepdims=True)
        if not consistent.any():
            break
        bounds = np.where(consistent, low, bounds[0]), np.where(consistent, high, bounds[1])
        low, high = np.where(consistent, lower, low), np.where(consistent, upper, high)
    half_jump = np.abs(bounds).max(axis=0)[1] / 2
    return bounds[0][0] - half_jump, bounds[1][0] + half_jump


def _power_of_two(values: Array) -> Array:
    """The next power of two, 1 for zero."""
    return 2.0 ** np.ceil(np.log2(np.where(values > 0, values, 1.0)))


def _relative(difference: Array, values: Array) -> float:
    scale, error = np.abs(values).max(), np.abs(difference).max()
    return float(error / scale) if scale else float(error)
