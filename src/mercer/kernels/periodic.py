"""Periodic kernels: for angles, hours of the day, and circular or toroidal latent spaces."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import pi
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array
from mercer.kernels.base import Kernel, Sides
from mercer.kernels.columnwise import ColumnProduct, frequency_vectors, product_rule

_MAX_TERMS = 10_000
_NEGLIGIBLE = 1e-17
# Values of a kernel that are computed at once.
_AT_ONCE = 2**17


class PeriodicGaussian(Kernel):
    """Periodic Gaussian Σ_n exp(-(2π|n| width / period)² / 2) cos(2π nᵀ(x - y) / period), n ≠ 0 counted up to sign.

    Parameters
    ----------
    width : float or list of float
        Width in the units of the data, for all columns or for each.
    period : float or list of float
        Period of the columns, for all or for each.

    Notes
    -----
    In one dimension and with period 2π this is eq. (3.33) of [Smola1998]_, Σ_{n≥1} exp(-n² width² / 2) cos(n(x - y)):
    the kernel of the penalty on all derivatives of a periodic function, without the constant, which that penalty does
    not see. `Periodized(Gaussian(width), period)` is, up to a factor, the same with the constant. In several dimensions
    the frequencies are all whole vectors but zero. Sums are taken over frequencies or over images, whichever needs
    fewer terms: never more than seven.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import PeriodicGaussian
    >>> kernel = PeriodicGaussian(width=1.0, period=2 * np.pi)
    >>> kernel([[0.0], [2 * np.pi]]).round(3)
    array([[0.753, 0.753],
           [0.753, 0.753]])
    """

    translation_invariant = True
    _float64_inside = True

    def __init__(self, width: Any = 1.0, period: Any = 2 * pi):
        self.width = width
        self.period = period

    def eigenvalues(self, index: ArrayLike, n_dims: int = 1) -> Array:
        """Eigenvalues of the integral operator over one period, for frequencies `index`.

        Parameters
        ----------
        index : array_like
            Whole numbers of any shape in one dimension, whole vectors of shape (..., n_dims) in several.
        n_dims : int
            The number of columns.
        """
        index = frequency_vectors(self, index, n_dims)
        width, period = self._per_column(n_dims)
        values = np.prod(period) / 2 * np.exp(-0.5 * np.sum((2 * pi * index * width / period) ** 2, axis=-1))
        return np.where(np.any(index != 0, axis=-1), values, 0.0)

    def _tile(self, left: Array, right: Array) -> Array:
        width, period = self._per_column(left.shape[1])
        # Π_c (1 + t_c) - 1, in a form that keeps small t_c.
        total = np.zeros((len(left), len(right)))
        for c in range(left.shape[1]):
            t = _theta(2 * pi / period[c] * (left[:, [c]] - right[:, c]), 2 * pi * width[c] / period[c])
            total += t + total * t
        total *= 0.5
        return total

    def _diagonal(self, left: Array, right: Array) -> Array:
        return np.full(len(left), self._tile(left[:1], left[:1])[0, 0])

    def _gradient(self, X: Array, Y: Array) -> Array:
        width, period = self._per_column(X.shape[1])
        angles = [2 * pi / period[c] * (X[:, [c]] - Y[:, c]) for c in range(X.shape[1])]
        widths = 2 * pi * width / period
        factors = [1 + _theta(angle, s) for angle, s in zip(angles, widths, strict=True)]
        slopes = [pi / v * _theta_slope(angle, s) for angle, s, v in zip(angles, widths, period, strict=True)]
        return product_rule(factors, slopes)

    def _per_column(self, n_columns: int) -> tuple[Array, Array]:
        width = np.broadcast_to(self._positive_per_column("width", n_columns), n_columns)
        return width, np.broadcast_to(self._positive_per_column("period", n_columns), n_columns)


def _theta(angle: Array, s: float) -> Array:
    """2 Σ_{n≥1} exp(-n² s² / 2) cos(n angle), by frequencies for wide and by images for narrow kernels."""
    if s > 1.5:
        return 2 * cosine_series(angle, _theta_coefficients(s))
    total = np.full_like(angle, -1.0)
    for image in _images(angle, s):
        total += np.sqrt(2 * pi) / s * np.exp(-0.5 * (image / s) ** 2)
    return total


def _theta_slope(angle: Array, s: float) -> Array:
    """Derivative of `_theta` with respect to the angle."""
    if s > 1.5:
        return 2 * cosine_series_slope(angle, _theta_coefficients(s))
    total = np.zeros_like(angle)
    for image in _images(angle, s):
        total -= np.sqrt(2 * pi) / s**3 * image * np.exp(-0.5 * (image / s) ** 2)
    return total


def _theta_coefficients(s: float) -> Array:
    n = np.arange(int(9 / s) + 2)
    return np.where(n > 0, np.exp(-0.5 * (n * s) ** 2), 0.0)


def _images(angle: Array, s: float) -> list[Array]:
    """The angle, brought to [-π, π], and its copies that lie within nine widths."""
    angle = angle - 2 * pi * np.round(angle / (2 * pi))
    n = int(np.ceil(9 * s / (2 * pi) + 0.5))
    return [angle + 2 * pi * j for j in range(-n, n + 1)]


class Dirichlet(ColumnProduct):
    """Dirichlet kernel Π_c [1 + 2 Σ_{j=1..order} cos(2πj (x_c - y_c) / period)].

    Parameters
    ----------
    order : int
        Highest frequency; the kernel spans the 2 order + 1 Fourier functions up to it and weighs them equally.
    period : float or list of float
        Period of the columns, for all or for each.

    Notes
    -----
    [Smola1998]_, eq. (3.31), whose sum starts at 0 by mistake. It damps no frequency up to its order and so overfits
    easily. The parameter is read by ``get_params()["order"]``: the attribute `order` of a kernel is that of its
    conditional positivity, which is 0 here.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Dirichlet
    >>> Dirichlet(order=2)([[0.0], [np.pi]]).round(12)
    array([[5., 1.],
           [1., 5.]])
    """

    def __init__(self, order: int = 1, period: Any = 2 * pi):
        self.highest_frequency = order
        self.period = period

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""
        return {"order": self.highest_frequency, "period": self.period}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name."""
        if "order" in params:
            self.highest_frequency = params.pop("order")
        return super().set_params(**params)

    def eigenvalues(self, index: ArrayLike, n_dims: int = 1) -> Array:
        """Eigenvalues of the integral operator over one period: the period (or volume) up to the order, then 0."""
        index = frequency_vectors(self, index, n_dims)
        period = np.broadcast_to(self._positive_per_column("period", n_dims), n_dims)
        return np.prod(np.where(np.abs(index) <= self._order(), period, 0.0), axis=-1)

    def _of_difference(self, delta: Array, column: int, n_columns: int) -> Array:
        return 2 * cosine_series(self._to_angle(column, n_columns) * delta, self._coefficients())

    def _slope(self, delta: Array, column: int, n_columns: int) -> Array:
        to_angle = self._to_angle(column, n_columns)
        return 2 * to_angle * cosine_series_slope(to_angle * delta, self._coefficients())

    def _coefficients(self) -> Array:
        coefficients = np.ones(self._order() + 1)
        coefficients[0] = 0.5
        return coefficients

    def _to_angle(self, column: int, n_columns: int) -> float:
        return 2 * pi / float(np.broadcast_to(self._positive_per_column("period", n_columns), n_columns)[column])

    def _order(self) -> int:
        order = self.highest_frequency
        if isinstance(order, bool) or not isinstance(order, int | np.integer) or order < 0:
            raise self._complain("order", "a whole number >= 0", order, "give the highest frequency")
        return int(order)


