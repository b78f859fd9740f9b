"""Capacity of a kernel class on a sample, from the eigenvalues of its Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array
from mercer.capacity.checks import check_gram, check_norm, check_scale
from mercer.capacity.covers import ball_log_covering
from mercer.capacity.ellipsoids import packing_log_covering, volume_log_covering
from mercer.capacity.filling import log_covering
from mercer.capacity.searches import least_of
from mercer.capacity.spectrum import Spectrum
from mercer.parameters import check_choice, is_number

_NOISE = 1e-13
_MAX_SIGNS = 22


class Covering(NamedTuple):
    """A covering number of functions on a sample.

    Attributes
    ----------
    value : float
        Upper bound on ln N(ε).
    method : str
        Which cover it is: "trivial", "box", "ellipsoid", "truncated" or "ball".
    lower : float
        Lower bound on ln N(ε).
    """

    value: float
    method: str
    lower: float


@dataclass(frozen=True, eq=False)
class SampleCapacity:
    """What functions of norm Λ can do on the rows of a Gram matrix; `SampleCapacity.of(K)` makes one.

    Parameters
    ----------
    K : array of shape (m, m)
        Gram matrix; for guarantees, that of training and test rows together.
    eigenvalues, eigenvectors : array
        Of K, descending; eigenvalues below 1e-13 of the largest are rounding noise and zero.
    norm : float
        Λ.

    Notes
    -----
    One symmetric eigenproblem, O(m³); then O(m²) for each covering number.
    """

    K: Array
    eigenvalues: Array
    eigenvectors: Array
    norm: float = 1.0

    @classmethod
    def of(cls, K: ArrayLike, *, norm: float = 1.0) -> SampleCapacity:
        """Solve the eigenproblem of a positive definite Gram matrix.

        Parameters
        ----------
        K : array_like of shape (m, m)
            ``kernel(X)``.
        norm : float
            Λ, the largest ‖f‖.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.capacity import SampleCapacity
        >>> from mercer.kernels import Gaussian
        >>> X = np.linspace(-1, 1, 10)[:, None]
        >>> capacity = SampleCapacity.of(Gaussian(0.5)(X))
        >>> round(capacity.effective_dimension(0.1), 6), round(capacity.rademacher(exact=True), 6)
        (4.580756, 0.297395)
        """
        matrix = check_gram(K, "SampleCapacity")
        # What rounding makes of zero eigenvalues, in the precision in which K was computed.
        noise = 20 * float(np.finfo(np.float32).eps) if getattr(K, "dtype", None) == np.float32 else _NOISE
        values, vectors = np.linalg.eigh(matrix)
        values, vectors = values[::-1], vectors[:, ::-1]
        if values[-1] < -max(1e-8, noise) * values[0]:
            raise ValueError(
                f"K of SampleCapacity must have no negative eigenvalue, got {values[-1]:.3g}; project the polynomials "
                "out of a conditionally positive kernel first, and add Offsets for them."
            )
        values = np.where(values > noise * values[0], values, 0.0)
        return cls(matrix, values, vectors, check_norm(norm, "SampleCapacity"))

    @property
    def n_samples(self) -> int:
        """Number m of rows."""
        return len(self.K)

    @cached_property
    def radius(self) -> float:
        """R, the largest sqrt(k(x, x))."""
        return float(np.sqrt(self.K.diagonal().max()))

    @cached_property
    def radii(self) -> Array:
        """Half sides b_i = sqrt(μ_i) max_s abs(u_si) of the box of principal components in which the sample lies.

        The radii of [Smola1998]_, section 8.4.3.
        """
        return np.sqrt(self.eigenvalues) * np.abs(self.eigenvectors).max(axis=0)

    @cached_property
    def n_components(self) -> int:
        """Number of eigenvalues that are not zero."""
        return int(np.count_nonzero(self.eigenvalues))

    @cached_property
    def _truncations(self) -> tuple[Array, Array]:
        """For J = 1, 2, ...: the largest norm that remains, max_s sqrt(Σ_{i>J} μ_i u_si²), and q_J = max_s Σ u_si²."""
        squares = np.square(self.eigenvectors[:, : self.n_components])
        rest = np.cumsum((squares * self.eigenvalues[: self.n_components])[:, ::-1], axis=1)[:, ::-1].max(axis=0)
        return np.sqrt(np.append(rest[1:], 0.0)), np.cumsum(squares, axis=1).max(axis=0)

    def log_covering(self, epsilon: float, metric: str = "max") -> Covering:
        """Logarithm of the number of balls of radius ε that cover the functions of norm Λ on the sample.

        Parameters
        ----------
        epsilon : float
            Radius of the balls.
        metric : {"max", "mean_square"}
            Distance of two functions: the largest difference on a row, or the root of the mean square.

        Returns
        -------
        Covering
            The smallest of several covers: the box with sides `radii` by water filling; the ellipsoid with axes
            Λ sqrt(μ_i) in ℓ_2; the same truncated at the best J; the perceptron of `ball_log_covering`. They are all
            below that of [Smola1998]_, eq. (8.42) to (8.45).

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.capacity import SampleCapacity
        >>> from mercer.kernels import Gaussian
        >>> capacity = SampleCapacity.of(Gaussian(0.5)(np.linspace(-1, 1, 50)[:, None]))
        >>> capacity.log_covering(0.1).method
        'truncated'
        """
        owner = "SampleCapacity"
        epsilon = check_scale(epsilon, owner)
        check_choice(metric, ("max", "mean_square"), "metric", owner)
        axes = self.norm * np.sqrt(self.eigenvalues[: self.n_components])
        mean_axes = axes / np.sqrt(self.n_samples)
        lower = volume_log_covering(mean_axes, epsilon)
        if metric == "mean_square":
            covers = {"ellipsoid": packing_log_covering(mean_axes, epsilon)}
            trivial = mean_axes[0]
        else:
            covers = {
                "box": log_covering(Spectrum.of(self.radii**2), epsilon, norm=self.norm, method="water"),
                "ellipsoid": packing_log_covering(axes, epsilon),
                "truncated": self._truncated(axes, epsilon),
                "ball": ball_log_covering(epsilon, self._n_distinct, norm=self.norm, radius=self.radius),
            }
            trivial = self.norm * self.radius
        if epsilon >= trivial:
            return Covering(0.0, "trivial", 0.0)
        method = min(covers, key=covers.__getitem__)
        return Covering(covers[method], method, min(lower, covers[method]))

    def _truncated(self, axes: Array, epsilon: float) -> float:
        rest, q = self._truncations
        left = epsilon - self.norm * rest

        def cover(j: int) -> float:
            return packing_log_covering(axes[: j + 1] * np.sqrt(q[j]), float(left[j]))

        possible = np.flatnonzero(left > 0)
        return least_of(cover, int(possible[0]), len(left) - 1)

    @cached_property
    def _n_distinct(self) -> int:
        """Number of rows whose functions differ; equal rows of K are equal rows of the sample."""
        return len(np.unique(self.K, axis=0))

    def rademacher(self, *, exact: bool = False) -> float:
        """Rademacher average (Λ/m) E sqrt(σᵀKσ) of the class, or its bound Λ sqrt(tr K)/m.

        Parameters
        ----------
        exact : bool
            Whether to go through all 2^m signs, for up to 22 rows. The bound is at most √2 times the average.
        """
        m = self.n_samples
        if not exact:
            return self.norm * float(np.sqrt(np.trace(self.K))) / m
        if m > _MAX_SIGNS:
            raise ValueError(
                f"exact of SampleCapacity.rademacher must be False for more than {_MAX_SIGNS} rows, got {m}; the bound "
                "is at most a factor of 1.42 larger."
            )
        total, factor = 0.0, (self.eigenvectors * np.sqrt(self.eigenvalues)).T
        for block in np.array_split(np.arange(2 ** (m - 1)), max(1, 2 ** (m - 1) // 2**14)):
            signs = 1.0 - 2.0 * ((block[:, None] >> np.arange(m)) & 1)
            total += float(np.linalg.norm(signs @ factor.T, axis=1).sum())
        return self.norm * total / 2 ** (m - 1) / m

    def effective_dimension(self, penalty: float) -> float:
        """Σ μ_i/(μ_i + λ): how many directions a machine with penalty λ = 1/C leaves free.

        Parameters
        ----------
        penalty : float
            λ >= 0; at 0 the rank of K.
        """
        if not is_number(penalty) or penalty < 0:
            raise ValueError(
                f"penalty of effective_dimension must be a number >= 0, got {penalty!r}; give 1/C of the machine."
            )
        values = self.eigenvalues[: self.n_components]
        return float(np.sum(values / (values + penalty)))


def hull_rademacher(K: ArrayLike, *, norm: float = 1.0) -> float:
    """Bound Λ max_j ‖K_:j‖ sqrt(2 ln 2M)/m on the Rademacher average of the hull of the columns of K.

    Parameters
    ----------
    K : array_like of shape (m, M)
        Values of the M functions on m rows, as ``kernel(X, centres)``.
    norm : float
        Λ, bound on Σ abs(α_j).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import hull_rademacher
    >>> round(hull_rademacher(np.ones((100, 5))), 4)
    0.2146
    """
    values: Any = np.asarray(K, dtype=np.float64)
    if values.ndim != 2 or not values.size or not np.isfinite(values).all():
        raise ValueError(
            f"K of hull_rademacher must be a finite matrix, got shape {values.shape}; give kernel(X, centres)."
        )
    m, n_functions = values.shape
    longest = float(np.linalg.norm(values, axis=0).max())
    return check_norm(norm, "hull_rademacher") * longest * float(np.sqrt(2 * np.log(2 * n_functions))) / m
