"""Fourier transforms of radial functions by quadrature, for kernels without a formula and to check the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gamma, j0, jv

from mercer.arrays import Array

_N_HALF_WAVES = 60
_N_HALVINGS = 40


def radial_fourier(profile: Callable[[Array], Array], omega: ArrayLike, n_dims: int) -> Array:
    """Fourier transform of the radial function φ(||x||²) in n_dims dimensions, by quadrature.

    (2π)^(-d/2) ∫ φ(||x||²) exp(-iωᵀx) dx = ω^(-ν) ∫ r^(ν+1) φ(r²) J_ν(ωr) dr with ν = d/2 - 1 [Smola1998]_, eq. (3.47).
    The integral is taken adaptively between the zeros of J_ν; the alternating partial sums are extrapolated by Wynn's
    ε-algorithm, which also gives the generalised transform of functions that grow, like the multiquadric.

    Parameters
    ----------
    profile : callable
        φ as a function of arrays of squared radii, which it may overwrite.
    omega : array_like
        Frequencies >= 0, of any shape. At 0 the result is inf where the integral does not converge.
    n_dims : int
        The dimension of the space.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels.spectra import radial_fourier
    >>> np.allclose(radial_fourier(lambda r2: np.exp(-r2 / 2), 1.0, n_dims=3), np.exp(-0.5), rtol=1e-12)
    True
    """
    omega = np.asarray(omega, dtype=np.float64)
    if not np.all(omega >= 0):
        raise ValueError(f"omega of radial_fourier must be >= 0, got {omega.min()!r}; take the modulus.")
    values = [_transform_at(profile, float(w), n_dims) if w > 0 else _integral(profile, n_dims) for w in omega.ravel()]
    return np.reshape(values, omega.shape)


def _integral(profile: Callable[[Array], Array], n_dims: int) -> float:
    """Transform at frequency zero: (2π)^(-d/2) times the integral of the function over space."""
    edges = np.concatenate([[0.0], 2.0 ** np.arange(-_N_HALVINGS, _N_HALVINGS)])
    pieces = _integrate(lambda r: r ** (n_dims - 1) * profile(r**2), edges)
    total = pieces.sum()
    if abs(pieces[-1]) > 1e-15 * np.abs(pieces).sum():
        # Powers of r: the integrals over doubling intervals form a geometric series.
        ratio = pieces[-1] / pieces[-2]
        if not 0 <= ratio < 0.999:
            return np.inf
        total += pieces[-1] * ratio / (1 - ratio)
    return float(total * 2 ** (1 - n_dims / 2) / gamma(n_dims / 2))


def _transform_at(profile: Callable[[Array], Array], omega: float, n_dims: int) -> float:
    nu = n_dims / 2 - 1
    # Asymptotic zeros of J_ν: the true ones are not needed, only intervals whose integrals alternate in sign.
    zeros = (np.arange(1, _N_HALF_WAVES + 1) + nu / 2 - 0.25) * np.pi / omega
    # The function may live at radii far below the first zero: halve the first interval again and again.
    head = zeros[0] * 0.5 ** np.arange(_N_HALVINGS, 0, -1)

    def integrand(r: Array) -> Array:
        # ω^(-ν) r^(ν+1) J_ν(ωr) = r^(d-1) (ωr)^(-ν) J_ν(ωr)
        return r ** (n_dims - 1) * radial_wave(omega * r, n_dims) * profile(r**2)

    pieces = _integrate(integrand, np.concatenate([[0.0], head, zeros]))
    return _extrapolate(np.cumsum(pieces)[-_N_HALF_WAVES:])


def _integrate(function: Callable[[Array], Array], edges: Array) -> Array:
    """Integrals between the edges: Gauss-Legendre, halving the intervals that have not converged."""
    start, stop, piece = edges[:-1], edges[1:], np.arange(len(edges) - 1)
    integrals = np.zeros(len(piece))
    scale = 0.0
    for _ in range(_N_HALVINGS):
        middle = (start + stop) / 2
        whole = _gauss(function, start, stop)
        halves = _gauss(function, start, middle) + _gauss(function, middle, stop)
        scale = max(scale, float(np.max(np.abs(halves), where=np.isfinite(halves), initial=0.0)))
        done = ~(np.abs(whole - halves) > 1e-14 * scale)  # what is not a number will not become one
        np.add.at(integrals, piece[done], halves[done])
        if done.all():
            break
        open_ = ~done
        start, stop = np.r_[start[open_], middle[open_]], np.r_[middle[open_], stop[open_]]
        piece = np.r_[piece[open_], piece[open_]]
    return integrals


def _gauss(function: Callable[[Array], Array], start: Array, stop: Array) -> Array:
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = (stop - start)[:, None] / 2
    return np.sum(half * weights * function(start[:, None] + half * (1 + nodes)), axis=1)


def _extrapolate(partial_sums: Array) -> float:
    """Limit of a sequence by Wynn's ε-algorithm, taken where two neighbouring estimates agree best."""
    previous, current = np.zeros(len(partial_sums) + 1), partial_sums
    best, best_change = partial_sums[-1], abs(partial_sums[-1] - partial_sums[-2])
    for column in range(1, len(partial_sums)):
        step = np.diff(current)
        if np.any(np.abs(step) <= 1e-300):
            break
        previous, current = current, previous[1:-1] + 1.0 / step
        if column % 2 == 0 and len(current) > 1:
            change = abs(current[-1] - current[-2])
            if change < best_change:
                best, best_change = current[-1], change
    return float(best)


def radial_wave(x: Array, n_dims: int) -> Array:
    """x^(-ν) J_ν(x) with ν = d/2 - 1, for x > 0: a plane wave averaged over directions, up to a factor."""
    if n_dims == 1:
        return np.sqrt(2 / np.pi) * np.cos(x)
    if n_dims == 2:
        return j0(x)
    if n_dims == 3:
        return np.sqrt(2 / np.pi) * np.sinc(x / np.pi)
    nu = n_dims / 2 - 1
    return jv(nu, x) * x**-nu


def unit_ball_fourier(omega: Array, n_dims: int) -> Array:
    """Fourier transform ω^(-d/2) J_{d/2}(ω) of the indicator of the unit ball [Smola1998]_, eq. (3.56)."""
    half = n_dims / 2
    omega = np.asarray(omega, dtype=np.float64)
    positive = np.where(omega > 0, omega, 1.0)
    return np.where(omega > 0, positive**-half * jv(half, positive), 2.0**-half / gamma(half + 1))
