"""Seed 000, section 8, and [Bishop1998]: the oil flow on a generative topographic map."""

import pytest
from sklearn.neighbors import KNeighborsClassifier

from mercer import GenerativeTopographicMap
from mercer.datasets import load_oil_flow
from tests.datasets.folders import use_data


@pytest.mark.slow
@pytest.mark.parametrize(("options", "most"), [({}, 0.02), ({"prior": "l2"}, 0.043)], ids=["rkhs", "l2"])
def test_nearest_neighbour_error_of_projected_test_rows(options, most, monkeypatch):
    use_data(monkeypatch, "oilflow")
    (X, y), (X_test, y_test) = load_oil_flow("train"), load_oil_flow("test")
    gtm = GenerativeTopographicMap(2, **options).fit(X)
    neighbour = KNeighborsClassifier(1).fit(gtm.embedding_, y)
    assert 1 - neighbour.score(gtm.transform(X_test), y_test) <= most
