"""Guarantees from counts of errors and from margins: held-out rows, sample compression, PAC-Bayes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from scipy.stats import beta, norm

from mercer.arrays import Array
from mercer.capacity.checks import check_delta, check_share
from mercer.capacity.covers import log_binomials
from mercer.capacity.searches import least_count
from mercer.parameters import check_choice, check_count, check_positive, is_number

# Halvings of an interval: to the last digit.
_HALVINGS = 100
# Largest scale μ of a posterior, and how many are tried.
_LARGEST_SCALE, _N_SCALES = 1e4, 200


def binomial_bound(n_errors: int, n_held_out: int, delta: float) -> float:
    """The error rate p that n_errors or fewer of n_held_out rows have with probability δ: P(Bin(n, p) <= k) = δ.

    With probability 1 - δ the error of a fixed model is at most p.

    Parameters
    ----------
    n_errors : int
        k, errors on rows that were drawn independently of the model.
    n_held_out : int
        n.
    delta : float
        Probability of being wrong.

    Notes
    -----
    [Clopper1934]_: exact for any n, and the only tight guarantee on samples of usual size.

    Examples
    --------
    >>> from mercer.capacity import binomial_bound
    >>> round(binomial_bound(3, 100, 0.05), 6)
    0.075711
    """
    owner = "binomial_bound"
    n = check_count(n_held_out, "n_held_out", owner)
    k, delta = _check_errors(n_errors, n, owner), check_delta(delta, owner)
    return _binomial_upper(k, n, delta)


def _binomial_upper(k: float, n: int, delta: float) -> float:
    return 1.0 if k >= n else float(beta.ppf(1.0 - delta, k + 1, n - k))


def samples_for_promise(error: float, delta: float, *, n_errors: int = 0) -> int:
    """How many rows to hold out so that an error below `error` can be promised if at most n_errors of them are wrong.

    Parameters
    ----------
    error : float
        What is to be promised.
    delta : float
        Probability of being wrong.
    n_errors : int
        How many errors there may be.

    Examples
    --------
    >>> from mercer.capacity import samples_for_promise
    >>> samples_for_promise(0.05, 0.05), samples_for_promise(0.05, 0.05, n_errors=3)
    (59, 153)
    """
    owner = "samples_for_promise"
    if not is_number(error) or not 0 < error < 1:
        raise ValueError(f"error of {owner} must be a number between 0 and 1, got {error!r}; give 0.05 for 5 %.")
    k, delta = check_count(n_errors, "n_errors", owner, least=0), check_delta(delta, owner)
    return least_count(lambda n: binomial_bound(k, n, delta) <= error, k + 1)


def samples_to_confirm(error: float, delta: float, *, margin: float) -> int:
    """How many rows to hold out so that an error that is found among them can be promised to be below error + margin.

    Parameters
    ----------
    error : float
        Share of wrong rows that is expected.
    delta : float
        Probability of being wrong.
    margin : float
        How close the promise is to come.

    Examples
    --------
    >>> from mercer.capacity import samples_to_confirm
    >>> samples_to_confirm(0.1, 0.05, margin=0.02)
    822
    """
    owner = "samples_to_confirm"
    error, delta = check_share(error, "error", owner), check_delta(delta, owner)
    margin = check_positive(margin, "margin", owner, "promises are larger than errors that are found")
    if error + margin >= 1.0:
        raise ValueError(f"error + margin of {owner} must be below 1, got {error} + {margin}; lower one of them.")
    # Whole numbers of errors jump with n: one error more than expected is enough for all n from `enough` on.
    enough = least_count(lambda n: _binomial_upper(min(error * n + 1, n), n, delta) <= error + margin)
    while enough > 1 and binomial_bound(int(np.ceil(error * (enough - 1))), enough - 1, delta) <= error + margin:
        enough -= 1
    return enough


def bernstein_bound(losses: ArrayLike, delta: float, *, width: float) -> float:
    """Upper bound on the mean of losses in [0, width] that were measured on held-out rows, from their variance.

    mean + sqrt(2 V ln(2/δ)/n) + 7 width ln(2/δ)/(3 (n - 1)), V the sample variance; at most width.

    Parameters
    ----------
    losses : array_like of shape (n,)
        Losses, which are clipped to [0, width].
    delta : float
        Probability of being wrong.
    width : float
        The largest loss, fixed before the rows were looked at.

    Notes
    -----
    [MaurerPontil2009]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import bernstein_bound
    >>> round(bernstein_bound(np.full(1000, 0.1), 0.05, width=1.0), 4)
    0.1086
    """
    owner = "bernstein_bound"
    delta = check_delta(delta, owner)
    width = check_positive(width, "width", owner, "it is the largest loss")
    values = np.asarray(losses, dtype=np.float64).ravel()
    if not values.size or not np.isfinite(values).all():
        raise ValueError(
            f"losses of {owner} must be finite numbers, one for each row, got {losses!r}; leave such rows out."
        )
    n, values = values.size, np.clip(values, 0.0, width)
    if n == 1:
        return width
    spread = np.sqrt(2.0 * values.var(ddof=1) * np.log(2.0 / delta) / n)
    return float(min(values.mean() + spread + 7.0 * width * np.log(2.0 / delta) / (3.0 * (n - 1)), width))


def compression_bound(n_support: int, n_errors: int, n_samples: int, delta: float) -> float:
    """Upper bound on the error of a machine that n_support of its n_samples training rows determine.

    The other rows are as good as held out, but that the n_support ones were chosen: P(Bin(m - d, p) <= k) = δ' with
    ln δ' = ln δ - ln m - ln C(m, d).

    Parameters
    ----------
    n_support : int
        d, all rows with a coefficient, also those at the bound.
    n_errors : int
        k, errors among the other rows.
    n_samples : int
        m.
    delta : float
        Probability of being wrong.

    Notes
    -----
    [Floyd1995]_. Of use where d/m < .1.

    Examples
    --------
    >>> from mercer.capacity import compression_bound
    >>> round(compression_bound(20, 0, 400, 0.05), 6)
    0.202529
    """
    owner = "compression_bound"
    m, d = check_count(n_samples, "n_samples", owner), check_count(n_support, "n_support", owner, least=0)
    if d > m:
        raise ValueError(f"n_support of {owner} must be at most n_samples = {m}, got {d}; count rows once.")
    k, delta = _check_errors(n_errors, m - d, owner), check_delta(delta, owner)
    if k == m - d:
        return 1.0
    log_delta = np.log(delta) - np.log(m) - log_binomials(m, np.array(d))
    low, high = k / (m - d), 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _log_tail(k, m - d, middle) > log_delta else (low, middle)
    return float(high)


def kl_inverse(q: float, c: float) -> float:
    """The largest p with q ln(q/p) + (1-q) ln((1-q)/(1-p)) <= c.

    Parameters
    ----------
    q : float
        A rate that was observed.
    c : float
        How far the true one may be, c >= 0.

    Examples
    --------
    >>> from mercer.capacity import kl_inverse
    >>> round(kl_inverse(0.1, 0.02), 6)
    0.170384
    """
    q = check_share(q, "q", "kl_inverse")
    if not is_number(c) or c < 0:
        raise ValueError(f"c of kl_inverse must be a number >= 0, got {c!r}; it is a divergence.")
    return float(_kl_inverse(np.array(q), np.array(float(c))))


class PacBayes(NamedTuple):
    """A PAC-Bayes bound.

    Attributes
    ----------
    value : float
        Bound on the error of the Gibbs classifier; twice that bounds the error of the machine.
    scale : float
        The μ for which it is least: the posterior is normal around μ times the direction of the machine.
    gibbs_error : float
        Training error of the Gibbs classifier at that scale.
    """

    value: float
    scale: float
    gibbs_error: float


def pac_bayes_bound(margins: ArrayLike, delta: float, *, form: str = "maurer") -> PacBayes:
    """Bound on the error of a classifier that draws its weights from a normal distribution around those of a machine.

    min over μ of kl⁻¹(q(μ), (μ²/2 + ln(a/δ))/m), where q(μ) is the mean of the normal tail beyond μ γ_i.

    Parameters
    ----------
    margins : array_like of shape (m,)
        γ_i = y_i f(x_i) / (‖w‖ ‖Φ(x_i)‖), in [-1, 1]; an intercept is one more feature of size 1.
    delta : float
        Probability of being wrong.
    form : {"maurer", "langford"}
        a = 2√m [Maurer2004]_, for m >= 8, or m + 1 [Langford2005]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import pac_bayes_bound
    >>> round(pac_bayes_bound(np.full(1000, 0.3), 0.05).value, 5)
    0.05933
    """
    owner = "pac_bayes_bound"
    check_choice(form, ("maurer", "langford"), "form", owner)
    delta, gamma = check_delta(delta, owner), np.asarray(margins, dtype=np.float64).ravel()
    if not gamma.size or not np.all(np.abs(gamma) <= 1.0 + 1e-9):  # also where there is NaN
        raise ValueError(
            f"margins of {owner} must be numbers from -1 to 1, one for each row, got {margins!r}; divide y f(x) by the "
            "norms of the weights and of the features."
        )
    m = gamma.size
    constant = np.log((2.0 * np.sqrt(m) if form == "maurer" and m >= 8 else m + 1.0) / delta)

    def bounds(scales: Array) -> tuple[Array, Array]:
        q = np.array([norm.sf(scale * gamma).mean() for scale in scales])
        return _kl_inverse(q, (0.5 * scales**2 + constant) / m), q

    scales = np.geomspace(1e-3, _LARGEST_SCALE, _N_SCALES)
    for _ in range(4):
        values, q = bounds(scales)
        best = int(np.argmin(values))
        found = PacBayes(float(values[best]), float(scales[best]), float(q[best]))
        scales = np.linspace(scales[max(best - 1, 0)], scales[min(best + 1, len(scales) - 1)], 31)
    return found


def _check_errors(n_errors: Any, n: int, owner: str) -> int:
    k = check_count(n_errors, "n_errors", owner, least=0)
    if k > n:
        raise ValueError(f"n_errors of {owner} must be at most the {n} rows that it counts, got {k}; count rows once.")
    return k


def _log_tail(k: int, n: int, p: float) -> float:
    """Ln P(Bin(n, p) <= k) for 0 < p < 1; minus infinity for p = 1."""
    if p >= 1.0:
        return -np.inf
    i = np.arange(k + 1)
    return float(logsumexp(log_binomials(n, i) + i * np.log(p) + (n - i) * np.log1p(-p)))


def _kl_inverse(q: Array, c: Array) -> Array:
    low, high = q.astype(np.float64), np.ones(q.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_HALVINGS):
            p = 0.5 * (low + high)
            own = np.where(q > 0, q * np.log(q / p), 0.0) + np.where(q < 1, (1 - q) * np.log((1 - q) / (1 - p)), 0.0)
            low, high = np.where(own <= c, p, low), np.where(own <= c, high, p)
    return high
