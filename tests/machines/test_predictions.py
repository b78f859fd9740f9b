"""Predictions in double and in single precision."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.svm import SVR

from mercer import KernelRidge, SupportVectorClassifier, SupportVectorRegressor
from mercer.datasets import make_sinc
from mercer.kernels import Gaussian, Multiquadric, Precomputed

rng = np.random.default_rng(0)
X, y = make_sinc(600, noise=0.1, random_state=0)
new = np.linspace(-20, 20, 1001)[:, None]


def test_predictions_equal_those_of_scikit_learn():
    peer = SVR(C=10.0, gamma=0.5, epsilon=0.01, tol=1e-8).fit(X, y)
    machine = SupportVectorRegressor(Gaussian(), C=10.0, tol=1e-9).fit(X, y)
    machine.support_, machine.support_vectors_ = peer.support_, peer.support_vectors_
    machine.dual_coef_, machine.parametric_coef_ = peer.dual_coef_[0], peer.intercept_
    scale = np.abs(peer.dual_coef_).sum()
    np.testing.assert_allclose(machine.predict(new), peer.predict(new), atol=1e-15 * scale)


@pytest.mark.parametrize(
    "machine",
    [
        SupportVectorRegressor(Gaussian(0.5), C=1000.0).fit(X, y),
        SupportVectorRegressor(Gaussian(0.5)).fit(X, np.column_stack([y, 10 * y])),
        KernelRidge(Gaussian(0.7)).fit(X, y),
        SupportVectorRegressor(Multiquadric(1.0)).fit(X[:80], y[:80]),
    ],
    ids=["one_target", "two_targets", "ridge", "multiquadric"],
)
def test_single_precision_keeps_its_bound(machine):
    exact, fast = machine.predict(new), machine.predict(new, dtype=np.float32)
    assert exact.dtype == np.float64
    assert fast.dtype == np.float32
    assert fast.shape == exact.shape
    bound = machine.prediction_error_bound(np.float32)
    assert np.shape(bound) == exact.shape[1:]
    assert np.all(np.abs(fast - exact) <= bound + 2.0**-23 * np.abs(exact))
    assert np.all((bound > 0) == isinstance(machine.kernel_, Gaussian))
    assert np.all(machine.prediction_error_bound(np.float64) == 0)
    np.testing.assert_array_equal(machine.predict(new, dtype="float64"), exact)


@pytest.mark.parametrize("data", [make_moons(400, noise=0.2, random_state=0), make_blobs(400, random_state=0)])
def test_classifiers_in_single_precision(data):
    machine = SupportVectorClassifier(C=10.0).fit(*data)
    exact, fast = (machine.decision_function(data[0], dtype=dtype) for dtype in (np.float64, np.float32))
    assert fast.dtype == np.float32
    bound = machine.prediction_error_bound()
    assert np.all(np.abs(fast - exact) <= bound + 2.0**-23 * np.abs(exact))
    margin = np.abs(exact) if exact.ndim == 1 else np.diff(np.sort(exact, axis=1)[:, -2:])[:, 0]
    sure = margin > 2 * np.max(bound)
    assert sure.mean() > 0.95
    np.testing.assert_array_equal(machine.predict(data[0], dtype=np.float32)[sure], machine.predict(data[0])[sure])


def test_precomputed_and_empty_machines_have_no_error():
    K = Gaussian()(X[:50])
    machine = SupportVectorRegressor(Precomputed()).fit(K, y[:50])
    assert machine.prediction_error_bound() == 0
    np.testing.assert_allclose(machine.predict(K, dtype=np.float32), machine.predict(K), rtol=1e-6, atol=1e-7)
    constant = SupportVectorRegressor(Gaussian(), solver="smo").fit(X, np.ones(len(X)))
    assert len(constant.support_) == 0
    assert constant.prediction_error_bound() == 0
    assert constant.predict(new, dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float16, int, None, "complex128"])
def test_other_precisions_are_refused(dtype):
    machine = SupportVectorRegressor().fit(X[:30], y[:30])
    with pytest.raises(
        ValueError, match="dtype of SupportVectorRegressor must be float64 or float32, got .*; float32 is"
    ):
        machine.predict(new, dtype=dtype)
    with pytest.raises(ValueError, match="dtype of SupportVectorRegressor must be float64 or float32"):
        machine.prediction_error_bound(dtype)
