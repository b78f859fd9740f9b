"""Kernel components: principal components and sparse features in feature space, and the way back."""

from mercer.components.canonical import KernelCCA
from mercer.components.dimension import elbow
from mercer.components.feature_analysis import KernelFeatureAnalysis
from mercer.components.kernel_pca import KernelPCA
from mercer.components.preimages import RidgePreimages, distance_preimages, fixed_point_preimages

__all__ = [
    "KernelPCA",
    "KernelCCA",
    "KernelFeatureAnalysis",
    "elbow",
    "RidgePreimages",
    "distance_preimages",
    "fixed_point_preimages",
]
