"""Classes of functions: whatever knows how many balls cover it on m points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp

from mercer.capacity.checks import check_norm, check_scale
from mercer.capacity.covers import ball_log_covering, hull_log_covering, log_binomials
from mercer.capacity.deviations import log_growth
from mercer.capacity.filling import log_covering
from mercer.capacity.spectrum import Spectrum
from mercer.parameters import check_count

# Shares of ε that the first of two classes may get; a class of few numbers needs only a small one.
_SHARES = np.concatenate([np.geomspace(0.001, 0.4, 9), [0.5], 1 - np.geomspace(0.4, 0.001, 9)])


class Functions(ABC):
    """A class of functions that can be added to another: sums f + g of their members."""

    @abstractmethod
    def log_covering(self, scale: float, n_samples: int) -> float:
        """Logarithm of a number of balls of radius `scale` that cover the class, in the maximum over the points."""

    def __add__(self, other: Functions) -> Functions:
        return FunctionSum(self, other) if isinstance(other, Functions) else NotImplemented


@dataclass(frozen=True)
class FunctionSum(Functions):
    """Sums of functions of two classes: ln N(ε) ≤ min over τ of ln N_1(τε) + ln N_2((1-τ)ε) [Smola1998]_, eq. (7.51).

    Examples
    --------
    >>> from mercer.capacity import KernelBall, Offsets
    >>> machine = KernelBall(norm=1.0) + Offsets(bound=10.0)
    >>> round(machine.log_covering(0.5, 100), 1)
    23.5
    """

    left: Functions
    right: Functions

    def log_covering(self, scale: float, n_samples: int) -> float:
        """The least over how ε is shared."""
        scale = check_scale(scale, "FunctionSum", "scale")
        return min(
            self.left.log_covering(float(share) * scale, n_samples)
            + self.right.log_covering(float(1 - share) * scale, n_samples)
            for share in _SHARES
        )


@dataclass(frozen=True)
class KernelBall(Functions):
    """Functions of norm Λ or less in the feature space of a kernel with k(x, x) ≤ R².

    Parameters
    ----------
    norm : float
        Λ, ‖f‖ of a fitted machine; fixed before the data were seen if a guarantee is to hold.
    radius : float
        R; 1 for a Gaussian kernel.
    spectrum : Spectrum, optional
        Of the kernel, see `periodic_spectrum`: with it the cover does not grow with the number of points.
    n_outputs : int
        Number of components of vector-valued functions with Σ_j ‖f_j‖² ≤ Λ².

    Examples
    --------
    >>> from mercer.capacity import KernelBall
    >>> ball = KernelBall(norm=1.0)
    >>> round(ball.log_covering(0.2, n_samples=1000), 5), ball.fat_dimension(0.05)
    (127.78632, 400)
    """

    norm: float = 1.0
    radius: float = 1.0
    spectrum: Spectrum | None = field(default=None, kw_only=True)
    n_outputs: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        check_norm(self.norm, "KernelBall")
        check_scale(self.radius, "KernelBall", "radius")
        check_count(self.n_outputs, "n_outputs", "KernelBall")

    def log_covering(self, scale: float, n_samples: int) -> float:
        """The smaller one of the covers on n_samples points and of the spectrum."""
        scale = check_scale(scale, "KernelBall", "scale")
        # Components that are each within ε/√d of the truth are together within ε.
        each = scale / np.sqrt(self.n_outputs)
        points = self.n_outputs * ball_log_covering(each, n_samples, norm=self.norm, radius=self.radius)
        if self.spectrum is None:
            return points
        return min(points, log_covering(self.spectrum, scale, norm=self.norm, n_outputs=self.n_outputs))

    def fat_dimension(self, scale: float) -> int:
        """Most points that can be shattered at margin γ: ⌊Λ²R²/γ²⌋ [Smola1998]_, eq. (8.38)."""
        ratio = self.norm * self.radius / check_scale(scale, "KernelBall", "scale")
        return int(np.floor(ratio**2 * (1 + 1e-12)))


@dataclass(frozen=True)
class KernelHull(Functions):
    """Combinations Σ_j a_j g_j of M functions with Σ abs(a_j) ≤ Λ and abs(g_j) ≤ b: linear programming machines.

    Parameters
    ----------
    norm : float
        Λ, Σ abs(α_i) of a fitted machine.
    bound : float
        b, the largest value of the kernel.
    n_functions : int
        M. Kernel functions at m training rows depend on the data: count 2m with a ghost sample.
    spectrum : Spectrum, optional
        Of the kernel, if the functions are its kernel functions.

    Examples
    --------
    >>> from mercer.capacity import KernelHull
    >>> round(KernelHull(norm=1.0, bound=1.0, n_functions=10).log_covering(0.2, 1000), 3)
    77.062
    """

    norm: float = 1.0
    bound: float = 1.0
    n_functions: int = 1
    spectrum: Spectrum | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_norm(self.norm, "KernelHull")
        check_scale(self.bound, "KernelHull", "bound")
        check_count(self.n_functions, "n_functions", "KernelHull")

    def log_covering(self, scale: float, n_samples: int) -> float:
        """The smaller one of the covers by random combinations and of the spectrum."""
        size = {"norm": self.norm, "bound": self.bound}
        points = hull_log_covering(scale, n_samples, n_functions=self.n_functions, **size)
        if self.spectrum is None:
            return points
        return min(points, log_covering(self.spectrum, scale, norm=self.norm, regularizer="l1"))


@dataclass(frozen=True)
class Offsets(Functions):
    """Constants from -b to b: ⌈b/ε⌉ balls.

    Parameters
    ----------
    bound : float
        b.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import Offsets
    >>> round(float(np.exp(Offsets(bound=1.0).log_covering(0.1, 50))), 6)
    10.0
    """

    bound: float

    def __post_init__(self) -> None:
        check_scale(self.bound, "Offsets", "bound")

    def log_covering(self, scale: float, n_samples: int) -> float:
        """Ln ⌈b/ε⌉, on any number of points."""
        return float(np.log(np.ceil(self.bound / check_scale(scale, "Offsets", "scale") * (1 - 1e-12))))


@dataclass(frozen=True)
class FiniteClass(Functions):
    """n functions.

    Parameters
    ----------
    n_functions : int
        n.
    """

    n_functions: int

    def __post_init__(self) -> None:
        check_count(self.n_functions, "n_functions", "FiniteClass")

    def log_covering(self, scale: float, n_samples: int) -> float:
        """Ln n, at any scale."""
        return float(np.log(self.n_functions))


@dataclass(frozen=True)
class VCClass(Functions):
    """Functions with values ±1 that shatter at most h points.

    Parameters
    ----------
    dimension : int
        h; hyperplanes in d dimensions have d + 1, or d if they pass through the origin [Smola1998]_, eq. (7.41).
    """

    dimension: int

    def __post_init__(self) -> None:
        check_count(self.dimension, "dimension", "VCClass", least=0)

    def log_covering(self, scale: float, n_samples: int) -> float:
        """`log_growth`: different signs are 2 apart, so one ball covers two of them from scale 1 on."""
        if check_scale(scale, "VCClass", "scale") >= 1:
            return 0.0
        return log_growth(n_samples, self.dimension)


@dataclass(frozen=True)
class PseudoDimension(Functions):
    """Functions with values in [0, W] whose sets of points below their graphs shatter at most h points.

    Parameters
    ----------
    dimension : int
        h.
    width : float
        W, length of the range.
    """

    dimension: int
    width: float = 1.0

    def __post_init__(self) -> None:
        check_count(self.dimension, "dimension", "PseudoDimension")
        check_scale(self.width, "PseudoDimension", "width")

    def log_covering(self, scale: float, n_samples: int) -> float:
        """Ln Σ_{i≤h} C(m, i) (W/ε)^i, in the maximum over the points [Anthony1999]_, theorem 12.2."""
        ratio = self.width / check_scale(scale, "PseudoDimension", "scale")
        if ratio <= 2:
            return 0.0
        i = np.arange(1.0, min(self.dimension, check_count(n_samples, "n_samples", "PseudoDimension")) + 1)
        return float(logsumexp(log_binomials(n_samples, i) + i * np.log(ratio)))

    def log_mean_covering(self, scale: float) -> float:
        """Ln of e(h+1)(2eW/ε)^h: a cover in the mean of abs(f - g) over any points [Haussler1995]_.

        It is smaller than that of [Smola1998]_, eq. (7.47).
        """
        ratio = self.width / check_scale(scale, "PseudoDimension", "scale")
        if ratio <= 2:
            return 0.0
        return float(1 + np.log(self.dimension + 1) + self.dimension * np.log(2 * np.e * ratio))
