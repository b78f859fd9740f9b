"""Does a kernel keep its promises? A public test, for users' kernels as for Mercer's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from mercer.kernels.base import Kernel
from mercer.kernels.given import FromFunction
from mercer.kernels.spectra import radial_fourier
from mercer.kernels.widths import median_distance

Array = NDArray[Any]
Profile = Callable[[Array], Array]

_N_ROWS = 300
_MAX_DIMS = 30  # beyond, the quadrature loses all digits and then the range of doubles
_MAX_DIMS_MEAN = 5  # beyond, means over space have a few rare large terms
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
    dimensions, and frequencies where the quadrature does not converge, as for slowly falling kernels in 10 dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian, check_kernel
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> sorted(check_kernel(Gaussian(width=0.7), X).errors)
    ['clone', 'diagonal', 'distance', 'gradient', 'positivity', 'spectrum', 'symmetry', 'translation']
    >>> check_kernel(lambda x, y: np.tanh(x @ y - 1), X)
    Traceback (most recent call last):
    ...
    ValueError: FromFunction(...) must be positive definite on X, got ...
    """
    if n_dims is not None and (not isinstance(n_dims, Integral) or isinstance(n_dims, bool) or n_dims < 1):
        raise _fail("n_dims of check_kernel", "be a whole number >= 1", repr(n_dims))
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
        table = _Table(kernel, X)
        if kernel.stationary:
            report.errors["distance"] = _check_distance(kernel, table, K, tol)
        if kernel.translation_invariant:
            report.errors["translation"] = _check_translation(kernel, table)
        if kernel.differentiable:
            report.errors["gradient"] = _check_gradient(kernel, table)
        if kernel.has_spectrum and K.any():
            report.errors |= _check_spectrum(kernel, table, n_dims)
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


def _fail(thing: Any, promise: str, found: str) -> ValueError:
    return ValueError(f"{thing} must {promise}, got {found}.")


def _small(error: float, tol: float, kernel: Kernel, promise: str, found: str = "a relative difference of") -> float:
    if not error <= tol:
        raise _fail(kernel, promise, f"{found} {error:.1e}")
    return error


def _check_methods(kernel: Kernel) -> None:
    for flag, method in (("stationary", "of_squared_distance"), ("has_spectrum", "spectrum")):
        if getattr(kernel, flag) and not hasattr(kernel, method):
            raise _fail(kernel, f"have a method {method}, since it says {flag}", "none")


def _values(kernel: Kernel, name: str, values: Any, shape: tuple[int, ...]) -> Array:
    values = np.asarray(values)
    if values.shape != shape:
        raise _fail(kernel, f"give {name} of shape {shape}", f"shape {values.shape}")
    if not np.isfinite(values).all():
        raise _fail(kernel, f"give a finite {name}", f"{values[~np.isfinite(values)][0]}")
    return values


def _precision(values: Array) -> float:
    return float(np.finfo(values.dtype).eps) if values.dtype.kind == "f" else _EPS


def _check_symmetry(kernel: Kernel, X: Any, K: Array, tol: float) -> float:
    both = _values(kernel, "k(X, X)", kernel(X, X), K.shape)
    error = _small(
        _relative(both - both.T, K), tol, kernel, "be symmetric", "values k(x, y) and k(y, x) that differ by"
    )
    return max(error, _small(_relative(both - K, K), tol, kernel, "give k(X, X) when called on X alone"))


def _check_diagonal(kernel: Kernel, X: Any, K: Array, tol: float) -> float:
    diagonal = _values(kernel, "diag(X)", kernel.diag(X), K.shape[:1])
    return _small(
        _relative(diagonal - np.diagonal(K), K), tol, kernel, "give the diagonal of its Gram matrix by diag(X)"
    )


def _check_clone(kernel: Kernel, X: Any, K: Array, tol: float) -> float:
    values = _values(kernel, "k(X) of its clone", clone(kernel)(X), K.shape)
    return _small(_relative(values - K, K), tol, kernel, "be copied by sklearn.base.clone")


def _check_positivity(kernel: Kernel, X: Any, K: Array, tol: float) -> float:
    largest = np.abs(np.linalg.eigvalsh(K)).max()
    if kernel.order:
        Q, _ = np.linalg.qr(kernel.polynomial_part(X.toarray() if sparse.issparse(X) else X))
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


