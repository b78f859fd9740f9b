"""Probabilities of classes."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_blobs, make_moons
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import RocCurveDisplay, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SupportVectorClassifier
from mercer.kernels import FromFunction, Gaussian, Linear, Precomputed
from mercer.losses import Hinge, Logistic, SquaredHinge
from mercer.machines import Calibration
from mercer.workflows.model_files.files import ModelFile, load_model, model_bytes

KERNEL = Gaussian(0.7)
LOSSES = [Hinge(), SquaredHinge(), Logistic()]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def moons(n=150, noise=0.35):
    return make_moons(n, noise=noise, random_state=0)


def blobs(n=150, centers=4):
    return make_blobs(n, centers=centers, cluster_std=2.5, random_state=3)


def calibrated(**parameters):
    return SupportVectorClassifier(KERNEL, probability=True, random_state=0, **parameters)


def folds_of(seed, n_folds=5):
    return StratifiedKFold(n_folds, shuffle=True, random_state=np.random.RandomState(seed))


# The logistic loss ---------------------------------------------------------------------------------------------------


def test_logistic_loss_gives_the_sigmoid_of_its_decision_values():
    X, y = moons()
    model = SupportVectorClassifier(KERNEL, loss=Logistic()).fit(X, y)
    expected = expit(model.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X), np.column_stack([1 - expected, expected]), atol=1e-12)
    assert model.calibration_ is None
    asked = SupportVectorClassifier(KERNEL, loss=Logistic(), probability=True).fit(X, y)
    assert asked.calibration_ is None
    np.testing.assert_array_equal(asked.predict_proba(X), model.predict_proba(X))


def test_logistic_loss_with_a_linear_kernel_is_logistic_regression():
    X, y = moons()
    ours = SupportVectorClassifier(Linear(), loss=Logistic(), C=2.0, tol=1e-10).fit(X, y)
    theirs = LogisticRegression(C=2.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


def test_logistic_loss_of_several_classes_is_divided_by_the_sum():
    X, y = blobs()
    model = SupportVectorClassifier(Gaussian(2.0), loss=Logistic()).fit(X, y)
    against_rest = expit(model.decision_function(X))
    expected = against_rest / against_rest.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)


# Sigmoids ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("class_weight", [None, {1: 5.0}], ids=str)
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("loss", LOSSES[:2], ids=repr)
def test_two_classes_are_those_of_scikit_learn(loss, weighed, class_weight):
    X, y = moons(200)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y)) if weighed else np.ones(len(y))
    machine = SupportVectorClassifier(KERNEL, loss=loss, class_weight=class_weight, tol=1e-10)
    theirs = CalibratedClassifierCV(machine, method="sigmoid", ensemble=False, cv=folds_of(0)).fit(X, y, weight)
    ours = clone(machine).set_params(probability=True, random_state=0).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-5)
    sigmoid = theirs.calibrated_classifiers_[0].calibrators[0]
    np.testing.assert_allclose([ours.calibration_.slopes[0]], [-sigmoid.a_], rtol=1e-3)
    np.testing.assert_allclose([ours.calibration_.offsets[0]], [-sigmoid.b_], atol=1e-3)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sigmoids_are_optimal_in_any_units(n_classes, scale):
    """Against a general optimiser of the likelihood that the docstring states."""
    rng = np.random.default_rng(1)
    codes, weight = rng.integers(0, n_classes, 80), rng.uniform(0.1, 2.0, 80)
    values = rng.normal(size=(80, n_classes)) + 1.5 * np.eye(n_classes)[codes]
    values = values[:, 1] if n_classes == 2 else values
    found = Calibration.fit(values * scale, codes, weight, 5)
    F = np.column_stack([np.zeros(80), values]) if n_classes == 2 else values
    total = np.bincount(codes, weight)[codes]
    targets = np.repeat((1 / (total + 2) / (n_classes - 1))[:, None], n_classes, axis=1)
    targets[np.arange(80), codes] = (total + 1) / (total + 2)

    def likelihood(theta):
        return -weight @ np.sum(targets * log_softmax(theta[:n_classes] * F + theta[n_classes:], axis=1), axis=1)

    best = minimize(likelihood, np.zeros(2 * n_classes), options={"gtol": 1e-9})
    expected = log_softmax(best.x[:n_classes] * F + best.x[n_classes:], axis=1)
    np.testing.assert_allclose(found.log_probabilities(values * scale), expected, atol=1e-5)


def test_extreme_decision_values():
    """Separated classes, equal values and huge margins: finite parameters, no overflow, probabilities short of one."""
    codes = np.repeat([0, 1], 20)
    for values in (np.repeat([-1.0, 1.0], 20), np.repeat([-1e300, 1e300], 20) * 1e-150, np.zeros(40), np.full(40, 3.0)):
        found = Calibration.fit(values, codes, np.ones(40), 5)
        P = np.exp(found.log_probabilities(values))
        assert np.isfinite(P).all()
        assert P.max() < 0.96
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
    far = Calibration(np.array([1.0]), np.array([0.0]), 5).log_probabilities(np.array([-1e5, 1e5]))
    np.testing.assert_allclose(far, [[0.0, -1e5], [-1e5, 0.0]])


def test_several_classes_are_better_than_normalised_sigmoids():
    """Joint likelihood: no worse on new samples than one sigmoid for each class against the rest."""
    ours, theirs = [], []
    for load in (load_iris, load_wine):
        X, y = load(return_X_y=True)
        X = StandardScaler().fit_transform(X)
        train, test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
        machine = SupportVectorClassifier(random_state=0)
        model = clone(machine).set_params(probability=True).fit(train, y_train)
        other = CalibratedClassifierCV(machine, method="sigmoid", ensemble=False, cv=folds_of(0)).fit(train, y_train)
        ours.append(log_loss(y_test, model.predict_proba(test)))
        theirs.append(log_loss(y_test, other.predict_proba(test)))
    assert np.mean(ours) < np.mean(theirs)


def test_probabilities_are_frequencies():
    X, y = moons(1200)
    X, new, y, y_new = train_test_split(X, y, random_state=0)
    P = calibrated().fit(X, y).predict_proba(new)[:, 1]
    for low, high in [(0.0, 0.2), (0.2, 0.8), (0.8, 1.0)]:
        inside = (low <= P) & (high > P)
        assert abs(P[inside].mean() - y_new[inside].mean()) < 0.1


# The contract --------------------------------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("data", [moons, blobs])
def test_shape_and_sums(data, loss):
    X, y = data()
    names = np.array(list("dabc"))[y]
    model = calibrated(loss=loss).fit(X, names)
    P = model.predict_proba(X)
    assert P.shape == (len(y), len(model.classes_))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), P)
    assert np.mean(model.classes_[P.argmax(axis=1)] == model.predict(X)) > 0.9


def test_folds_are_those_of_the_random_state():
    X, y = moons()
    models = [calibrated().set_params(random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    first, again, other = (model.predict_proba(X) for model in models)
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)
    np.testing.assert_array_equal(models[0].decision_function(X), models[2].decision_function(X))
    assert models[0].calibration_.n_folds == 5


def test_a_fitted_model_does_not_change_when_it_is_used():
    X, y = moons()
    model = calibrated().fit(X, y)
    before = pickle.dumps(model)
    model.predict_proba(X)
    model.predict_log_proba(X)
    assert pickle.dumps(model) == before


def test_samples_without_weight_do_not_count():
    X, y = moons()
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    labelled = np.where(weight > 0, y, 1 - y)
    model = calibrated(tol=1e-9).fit(X, labelled, weight)
    alone = calibrated(tol=1e-9).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-6)


def test_everything_by_sample_goes_with_its_sample():
    """C by sample and a precomputed matrix in folds."""
    X, y = moons()
    C = np.random.default_rng(0).uniform(0.2, 2.0, len(y))
    model = calibrated(C=C, tol=1e-9).fit(X, y)
    given = calibrated(C=C, tol=1e-9).set_params(kernel=Precomputed()).fit(KERNEL(X), y)
    np.testing.assert_allclose(given.predict_proba(KERNEL(X)), model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("container", [sparse.csr_matrix, pd.DataFrame, np.ndarray.tolist])
def test_containers(container):
    X, y = moons()
    expected = calibrated().fit(X, y).predict_proba(X)
    model = calibrated().fit(container(X), list(y))
    np.testing.assert_allclose(model.predict_proba(container(X)), expected, atol=1e-6)


def test_objects():
    words = [letter * n + "x" * m for letter in "ab" for n in (3, 4, 5) for m in (0, 1, 2)]
    kernel = FromFunction(lambda s, t: float(sum(s.count(c) * t.count(c) for c in "abx")))
    model = SupportVectorClassifier(kernel, probability=True, random_state=0).fit(words, [word[0] for word in words])
    P = model.predict_proba(["aaaa", "bbbb"])
    assert P[0, 0] > 0.5 > P[1, 0]


@every_loss
def test_scikit_learn_takes_it(loss):
    X, y = moons()
    machine = calibrated(loss=loss)
    vote = VotingClassifier([("svm", machine), ("line", LogisticRegression())], voting="soft").fit(X, y)
    assert vote.score(X, y) > 0.8
    wrapped = CalibratedClassifierCV(machine, cv=3).fit(X, y)
    assert wrapped.predict_proba(X).shape == (len(y), 2)
    scores = cross_val_score(machine, X, y, scoring="neg_log_loss", cv=3)
    assert np.all(scores > np.log(0.5))
    search = GridSearchCV(machine, {"C": [0.1, 1.0]}, scoring="neg_log_loss", cv=3).fit(X, y)
    assert search.predict_proba(X).shape == (len(y), 2)
    model = make_pipeline(StandardScaler(), machine).fit(X, y)
    assert RocCurveDisplay.from_estimator(model, X, y, response_method="predict_proba").roc_auc > 0.9


def test_areas_of_several_classes():
    X, y = blobs()
    model = calibrated(loss=Hinge()).set_params(kernel=Gaussian(2.0)).fit(X, y)
    assert roc_auc_score(y, model.predict_proba(X), multi_class="ovr") > 0.8


def test_log_loss_is_better_than_chance_on_many_columns():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), SupportVectorClassifier(probability=True, random_state=0))
    assert cross_val_score(model, X, y, scoring="neg_log_loss", cv=3).mean() > -0.12


def test_model_files(tmp_path):
    X, y = blobs()
    model = calibrated(class_weight={0: 2.0}).fit(X, y)
    path = tmp_path / "model.skops"
    path.write_bytes(model_bytes(ModelFile("machine", {"machine": model, "band": None}, {})))
    machine = load_model(path).objects["machine"]
    np.testing.assert_array_equal(machine.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(machine.n_support_, model.n_support_)


def test_path_with_probabilities():
    X, y = moons()
    path = calibrated(tol=1e-9).regularization_path(X, y, [0.3, 3.0])
    alone = calibrated(tol=1e-9, C=3.0).fit(X, y)
    np.testing.assert_allclose(path[1].predict_proba(X), alone.predict_proba(X), atol=1e-5)


# What is not there ---------------------------------------------------------------------------------------------------


def test_probabilities_exist_if_asked_for():
    X, y = moons()
    model = SupportVectorClassifier(KERNEL)
    for state in (model, model.fit(X, y)):
        assert not hasattr(state, "predict_proba")
        assert not hasattr(state, "predict_log_proba")
    with pytest.raises(AttributeError) as error:
        _ = model.predict_proba
    assert "need probability=True or the loss Logistic(), got probability=False" in str(error.value.__cause__)
    assert model.calibration_ is None
    for asked in (calibrated(), SupportVectorClassifier(loss=Logistic())):
        assert hasattr(asked, "predict_proba")
        with pytest.raises(NotFittedError):
            asked.predict_proba(X)
    model.set_params(probability=True)
    with pytest.raises(
        NotFittedError, match="predict_proba is not available when fitted with probability=False.*; set probability"
    ):
        model.predict_proba(X)


@pytest.mark.parametrize("probability", ["auto", None, 1, "yes"])
def test_probability_of_a_wrong_kind(probability):
    with pytest.raises(ValueError, match="probability of SupportVectorClassifier must be True or False, got .*; with"):
        SupportVectorClassifier(KERNEL, probability=probability).fit(*moons())


@pytest.mark.parametrize("n_members", [2, 3, 4])
def test_small_classes_limit_the_folds(n_members):
    X, y = moons()
    X, y = np.vstack([X, X[:n_members] + 3.0]), np.r_[y, np.full(n_members, 2)]
    model = calibrated().fit(X, y)
    assert model.calibration_.n_folds == n_members
    assert model.predict_proba(X).shape == (len(y), 3)


def test_a_class_of_one_sample():
    X, y = moons()
    X, y = np.vstack([X, [3.0, 3.0]]), np.array([*np.array(["a", "b"])[y], "c"])
    with pytest.raises(
        ValueError,
        match=r"y of SupportVectorClassifier must hold two samples or more of every class for probabilities, got one "
        r"of 'c'; give more, or probability=False",
    ):
        calibrated().fit(X, y)
    weight = np.r_[np.zeros(len(y) // 2), np.ones(len(y) - len(y) // 2)]
    with pytest.raises(ValueError, match="must hold two samples or more of every class"):
        calibrated().fit(X, y, weight)


@pytest.mark.parametrize("n_fits", [0, 2, 5])
def test_interruption(n_fits):
    """An interrupted fit has no probabilities, and says so; the machine itself may be used."""
    X, y = moons()
    runs = []

    def stop(iteration, values):
        if iteration == 0:
            runs.append(values)
        return len(runs) > n_fits

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = calibrated(callback=stop).fit(X, y)
    messages = [str(warning.message) for warning in caught if warning.category is ConvergenceWarning]
    said = "SupportVectorClassifier was interrupted before its probabilities were fitted; fit again."
    assert messages.count(said) == 1
    assert model.calibration_ is None
    assert (model.status_ == "interrupted") == (n_fits == 0)
    assert len(runs) == n_fits + 1
    with pytest.raises(NotFittedError, match="or if the fit was interrupted"):
        model.predict_proba(X)