class Periodized(Kernel):
    """Periodic version Σ_n kernel(x - y + period n) of a kernel, n running over all whole vectors.

    Parameters
    ----------
    kernel : Kernel
        A translation invariant kernel that falls fast enough for the sum to exist.
    period : float
        Period of all columns.

    Notes
    -----
    [Smola1998]_, eq. (3.34). Its eigenvalues are (2π)^(d/2) F[kernel](2πn / period): Poisson's sum formula. In one
    dimension the sum is taken over images or over frequencies, whichever needs fewer terms; in several over images,
    whose number grows like a power of the dimension (sums or products of kernels ``.on`` single columns do not).

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Periodized
    >>> Periodized(Gaussian(width=0.2), period=2.0)([[-1.0], [0.0], [1.0]]).round(3)
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    translation_invariant = True
    _float64_inside = True

    def __init__(self, kernel: Kernel, period: float = 2 * pi):
        self.kernel = kernel
        self.period = period

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """0 if the kernel is positive definite, else None."""
        return 0 if self.kernel.order == 0 else None

    @property
    def differentiable(self) -> bool:  # type: ignore[override]
        """That of the kernel."""
        return self.kernel.differentiable

    def eigenvalues(self, index: ArrayLike, n_dims: int = 1) -> Array:
        """Eigenvalues (2π)^(d/2) F[kernel](2πn / period) of the integral operator over one period.

        Parameters
        ----------
        index : array_like
            Whole numbers n of any shape in one dimension, whole vectors of shape (..., n_dims) in several.
        n_dims : int
            The number of columns.
        """
        if not self.kernel.has_spectrum:
            raise self._complain("kernel", "one with a spectrum", self.kernel, "only then its eigenvalues are known")
        omega = 2 * pi / self._positive("period") * frequency_vectors(self, index, n_dims)
        if self.kernel.stationary:
            omega = np.linalg.norm(omega, axis=-1)
        elif n_dims == 1:
            omega = omega[..., 0]
        return (2 * pi) ** (n_dims / 2) * np.asarray(self.kernel.spectrum(omega, n_dims))

    def _prepare(self, X: Any, Y: Any) -> Sides:
        if not self.kernel.translation_invariant:
            raise self._complain("kernel", "translation invariant", self.kernel, "choose one that is")
        sides, period = super()._prepare(X, Y), self._positive("period")
        return Sides(sides.left % period, sides.right % period, sides.shape, sides.dtype)

    def _tile(self, left: Array, right: Array) -> Array:
        period = self._positive("period")
        n_images = self._n_images(left.shape[1])
        coefficients = self._fourier_coefficients(n_images) if left.shape[1] == 1 else None
        if coefficients is not None:
            return cosine_series(2 * pi / period * (left - right.T), coefficients)
        return self._sum_over_images(lambda images: self.kernel(images, right), left, n_images, (len(right),))

    def _diagonal(self, left: Array, right: Array) -> Array:
        return np.full(len(left), self._tile(left[:1], left[:1])[0, 0])

    def _gradient(self, X: Array, Y: Array) -> Array:
        period = self._positive("period")
        n_images = self._n_images(X.shape[1])
        coefficients = self._fourier_coefficients(n_images) if X.shape[1] == 1 else None
        if coefficients is not None:
            return (2 * pi / period * cosine_series_slope(2 * pi / period * (X - Y.T), coefficients))[..., None]
        X, Y = X % period, Y % period
        return self._sum_over_images(lambda images: self.kernel.gradient(images, Y), X, n_images, (len(Y), X.shape[1]))

    def _sum_over_images(
        self, values_of: Callable[[Array], Array], X: Array, n_images: int | None, shape: tuple[int, ...]
    ) -> Array:
        """Sum of values_of(rows), with this shape for each row, over the images of the rows of X.

        Many images at once where rows are few: a call of the kernel would take longer than what it computes.
        """
        total, shifts = np.zeros((len(X), *shape)), self._shifts(n_images, X.shape[1])
        step = max(1, _AT_ONCE // max(1, total.size))
        for start in range(0, len(shifts), step):
            images = shifts[start : start + step, None] + X
            total += values_of(images.reshape(-1, X.shape[1])).reshape(-1, *total.shape).sum(axis=0)
        return total

    def _shifts(self, n_images: int | None, n_columns: int) -> Array:
        """Translations to all images that matter, one in each row."""
        if n_images is None or (2 * n_images + 1) ** n_columns > _MAX_TERMS:
            raise self._complain(
                "kernel", "one whose sum over images converges soon", self.kernel, "choose one that falls faster "
                "within the period, or a sum of kernels on single columns"
            )  # fmt: skip
        steps = self._positive("period") * np.arange(-n_images, n_images + 1)
        return np.array(list(product(steps, repeat=n_columns)))

    def _n_images(self, n_columns: int) -> int | None:
        """Number of images to each side beyond which the sum changes nothing, None if there are too many."""
        # All of the first, and then as many as tell to within a few per cent.
        n = np.unique(np.geomspace(1, _MAX_TERMS // 2, 200).astype(int))
        # Rows lie within one period, so that image n is at least n - 1 periods away. Zeros of the kernel on a lattice
        # must not pass for its end: look between the lattice points too. n^d bounds how many images there are.
        distances = self._positive("period") * (n - 1 + np.array([[0.0], [0.29], [0.5], [0.83]])).ravel()
        origin = np.zeros((1, n_columns))
        values = np.max(
            [np.abs(self.kernel(np.outer(distances, axis), origin)).reshape(4, -1) for axis in np.eye(n_columns)],
            axis=(0, 1),
        )
        matters = np.flatnonzero(values * n_columns * n.astype(float) ** n_columns > _NEGLIGIBLE * values[0])
        return int(n[matters[-1] + 1]) - 1 if matters[-1] < len(n) - 1 else None

    def _fourier_coefficients(self, n_images: int | None) -> Array | None:
        """Coefficients of the cosine series in one dimension if it is shorter than the sum over images, else None."""
        if not self.kernel.has_spectrum or (n_images is not None and n_images <= 8):
            return None
        limit = _MAX_TERMS if n_images is None else 4 * n_images
        for n_terms in sorted({min(limit, size) for size in (16, 256, 2048, _MAX_TERMS)}):
            eigenvalues = self.eigenvalues(np.arange(n_terms))
            if not np.isfinite(eigenvalues[0]):
                remedy = "choose a kernel that falls faster than 1/r"
                raise self._complain("kernel", "integrable to be made periodic", self.kernel, remedy)
            # j λ_j bounds the tail of a series that falls faster than 1/j²; a zero or two of the spectrum is no tail.
            matters = np.abs(eigenvalues) * np.arange(n_terms) > _NEGLIGIBLE * eigenvalues[0]
            n_kept = int(np.max(np.flatnonzero(matters), initial=0)) + 1
            if 2 * n_kept <= n_terms:
                coefficients = 2 / self._positive("period") * eigenvalues[:n_kept]
                coefficients[0] /= 2
                return coefficients
        return None


def cosine_series(angle: Array, coefficients: Array) -> Array:
    """Σ_j coefficients[j] cos(j angle), by Clenshaw's recurrence."""
    twice_cosine = 2 * np.cos(angle)
    current, following = np.zeros_like(angle), np.zeros_like(angle)
    for coefficient in coefficients[:0:-1]:
        current, following = coefficient + twice_cosine * current - following, current
    return coefficients[0] + 0.5 * twice_cosine * current - following


def cosine_series_slope(angle: Array, coefficients: Array) -> Array:
    """Derivative -Σ_j j coefficients[j] sin(j angle) of a cosine series, by Clenshaw's recurrence."""
    twice_cosine = 2 * np.cos(angle)
    current, following = np.zeros_like(angle), np.zeros_like(angle)
    for j in range(len(coefficients) - 1, 0, -1):
        current, following = j * coefficients[j] + twice_cosine * current - following, current
    return -np.sin(angle) * current
