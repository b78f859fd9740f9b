"""Covers of functions on m points with all constants: balls of a feature space, and convex hulls."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln

from mercer.arrays import Array
from mercer.capacity.checks import check_log_n, check_norm, check_scale
from mercer.parameters import check_count

# Entropy numbers stop falling there: by more steps than floats can count, which only makes them larger than need be.
_MOST_STEPS = 2**1000


def log_binomials(n: float, k: Array) -> Array:
    """Ln C(n, k), accurate for large n too."""
    return np.asarray(-np.log(n + 1) - betaln(n - k + 1, k + 1))


def log_multisets(n: float, k: float) -> float:
    """Ln C(n + k, k), exactly 0 for k = 0; n and k are apart, since their sum loses the smaller one beside 1e16."""
    return float(-np.log(n + k + 1) - betaln(n + 1, k + 1)) if 0 < k < np.inf else k


def steps_below(x: float) -> float:
    """The largest whole number below x, ⌈x⌉ - 1; x may have rounding errors, or be infinite."""
    return max(float(np.ceil(x * (1 - 1e-12))) - 1.0, 0.0)


def ball_log_covering(epsilon: float, n_samples: int, *, norm: float = 1.0, radius: float = 1.0) -> float:
    """Logarithm of a cover of {⟨w, x⟩ : ‖w‖ ≤ Λ} on m points with ‖x_i‖ ≤ R, in the maximum over the points.

    ln N(ε) ≤ ln C(2m + K, K) with K = ⌈(ΛR/ε)²⌉ - 1.

    Parameters
    ----------
    epsilon : float
        Radius of the balls of the cover.
    n_samples : int
        Number m of distinct points.
    norm, radius : float
        Λ and R.

    Notes
    -----
    While some abs(⟨w - ŵ, x_i⟩) > ε, the perceptron adds (ε/R²) times the signed point to ŵ, and ‖w - ŵ‖² falls by more
    than ε²/R². So there are fewer than (ΛR/ε)² steps, and ŵ is a multiset of signed points. The idea of mistake bounds
    is that of [Zhang2002]_, whose constant is 36. Compare [Smola1998]_, eq. (8.22), (8.39) and (8.40).

    Examples
    --------
    >>> from mercer.capacity import ball_log_covering
    >>> round(ball_log_covering(0.2, 1000), 5)
    127.78632
    """
    owner = "ball_log_covering"
    epsilon, m = check_scale(epsilon, owner), check_count(n_samples, "n_samples", owner)
    size = check_norm(norm, owner) * check_scale(radius, owner, "radius")
    ratio = size / epsilon
    return log_multisets(2.0 * m, steps_below(ratio * ratio))


def ball_entropy_number(log_n: float, n_samples: int, *, norm: float = 1.0, radius: float = 1.0) -> float:
    """Radius at which n functions cover the class of `ball_log_covering` on m points.

    ε_n = ΛR / sqrt(K + 1) with the largest K for which C(2m + K, K) ≤ n.

    Parameters
    ----------
    log_n : float
        Natural logarithm of n.
    n_samples : int
        Number m of distinct points.
    norm, radius : float
        Λ and R.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import ball_entropy_number
    >>> round(ball_entropy_number(40 * np.log(2), 1000), 5)
    0.44721
    """
    owner = "ball_entropy_number"
    log_n, m = check_log_n(log_n, owner), check_count(n_samples, "n_samples", owner)
    low, high = 0, 1
    while high < _MOST_STEPS and log_multisets(2.0 * m, high) <= log_n:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if log_multisets(2.0 * m, middle) <= log_n else (low, middle)
    return check_norm(norm, owner) * check_scale(radius, owner, "radius") / float(np.sqrt(low + 1.0))


def hull_log_covering(
    epsilon: float, n_samples: int, *, n_functions: int, norm: float = 1.0, bound: float = 1.0
) -> float:
    """Logarithm of a cover of {Σ a_j g_j : Σ abs(a_j) ≤ Λ} on m points, for M functions with abs(g_j) ≤ b.

    ln N(ε) ≤ ln C(2M + k, k) with k = ⌊2 (Λb/ε)² ln(2m)⌋ + 1: Maurey's random combinations of k functions, with
    Hoeffding's inequality and a union over the points.

    Parameters
    ----------
    epsilon : float
        Radius of the balls of the cover, in the maximum over the points.
    n_samples : int
        Number m of points.
    n_functions : int
        M.
    norm, bound : float
        Λ and b.

    Examples
    --------
    >>> from mercer.capacity import hull_log_covering
    >>> round(hull_log_covering(0.2, 1000, n_functions=10), 3)
    77.062
    """
    owner = "hull_log_covering"
    epsilon, m = check_scale(epsilon, owner), check_count(n_samples, "n_samples", owner)
    n_functions = check_count(n_functions, "n_functions", owner)
    size = check_norm(norm, owner) * check_scale(bound, owner, "bound")
    if epsilon >= size:
        return 0.0
    ratio = size / epsilon
    return log_multisets(2.0 * n_functions, float(np.floor(2 * ratio * ratio * float(np.log(2 * m)))) + 1)


def lipschitz_hull_log_covering(
    epsilon: float,
    n_samples: int,
    *,
    lipschitz: float,
    extent: float,
    n_dims: int = 1,
    norm: float = 1.0,
    bound: float = 1.0,
) -> float:
    """Cover of the hull of infinitely many functions g_z, z in a cube, that change by at most L‖z - z'‖.

    A net of the cube at distance ε/(2ΛL) replaces every function, and `hull_log_covering` covers the rest at ε/2. This
    replaces propositions 9.2 to 9.5 of [Smola1998]_, whose constants are not known.

    Parameters
    ----------
    epsilon, n_samples, norm, bound
        As in `hull_log_covering`.
    lipschitz : float
        L, in the maximum over the points.
    extent : float
        Length of the sides of the cube.
    n_dims : int
        Its dimension q; a grid of side g comes within √q g / 2 of every point.

    Examples
    --------
    >>> from mercer.capacity import lipschitz_hull_log_covering
    >>> lipschitz_hull_log_covering(0.2, 1000, lipschitz=1.0, extent=2.0) < 1500
    True
    """
    owner = "lipschitz_hull_log_covering"
    epsilon, n_dims = check_scale(epsilon, owner), check_count(n_dims, "n_dims", owner)
    norm, lipschitz = check_norm(norm, owner), check_scale(lipschitz, owner, "lipschitz")
    bound, extent = check_scale(bound, owner, "bound"), check_scale(extent, owner, "extent")
    per_axis = np.ceil(extent * norm * lipschitz * float(np.sqrt(n_dims)) / epsilon)
    if epsilon >= norm * bound:
        return 0.0
    if n_dims * np.log10(per_axis) > 300:
        return np.inf
    n_functions = int(float(per_axis) ** n_dims)
    return hull_log_covering(epsilon / 2, n_samples, n_functions=n_functions, norm=norm, bound=bound)
