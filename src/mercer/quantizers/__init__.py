"""Quantizers: rows replaced by the best of a few codes."""

from mercer.quantizers.base import Quantizer, check_magnitude, spread_rows
from mercer.quantizers.costs import AbsoluteCost, Cost, HuberCost, SquaredCost, cost_of
from mercer.quantizers.planes import PlaneQuantizer, leading_directions
from mercer.quantizers.vectors import VectorQuantizer, weighted_medians
from mercer.running import Run, Stopping, descend

Descent = Run  # its old name

__all__ = [
    "VectorQuantizer", "PlaneQuantizer", "Quantizer",
    "Cost", "SquaredCost", "HuberCost", "AbsoluteCost", "cost_of",
    "check_magnitude", "spread_rows", "weighted_medians", "leading_directions",
    "Descent", "Stopping", "descend",
]  # fmt: skip
