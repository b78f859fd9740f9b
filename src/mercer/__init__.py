"""Mercer: learning with kernels.

Sub-packages and estimators are imported when they are first used, so that ``import mercer`` costs next to nothing.
"""

from __future__ import annotations

# Nothing is imported here: the command listens to signals as soon as it can.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

_SUBPACKAGES = (
    "capacity", "compat", "components", "datasets", "encoders", "graphs", "information", "kernels", "losses",
    "machines", "manifolds", "metrics", "plots", "problems", "quantizers", "regularizers", "relevance", "report",
    "solvers",
)  # fmt: skip
_ESTIMATORS = {
    "SupportVectorRegressor": "machines",
    "NuSupportVectorRegressor": "machines",
    "SupportVectorClassifier": "machines",
    "NuSupportVectorClassifier": "machines",
    "OneClassMachine": "machines",
    "KernelRidge": "machines",
    "QuantileBand": "machines",
    "CellMachine": "machines",
    "RejectingClassifier": "machines",
    "LearnedMetric": "metrics",
    "RelevantDimensions": "relevance",
    "KernelPCRegressor": "relevance",
    "KernelPCClassifier": "relevance",
    "KernelPCA": "components",
    "KernelCCA": "components",
    "KernelFeatureAnalysis": "components",
    "AmortizedMap": "encoders",
    "ContrastiveFeatures": "encoders",
    "KernelDenoiser": "encoders",
    "KernelCritic": "information",
    "LaplacianEigenmaps": "graphs",
    "DiffusionMap": "graphs",
    "SpectralClustering": "graphs",
    "VectorQuantizer": "quantizers",
    "PlaneQuantizer": "quantizers",
    "PrincipalCurve": "manifolds",
    "GenerativeTopographicMap": "manifolds",
    "PrincipalManifold": "manifolds",
    "UnsupervisedKernelRegression": "manifolds",
    "DensityClassifier": "manifolds",
}

__all__ = ["__version__", *_SUBPACKAGES, *_ESTIMATORS]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _SUBPACKAGES:
        return import_module(f"{__name__}.{name}")
    if name in _ESTIMATORS:
        return getattr(import_module(f"{__name__}.{_ESTIMATORS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
