"""Zeros of the interior point: as many as the solution has, and no worse a certificate."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR

from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge
from mercer.machines import SupportVectorClassifier, SupportVectorRegressor

WIDTH, EPSILON = 3.4, 0.4


@pytest.fixture(scope="module")
def problem():
    X, y = load_diabetes(return_X_y=True)
    return scale(X), scale(y)


@pytest.mark.parametrize("C", [0.1, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("n", [100, 200, 300, 442])
def test_as_few_support_vectors_as_the_peer(problem, n, C):
    X, y = problem[0][:n], problem[1][:n]
    ours = SupportVectorRegressor(Gaussian(WIDTH), loss=EpsilonInsensitive(EPSILON), C=C, solver="interior_point")
    peer = SVR(gamma=0.5 / WIDTH**2, C=C, epsilon=EPSILON, tol=1e-6).fit(X, y)
    ours.fit(X, y)
    assert ours.status_ == "optimal"
    assert ours.gap_ <= ours.tol
    assert abs(len(ours.support_) - len(peer.support_)) <= 0.02 * n
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), atol=0.02)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_classes_too(problem, C):
    X, labels = problem[0], problem[1] > 0
    ours = SupportVectorClassifier(Gaussian(WIDTH), loss=Hinge(), C=C, solver="interior_point").fit(X, labels)
    peer = SVC(gamma=0.5 / WIDTH**2, C=C, tol=1e-6).fit(X, labels)
    assert ours.gap_ <= ours.tol
    assert abs(len(ours.support_) - len(peer.support_)) <= 0.02 * len(X)
