"""The integral of exp(-c) for a convex loss c, by quadrature."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import quad_vec

_LEVEL = 40.0  # exp(-40) is below the rounding error of the integral
_DOUBLINGS = 1000
_FRACTIONS = 4.0 ** np.arange(-7, 1)


def mass(loss: Any) -> Any:
    """Integral of exp(-c(r)) over all r, for c with its least value zero at r = 0; one for each sample if c differs.

    Since c is convex, the integral over r > 0 is at least a fraction 1/40 of the length R where c(R) = 40 and is
    negligible beyond: adaptive quadrature on [0, R] needs no further knowledge of the scale of c.
    """
    with np.errstate(over="ignore"):
        total = sum(_mass_of_side(loss, sign, _reach(loss, sign)) for sign in (1.0, -1.0))
    return total if np.ndim(total) else float(total)


def n_samples(loss: Any) -> int | None:
    """Number of samples for which a loss has entries of their own; None if it is the same for all."""
    sizes = [len(part) for part in (*loss.insensitivity, *loss.dual_interval) if np.ndim(part)]
    return max(sizes) if sizes else None


def _reach(loss: Any, sign: float) -> Any:
    """A length R, a power of two, with c(sign R) >= 40 > c(sign R / 2), for each sample."""
    n = n_samples(loss)
    reach = np.ones(()) if n is None else np.ones(n)
    for factor in (2.0, 0.5):
        for _ in range(_DOUBLINGS):
            if factor > 1:
                going = ~(np.asarray(loss.value(sign * reach)) >= _LEVEL)
            else:
                going = np.asarray(loss.value(sign * reach / 2)) >= _LEVEL
            if not np.any(going):
                break
            reach = np.where(going, factor * reach, reach)
        else:
            raise ValueError(
                f"{loss!r} must grow on both sides to have a noise density, got no finite integral of exp(-c); "
                "set has_noise_density = False."
            )
    return reach


def _mass_of_side(loss: Any, sign: float, reach: Any) -> Any:
    """Integral of exp(-c) from 0 to sign R, in pieces that shrink towards the edge of the flat zone.

    On one long piece the quadrature might step over a short flat zone or a small kink without seeing it.
    """
    edge = np.asarray(loss.insensitivity[1 if sign > 0 else 0], dtype=np.float64)
    ends = [0.0 * reach, edge + 0.0 * reach, *(edge + fraction * (reach - edge) for fraction in _FRACTIONS)]
    return sum(_mass_of_piece(loss, sign, start, end - start) for start, end in pairwise(ends))


def _mass_of_piece(loss: Any, sign: float, start: Any, length: Any) -> Any:
    def density(t: float) -> Any:
        return np.exp(-loss.value(sign * (start + length * t)))

    integral, _ = quad_vec(density, 0.0, 1.0, epsrel=1e-11, norm="max")
    return length * integral
