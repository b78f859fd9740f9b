"""Weights of classes."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.svm import SVC

from mercer import SupportVectorClassifier
from mercer.kernels import Gaussian
from mercer.losses import Logistic, SquaredHinge
from tests.contracts.all_problems import labels, rows

N = 60
X = rows(N)
KERNEL = Gaussian(0.8)
GAMMA = 1 / (2 * 0.8**2)


@pytest.fixture
def unbalanced():
    return make_classification(150, 4, n_informative=3, n_redundant=0, weights=[0.8], flip_y=0.1, random_state=0)


@pytest.mark.parametrize("class_weight", [None, {1: 7.0}, {0: 0.2, 1: 3}, "balanced"], ids=str)
def test_two_classes_are_those_of_scikit_learn(class_weight, unbalanced):
    table, y = unbalanced
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    theirs = SVC(gamma=GAMMA, C=0.7, class_weight=class_weight, tol=1e-9).fit(table, y)
    ours = SupportVectorClassifier(KERNEL, C=0.7, class_weight=class_weight, tol=1e-10).fit(table, y)
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    np.testing.assert_allclose(ours.decision_function(table), theirs.decision_function(table), atol=1e-5)
    if class_weight == "balanced":
        return  # scikit-learn balances numbers of samples, Mercer their weights
    theirs = SVC(gamma=GAMMA, C=0.7, class_weight=class_weight, tol=1e-9).fit(table, y, weight)
    ours = SupportVectorClassifier(KERNEL, C=0.7, class_weight=class_weight, tol=1e-10).fit(table, y, weight)
    np.testing.assert_allclose(ours.decision_function(table), theirs.decision_function(table), atol=1e-5)


@pytest.mark.parametrize("loss", [None, SquaredHinge(), Logistic()], ids=repr)
def test_weights_of_classes_samples_and_c_multiply(loss):
    table, y = load_iris(return_X_y=True)
    names = np.array(["c", "a", "b"])[y]
    rng = np.random.default_rng(1)
    C, weight = rng.uniform(0.5, 2.0, 150), rng.integers(0, 4, 150) / 2
    factors = {"a": 0.3, "c": 4.0}
    model = SupportVectorClassifier(KERNEL, loss=loss, C=C, class_weight=factors, tol=1e-9).fit(table, names, weight)
    by_hand = weight * np.array([factors.get(name, 1.0) for name in names])
    same = SupportVectorClassifier(KERNEL, loss=loss, C=C, tol=1e-9).fit(table, names, by_hand)
    np.testing.assert_array_equal(model.class_weight_, [0.3, 1.0, 4.0])
    np.testing.assert_allclose(model.decision_function(table), same.decision_function(table), atol=1e-6)


def test_balanced_by_weight_is_balanced_by_repetition(unbalanced):
    table, y = unbalanced
    times = np.random.default_rng(2).integers(0, 4, len(y))
    weighed = SupportVectorClassifier(KERNEL, class_weight="balanced", tol=1e-9).fit(table, y, times)
    repeated = SupportVectorClassifier(KERNEL, class_weight="balanced", tol=1e-9)
    repeated.fit(table.repeat(times, axis=0), y.repeat(times))
    np.testing.assert_allclose(weighed.class_weight_, repeated.class_weight_)
    np.testing.assert_allclose(weighed.decision_function(table), repeated.decision_function(table), atol=1e-5)
    totals = np.bincount(y, times) * weighed.class_weight_
    np.testing.assert_allclose(totals, times.sum() / 2)


def test_path_keeps_weights_of_classes(unbalanced):
    table, y = unbalanced
    path = SupportVectorClassifier(KERNEL, class_weight={1: 5.0}, tol=1e-9).regularization_path(table, y, [0.5, 2.0])
    for C, machine in zip([0.5, 2.0], path, strict=True):
        alone = SupportVectorClassifier(KERNEL, class_weight={1: 5.0}, C=C, tol=1e-9).fit(table, y)
        np.testing.assert_allclose(machine.decision_function(table), alone.decision_function(table), atol=1e-5)


@pytest.mark.parametrize(
    "class_weight", ["even", 3.0, [1.0, 2.0], {1: 0.0}, {1: -1.0}, {1: "x"}, {1: np.inf}, {1: True}], ids=str
)
def test_weights_of_a_wrong_kind(class_weight):
    with pytest.raises(
        ValueError,
        match=r"class_weight of SupportVectorClassifier must be None, 'balanced', or a dict of positive numbers by "
        r"class, got .*; leave samples out",
    ):
        SupportVectorClassifier(KERNEL, class_weight=class_weight).fit(X, labels(X))


def test_weights_of_unknown_classes():
    with pytest.raises(
        ValueError, match=r"class_weight of \w+ must name classes of y, \[-1.0, 1.0\], got \[2\]; correct the labels"
    ):
        SupportVectorClassifier(KERNEL, class_weight={1: 1.0, 2: 1.0}).fit(X, labels(X))
