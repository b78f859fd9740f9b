"""Kernels on latent spaces: the default, what a given one must promise, and the one of the length of curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels import Gaussian, Kernel, Periodized
from mercer.manifolds.latent.space import PERIOD, LatentSpace


class Length(Kernel):
    """k(z, z') = 1 + min(z, z') on [-1, 1]: the kernel of the penalty ∫||f'(z)||² dz on curves with a free start.

    Functions Σ_j α_j k(z_j, z) are linear between the nodes z_j, and αᵀKα = ∫||f'||²: among all parametrisations of a
    curve the one of constant speed has the smallest, the square of the length over 2. [Smola2001]_, section 3.3.

    Examples
    --------
    >>> from mercer.manifolds import Length
    >>> Length()([[-1.0], [0.0], [1.0]])
    array([[0., 0., 0.],
           [0., 1., 1.],
           [0., 1., 2.]])
    """

    def _tile(self, left: Array, right: Array) -> Array:
        return 1.0 + np.minimum(left, right.T)

    def _diagonal(self, left: Array, right: Array) -> Array:
        return 1.0 + left[:, 0]

    def _gradient(self, X: Array, Y: Array) -> Array:
        return (0.5 + 0.5 * np.sign(Y.T - X))[..., None]


def default_kernel(space: LatentSpace, width: Array) -> Kernel:
    """Gaussian of these widths, one for each coordinate, made periodic on circles."""
    factors = []
    intervals = np.flatnonzero(~space.is_circle)
    if intervals.size:
        widths = width[intervals]
        gaussian = Gaussian(float(widths[0]) if np.ptp(widths) == 0 else widths.tolist())
        if intervals.size == space.n_dims:
            return gaussian
        factors.append(gaussian.on(intervals.tolist()))
    for c in np.flatnonzero(space.is_circle):
        circular = Periodized(Gaussian(float(width[c])), period=PERIOD)
        factors.append(circular if space.n_dims == 1 else circular.on([int(c)]))
    kernel = factors[0]
    for factor in factors[1:]:
        kernel = kernel * factor
    return kernel


def check_latent_kernel(kernel: Any, space: LatentSpace, owner: str) -> Kernel:
    """A kernel that can be differentiated, is (conditionally) positive definite, and closes on the circles."""
    if not isinstance(kernel, Kernel):
        raise ValueError(f"kernel of {owner} must be a Kernel or None, got {kernel!r}; take one of mercer.kernels.")
    if kernel.order is None or kernel.pairwise or not kernel.differentiable:
        raise ValueError(
            f"kernel of {owner} must be differentiable and (conditionally) positive definite, got {kernel!r}; take a "
            "Gaussian."
        )
    probes = np.random.default_rng(0).uniform(-1.0, 1.0, size=(20, space.n_dims))
    K = kernel(probes)
    for c in np.flatnonzero(space.is_circle):
        moved = probes.copy()
        moved[:, c] += PERIOD
        if np.abs(kernel(moved, probes) - K).max() > 1e-8 * np.abs(K).max():
            raise ValueError(
                f"kernel of {owner} must have period {PERIOD:g} in coordinate {c}, which is a circle, got {kernel!r}; "
                f"take Periodized(kernel, period={PERIOD:g}), or kernel=None."
            )
    return kernel
