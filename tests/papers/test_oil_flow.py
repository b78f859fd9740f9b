"""Oil flow: maps of the training set, judged by the nearest neighbours of test rows in them ([Smola2001]_, 8)."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from mercer import PrincipalManifold
from mercer.datasets import load_oil_flow
from tests.datasets.folders import use_data


def neighbour_error(model, monkeypatch):
    use_data(monkeypatch, "oilflow")
    (X, y), (X_test, y_test) = load_oil_flow("train"), load_oil_flow("test")
    Z = model.fit_transform(X)
    return 1 - KNeighborsClassifier(1).fit(Z, y).score(model.transform(X_test), y_test)


def test_principal_components(monkeypatch):
    assert neighbour_error(PCA(2), monkeypatch) == pytest.approx(0.152, abs=0.001)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "penalty", "annealing", "most"), [(0.33, 1e-3, 0, 0.011), (1.0, 1e-5, 3, 0.017)])
def test_surface_of_49_nodes(width, penalty, annealing, most, monkeypatch):
    model = PrincipalManifold(
        2, width=width, penalty=penalty, n_nodes=49, init="pca", annealing=annealing, max_iter=500
    )
    assert neighbour_error(model, monkeypatch) <= most
    assert np.all(np.diff(model.history_) <= 1e-10)


@pytest.mark.slow
def test_three_dimensions(monkeypatch):
    model = PrincipalManifold(3, width=0.6, penalty=1e-4, n_nodes=125, init="pca", max_iter=500)
    assert neighbour_error(model, monkeypatch) <= 0.01


@pytest.mark.slow
def test_everything_automatic(monkeypatch):
    assert neighbour_error(PrincipalManifold(2, random_state=0), monkeypatch) <= 0.025
