"""Quantizers: rows replaced by the best of a few codes."""

from mercer.losses.rows import HuberRows, LaplaceRows, RowLoss, SquaredRows, as_row_loss
from mercer.quantizers.base import Quantizer, check_magnitude, spread_rows
from mercer.quantizers.planes import PlaneQuantizer, leading_directions
from mercer.quantizers.vectors import VectorQuantizer, weighted_medians
from mercer.running import Run, Stopping, descend

# Old names.
Descent = Run
Cost, SquaredCost, HuberCost, AbsoluteCost, cost_of = RowLoss, SquaredRows, HuberRows, LaplaceRows, as_row_loss

__all__ = [
    "VectorQuantizer", "PlaneQuantizer", "Quantizer",
    "Cost", "SquaredCost", "HuberCost", "AbsoluteCost", "cost_of",
    "check_magnitude", "spread_rows", "weighted_medians", "leading_directions",
    "Descent", "Stopping", "descend",
]  # fmt: skip
