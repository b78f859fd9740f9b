"""Regularizers: what a complex function costs."""

from mercer.regularizers.base import Penalty, Regularizer
from mercer.regularizers.maps import (
    MAP_PENALTIES,
    MapGroupL1,
    MapL1,
    MapL2,
    MapLength,
    MapNorm,
    MapPenalty,
    as_map_penalty,
)
from mercer.regularizers.norms import L1Coefficients, L2Coefficients, Mixed, RKHSNorm, as_regularizer
from mercer.regularizers.sparse import sparse_coefficients

__all__ = [
    "Regularizer", "Penalty", "RKHSNorm", "L1Coefficients", "L2Coefficients", "Mixed", "as_regularizer",
    "MapPenalty", "MapNorm", "MapLength", "MapL2", "MapL1", "MapGroupL1", "as_map_penalty", "MAP_PENALTIES",
    "sparse_coefficients",
]  # fmt: skip
