"""Latent points that users give."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer.arrays import Array
from mercer.manifolds.latent.space import LatentSpace


def latent_points(estimator: Any, Z: Any, space: LatentSpace) -> Array:
    """Checked points of a latent space, wrapped around its circles; float32 is kept.

    Beyond the ends of an interval there is no manifold, and points there are refused.
    """
    owner = type(estimator).__name__
    Z = check_array(Z, dtype=[np.float64, np.float32], input_name="Z", estimator=estimator)
    if Z.shape[1] != space.n_dims:
        raise ValueError(
            f"Z of {owner} must have {space.n_dims} columns, one for each coordinate, got {Z.shape[1]}; give what "
            "transform returns."
        )
    outside = space.outside(Z)
    if outside.any():
        raise ValueError(
            f"Z of {owner} must be within [-1, 1] in coordinates that are intervals, got {Z[outside][0].tolist()}; the "
            "manifold ends there (circles go on)."
        )
    return space.inside(Z).astype(Z.dtype, copy=False)
