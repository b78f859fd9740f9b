"""C = inf: hard margins and tubes."""

import numpy as np
import pytest
from sklearn.svm import SVC

from mercer import NuSupportVectorRegressor, SupportVectorClassifier, SupportVectorRegressor
from mercer.kernels import Gaussian, Linear
from mercer.losses import EpsilonInsensitive, Huber

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
Y = np.sin(X[:, 0])
CLASSES = (X[:, 0] > 0).astype(int)
APART = X + np.where(CLASSES, 0.5, -0.5)[:, None] * [1.0, 0.0]


@pytest.mark.parametrize("solver", ["auto", "smo", "working_set"])
def test_hard_margin(solver):
    tol = 1e-6 if solver == "working_set" else 1e-8
    model = SupportVectorClassifier(Linear(), C=np.inf, tol=tol, solver=solver).fit(APART, CLASSES)
    reference = SVC(kernel="linear", C=1e10, tol=1e-9).fit(APART, CLASSES)
    assert model.status_ == "optimal"
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, reference.intercept_[0], atol=1e-3)
    assert model.certificate(APART, CLASSES).holds(tol)
    assert np.isfinite(model.C_)


@pytest.mark.parametrize("regularizer", ["rkhs", "l1"])
def test_hard_tube(regularizer):
    model = SupportVectorRegressor(
        Gaussian(1.0), loss=EpsilonInsensitive(0.1), C=np.inf, regularizer=regularizer, tol=1e-8
    ).fit(X, Y)
    assert model.status_ == "optimal"
    assert np.abs(model.predict(X) - Y).max() <= 0.1 + 1e-6
    larger = SupportVectorRegressor(
        Gaussian(1.0), loss=EpsilonInsensitive(0.1), C=1e3 * model.C_, regularizer=regularizer, tol=1e-8
    ).fit(X, Y)
    np.testing.assert_allclose(larger.predict(X), model.predict(X), atol=1e-4)


def test_some_samples_are_hard():
    """And those without a weight are none."""
    y = Y + 0.3 * rng.normal(size=60)
    C, weight = np.full(60, 0.1), np.ones(60)
    C[:5], weight[0] = np.inf, 0.0
    model = SupportVectorRegressor(Gaussian(1.0), C=C, tol=1e-8).fit(X, y, weight)
    error = np.abs(model.predict(X) - y)
    assert error[1:5].max() <= 0.1 + 1e-6
    assert error[5:].max() > 0.2
    assert 0 not in model.support_


def test_no_function_keeps_all_samples():
    with pytest.raises(ValueError, match="C of SupportVectorClassifier must be finite for these samples, got inf; no"):
        SupportVectorClassifier(Linear(), C=np.inf).fit(X, rng.integers(0, 2, 60))


def test_losses_that_are_not_lines():
    with pytest.raises(ValueError, match=r"must be finite for Huber.*, got inf; only for losses of straight lines"):
        SupportVectorRegressor(loss=Huber(), C=np.inf).fit(X, Y)
    with pytest.raises(ValueError, match="C of NuSupportVectorRegressor must be finite, got inf; its tube grows"):
        NuSupportVectorRegressor(C=np.inf).fit(X, Y)


@pytest.mark.parametrize("hard", [0, 1])
def test_one_side_is_hard(hard):
    """Residuals y - f below the tube, or above it."""
    C = (np.inf, 1.0) if hard == 0 else (1.0, np.inf)
    y = Y + 0.3 * rng.normal(size=60)
    model = SupportVectorRegressor(Gaussian(0.5), C=C, tol=1e-8).fit(X, y)
    r = (y - model.predict(X)) * (1 if hard else -1)
    assert r.max() <= 0.1 + 1e-6
    assert r.min() < -0.11
    assert model.certificate(X, y).holds(1e-8)


def test_path_and_refit():
    path = SupportVectorRegressor(Gaussian(1.0), C=(np.inf, np.inf)).regularization_path(X, Y, [1.0, 2.0])
    np.testing.assert_allclose(path[0].predict(X), path[1].predict(X))
    assert not hasattr(path[0].set_params(C=1.0).fit(X, Y), "C_")
