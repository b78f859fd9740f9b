"""Relevant dimensions: what a kernel can know about some labels, and how noisy they are."""

from mercer.relevance.diagnosis import Diagnosis
from mercer.relevance.dimensions import RelevantDimensions
from mercer.relevance.estimates import leave_one_out_errors, two_component_nll
from mercer.relevance.learning_curve import LearningCurve
from mercer.relevance.regression import KernelPCClassifier, KernelPCRegressor

__all__ = [
    "RelevantDimensions",
    "KernelPCRegressor",
    "KernelPCClassifier",
    "Diagnosis",
    "LearningCurve",
    "two_component_nll",
    "leave_one_out_errors",
]
