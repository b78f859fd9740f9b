"""Lower bounds of mutual information from the values of a critic, in nats.

A critic t(x, y) is any function that is large for pairs that belong together. The bounds have no parameters: what is
learned is the critic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer.arrays import Array


@dataclass(frozen=True)
class Bound:
    """An estimate of a lower bound of mutual information, in nats.

    Attributes
    ----------
    value : float
        The estimate. It may be negative: chance, or a bad critic.
    standard_error : float
        Of several batches, from their spread; of a single one, by the infinitesimal jackknife; NaN for one pair.
    ceiling : float
        The bound can never be larger, however much information there is: log of the size of a batch for InfoNCE.
    n : int
        Number of pairs, of all batches together.
    """

    value: float
    standard_error: float
    ceiling: float
    n: int

    @property
    def near_ceiling(self) -> bool:
        """Whether the value is within 1 of the ceiling, so that the information may be much larger."""
        return self.value > self.ceiling - 1.0


def infonce(critic: Any) -> Bound:
    """The InfoNCE bound 1/N Σ_i [t_ii - log(1/N Σ_j exp t_ij)] from the values t_ij = t(x_i, y_j) of a critic.

    Its expected value is at most min(I(X; Y), log N): the positive pair is in the sum. It is minus the usual "InfoNCE
    loss", plus log N. The best critic is log p(y given x) / p(y) + c(x), for any c.

    Parameters
    ----------
    critic : array_like of shape (N, N) or (n_batches, N, N)
        Rows for x_i, columns for y_j; pairs that belong together on the diagonals.

    Returns
    -------
    Bound
        The mean over batches, with the ceiling log N.

    Notes
    -----
    [Oord2018]_, [Poole2019]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import infonce
    >>> bound = infonce(10 * np.eye(4))
    >>> round(bound.value, 4), round(bound.ceiling, 4)
    (1.3862, 1.3863)
    """
    t = _values(critic, "infonce", least=1)
    n = t.shape[-1]
    log_means = logsumexp(t, axis=-1) - np.log(n)
    # Each pair counts as a row and, among the partners that do not belong, as a column.
    as_partner = np.exp(t - log_means[..., None]).sum(axis=-2) / n
    terms = np.diagonal(t, axis1=-2, axis2=-1) - log_means
    return _bound(float(terms.mean()), terms - as_partner, ceiling=float(np.log(n)))


def nwj(critic: Any) -> Bound:
    """The bound E t - E' exp(t - 1) of Nguyen, Wainwright and Jordan; E' is the mean over pairs that do not belong.

    Unbiased, without a ceiling, but its variance grows like the exponential of the information. The best critic is
    1 + log p(x, y) / (p(x) p(y)).

    Parameters
    ----------
    critic : array_like of shape (N, N) or (n_batches, N, N)
        Rows for x_i, columns for y_j; pairs that belong together on the diagonals.

    Notes
    -----
    [Nguyen2010]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import nwj
    >>> nwj(np.ones((3, 3))).value
    0.0
    """
    t = _values(critic, "nwj", least=2)
    mean, influence = _of_others(t - 1.0)
    positives = np.diagonal(t, axis1=-2, axis2=-1)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = np.exp(mean)
        return _bound(float(positives.mean() - scale), positives - influence * scale)


def donsker_varadhan(critic: Any) -> Bound:
    """The bound E t - log E' exp t of Donsker and Varadhan; E' is the mean over pairs that do not belong.

    The logarithm of a mean over few pairs is too small on average, so the estimate may lie above the information. The
    best critic is log p(x, y) / (p(x) p(y)) plus any constant.

    Parameters
    ----------
    critic : array_like of shape (N, N) or (n_batches, N, N)
        Rows for x_i, columns for y_j; pairs that belong together on the diagonals.

    Notes
    -----
    [Donsker1983]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import donsker_varadhan
    >>> donsker_varadhan(np.eye(3)).value
    1.0
    """
    t = _values(critic, "donsker_varadhan", least=2)
    mean, influence = _of_others(t)
    positives = np.diagonal(t, axis1=-2, axis2=-1)
    return _bound(float(positives.mean()) - mean, positives - influence)


def _of_others(t: Array) -> tuple[float, Array]:
    """Log of the mean of exp t over pairs that do not belong, and how much of that mean each row and column makes."""
    n = t.shape[-1]
    others = np.where(np.eye(n, dtype=bool), -np.inf, t)
    log_mean = float(logsumexp(others) - np.log(len(t) * n * (n - 1)))
    shares = np.exp(others - log_mean)
    return log_mean, (shares.sum(axis=-1) + shares.sum(axis=-2)) / (n - 1)


def _bound(value: float, influence: Array, ceiling: float = np.inf) -> Bound:
    """A bound whose error is told by the influence of each pair, of shape (n_batches, N)."""
    samples = influence.mean(axis=-1) if len(influence) > 1 else influence[0]
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(samples.std(ddof=1) / np.sqrt(samples.size)) if samples.size > 1 else float("nan")
    return Bound(min(value, ceiling), error, ceiling, influence.size)


def _values(critic: Any, function: str, *, least: int) -> Array:
    """Values of a critic as batches of square matrices."""
    t = np.asarray(critic, dtype=np.float64)
    if t.ndim == 2:
        t = t[None]
    if t.ndim != 3 or t.shape[1] != t.shape[2] or not len(t) or t.shape[1] < least:
        raise ValueError(
            f"critic of {function} must be a square matrix with {least} rows or more, or a stack of such, got shape "
            f"{np.shape(critic)}; give the value of each x with each y."
        )
    if not np.isfinite(t).all():
        raise ValueError(
            f"critic of {function} must be finite, got NaN or infinity; clip what the critic says of impossible pairs."
        )
    return t
