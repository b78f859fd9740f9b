"""Posterior probabilities of the parts of a mixture."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array

# Logarithm of the least ratio of the densities of a row at two grid points that is told apart from zero.
_LEAST_EXPONENT = -100.0


def responsibilities(D: Array) -> tuple[Array, Array]:
    """Of G equal parts of a mixture, from their log densities D of shape (n, G), in place; and log p of the rows."""
    top = D.max(axis=1, keepdims=True)
    D -= top
    # Smaller ones are lost in rounding, and to compute with numbers near the smallest of all is slow.
    np.maximum(D, _LEAST_EXPONENT, out=D)
    np.exp(D, out=D)
    total = D.sum(axis=1, keepdims=True)
    D /= total
    return D, (top + np.log(total))[:, 0] - np.log(D.shape[1])
