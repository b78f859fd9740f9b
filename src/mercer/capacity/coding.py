"""What a manifold loses as a code: noise and few bits in its latent coordinates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from mercer.arrays import Array
from mercer.capacity.checks import check_scale, check_share

# Step of the differences, in latent units, and the latent range.
_STEP = 2e-3
_RANGE = 2.0


class Coding(NamedTuple):
    """What `robust_coding` found.

    Attributes
    ----------
    error : float
        R, mean squared distance of the rows from their points on the manifold.
    added : float
        What noise in the latent coordinates adds to it, up to terms of the fourth power of the noise.
    sensitivity : float
        E(‖J‖² + ⟨f - x, Δf⟩): added error per variance of the noise.
    bits : float
        Bits per latent coordinate with which rounding adds no more than the given share of the error.
    """

    error: float
    added: float
    sensitivity: float
    bits: float


def robust_coding(manifold: Any, X: ArrayLike, noise: float, *, share: float = 0.1) -> Coding:
    """Error of a manifold whose latent coordinates are sent through a noisy channel: R + σ² E(‖J‖² + ⟨f - x, Δf⟩).

    Parameters
    ----------
    manifold : PrincipalManifold
        Or anything fitted with ``transform`` to latent coordinates of range [-1, 1], and ``inverse_transform``.
    X : array_like of shape (m, d)
        Rows.
    noise : float
        σ, standard deviation of the noise in each latent coordinate.
    share : float
        Share of R that rounding to b bits may add; rounding is noise of variance (2 · 2^-b)²/12.

    Returns
    -------
    Coding
        error, added, sensitivity, bits.

    Notes
    -----
    [Smola2001]_, eq. (36) to (40), with σ² where it has 2σ². Derivatives are differences.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PrincipalManifold
    >>> from mercer.capacity import robust_coding
    >>> from mercer.datasets import make_arc
    >>> X, _ = make_arc(200, noise=0.05, random_state=0)
    >>> curve = PrincipalManifold(1, topology="circle", width=0.5, penalty=1e-3).fit(X)
    >>> 9 < robust_coding(curve, X, noise=0.01).sensitivity < 11
    True
    """
    owner = "robust_coding"
    noise, share = check_scale(noise, owner, "noise"), check_share(share, "share", owner)
    if share == 0:
        raise ValueError(f"share of {owner} must be > 0, got 0; no number of bits is lossless: give 0.1.")
    if not hasattr(manifold, "transform") or not hasattr(manifold, "inverse_transform"):
        raise TypeError(
            f"manifold of {owner} must have transform and inverse_transform, got {manifold!r}; fit a PrincipalManifold."
        )
    rows: Array = check_array(X, dtype=np.float64)
    Z: Array = np.asarray(manifold.transform(rows), dtype=np.float64)
    error = float(np.mean(np.sum((manifold.inverse_transform(Z) - rows) ** 2, axis=1)))
    # The differences must not leave the latent box.
    Z = np.clip(Z, -1 + 2 * _STEP, 1 - 2 * _STEP)
    residuals = manifold.inverse_transform(Z) - rows
    total = np.zeros(len(rows))
    for axis in np.eye(Z.shape[1]):
        slope, curvature = _derivatives(manifold, Z, axis)
        total += np.sum(slope**2, axis=1) + np.sum(residuals * curvature, axis=1)
    sensitivity = float(np.mean(total))
    allowed = share * error
    # Rounding to one bit or less is no code.
    variance = _RANGE**2 / 12 * max(sensitivity, 0.0)
    bits = 0.5 * float(np.log2(variance / allowed)) if allowed > 0 and variance > allowed else 0.0
    return Coding(error, noise**2 * sensitivity, sensitivity, bits if error > 0 else np.inf)


def _derivatives(manifold: Any, Z: Array, axis: Array) -> tuple[Array, Array]:
    """First and second derivatives of the manifold along one coordinate, from five points."""
    before2, before, here, after, after2 = (
        np.asarray(manifold.inverse_transform(Z + steps * _STEP * axis)) for steps in (-2, -1, 0, 1, 2)
    )
    slope = (before2 - 8 * before + 8 * after - after2) / (12 * _STEP)
    curvature = (-before2 + 16 * before - 30 * here + 16 * after - after2) / (12 * _STEP**2)
    return slope, curvature
