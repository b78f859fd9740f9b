"""A map in a second: a soft manifold with settings by rule, as a start."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.manifolds.latent.kernels import default_kernel
from mercer.manifolds.latent.maps import LatentBasis
from mercer.manifolds.latent.rotation import automatic_n_rotated, rotation_of
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.latent.space import LatentSpace
from mercer.manifolds.latent.starts import start_coordinates
from mercer.manifolds.principal.projection import project
from mercer.manifolds.principal.soft import soft_map
from mercer.running import Stopping, raise_if_interrupted

# Widths, penalties times the number of rows, and when fits end: wide kernels unfold, and a narrow one follows the rows.
_STAGES = ((0.34, 10.0, Stopping(1e-3, 6)), (0.34, 1.0, Stopping(1e-3, 6)), (0.14, 1.0, Stopping(1e-3, 12)))
# Nodes are no farther apart than this share of the width.
_SPACING = 0.7
# Steps of the projection: coordinates are only a start.
_ROUGHLY: Any = {"n_starts": 4, "max_steps": 20, "tol": 1e-6}


def manifold_coordinates(X: Array, space: LatentSpace) -> Array:
    """Coordinates of rows on a soft manifold of width 0.14 and penalty 1 / m, from those of Isomap.

    Parameters
    ----------
    X : array of shape (m, d)
        Rows without missing entries; of more than 40 columns the leading components are taken.
    space : LatentSpace
        The latent space.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_s_sheet
    >>> from mercer.manifolds import LatentSpace
    >>> from mercer.manifolds.principal.fast_maps import manifold_coordinates
    >>> X, T = make_s_sheet(600, noise=0.02, random_state=0)
    >>> Z = manifold_coordinates(X, LatentSpace(("interval", "interval")))
    >>> bool(np.abs(np.corrcoef(Z.T, T.T)[:2, 2:]).max() > 0.9)
    True
    """
    X = X - X.mean(axis=0)
    X = rotation_of(X, automatic_n_rotated(X), 0).leading(X)
    start: Any = start_coordinates(X, space, "isomap")
    variance = None
    for width, penalty, stopping in _STAGES:
        widths = np.full(space.n_dims, width)
        basis = LatentBasis(space, default_kernel(space, widths), space.sides_for(_SPACING * widths, most=len(X)))
        accelerated = stopping is _STAGES[-1][2]
        soft = soft_map(X, start, basis, penalty / len(X), stopping, variance=variance, accelerated=accelerated)
        raise_if_interrupted(soft.status)
        start, variance = soft.map, soft.density.variance
    return project(Rows(X), start, **_ROUGHLY).Z
