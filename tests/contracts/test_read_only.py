"""Memory that must not be written to: rows in memory-mapped files, and models that were loaded from such files."""

import joblib
import numpy as np
import pytest
from sklearn.utils import get_tags

from mercer import (
    AmortizedMap,
    CellMachine,
    ContrastiveFeatures,
    DiffusionMap,
    KernelCCA,
    KernelCritic,
    KernelDenoiser,
    KernelFeatureAnalysis,
    KernelPCA,
    KernelPCClassifier,
    KernelPCRegressor,
    KernelRidge,
    LaplacianEigenmaps,
    NuSupportVectorRegressor,
    PlaneQuantizer,
    QuantileBand,
    RejectingClassifier,
    RelevantDimensions,
    SpectralClustering,
    SupportVectorClassifier,
    SupportVectorRegressor,
    VectorQuantizer,
)
from mercer.kernels import Exponential, Gaussian, Linear, Precomputed, WeightedDegree
from mercer.kernels.gram import Gram, RowCache, columns_of, single_precision_product
from mercer.losses import Huber

# Enough rows for compiled loops, which leave small tiles to NumPy.
N = 500

ESTIMATORS = [
    SupportVectorRegressor(Gaussian(1.0), solver="smo", warm_start=True),
    SupportVectorRegressor(Exponential(1.0), solver="smo", C=10.0, warm_start=True),
    SupportVectorRegressor(Gaussian(1.0), loss=Huber(0.1), solver="working_set", warm_start=True),
    SupportVectorRegressor(Gaussian(1.0), solver="interior_point", warm_start=True),
    SupportVectorRegressor(Gaussian(1.0), regularizer="l1", solver="linear_program"),
    SupportVectorRegressor(Precomputed(), solver="smo", warm_start=True),
    SupportVectorRegressor(Gaussian(1.0), low_rank_tol=1e-5),
    NuSupportVectorRegressor(Gaussian(1.0)),
    SupportVectorClassifier(Gaussian(1.0), solver="smo", warm_start=True),
    KernelRidge(Gaussian(1.0)),
    KernelRidge(Gaussian(1.0), penalties=0.1, solver="conjugate_gradients", warm_start=True),
    KernelRidge(Precomputed()),
    QuantileBand(Gaussian(1.0)),
    CellMachine(KernelRidge(Exponential(1.0)), max_rows=200),
    RejectingClassifier(SupportVectorClassifier(Linear())),
    KernelPCA(2),
    KernelPCA(2, eigen_solver="lanczos", random_state=0),
    AmortizedMap(KernelPCA(2), decoder="learned"),
    ContrastiveFeatures(2, penalty=1e-2),
    KernelDenoiser(0.3, penalty=1e-3),
    KernelCCA(1, penalty=1e-3),
    KernelCritic(rank=5, penalty=0.1, warm_start=True),
    KernelFeatureAnalysis(2),
    RelevantDimensions(),
    KernelPCRegressor(),
    KernelPCClassifier(),
    LaplacianEigenmaps(2, neighbors="brute"),
    LaplacianEigenmaps(2, neighbors="tree"),
    LaplacianEigenmaps(2, affinity="precomputed"),
    DiffusionMap(2, affinity=Gaussian(1.0)),
    SpectralClustering(2, neighbors="brute", random_state=0),
    VectorQuantizer(5, random_state=0),
    PlaneQuantizer(2, random_state=0),
]


def sealed(tmp_path, value, name="value"):
    """The same value, with its arrays in files that must not be changed."""
    path = tmp_path / name
    joblib.dump(value, path)
    return joblib.load(path, mmap_mode="r")


def data(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=N)
    classes = type(estimator).__name__.endswith("Classifier")
    if get_tags(estimator).input_tags.pairwise:
        X = Gaussian(1.0)(X)
    return X, np.where(y > 0, 1, 0) if classes else y


def results(estimator, X):
    names = ("predict", "transform", "decision_function")
    return {name: np.asarray(getattr(estimator, name)(X)) for name in names if hasattr(estimator, name)}


def name_of(estimator):
    return repr(estimator).replace("\n", "").replace(" ", "")


@pytest.mark.filterwarnings("ignore:.*connected parts:UserWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_estimators(estimator, tmp_path):
    X, y = data(estimator)
    estimator.fit(X, y)
    expected = results(estimator, X[:50])
    loaded, X_sealed, y_sealed = sealed(tmp_path, (estimator, X, y))
    for name, values in results(loaded, X_sealed[:50]).items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-6, atol=1e-9, err_msg=name)
    loaded.fit(X_sealed, y_sealed)  # from the last solution, where there is a warm start
    assert set(results(loaded, X_sealed[:50])) == set(expected)


@pytest.mark.parametrize("estimator", [KernelPCA(2), LaplacianEigenmaps(2), DiffusionMap(2)], ids=name_of)
def test_maps_run_backwards(estimator, tmp_path):
    X, _ = data(estimator)
    Z = estimator.fit(X).transform(X[:20])
    loaded, Z_sealed = sealed(tmp_path, (estimator, Z))
    np.testing.assert_allclose(loaded.inverse_transform(Z_sealed), estimator.inverse_transform(Z), rtol=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(), Exponential(), Linear()], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gram_engine(kernel, dtype, tmp_path):
    X = np.random.default_rng(0).normal(size=(N, 2)).astype(dtype)
    V = np.ones((N, 2))
    X_sealed, V_sealed = sealed(tmp_path, (X, V))
    K = kernel(X).astype(np.float64)
    gram, chosen = sealed(tmp_path, (Gram(kernel, X_sealed), np.arange(20)), "gram")
    tolerance = {"rtol": 1e-4, "atol": 1e-4 * np.abs(K).max()}
    np.testing.assert_allclose(gram @ V_sealed, K @ V, **tolerance)
    np.testing.assert_allclose(gram.T @ V_sealed, K @ V, **tolerance)
    np.testing.assert_allclose(single_precision_product(kernel, X_sealed, X_sealed, V_sealed), K @ V, **tolerance)
    np.testing.assert_allclose(RowCache(gram).rows(chosen), K[chosen], **tolerance)
    for matrix in (gram, sealed(tmp_path, K, "matrix")):
        columns = columns_of(matrix, 2**24)
        np.testing.assert_allclose(columns.times(chosen, V_sealed[:20, 0]), K[:, :20].sum(axis=1), **tolerance)
        np.testing.assert_allclose(columns.corner(chosen), K[:20, :20], **tolerance)


def test_strings(tmp_path):
    letters = np.random.default_rng(0).integers(4, size=(30, 12), dtype=np.uint32)
    np.testing.assert_array_equal(WeightedDegree(2)(sealed(tmp_path, letters)), WeightedDegree(2)(letters))
