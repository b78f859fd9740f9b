"""Fat-shattering dimensions, and what they tell of covering numbers."""

from __future__ import annotations

import numpy as np

from mercer.capacity.checks import check_scale
from mercer.parameters import check_count


def fat_log_covering(epsilon: float, n_samples: int, fat_dimension: int, *, width: float) -> float:
    """Logarithm of a cover from the fat-shattering dimension D = fat(ε/4), in the maximum over m points.

    ln N(ε) ≤ ln 2 + D log2(4em W/(Dε)) ln(4m W²/ε²) for m ≥ D, where W is the length of the range.

    Parameters
    ----------
    epsilon : float
        Radius of the balls.
    n_samples : int
        m.
    fat_dimension : int
        D at scale ε/4; ⌊16 Λ²R²/ε²⌋ for a ball, see `KernelBall.fat_dimension`.
    width : float
        W, 2ΛR for a ball.

    Notes
    -----
    [Smola1998]_, lemma 7.16 with the square that eq. (7.49) lost, after [Alon1997]_. For balls the cover of
    `ball_log_covering` is hundreds of times smaller.

    Examples
    --------
    >>> from mercer.capacity import fat_log_covering
    >>> round(fat_log_covering(0.2, 1000, 400, width=2.0), 2)
    41724.77
    """
    owner = "fat_log_covering"
    epsilon, m = check_scale(epsilon, owner), check_count(n_samples, "n_samples", owner)
    width, dimension = check_scale(width, owner, "width"), check_count(fat_dimension, "fat_dimension", owner, least=0)
    if dimension == 0 or 2 * epsilon >= width:
        return 0.0
    if m < dimension:
        raise ValueError(
            f"n_samples of {owner} must be at least fat_dimension = {dimension}, got {m}; take more samples or a "
            "larger epsilon."
        )
    ratio = width / epsilon
    return float(np.log(2) + dimension * np.log2(4 * np.e * m * ratio / dimension) * np.log(4 * m * ratio**2))


def fat_log_covering_below(fat_dimension: int) -> float:
    """Lower bound ln 2 · fat(4ε)/32 on the largest ln N(ε) in the mean of abs(f - g), over all densities of the rows.

    [Smola1998]_, eq. (7.50), for functions with values in [0, 1].

    Parameters
    ----------
    fat_dimension : int
        fat(4ε).
    """
    return float(np.log(2) * check_count(fat_dimension, "fat_dimension", "fat_log_covering_below", least=0) / 32)


def level_fat_factor(margin: float) -> int:
    """2⌈1/(2γ)⌉ - 1: fat dimensions at γ are at most this times level fat ones at γ/2, for values in [0, 1].

    [Smola1998]_, eq. (7.48).

    Parameters
    ----------
    margin : float
        γ.
    """
    gamma = check_scale(margin, "level_fat_factor", "margin")
    return 2 * int(np.ceil(1 / (2 * gamma) * (1 - 1e-12))) - 1
