"""What can be promised of principal manifolds: deviation and expected excess of the quantization error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erfcx, gammaln

from mercer.capacity.checks import check_delta, check_norm, check_scale
from mercer.capacity.classes import Functions
from mercer.capacity.deviations import Deviation
from mercer.capacity.filling import REGULARIZERS, log_covering
from mercer.capacity.periods import best_period
from mercer.capacity.searches import least_along
from mercer.capacity.spectra import periodic_spectrum
from mercer.capacity.spectrum import Spectrum
from mercer.parameters import check_choice, check_count

# Radii of covers that are tried, in units of the largest cost.
_RADII = np.geomspace(1e-6, 1.0, 31)
_BITS = 40 * np.log(2)


@dataclass(frozen=True)
class ManifoldClass(Functions):
    """Maps f from a latent space to d columns with Σ_c ‖f_c‖² ≤ Λ², or Σ_j ‖α_j‖ ≤ Λ for the l1 regularizer.

    Parameters
    ----------
    spectrum : Spectrum
        Of the latent kernel, periodic or made so.
    norm : float
        Λ: sqrt(2q) where ½‖f‖² ≤ q is required.
    n_outputs : int
        d.
    regularizer : {"rkhs", "l1"}
        Which norm it is.
    wrap_error : float
        By how much functions of the kernel differ from those of the periodic one.
    method : {"best", "water", "truncated"}
        The cover, see `log_covering`.

    Notes
    -----
    ln N(ε) = d times that of one output. Rows are centred beforehand, so that f has no offset of its own.
    """

    spectrum: Spectrum
    norm: float = 1.0
    n_outputs: int = 1
    regularizer: str = "rkhs"
    wrap_error: float = 0.0
    method: str = "best"

    def __post_init__(self) -> None:
        check_norm(self.norm, "ManifoldClass")
        check_count(self.n_outputs, "n_outputs", "ManifoldClass")
        check_choice(self.regularizer, REGULARIZERS, "regularizer", "ManifoldClass")

    @classmethod
    def of(cls, manifold: Any) -> ManifoldClass:
        """The class of all maps whose norm and coefficients are at most those of a fitted manifold.

        Parameters
        ----------
        manifold : PrincipalManifold
            Fitted, on intervals and with a radial kernel. A guarantee holds for norms that were fixed before the data
            were seen; that of the fit shows the order of magnitude.
        """
        kernel: Any = getattr(manifold, "kernel_", None)
        alpha = getattr(manifold, "dual_coef_", None)
        linear = np.size(getattr(manifold, "linear_coef_", ()))
        if alpha is None or linear or not getattr(kernel, "stationary", False):
            raise TypeError(
                f"manifold of ManifoldClass must be a fitted PrincipalManifold with a radial kernel on intervals, and "
                f"no linear part, got {manifold!r}; give the spectrum of the kernel for others: "
                "ManifoldClass(spectrum, norm, n_outputs)."
            )
        nodes = manifold.nodes_
        norm = float(np.sqrt(max(np.sum(alpha * (kernel(nodes) @ alpha)), 0.0)))
        size = float(np.linalg.norm(alpha, axis=1).sum())
        n_dims, n_outputs = nodes.shape[1], alpha.shape[1]
        diameter = 2.0 * np.sqrt(n_dims)
        found = best_period(kernel, diameter, log_n=_BITS, norm=norm, coefficient_norm=size, n_dims=n_dims)
        spectrum = periodic_spectrum(kernel, found.period, n_dims=n_dims)
        larger = float(np.sqrt(norm**2 + size**2 * found.wrap_error))
        return cls(spectrum, larger, n_outputs, wrap_error=size * found.wrap_error)

    def log_covering(self, scale: float, n_samples: int = 1) -> float:
        """Ln N(ε) in the maximum over the latent space, which needs no points."""
        left = check_scale(scale, "ManifoldClass", "scale") - self.wrap_error
        if left <= 0:
            return np.inf
        options = {"norm": self.norm, "regularizer": self.regularizer, "n_outputs": self.n_outputs}
        return log_covering(self.spectrum, left, method=self.method, **options)  # type: ignore[arg-type]


def manifold_deviation(
    functions: Functions, n_samples: int, delta: float, *, radius: float, power: float = 2.0
) -> Deviation:
    """Uniform deviation of quantization errors on m rows from their expectations, for all maps of a class.

    The least η = ε + e_c sqrt((ln(2/δ) + ln N(ε/(2l_c))) / (2m)) over ε, for rows in a ball of radius r and the cost
    ‖x - f(z)‖^p: e_c = (2r)^p, l_c = p(2r)^(p-1).

    Parameters
    ----------
    functions : ManifoldClass
        Or anything else with ``log_covering(scale, n_samples)`` over the latent space.
    n_samples : int
        m.
    delta : float
        Probability of being wrong.
    radius : float
        r.
    power : float
        p ≥ 1.

    Returns
    -------
    Deviation
        value, vacuous, log_covering, scale; the value is at most e_c, and vacuous from r^p on, the largest error of the
        centre of the ball.

    Notes
    -----
    [Smola2001]_, proposition 4, with e_c² where it has e_c and ε/(2l_c) in both places.

    Examples
    --------
    >>> from mercer.capacity import ManifoldClass, manifold_deviation, periodic_spectrum
    >>> from mercer.kernels import Gaussian
    >>> maps = ManifoldClass(periodic_spectrum(Gaussian(0.5), 4.5), norm=1.0, n_outputs=2, method="water")
    >>> round(manifold_deviation(maps, 10_000, 0.05, radius=1.0).value, 5)
    0.41058
    """
    owner = "manifold_deviation"
    m, delta = check_count(n_samples, "n_samples", owner), check_delta(delta, owner)
    largest, slope = _cost_constants(radius, power, owner)

    def deviation(epsilon: float, log_cover: float) -> float:
        return epsilon + largest * float(np.sqrt((np.log(2 / delta) + log_cover) / (2 * m)))

    return _least_over_covers(functions, deviation, (largest, slope), radius**power)


def manifold_excess(
    functions: Functions, n_samples: int, *, radius: float, delta: float | None = None, power: float = 2.0
) -> Deviation:
    """How much larger the expected quantization error of the best map on m rows is than that of the best map of all.

    In expectation, over the least ε: ε + e_c sqrt(2/m) x + e_c sqrt(π/(2m)) erfcx(x), x = sqrt(ln(2(N(ε/(2l_c)) + 1))).
    With probability 1 - δ: ε + e_c sqrt(2 ln(2(N + 1)/δ)/m).

    Parameters
    ----------
    functions, n_samples, radius, power
        As in `manifold_deviation`.
    delta : float, optional
        None gives the expectation.

    Returns
    -------
    Deviation
        value, vacuous, log_covering, scale.

    Notes
    -----
    [Smola2001]_, propositions 5 and 6, with e_c² where they have e_c, and the integral over the tail without losses.

    Examples
    --------
    >>> from mercer.capacity import ManifoldClass, manifold_excess, periodic_spectrum
    >>> from mercer.kernels import Gaussian
    >>> maps = ManifoldClass(periodic_spectrum(Gaussian(0.5), 4.5), norm=1.0, n_outputs=2, method="water")
    >>> [round(manifold_excess(maps, m, radius=1.0).value, 3) for m in (1000, 100_000)]
    [2.149, 0.269]
    """
    owner = "manifold_excess"
    m = check_count(n_samples, "n_samples", owner)
    largest, slope = _cost_constants(radius, power, owner)
    log_delta = 0.0 if delta is None else float(np.log(check_delta(delta, owner)))

    def excess(epsilon: float, log_cover: float) -> float:
        x = float(np.sqrt(np.log(2) + np.logaddexp(log_cover, 0.0) - log_delta))
        tail = float(np.sqrt(np.pi / (2 * m)) * erfcx(x)) if delta is None else 0.0
        return epsilon + largest * (float(np.sqrt(2 / m)) * x + tail)

    return _least_over_covers(functions, excess, (largest, slope), radius**power)


def _cost_constants(radius: float, power: float, owner: str) -> tuple[float, float]:
    """Largest cost e_c and largest slope l_c on a ball."""
    diameter, p = 2 * check_scale(radius, owner, "radius"), check_scale(power, owner, "power")
    if p < 1:
        raise ValueError(f"power of {owner} must be >= 1, got {power!r}; the cost must be convex: take 1 or 2.")
    return diameter**p, p * diameter ** (p - 1)


def _least_over_covers(
    functions: Functions, value: Callable[[float, float], float], constants: tuple[float, float], trivial: float
) -> Deviation:
    """The least value over radii of covers; vacuous if it is not below the error of the centre of the ball."""
    largest, slope = constants

    def at(log_epsilon: float) -> float:
        epsilon = float(np.exp(log_epsilon))
        return value(epsilon, functions.log_covering(epsilon / (2 * slope), 1))

    least, log_epsilon = least_along(at, np.log(largest * _RADII))
    scale = float(np.exp(log_epsilon)) / (2 * slope)
    return Deviation(min(least, largest), least >= trivial, functions.log_covering(scale, 1), scale)


def kegl_log_covering(epsilon: float, *, length: float, n_segments: int, radius: float, n_dims: int) -> float:
    """Logarithm of a number of polygonal curves that stand for all of M segments and length L in a ball of radius r.

    (2Lr/ε + 3M + 1) ln 2 + (M+1) ln V_d + d ln(4r²√d/ε + √d) + Md ln(2rL√d/(Mε) + 3√d), V_d the volume of the unit
    ball.

    Parameters
    ----------
    epsilon : float
        Largest difference of the squared distances of a row from a curve and from the one that stands for it.
    length : float
        L.
    n_segments : int
        M.
    radius : float
        r.
    n_dims : int
        d, number of columns.

    Notes
    -----
    [Smola1998]_, eq. (9.38), prints 2^(2Lr/ε) without 3M + 1 in the exponent, which cannot count the compositions of
    the length; the term is as remembered from the work on principal curves and was not checked against it.
    """
    owner = "kegl_log_covering"
    epsilon, radius = check_scale(epsilon, owner), check_scale(radius, owner, "radius")
    length, d = check_scale(length, owner, "length"), check_count(n_dims, "n_dims", owner)
    n_pieces = check_count(n_segments, "n_segments", owner)
    log_ball = d / 2 * np.log(np.pi) - gammaln(d / 2 + 1)
    ends = d * np.log(4 * radius**2 * np.sqrt(d) / epsilon + np.sqrt(d))
    corners = n_pieces * d * np.log(2 * radius * length * np.sqrt(d) / (n_pieces * epsilon) + 3 * np.sqrt(d))
    lengths = (2 * length * radius / epsilon + 3 * n_pieces + 1) * np.log(2)
    return float(lengths + (n_pieces + 1) * log_ball + ends + corners)
