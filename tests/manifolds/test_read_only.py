"""Models and rows that are mapped from files, and must not be written to."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from mercer import GenerativeTopographicMap, PrincipalCurve, PrincipalManifold, UnsupervisedKernelRegression
from mercer.datasets import make_arc, make_s_sheet
from mercer.kernels import L1
from mercer.manifolds import DensityClassifier
from mercer.manifolds.ukr.problem import LatentProblem
from mercer.manifolds.ukr.targets import data_targets
from mercer.manifolds.ukr.tuning import PassTuning
from mercer.regularizers.sparse import sparse_coefficients

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning")

ARC = make_arc(60, angle=4.0, noise=0.05, random_state=0)[0]
SHEET = make_s_sheet(80, noise=0.05, random_state=0)[0]
HOLES = np.where(np.random.default_rng(0).random(SHEET.shape) < 0.1, np.nan, SHEET)
HOLES[np.isnan(HOLES).all(axis=1)] = 0.0


def regression(n_components=2, **options):
    options = {"init": "isomap-8", "max_iter": 5, "warm_start": True, "random_state": 0, **options}
    return UnsupervisedKernelRegression(n_components, **options)


def manifold(n_components=1, **options):
    options = {"width": 0.5, "penalty": 0.01, "max_iter": 5, "warm_start": True, "random_state": 0, **options}
    return PrincipalManifold(n_components, **options)


MODELS = {
    "gaussian": (regression(), SHEET),
    "gaussian, holes": (regression(), HOLES),
    "quartic": (regression(density_kernel="quartic"), SHEET),
    "quartic, holes": (regression(density_kernel="quartic"), HOLES),
    "circle": (regression(1, density_kernel="quartic", topology="circle"), ARC),
    "feature space": (regression(feature_kernel=L1()), SHEET),
    "feature space, quartic": (regression(feature_kernel=L1(), density_kernel="quartic"), SHEET),
    "both": (regression(1, objective="leave_one_out"), ARC),
    "homotopy": (regression(1, init="pca", homotopy=(0.3,)), ARC),
    "given": (regression(1, init=np.arange(60.0)[:, None]), ARC),
    "curve": (manifold(), ARC),
    "surface, holes": (manifold(2), HOLES),
    "soft": (manifold(assignment="soft"), ARC),
    "hard": (manifold(assignment="hard"), ARC),
    "absolute": (manifold(cost="l1"), ARC),
    "sparse": (manifold(regularizer="l1"), ARC),
    "automatic": (PrincipalManifold(1, random_state=0, warm_start=True), ARC),
    "principal curve": (PrincipalCurve(), ARC),
    "topographic": (GenerativeTopographicMap(1, warm_start=True), ARC),
}


def mapped(tmp_path, value):
    """The same from a file, with arrays that are read-only."""
    joblib.dump(value, tmp_path / "file")
    return joblib.load(tmp_path / "file", mmap_mode="r")


@pytest.mark.parametrize("name", MODELS)
def test_manifolds(name, tmp_path):
    estimator, X = MODELS[name]
    rows = mapped(tmp_path, X)
    assert isinstance(rows, np.memmap)
    assert not rows.flags.writeable
    fitted = clone(estimator).fit(X)
    np.testing.assert_array_equal(clone(estimator).fit(rows).embedding_, fitted.embedding_)
    loaded = mapped(tmp_path, fitted)
    assert not loaded.embedding_.flags.writeable
    new = X[:10] + 0.01
    Z = fitted.transform(new)
    np.testing.assert_array_equal(loaded.transform(new), Z)
    np.testing.assert_array_equal(loaded.inverse_transform(Z), fitted.inverse_transform(Z))
    for method in ("score", "density", "log_likelihood", "score_samples", "predict_proba", "reconstruction_error"):
        if hasattr(fitted, method):
            argument = Z if method == "density" else new
            np.testing.assert_array_equal(getattr(loaded, method)(argument), getattr(fitted, method)(argument))
    np.testing.assert_allclose(loaded.fit(X).embedding_, fitted.fit(X).embedding_, atol=1e-9)


def test_classifiers_of_maps(tmp_path):
    y = ARC[:, 0] > 0
    model = DensityClassifier().fit(ARC, y)
    loaded = mapped(tmp_path, model)
    np.testing.assert_array_equal(loaded.predict_proba(ARC), model.predict_proba(ARC))
    rows = mapped(tmp_path, ARC)
    np.testing.assert_array_equal(DensityClassifier().fit(rows, y).predict_proba(rows), model.predict_proba(ARC))


@pytest.mark.parametrize("density_kernel", ["gaussian", "quartic"])
@pytest.mark.parametrize("columns", [3, 60], ids=["vectors", "inner products"])
@pytest.mark.parametrize("most_pairs", [2**26, 100])  # with lists of neighbours, and by cells
def test_objectives_of_kernel_regression(density_kernel, columns, most_pairs, tmp_path):
    rng = np.random.default_rng(0)
    Z, Y = rng.normal(size=(80, 2)), rng.normal(size=(80, columns))
    objective = LatentProblem(data_targets(Y), density_kernel, 2, tuning=PassTuning(most_pairs=most_pairs))
    loaded, places = mapped(tmp_path, (objective, Z))
    value, gradient = objective.value_and_gradient(Z)
    found, slopes = loaded.value_and_gradient(places)
    assert found == value
    np.testing.assert_array_equal(slopes, gradient)
    np.testing.assert_array_equal(loaded.density(places, places), objective.density(Z, Z))


def test_sparse_coefficients(tmp_path):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 6))
    G, C = mapped(tmp_path, (A.T @ A, A.T @ rng.normal(size=(30, 2))))
    np.testing.assert_array_equal(
        sparse_coefficients(G, C, 0.1, 6, group=False),
        sparse_coefficients(np.array(G), np.array(C), 0.1, 6, group=False),
    )
