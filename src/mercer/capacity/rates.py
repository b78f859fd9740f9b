"""How fast entropy numbers fall, from how fast eigenvalues do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc, gammaln

from mercer.capacity.checks import check_log_n, check_scale
from mercer.capacity.filling import REGULARIZERS
from mercer.parameters import check_choice, check_count


@dataclass(frozen=True)
class PolynomialDecay:
    """Eigenvalues in descending order with λ_j ≤ β² j^-(α+1).

    A spectrum that falls like abs(ω)^-s in d dimensions has α + 1 = s/d.

    Parameters
    ----------
    alpha : float
        α > 0.
    beta : float
        β.
    """

    alpha: float
    beta: float = 1.0

    def __post_init__(self) -> None:
        check_scale(self.alpha, "PolynomialDecay", "alpha")
        check_scale(self.beta, "PolynomialDecay", "beta")


@dataclass(frozen=True)
class ExponentialDecay:
    """Eigenvalues exp(-κ‖j‖^p) at the whole vectors j of d dimensions.

    A Gaussian of width σ and period v has κ = (2πσ/v)²/2 and p = 2.

    Parameters
    ----------
    rate : float
        κ > 0.
    power : float
        p > 0.
    """

    rate: float
    power: float = 2.0

    def __post_init__(self) -> None:
        check_scale(self.rate, "ExponentialDecay", "rate")
        check_scale(self.power, "ExponentialDecay", "power")


Decay = PolynomialDecay | ExponentialDecay


@dataclass(frozen=True)
class EntropyRate:
    """How entropy numbers fall with n, up to a factor 1 + o(1).

    Attributes
    ----------
    exponent, constant : float
        ε_n ≈ constant · (ln n)^-exponent, or -ln ε_n ≈ constant · (ln n)^exponent.
    form : {"power", "exponential"}
        Which of the two.
    """

    exponent: float
    constant: float
    form: str

    def log_entropy_number(self, log_n: float) -> float:
        """Ln ε_n at a natural logarithm of n > 0."""
        log_n = check_log_n(log_n, "EntropyRate")
        if self.form == "power":
            return float(np.log(self.constant) - self.exponent * np.log(log_n))
        return float(-self.constant * log_n**self.exponent)

    @property
    def covering_exponent(self) -> float:
        """The power of 1/ε, or of ln(1/ε), with which ln N(ε) grows."""
        return 1.0 / self.exponent


def entropy_rate(
    decay: Decay, *, n_dims: int = 1, regularizer: str = "rkhs", norm: float = 1.0, scale: float = 1.0
) -> EntropyRate:
    """Rate of `entropy_number` for eigenvalues that fall like a power or exponentially.

    Polynomial: ε_n ≤ 6 Λ C_k β sqrt((α+1)/α) ((α+1)/(2 ln n))^(α/2).
    Exponential: -ln ε_n → (κ/2) r^p with r^(d+p) = 2(d+p) ln n/(p κ V_d), V_d the volume of the unit ball.

    Parameters
    ----------
    decay : PolynomialDecay or ExponentialDecay
        Of the eigenvalues.
    n_dims : int
        d, for `ExponentialDecay`.
    regularizer : {"rkhs", "l1"}
        The ball, or the hull of the kernel functions: the ball at sqrt(n), squared, over 6.
    norm, scale : float
        Λ and C_k; they do not matter for exponential decay.

    Returns
    -------
    EntropyRate
        exponent, constant, form.

    Notes
    -----
    [Smola1998]_, propositions 8.10, 8.11, 8.16, 9.7 and 9.8; the exponents need no δ, and with the l1 regularizer
    polynomial decay gives (ln n)^-α.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import ExponentialDecay, entropy_rate
    >>> rate = entropy_rate(ExponentialDecay(rate=0.5, power=2.0))
    >>> round(rate.exponent, 4), round(rate.constant, 6)
    (0.6667, 0.520021)
    """
    owner = "entropy_rate"
    check_choice(regularizer, REGULARIZERS, "regularizer", owner)
    d, hull = check_count(n_dims, "n_dims", owner), regularizer == "l1"
    if isinstance(decay, PolynomialDecay):
        a = decay.alpha
        unit = check_scale(scale, owner, "scale") * decay.beta
        # D(c) at the level of ln n balls is unit² times this, over (ln n)^α.
        distortion = (a + 1) / a * ((a + 1) / (1.0 if hull else 2.0)) ** a
        constant = 6 * check_scale(norm, owner, "norm") * (unit**2 * distortion if hull else unit * distortion**0.5)
        return EntropyRate(a if hull else a / 2, constant, "power")
    p = decay.power
    log_ball = d / 2 * np.log(np.pi) - gammaln(d / 2 + 1)
    radius_power = 2 * (d + p) / (p * decay.rate) * np.exp(-log_ball)
    constant = decay.rate / 2 * radius_power ** (p / (d + p))
    return EntropyRate(p / (p + d), float(constant * (2 ** (d / (p + d)) if hull else 1.0)), "exponential")


def learning_rate(decay: Decay, *, regularizer: str = "rkhs", n_dims: int = 1) -> float:
    """Exponent γ with which the expected excess of a principal manifold falls: m^-γ, up to logarithms.

    1/2 for exponential decay; for λ_j ≤ β² j^-(α+1) it is α/(2(α+1)) for the quadratic and α/(2α+1) for the l1
    regularizer.

    Parameters
    ----------
    decay : PolynomialDecay or ExponentialDecay
        Of the eigenvalues of the latent kernel.
    regularizer : {"rkhs", "l1"}
        Of the manifold.
    n_dims : int
        Number of latent coordinates; it matters for the logarithm only.

    Notes
    -----
    [Smola2001]_, proposition 6 and corollary 7, whose λ_j = O(j^-α) is one power more; the rate of the l1 regularizer
    is corrected. Curves of bounded length have α = 1: 1/4 and 1/3.

    Examples
    --------
    >>> from mercer.capacity import PolynomialDecay, learning_rate
    >>> learning_rate(PolynomialDecay(1.0)), round(learning_rate(PolynomialDecay(1.0), regularizer="l1"), 4)
    (0.25, 0.3333)
    """
    check_choice(regularizer, REGULARIZERS, "regularizer", "learning_rate")
    check_count(n_dims, "n_dims", "learning_rate")
    if isinstance(decay, ExponentialDecay):
        return 0.5
    return decay.alpha / (2 * decay.alpha + 1) if regularizer == "l1" else decay.alpha / (2 * (decay.alpha + 1))


def gaussian_entropy_number(log_n: float, width: float, period: float, *, n_dims: int = 1) -> float:
    """Entropy number of a Gaussian kernel of period v in closed form: an approximation, not a bound.

    6 sqrt(P(χ²_{d+2} > s²)) with s^(d+2) = 2(d+2) ln n / ((v/(2πσ))^d V_d); within 2.5 % of `entropy_number` without
    its clip for v ≥ 6σ.

    Parameters
    ----------
    log_n : float
        Natural logarithm of the number of balls.
    width, period : float
        σ and v.
    n_dims : int
        d.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import gaussian_entropy_number
    >>> round(gaussian_entropy_number(10 * np.log(2), 1.0, 2 * np.pi, n_dims=2), 2)
    3.7
    """
    owner = "gaussian_entropy_number"
    d, log_n = check_count(n_dims, "n_dims", owner), check_log_n(log_n, owner)
    density = check_scale(period, owner, "period") / (2 * np.pi * check_scale(width, owner, "width"))
    volume = np.pi ** (d / 2) / np.exp(gammaln(d / 2 + 1))
    s = (2 * (d + 2) * log_n / (density**d * volume)) ** (1 / (d + 2))
    return float(6 * np.sqrt(gammaincc(d / 2 + 1, s**2 / 2)))
