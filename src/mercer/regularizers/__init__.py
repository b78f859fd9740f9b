"""Regularizers: what a complex function costs."""

from mercer.regularizers.base import Penalty, Regularizer
from mercer.regularizers.norms import L1Coefficients, L2Coefficients, Mixed, RKHSNorm, as_regularizer

__all__ = ["Regularizer", "Penalty", "RKHSNorm", "L1Coefficients", "L2Coefficients", "Mixed", "as_regularizer"]
