"""Plots: Display objects on matplotlib, in scikit-learn's manner.

A display is made by a class method (`from_estimator`, `from_loss`), which also draws it; `plot(ax)` draws it again
elsewhere; `figure_` and `ax_` are what it was drawn on. matplotlib is imported when something is drawn.
"""

from mercer.plots.band import BandDisplay
from mercer.plots.bound import BoundDisplay
from mercer.plots.candidates import CandidatesDisplay
from mercer.plots.capacity_map import CapacityMapDisplay
from mercer.plots.coefficients import CoefficientDisplay
from mercer.plots.curve import CurveDisplay
from mercer.plots.decoded import DecodedGridDisplay
from mercer.plots.denoised import DenoisedDisplay
from mercer.plots.density import CurveMagnificationDisplay, RowDensityDisplay
from mercer.plots.eigengap import EigengapDisplay
from mercer.plots.entropy_numbers import EntropyNumberDisplay, PeriodDisplay, WaterFillingDisplay
from mercer.plots.family import FamilyDisplay
from mercer.plots.fit import FitDisplay
from mercer.plots.gap import GapDisplay
from mercer.plots.history import HistoryDisplay
from mercer.plots.kernel_kinds import KernelKindsDisplay
from mercer.plots.latent_map import LatentMapDisplay
from mercer.plots.learning_curve import LearningCurveDisplay
from mercer.plots.loss import LossDisplay
from mercer.plots.maps import MapDisplay
from mercer.plots.model_choice import ExplainedVarianceDisplay, ModelChoiceDisplay
from mercer.plots.predictions import PredictionDisplay
from mercer.plots.rates import RateDisplay
from mercer.plots.rejection import RejectionDisplay
from mercer.plots.risk import NormRiskDisplay, RiskBoundsDisplay, RiskPathDisplay
from mercer.plots.shapes import FeatureBoxDisplay, HullDisplay, ShatteringDisplay
from mercer.plots.surface import SurfaceDisplay
from mercer.plots.width_curve import WidthCurveDisplay

__all__ = [
    "FitDisplay",
    "BandDisplay",
    "GapDisplay",
    "BoundDisplay",
    "LossDisplay",
    "RejectionDisplay",
    "CoefficientDisplay",
    "FamilyDisplay",
    "DenoisedDisplay",
    "MapDisplay",
    "EigengapDisplay",
    "WidthCurveDisplay",
    "CurveDisplay",
    "SurfaceDisplay",
    "LatentMapDisplay",
    "DecodedGridDisplay",
    "HistoryDisplay",
    "CandidatesDisplay",
    "ModelChoiceDisplay",
    "ExplainedVarianceDisplay",
    "RowDensityDisplay",
    "CurveMagnificationDisplay",
    "KernelKindsDisplay",
    "LearningCurveDisplay",
    "PredictionDisplay",
    "EntropyNumberDisplay",
    "WaterFillingDisplay",
    "PeriodDisplay",
    "CapacityMapDisplay",
    "FeatureBoxDisplay",
    "HullDisplay",
    "ShatteringDisplay",
    "RateDisplay",
    "RiskBoundsDisplay",
    "RiskPathDisplay",
    "NormRiskDisplay",
]
