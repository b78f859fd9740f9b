"""Covers that are counted: of finite sets, and on average over samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from mercer.arrays import Array
from mercer.capacity.checks import check_delta, check_functions, check_scale
from mercer.capacity.deviations import Deviation, FunctionClass
from mercer.capacity.ellipsoids import Interval
from mercer.capacity.searches import least_root
from mercer.parameters import check_choice, check_count


def greedy_log_covering(values: ArrayLike, epsilon: float, *, metric: str = "max") -> Interval:
    """Bounds on ln N(ε) of finitely many functions, by a greedy packing at ε and one at 2ε.

    Members of a packing at distance ε cover all functions; no two members of one at 2ε are in the same ball of a cover
    [Smola1998]_, eq. (7.13) to (7.15), where the balls may have any centres.

    Parameters
    ----------
    values : array_like of shape (n_functions, m)
        Values of the functions on m points.
    epsilon : float
        ε.
    metric : {"max", "mean_square"}
        Largest difference, or root of the mean square.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import greedy_log_covering
    >>> np.exp(greedy_log_covering([[0.0], [1.0], [2.0], [3.0]], 1.0)).round().tolist()
    [2.0, 2.0]
    """
    owner = "greedy_log_covering"
    table: Array = np.asarray(values, dtype=np.float64)
    epsilon = check_scale(epsilon, owner)
    check_choice(metric, ("max", "mean_square"), "metric", owner)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise ValueError(
            f"values of {owner} must be a finite table with one row for each function, got shape {table.shape}."
        )
    sizes = [_packing(table, distance, metric) for distance in (2 * epsilon, epsilon)]
    return Interval(float(np.log(sizes[0])), float(np.log(sizes[1])))


def _packing(table: Array, distance: float, metric: str) -> int:
    """Members of a greedy packing, each farther than this from all others."""
    left, size = table, 0
    while len(left):
        gaps = left - left[0]
        far = np.abs(gaps).max(axis=1) if metric == "max" else np.sqrt(np.mean(gaps**2, axis=1))
        left, size = left[far > distance * (1 + 1e-12)], size + 1
    return size


class Entropies(NamedTuple):
    """Mean of ln N over samples, logarithm of the mean of N, largest ln N: never falling in this order.

    Attributes
    ----------
    entropy, annealed, growth : float
        H = E ln N, H_ann = ln E N, G = max ln N.
    """

    entropy: float
    annealed: float
    growth: float


def entropies(log_coverings: ArrayLike) -> Entropies:
    """Entropy, annealed entropy and growth function from covering numbers on several samples.

    Parameters
    ----------
    log_coverings : array_like
        ln N(ε) on each sample, all of one size.

    Notes
    -----
    [Smola1998]_, eq. (7.25) has Jensen's inequality the wrong way round: H ≤ H_ann ≤ G. Bounds need H_ann or G.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import entropies
    >>> np.round(entropies(np.log([1.0, 2.0, 4.0])), 4).tolist()
    [0.6931, 0.8473, 1.3863]
    """
    logs = np.asarray(log_coverings, dtype=np.float64).ravel()
    if not logs.size or not np.isfinite(logs).all() or logs.min() < 0:
        raise ValueError("log_coverings of entropies must be finite numbers >= 0, one or more; give one per sample.")
    return Entropies(float(logs.mean()), float(logsumexp(logs) - np.log(len(logs))), float(logs.max()))


def general_deviation(
    functions: FunctionClass,
    n_samples: int,
    delta: float,
    *,
    factor: float,
    divisor: float,
    power: float = 2.0,
    largest: float = 1.0,
) -> Deviation:
    """Learning curve of any bound of the form Pr{deviation > ε} ≤ c₁ N(ε) exp(-ε^β m/c₂): the least such ε at δ.

    Parameters
    ----------
    functions : FunctionClass
        Anything with ``log_covering(scale, n_samples)``.
    n_samples : int
        m.
    delta : float
        Probability of being wrong.
    factor, divisor, power : float
        c₁, c₂ and β: 2, or 1 without training errors and for convex classes.
    largest : float
        The largest deviation there can be.

    Notes
    -----
    [Smola1998]_, eq. (7.24), (7.27) and (7.28); in the middle line of (7.28) there is no ln 2.

    Examples
    --------
    >>> from mercer.capacity import FiniteClass, general_deviation
    >>> round(general_deviation(FiniteClass(1), 1000, 0.05, factor=1.0, divisor=0.5).value, 6)
    0.038702
    """
    owner = "general_deviation"
    m, delta = check_count(n_samples, "n_samples", owner), check_delta(delta, owner)
    c1, c2 = check_scale(factor, owner, "factor"), check_scale(divisor, owner, "divisor")
    beta, largest = check_scale(power, owner, "power"), check_scale(largest, owner, "largest")
    check_functions(functions, owner)

    def excess(epsilon: float) -> float:
        return float(np.log(c1 / delta)) + functions.log_covering(epsilon, m) - epsilon**beta * m / c2

    vacuous = excess(largest) > 0
    value = largest if vacuous else least_root(excess, 1e-12 * largest, largest)
    return Deviation(value, vacuous, functions.log_covering(value, m), value)
