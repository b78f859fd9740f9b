"""Fitted models do not change when they are used, and work on arrays that must not be written to."""

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from mercer import (
    KernelFeatureAnalysis,
    KernelPCA,
    KernelPCClassifier,
    KernelPCRegressor,
    PlaneQuantizer,
    RelevantDimensions,
    VectorQuantizer,
)
from mercer.kernels import Exponential, Gaussian, Linear, Polynomial
from mercer.machines import RejectingClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
CLASSES = (X[:, 0] + 0.3 * rng.normal(size=90) > 0).astype(int)
NUMBERS = np.sin(X[:, 0]) + 0.1 * rng.normal(size=90)
USES = ("transform", "predict", "decision_function", "predict_proba", "accepts", "coordinates", "reconstruction_error")
MODELS = [
    *(KernelPCA(4, preimage=preimage) for preimage in ("auto", "fixed_point", "distance", "ridge")),
    KernelPCA(4, fit_inverse_transform=True),
    KernelPCA(2, kernel=Linear()),
    KernelPCA(4, kernel=Polynomial(2), remove="linear"),
    KernelPCA(4, kernel=Exponential(1.0), eigen_solver="lanczos", warm_start=True, random_state=0),
    KernelPCA(4, n_landmarks=30, random_state=0),
    KernelFeatureAnalysis(4),
    KernelFeatureAnalysis(2, constraint="rkhs", contrast="kurtosis"),
    *(VectorQuantizer(4, cost=cost, warm_start=True, random_state=0) for cost in ("squared", "l1", "huber")),
    PlaneQuantizer(2, warm_start=True, random_state=0),
    RelevantDimensions(widths=[0.5, 1.0]),
    KernelPCRegressor(widths=[0.5, 1.0]),
    KernelPCRegressor(Gaussian(1.0), rank=30),
    KernelPCClassifier(widths=[0.5, 1.0]),
    RejectingClassifier(coverage=0.8, cv=3),
    RejectingClassifier(LogisticRegression(), coverage=0.8),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)


def labels(model):
    return CLASSES if isinstance(model, KernelPCClassifier | RejectingClassifier) else NUMBERS


def used(model, rows):
    """What every method says of some rows, noisy ones included."""
    results = {use: getattr(model, use)(rows) for use in USES if hasattr(model, use)}
    if hasattr(model, "inverse_transform"):
        results["inverse_transform"] = model.inverse_transform(model.transform(rows))
        results["far"] = model.inverse_transform(3.0 * model.transform(rows))
    if hasattr(model, "quantization_error"):
        results["error"] = model.quantization_error(rows)
    return results


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-10, atol=1e-12, err_msg=name)


@every_model
def test_a_fitted_model_does_not_change_when_it_is_used(model):
    model = clone(model).fit(X, labels(model))
    before = joblib.hash(vars(model))
    first = used(model, X + 0.5 * rng.normal(size=X.shape))
    assert joblib.hash(vars(model)) == before
    assert first or isinstance(model, RelevantDimensions)
    if isinstance(model, VectorQuantizer):
        used(model, sparse.csr_array(X))
        assert joblib.hash(vars(model)) == before


@every_model
def test_arrays_that_must_not_be_written_to(model, tmp_path):
    rows = X + 0.1
    expected = used(clone(model).fit(X, labels(model)), rows)
    joblib.dump((X, labels(model), rows), tmp_path / "data")
    read_only = joblib.load(tmp_path / "data", mmap_mode="r")
    assert not read_only[0].flags.writeable
    fitted = clone(model).fit(*read_only[:2])
    assert_equal(used(fitted, read_only[2]), expected)
    # A model whose own arrays are read-only is used, and fitted again, from a warm start too.
    joblib.dump(fitted, tmp_path / "model")
    loaded = joblib.load(tmp_path / "model", mmap_mode="r")
    assert_equal(used(loaded, read_only[2]), expected)
    again = used(loaded.fit(*read_only[:2]), rows)
    if not getattr(model, "warm_start", False):
        assert_equal(again, expected)


def test_sparse_rows_that_must_not_be_written_to(tmp_path):
    joblib.dump(sparse.csr_array(np.where(X > 0, X, 0.0)), tmp_path / "rows")
    rows = joblib.load(tmp_path / "rows", mmap_mode="r")
    assert not rows.data.flags.writeable
    for cost in ("squared", "l1", "huber"):
        model = VectorQuantizer(3, cost=cost, random_state=0).fit(rows)
        assert model.transform(rows).shape == (90, 3)
    assert KernelPCA(2).fit(rows).transform(rows).shape == (90, 2)
    assert KernelPCRegressor(Gaussian(1.0)).fit(rows, NUMBERS).predict(rows).shape == (90,)
