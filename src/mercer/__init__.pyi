"""What type checkers see of `mercer`: at run time its names are imported when they are first used."""

from mercer import (
    capacity,
    compat,
    components,
    datasets,
    encoders,
    graphs,
    information,
    kernels,
    losses,
    machines,
    manifolds,
    metrics,
    plots,
    problems,
    quantizers,
    regularizers,
    relevance,
    report,
    solvers,
)
from mercer.components import KernelCCA, KernelFeatureAnalysis, KernelPCA
from mercer.encoders import AmortizedMap, ContrastiveFeatures, KernelDenoiser
from mercer.graphs import DiffusionMap, LaplacianEigenmaps, SpectralClustering
from mercer.information import KernelCritic
from mercer.machines import (
    CellMachine,
    KernelRidge,
    NuSupportVectorClassifier,
    NuSupportVectorRegressor,
    OneClassMachine,
    QuantileBand,
    RejectingClassifier,
    SupportVectorClassifier,
    SupportVectorRegressor,
)
from mercer.manifolds import (
    DensityClassifier,
    GenerativeTopographicMap,
    PrincipalCurve,
    PrincipalManifold,
    UnsupervisedKernelRegression,
)
from mercer.metrics import LearnedMetric
from mercer.quantizers import PlaneQuantizer, VectorQuantizer
from mercer.relevance import KernelPCClassifier, KernelPCRegressor, RelevantDimensions

__version__: str

__all__ = [
    "__version__", "capacity", "compat", "components", "datasets", "encoders", "graphs", "information", "kernels",
    "losses", "machines", "manifolds", "metrics", "plots", "problems", "quantizers", "regularizers", "relevance",
    "report", "solvers", "SupportVectorRegressor", "NuSupportVectorRegressor", "SupportVectorClassifier",
    "NuSupportVectorClassifier", "OneClassMachine", "KernelRidge", "QuantileBand", "CellMachine",
    "RejectingClassifier", "LearnedMetric", "RelevantDimensions", "KernelPCRegressor", "KernelPCClassifier",
    "KernelPCA", "KernelFeatureAnalysis", "KernelCCA", "AmortizedMap", "ContrastiveFeatures", "KernelDenoiser",
    "KernelCritic",
    "LaplacianEigenmaps", "DiffusionMap", "SpectralClustering", "VectorQuantizer", "PlaneQuantizer",
    "PrincipalCurve", "GenerativeTopographicMap", "PrincipalManifold", "UnsupervisedKernelRegression",
    "DensityClassifier",
]  # fmt: skip
