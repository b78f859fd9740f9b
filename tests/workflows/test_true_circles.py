"""Circles are called so where they keep neighbours that intervals part."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from mercer.report import MapSettings, make_map
from mercer.tables.reading import table_from_frame
from mercer.workflows.true_circles import with_true_circles


def manifold(topology, Z, status="optimal"):
    return SimpleNamespace(topology_=topology, embedding_=Z, status_=status)


@pytest.fixture
def around():
    angle = np.random.default_rng(0).uniform(-1, 1, 300)
    X = np.column_stack([np.cos(np.pi * angle), np.sin(np.pi * angle)])
    return X, angle[:, None]


def test_circles_that_keep_neighbours_stay(around):
    X, Z = around
    circle, cut = manifold(("circle",), Z), manifold(("interval",), np.abs(Z))  # which folds both halves together
    found, words = with_true_circles(circle, lambda: cut, X)
    assert found is circle
    assert words == [
        "Something is closed: 100% of the nearest rows are true neighbours with circles, 50% with intervals."
    ]


def test_circles_that_keep_no_more_go(around):
    _, Z = around
    circle, cut = manifold(("circle",), Z), manifold(("interval",), Z)
    found, words = with_true_circles(circle, lambda: cut, Z)
    assert found is cut
    assert "Circles were tried, and nothing is closed: " in words[0]


def test_intervals_and_interrupted_fits_are_not_questioned(around):
    X, Z = around
    for plain in (
        manifold(("interval",), Z),
        manifold(("circle",), Z, "interrupted"),
        SimpleNamespace(status_="optimal"),
    ):
        assert with_true_circles(plain, lambda: pytest.fail("fitted"), X) == (plain, [])
    circle = manifold(("circle",), Z)
    assert with_true_circles(circle, lambda: manifold(("interval",), np.abs(Z), "interrupted"), X) == (circle, [])


def test_groups_are_no_closed_loop():
    rng = np.random.default_rng(0)
    X = np.repeat(6 * rng.normal(size=(4, 6)), 80, axis=0) + rng.normal(size=(320, 6))
    result = make_map(table_from_frame(pl.DataFrame(X)), MapSettings(method="manifold"))
    assert "4 separate groups" in result.verdict
    assert result.embedding.shape[1] == 2
    assert set(result.model.estimator.topology_) == {"interval"}


def test_a_plane_is_no_curved_surface():
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    result = make_map(table_from_frame(pl.DataFrame(X)), MapSettings())
    assert result.verdict.startswith("The map has as many coordinates as the table has columns")
    assert result.model.method == "pca"
