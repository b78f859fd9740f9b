"""The ε and ν that suit a kind of noise best."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

_NAMES = {"normal": 2.0, "laplace": 1.0, "uniform": np.inf}
_REMEDY = "give a power p > 0, 'normal', 'laplace', 'uniform', or a frozen distribution of scipy.stats"
# Tails P(|x| > τ) at which the variance is tried: finely in the bulk, geometrically towards the edge.
_TAILS = np.concatenate([np.linspace(1.0, 1e-2, 400), np.geomspace(1e-2, 1e-8, 120)[1:]])
_TIE = 1e-7


def optimal_epsilon(noise: Any) -> float:
    """The ε for which ε-insensitive loss estimates a location with the least asymptotic variance.

    ε = argmin over τ >= 0 of P(|x| > τ) / (2 p(τ))², where p is the density of the noise x.

    Parameters
    ----------
    noise : float, str or frozen distribution
        A power p, for noise with density ∝ exp(-|x|^p) scaled to unit variance; "normal" (p = 2), "laplace" (p = 1)
        or "uniform" (p = ∞), of unit variance; or any frozen continuous distribution of `scipy.stats` that is
        symmetric about its mean.

    Returns
    -------
    float
        ε, in units of the standard deviation, or for a distribution in its own units. For noise that ends abruptly
        it is the edge: with uniform noise everything but the largest errors is uninformative.

    Notes
    -----
    [Smola1998]_, (2.24), which must be a maximum there, and table 2.3. Where the kind of noise is known but not its
    scale, ν is the better parameter (`optimal_nu`).

    Examples
    --------
    >>> from scipy import stats
    >>> from mercer.losses import optimal_epsilon
    >>> round(optimal_epsilon("normal"), 4)
    0.612
    >>> round(optimal_epsilon(stats.norm(scale=3.0)), 4)
    1.836
    >>> optimal_epsilon("laplace")
    0.0
    """
    return _optimum(_distribution(noise, "optimal_epsilon"), "optimal_epsilon")[0]


def optimal_nu(noise: Any) -> float:
    """The ν, fraction of samples outside the tube, of the asymptotically best ε-insensitive loss: P(|x| > ε).

    Parameters
    ----------
    noise : float, str or frozen distribution
        As for `optimal_epsilon`. The scale of a distribution does not matter.

    Returns
    -------
    float
        ν between 0 (uniform noise) and 1 (Laplacian noise).

    Notes
    -----
    [Smola1998]_, sections 2.3.3 and 2.3.4, table 2.3.

    Examples
    --------
    >>> from mercer.losses import optimal_nu
    >>> [round(optimal_nu(p), 4) for p in (1, 2, 3)]
    [1.0, 0.5405, 0.2909]
    """
    return _optimum(_distribution(noise, "optimal_nu"), "optimal_nu")[1]


def _distribution(noise: Any, function: str) -> Any:
    if isinstance(noise, str) and noise in _NAMES:
        noise = _NAMES[noise]
    if isinstance(noise, Real) and not isinstance(noise, bool) and float(noise) > 0:
        return _generalised_normal(float(noise))
    if all(hasattr(noise, method) for method in ("pdf", "cdf", "sf", "isf", "mean", "support")):
        return noise
    raise ValueError(f"noise of {function} must be a kind of noise, got {noise!r}; {_REMEDY}.")


def _generalised_normal(p: float) -> Any:
    """Density ∝ exp(-|x|^p) of unit variance; uniform for p = ∞."""
    if np.isinf(p):
        return stats.uniform(-np.sqrt(3.0), 2.0 * np.sqrt(3.0))
    return stats.gennorm(p, scale=float(np.exp(0.5 * (gammaln(1.0 / p) - gammaln(3.0 / p)))))


def _optimum(distribution: Any, function: str) -> tuple[float, float]:
    """The best τ, the smallest if there are several, and P(|x| > τ)."""
    with np.errstate(all="ignore"):
        centre = _centre(distribution, function)

        def tail(tau: Any) -> Any:
            return distribution.sf(centre + tau) + distribution.cdf(centre - tau)

        def log_variance(tau: Any) -> Any:
            values = np.log(tail(tau)) - 2.0 * np.log(2.0 * distribution.pdf(centre + tau))
            return np.where(np.isnan(values), np.inf, values)

        taus = np.maximum(distribution.isf(_TAILS / 2.0) - centre, 0.0)
        taus[0] = 0.0
        values = log_variance(taus)
        best = int(np.argmax(values <= values.min() + _TIE))
        if best == len(taus) - 1:  # the variance vanishes at the edge of a compact support
            return float(distribution.support()[1] - centre), 0.0
        found = minimize_scalar(
            log_variance,
            bounds=(taus[max(best - 1, 0)], taus[best + 1]),
            method="bounded",
            options={"xatol": 1e-10 * taus[len(taus) // 2]},
        )
        tau = float(found.x) if found.fun < values[best] - 1e-13 else float(taus[best])
        return tau, float(tail(tau)) if tau else 1.0


def _centre(distribution: Any, function: str) -> float:
    """The point about which the density is symmetric: its mean, or its median where it has no mean."""
    centre = np.asarray(distribution.mean(), dtype=np.float64)
    centre = np.where(np.isfinite(centre), centre, distribution.isf(0.5))
    if centre.ndim or not np.isfinite(centre):
        raise ValueError(f"noise of {function} must be one distribution, got {np.shape(centre)}; {_REMEDY}.")
    reach = distribution.isf([0.4, 0.25, 0.1, 0.01]) - centre
    if not np.allclose(distribution.sf(centre + reach), distribution.cdf(centre - reach), rtol=1e-5, atol=1e-7):
        raise ValueError(
            f"noise of {function} must be symmetric about its mean, got {_name(distribution)} with tails that differ; "
            "look for the best loss among Quantile and Expectile instead."
        )
    return float(centre)


def _name(distribution: Any) -> str:
    return getattr(getattr(distribution, "dist", None), "name", type(distribution).__name__)
