"""Manifolds: curves, surfaces and maps that run both ways."""

from mercer.manifolds.adaptation import Adaptation
from mercer.manifolds.density import Cells, ManifoldDensity
from mercer.manifolds.density_classifier import DensityClassifier
from mercer.manifolds.fitting import ManifoldFit, fit_manifold, fit_path
from mercer.manifolds.grid_mixture import GridMixture
from mercer.manifolds.gtm import GenerativeTopographicMap
from mercer.manifolds.latent_kernels import Length
from mercer.manifolds.latent_map import LatentBasis, LatentMap
from mercer.manifolds.latent_space import LatentSpace
from mercer.manifolds.model_choice import Candidate, ModelChoice
from mercer.manifolds.polyline import Polyline
from mercer.manifolds.principal_curve import PrincipalCurve
from mercer.manifolds.principal_manifold import PrincipalManifold
from mercer.manifolds.projection import Projection, Rows, project
from mercer.manifolds.smoothers import LocalLinear, SmoothingSpline
from mercer.manifolds.soft import SoftMap, hard_end, soft_fit, soft_map
from mercer.manifolds.sparse import sparse_coefficients
from mercer.manifolds.starts import best_start, start_coordinates
from mercer.manifolds.unsupervised_kernel_regression import UnsupervisedKernelRegression

__all__ = [
    "PrincipalManifold",
    "LatentSpace", "LatentBasis", "LatentMap", "Length",
    "Rows", "Projection", "project", "Adaptation", "sparse_coefficients", "start_coordinates", "best_start",
    "ManifoldFit", "fit_manifold", "fit_path",
    "Cells", "ManifoldDensity", "SoftMap", "soft_map", "soft_fit", "hard_end", "Candidate", "ModelChoice",
    "PrincipalCurve", "Polyline", "SmoothingSpline", "LocalLinear",
    "GenerativeTopographicMap", "GridMixture",
    "UnsupervisedKernelRegression", "DensityClassifier",
]  # fmt: skip
