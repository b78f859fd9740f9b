"""Manifolds: curves, surfaces and maps that run both ways."""

from mercer.manifolds.curve.polyline import Polyline
from mercer.manifolds.curve.principal_curve import PrincipalCurve
from mercer.manifolds.curve.smoothers import LocalLinear, SmoothingSpline
from mercer.manifolds.density_classifier import DensityClassifier
from mercer.manifolds.gtm.generative_topographic_map import GenerativeTopographicMap
from mercer.manifolds.gtm.grid_mixture import GridMixture
from mercer.manifolds.latent.kernels import Length
from mercer.manifolds.latent.maps import LatentBasis, LatentMap
from mercer.manifolds.latent.rows import Rows
from mercer.manifolds.latent.space import LatentSpace
from mercer.manifolds.latent.starts import start_coordinates
from mercer.manifolds.principal.adaptation import Adaptation
from mercer.manifolds.principal.choice.candidates import Candidate
from mercer.manifolds.principal.density import Cells, ManifoldDensity
from mercer.manifolds.principal.fitting import Alternation, fit_manifold, fit_path
from mercer.manifolds.principal.model_choice import ModelChoice
from mercer.manifolds.principal.principal_manifold import PrincipalManifold
from mercer.manifolds.principal.problem import FitCheck, ManifoldProblem
from mercer.manifolds.principal.projection import Projection, project
from mercer.manifolds.principal.result import ManifoldFit
from mercer.manifolds.principal.soft import ExpectationMaximisation, SoftMap, hard_end, soft_fit, soft_map
from mercer.manifolds.principal.solver import ManifoldSolver
from mercer.manifolds.principal.starts import best_start
from mercer.manifolds.ukr.density_kernels import DensityKernel, GaussianDensity, QuarticDensity
from mercer.manifolds.unsupervised_kernel_regression import UnsupervisedKernelRegression
from mercer.regularizers.sparse import sparse_coefficients

__all__ = [
    "PrincipalManifold",
    "LatentSpace", "LatentBasis", "LatentMap", "Length",
    "Rows", "Projection", "project", "Adaptation", "sparse_coefficients", "start_coordinates", "best_start",
    "ManifoldProblem", "FitCheck", "ManifoldSolver", "Alternation", "ExpectationMaximisation",
    "ManifoldFit", "fit_manifold", "fit_path",
    "Cells", "ManifoldDensity", "SoftMap", "soft_map", "soft_fit", "hard_end", "Candidate", "ModelChoice",
    "PrincipalCurve", "Polyline", "SmoothingSpline", "LocalLinear",
    "GenerativeTopographicMap", "GridMixture",
    "UnsupervisedKernelRegression", "DensityKernel", "GaussianDensity", "QuarticDensity", "DensityClassifier",
]  # fmt: skip