class _Table:
    """Rows of X whose columns of numbers can be moved, in float64; a data frame stays one."""

    def __init__(self, kernel: Kernel, X: Any):
        X = X if hasattr(X, "shape") else np.asarray(X)
        self.n_columns = int(X.shape[1]) if len(X.shape) == 2 else 1
        # A million numbers are enough: many sparse columns would be too many when dense.
        X = _safe_indexing(X, np.arange(min(X.shape[0], max(30, 10**6 // self.n_columns))), axis=0)
        self.X = X.toarray() if sparse.issparse(X) else X
        self.is_frame = hasattr(X, "isetitem") or hasattr(X, "with_columns")
        columns = [_numbers(_column(self.X, c) if self.is_frame else self.X[..., c]) for c in range(self.n_columns)]
        self.columns = [c for c, numbers in enumerate(columns) if numbers is not None]
        if len(X.shape) != 2 or not (self.columns if self.is_frame else len(self.columns) == self.n_columns):
            promise = "be called on a table of numbers if it is differentiable, stationary or translation invariant"
            raise _fail(kernel, promise, f"{type(X).__name__} of shape {X.shape}")
        self.values = np.array([columns[c] for c in self.columns]).T

    def moved(self, rows: Any, values: Array) -> Any:
        """The given rows, with other numbers in them."""
        if not self.is_frame:
            return values
        frame = _safe_indexing(self.X, np.asarray(rows), axis=0)
        if hasattr(frame, "with_columns"):
            series = [frame.to_series(c) for c in self.columns]
            return frame.with_columns([type(s)(s.name, v) for s, v in zip(series, values.T, strict=True)])
        frame = frame.copy()
        for c, v in zip(self.columns, values.T, strict=True):
            frame.isetitem(c, v)
        return frame

    def pairs(self) -> Iterator[tuple[int, Array]]:
        """A few rows; each with itself, its nearest distinct neighbours, where k is not negligible, and some others."""
        for i in np.unique(np.linspace(0, len(self.values) - 1, 6).astype(int)):
            distance = cdist(self.values[[i]], self.values)[0]
            others = np.argsort(distance)[np.count_nonzero(distance == 0) :]
            yield int(i), np.r_[i, others[:3], others[3 :: max(1, len(others) // 4)]]


def _column(frame: Any, column: int) -> Any:
    return frame.iloc[:, column] if hasattr(frame, "iloc") else frame.to_series(column)


def _numbers(column: Any) -> Array | None:
    try:
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return values if np.isfinite(values).all() else None


def _check_distance(kernel: Any, table: _Table, K: Array, tol: float) -> float:
    r2 = cdist(table.values, table.values, "sqeuclidean")
    expected = _values(
        kernel, "k by of_squared_distance", kernel.of_squared_distance(r2.copy(), table.n_columns), r2.shape
    )
    # Distances from |x|² + |y|² - 2xᵀy, which are fast, are only as accurate as the squared norms.
    rounding = 64 * _precision(K) * np.einsum("ij,ij->i", table.values, table.values).max()
    near = [kernel.of_squared_distance(np.maximum(r2 + d, 0.0), table.n_columns) for d in (-rounding, rounding)]
    allowed = np.max([np.abs(values - expected) for values in near], axis=0)
    excess = np.abs(K[: len(r2), : len(r2)] - expected) - allowed
    return _small(_relative(np.maximum(excess, 0.0), K), tol, kernel, "give its values by of_squared_distance")


def _check_translation(kernel: Kernel, table: _Table) -> float:
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
    return _small(error, 1e-6, kernel, "be translation invariant", "values that a translation of X changes by")


def _check_gradient(kernel: Kernel, table: _Table) -> float:
    typical = np.array([np.median(column[column != 0]) if column.any() else 1.0 for column in np.abs(table.values).T])
    sizes = _power_of_two(np.maximum(np.abs(table.values), typical))
    error = max(_gradient_error(kernel, table, i, others, sizes[i]) for i, others in table.pairs())
    return _small(error, 1e-6, kernel, "have the gradient that finite differences give")


def _gradient_error(kernel: Kernel, table: _Table, i: int, others: Array, size: Array) -> float:
    """By how much the gradient at a row leaves what differences with steps of all sizes show to be possible."""
    row, values = table.values[i], table.values[others]
    left = table.moved([i], row[None])

    def away(r2: Array) -> Array:
        return np.asarray(kernel(left, table.moved([i] * len(r2), row + np.outer(np.sqrt(r2), size)))[0])

    if kernel.translation_invariant:
        # A narrow kernel may vanish between all rows: add a point where it does not.
        others, values = np.r_[others, i], np.vstack([values, row + _length(away, table) * size])
    right = table.moved(others, values)
    gradient = _values(kernel, "gradient", kernel.gradient(left, right), (1, len(others), table.n_columns))[0]
    directions = _directions(size)
    claimed = directions @ gradient[:, table.columns].T

    def values_at(offsets: Array) -> Array:
        return np.asarray(kernel(table.moved([i] * len(offsets), row + offsets), right))

    centre = values_at(np.zeros_like(directions[:1]))
    far = np.max(np.abs(values) / size, axis=1, initial=1.0)
    possible = np.clip(claimed, *_slopes(values_at, centre, directions, far))
    # Slopes that change k by less than its rounding cannot be told from zero.
    scale = np.maximum(np.abs(possible).max(axis=1, keepdims=True), 1e-7 * np.abs(centre).max())
    return float(np.max(np.abs(claimed - possible) / np.where(scale > 0, scale, 1.0), initial=0.0))


def _directions(size: Array) -> Array:
    """Along each column, or along eight of many and along two diagonals; powers of two, to keep sums exact."""
    axes = np.diag(size)
    if len(size) <= 10:
        return axes
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(2, len(size)))
    return np.vstack([axes[np.linspace(0, len(size) - 1, 8).astype(int)], signs * size])


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


def _check_spectrum(kernel: Any, table: _Table, n_dims: int | None) -> dict[str, float]:
    n_dims = n_dims or table.n_columns
    errors: dict[str, float | None] = {}
    if kernel.stationary or n_dims == 1 or _takes_one_column(kernel):
        errors["spectrum"] = _check_radial_spectrum(kernel, table, n_dims if kernel.stationary else 1)
    if not kernel.stationary and n_dims > 1 and kernel.order == 0:
        errors["spectral mean"] = _check_spectral_mean(kernel, table, n_dims)
    return {name: error for name, error in errors.items() if error is not None}


def _takes_one_column(kernel: Kernel) -> bool:
    try:
        kernel([[0.0]])
    except ValueError:
        return False  # a width for each column
    return True


def _along(kernel: Kernel, direction: Array) -> Profile:
    """The kernel as a function of the squared distance from zero in a direction."""
    origin = np.zeros((1, len(direction)))  # on the left: kernels that centre their rows then lose no digits
    return lambda r2: kernel(origin, np.sqrt(r2).reshape(-1, 1) * direction).reshape(np.shape(r2))


def _length(profile: Profile, table: _Table) -> float:
    """The distance at which the kernel has changed by half; one from the data if it is zero at zero."""
    radii = np.geomspace(1e-9, 1e9, 721)
    with np.errstate(all="ignore"):
        values = profile(np.r_[0.0, radii] ** 2)
    changed = np.abs(values[1:] - values[0]) >= 0.5 * np.abs(values[0])
    if values[0] != 0 and changed.any():
        return float(radii[np.argmax(changed)])
    try:
        return median_distance(table.values)
    except ValueError:
        return 1.0


def _check_radial_spectrum(kernel: Any, table: _Table, n_dims: int) -> float | None:
    """Compare with quadrature, relative to the spectrum at this and all higher frequencies: it may have zeros."""
    stationary = kernel.stationary
    profile = (lambda r2: kernel.of_squared_distance(r2, n_dims)) if stationary else _along(kernel, np.ones(1))
    length = _length(profile, table)
    if n_dims > _MAX_DIMS or (n_dims + 6) * (2 + abs(np.log10(length))) > 280:
        return None
    omega, fine = np.geomspace(0.03, 30, 11) / length, np.geomspace(1e-2, 1e3, 50) / length
    claimed, finely = (_spectrum(kernel, w if stationary else w[:, None], n_dims) for w in (omega, fine))
    numerical = radial_fourier(profile, omega, n_dims)
    envelope = np.array([np.abs(finely[fine >= w]).max() for w in omega])
    negligible = np.full_like(omega, 1e-5 * envelope[omega >= 1 / length][0])
    error = np.abs(numerical - claimed) / np.max([envelope, np.abs(claimed), np.abs(numerical), negligible], axis=0)
    for i in np.flatnonzero(~(error <= 1e-6)):
        if _is_doubtful(profile, float(omega[i]), n_dims, float(numerical[i] - claimed[i])):
            error[i] = np.nan
    if np.nanmax(error, initial=0.0) > 1e-6:
        found = f"a relative difference of {np.nanmax(error):.1e} at frequency {omega[np.nanargmax(error)]:.3g}"
        raise _fail(kernel, "have the spectrum that quadrature gives", found)
    return None if np.isnan(error).all() else float(np.nanmax(error))


def _is_doubtful(profile: Profile, omega: float, n_dims: int, difference: float) -> bool:
    """Whether a difference may come from the quadrature: then tiny changes of the frequency change it at random."""
    return not abs(difference) > 100 * np.ptp(radial_fourier(profile, omega * (1 + 1e-11 * np.arange(6)), n_dims))


def _spectrum(kernel: Any, omega: Array, n_dims: int) -> Array:
    """The claimed spectrum at frequencies, or at vectors of them if the kernel is not radial."""
    with np.errstate(all="ignore"):
        values = np.asarray(kernel.spectrum(omega, n_dims))
    if values.size != len(omega):
        raise _fail(
            kernel, f"give {len(omega)} values of its spectrum for as many frequencies", f"shape {values.shape}"
        )
    values = values.ravel()
    if not np.isfinite(values).all() or not values.any():
        found = "only zeros" if np.isfinite(values).all() else f"{values[~np.isfinite(values)][0]}"
        raise _fail(kernel, "have a spectrum that is finite beyond zero and not zero everywhere", found)
    if values.min() < -1e-12 * np.abs(values).max():
        where = np.array2string(omega[np.argmin(values)], precision=3)
        raise _fail(kernel, "have a non-negative spectrum", f"{values.min():.1e} at frequency {where}")
    return values


def _check_spectral_mean(kernel: Any, table: _Table, n_dims: int) -> float | None:
    """Compare the mean of k under a Gaussian of widths s with that of its spectrum under one of widths 1/s, over Π s.

    The points are those of a lattice that is shifted at random, several times to know the error.
    """
    if n_dims > _MAX_DIMS_MEAN:
        return None
    ratio = 2.0
    for _ in range(60):
        ratio = (1 + ratio) ** (1 / (n_dims + 1))  # the golden ratio, in n_dims dimensions
    lattice = np.arange(2048)[:, None] * ratio ** -np.arange(1.0, n_dims + 1)
    points = ndtri((lattice + np.random.default_rng(0).random((8, 1, n_dims))) % 1.0)
    lengths = np.array([_length(_along(kernel, axis), table) for axis in np.eye(n_dims)])
    largest = 0.0
    for widths in (0.5 * lengths, lengths, 2 * lengths):
        values = kernel(np.zeros((1, n_dims)), (points * widths).reshape(-1, n_dims)).reshape(8, -1)
        spectrum = _spectrum(kernel, (points / widths).reshape(-1, n_dims), n_dims).reshape(8, -1) / np.prod(widths)
        means = np.array([values.mean(axis=1), spectrum.mean(axis=1)])
        scale = np.abs(means.mean(axis=1)).max()
        error, deviation = np.abs(np.diff(means.mean(axis=1))[0]) / scale, means.std(axis=1).sum() / scale
        largest = max(largest, _small(error, 1e-3 + 3 * deviation, kernel, "have a spectrum whose mean is that of k"))
    return float(largest)


def _power_of_two(values: Array) -> Array:
    """The next power of two, 1 for zero."""
    return 2.0 ** np.ceil(np.log2(np.where(values > 0, values, 1.0)))


def _relative(difference: Array, values: Array) -> float:
    scale, error = np.abs(values).max(), np.abs(difference).max()
    return float(error / scale) if scale else float(error)
