"""Norm and empirical risk of fitted machines, against what they are defined to be."""

import numpy as np
import pytest

from mercer import (
    KernelRidge,
    NuSupportVectorClassifier,
    NuSupportVectorRegressor,
    OneClassMachine,
    SupportVectorClassifier,
    SupportVectorRegressor,
)
from mercer.kernels import FromFunction, Gaussian, Precomputed, ThinPlate
from mercer.losses import Huber, Quantile, Squared
from tests.contracts.all_problems import labels, rows, smooth_targets

KERNEL, X = Gaussian(0.8), rows(60)
Y, LABELS = smooth_targets(X), labels(X)


def norm_of(machine, X):
    coef = machine.dual_coef_
    K = machine.kernel_(X[machine.support_])
    return np.sqrt(np.einsum("i...,ij,j...->...", coef, K, coef))


@pytest.mark.parametrize(
    "machine",
    [
        SupportVectorRegressor(KERNEL),
        SupportVectorRegressor(KERNEL, loss=Huber(0.1)),
        SupportVectorRegressor(KERNEL, loss=Quantile(0.7)),
        SupportVectorRegressor(ThinPlate(), loss=Squared()),
        SupportVectorRegressor(KERNEL, regularizer="l2"),
        SupportVectorRegressor(KERNEL, regularizer="l1"),
        SupportVectorRegressor(KERNEL, solver="smo", tol=1e-6),
        SupportVectorRegressor(KERNEL, low_rank_tol=1e-8),
    ],
    ids=str,
)
def test_norm_and_risk_are_those_of_the_function(machine):
    machine.fit(X, Y)
    np.testing.assert_allclose(machine.norm_, norm_of(machine, X), rtol=1e-10)
    risk = machine.loss_.value(Y - machine.predict(X)).mean()
    np.testing.assert_allclose(machine.empirical_risk_, risk, rtol=1e-5)


def test_weights_count_in_the_risk():
    weight = np.random.default_rng(3).uniform(0.0, 2.0, len(X))
    weight[:5] = 0.0
    machine = SupportVectorRegressor(KERNEL).fit(X, Y, weight)
    losses = machine.loss_.value(Y - machine.predict(X))
    np.testing.assert_allclose(machine.empirical_risk_, np.average(losses, weights=weight), rtol=1e-6)


def test_several_targets_and_classes_have_one_each():
    machine = SupportVectorRegressor(KERNEL).fit(X, np.column_stack([Y, -2 * Y]))
    assert len(machine.empirical_risk_) == 2
    np.testing.assert_allclose(machine.norm_, norm_of(machine, X), rtol=1e-10)
    classes = SupportVectorClassifier(KERNEL).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    assert classes.norm_.shape == (3,)
    signs = np.where(np.digitize(X[:, 0], [-0.5, 0.5])[:, None] == np.arange(3), 1.0, -1.0)
    hinges = np.maximum(0.0, 1.0 - signs * classes.decision_function(X)).mean(axis=0)
    np.testing.assert_allclose(classes.empirical_risk_, hinges, rtol=1e-4)


def test_classes_one_class_and_ridge():
    hinge = SupportVectorClassifier(KERNEL).fit(X, LABELS)
    expected = np.maximum(0.0, 1.0 - LABELS * hinge.decision_function(X)).mean()
    np.testing.assert_allclose(hinge.empirical_risk_, expected, rtol=1e-6)
    nu = NuSupportVectorClassifier(KERNEL, nu=0.4).fit(X, LABELS)
    expected = np.maximum(0.0, 1.0 - LABELS * nu.decision_function(X)).mean()
    np.testing.assert_allclose(nu.empirical_risk_, expected, rtol=1e-4)
    one = OneClassMachine(KERNEL, nu=0.2).fit(X)
    expected = np.maximum(0.0, -one.decision_function(X)).mean()
    np.testing.assert_allclose(one.empirical_risk_, expected, rtol=1e-4)
    tube = NuSupportVectorRegressor(KERNEL, nu=0.3).fit(X, Y)
    expected = np.maximum(0.0, np.abs(Y - tube.predict(X)) - tube.epsilon_).mean()
    np.testing.assert_allclose(tube.empirical_risk_, expected, rtol=1e-4)
    twice = np.vstack([X, X[:7]])
    y = np.concatenate([Y, Y[:7] + 1.0])
    ridge = KernelRidge(KERNEL).fit(twice, y)
    np.testing.assert_allclose(ridge.empirical_risk_, np.mean((y - ridge.predict(twice)) ** 2) / 2, rtol=1e-8)
    np.testing.assert_allclose(ridge.norm_, norm_of(ridge, twice), rtol=1e-8)


def test_norm_of_matrices_and_of_nothing():
    given = SupportVectorRegressor(Precomputed()).fit(KERNEL(X), Y)
    np.testing.assert_allclose(given.norm_, SupportVectorRegressor(KERNEL).fit(X, Y).norm_, rtol=1e-6)
    assert SupportVectorRegressor(KERNEL).fit(X, np.zeros(len(X))).norm_ == 0.0


def test_indefinite_kernels_have_no_norm():
    machine = SupportVectorRegressor(FromFunction(lambda A, B: np.tanh(A @ B.T), order=None), regularizer="l1")
    machine.fit(X, Y)
    assert not hasattr(machine, "norm_")
    with pytest.raises(AttributeError, match="norm_ of SupportVectorRegressor needs a .* positive definite kernel"):
        machine.norm_  # noqa: B018


def test_programs_hold_the_stored_solution():
    machine = SupportVectorClassifier(KERNEL).fit(X, LABELS)
    (part,) = machine.programs(X, LABELS)
    np.testing.assert_allclose(part.program.fitted(part.B, part.d), machine.decision_function(X), atol=1e-10)
    assert part.certificate.holds(1e-3)
