"""A fitted model does not change when it is used."""

import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer.datasets import make_s_sheet
from mercer.kernels import L1, Gaussian

X, PLACES = make_s_sheet(60, noise=0.05, random_state=0)
NEW = X[::3] + 0.01
NUMBERS, CLASSES = PLACES[:, 0], (PLACES[:, 0] > np.median(PLACES[:, 0])).astype(int)
# What takes rows, and what takes coordinates.
METHODS = (
    "transform", "predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples", "project",
    "reconstruction_error", "log_likelihood", "distance_to_manifold", "quantization_error", "impute",
    "responsibilities", "predict_interval", "accepts",
)  # fmt: skip
INVERSES = ("inverse_transform", "density", "tangent", "metric")


def models():
    """Each estimator of the package with its parameters by default, and some in other settings."""
    needed = {
        "RejectingClassifier": mercer.SupportVectorClassifier(),
        "AmortizedMap": mercer.KernelPCA(2),
        "KernelDenoiser": 0.1,
    }
    for name in sorted(set(mercer._ESTIMATORS) - {"RelevantDimensions"}):  # which is not used after its fit
        estimator = getattr(mercer, name)
        yield name, estimator(needed[name]) if name in needed else estimator()
    short = {"init": "pca", "max_iter": 5, "random_state": 0}
    yield "quartic", mercer.UnsupervisedKernelRegression(1, density_kernel="quartic", **short)
    yield "feature space", mercer.UnsupervisedKernelRegression(2, feature_kernel=L1(), **short)
    yield "circle", mercer.UnsupervisedKernelRegression(1, topology="circle", **short)
    yield "closed curve", mercer.PrincipalManifold(1, topology="circle", width=0.5, penalty=0.01, **short)
    yield "kernel components", mercer.KernelPCA(2, kernel=Gaussian(1.0))


def fitted(name, estimator):
    y = CLASSES if name.endswith("Classifier") else NUMBERS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).fit(X, y), y


def called(model, method, *arguments):
    """Whether a method could be called; some are not for all models."""
    if not hasattr(model, method):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            getattr(model, method)(*arguments)
        except (TypeError, ValueError):
            return False
    return True


@pytest.mark.parametrize(("name", "estimator"), list(models()), ids=[name for name, _ in models()])
def test_use_does_not_change_a_model(name, estimator):
    model, y = fitted(name, estimator)
    before = {key: joblib.hash(value) for key, value in vars(model).items()}

    def check(method):
        after = {key: joblib.hash(value) for key, value in vars(model).items()}
        changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        assert not changed, f"{method} changes {changed}"

    done = []
    for method in METHODS:
        if called(model, method, NEW):
            done.append(method)
            check(method)
    if hasattr(model, "score") and called(model, "score", X, y):
        done.append("score")
        check("score")
    if hasattr(model, "transform") and hasattr(model, "inverse_transform"):
        Z = model.transform(NEW)
        for method in INVERSES:
            if called(model, method, Z):
                done.append(method)
                check(method)
    assert done, "no method was called"
