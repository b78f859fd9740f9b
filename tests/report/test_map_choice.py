"""What is shown, and what is said of it, where not everything was compared."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mercer.report.map_choice import FittedMap, MapChoice
from mercer.report.methods import METHODS, MapSettings
from mercer.report.quality import MapQuality

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 5))
NEAR, FAR = X[:, :2], rng.normal(size=(80, 2))
CURVED = SimpleNamespace(penalty_=0.1, chosen_="curved", init_="pca", topology_=("interval", "interval"))


def quality(densities):
    none = np.full(len(densities), np.nan)
    return MapQuality(0.9, 0.9, 0.5, 0.5, np.zeros(5), none, densities)


def made(manifold, pca, method="auto", **others):
    maps = {"pca": pca, "manifold": manifold, **others}
    return MapChoice(maps, X, MapSettings(method=method), True, list(METHODS)).made()


def cut_short(embedding, found=None):
    return FittedMap("manifold", CURVED, embedding, found, interrupted=True)


@pytest.mark.parametrize(("embedding", "rival", "shown"), [(NEAR, FAR, "manifold"), (FAR, NEAR, "pca")])
def test_what_was_not_compared_is_called_so_and_the_better_map_is_shown(embedding, rival, shown):
    unknown = quality(np.full(20, np.nan))
    for found in (None, unknown):
        name, verdict, reasons = made(cut_short(embedding, found), FittedMap("pca", None, rival, unknown))
        assert name == shown
        assert "stopped early, and held-out rows were not asked" in verdict
        assert "enough" not in verdict
        assert "not compared on held-out rows" in reasons[0]
        assert "inf" not in "".join(reasons)


def test_a_map_that_was_asked_for_is_shown_though_it_was_not_compared():
    name, verdict, _ = made(cut_short(FAR), FittedMap("pca", None, NEAR), method="manifold")
    assert name == "manifold"
    assert verdict.endswith("the curved map so far, as asked.")


@pytest.mark.parametrize(("gain", "shown"), [(1.0, "manifold"), (-1.0, "pca")])
def test_what_was_compared_decides(gain, shown):
    densities = rng.normal(size=20)
    manifold = cut_short(FAR, quality(densities + gain + 0.01 * rng.normal(size=20)))
    name, verdict, reasons = made(manifold, FittedMap("pca", None, NEAR, quality(densities)))
    assert name == shown
    assert verdict.startswith("The search was stopped early; ")
    assert "Log density of held-out rows" in reasons[0]


def test_maps_that_were_not_ready_are_named():
    manifold = replace(cut_short(NEAR, quality(np.zeros(20))), interrupted=False)
    reasons = made(manifold, FittedMap("pca", None, NEAR, quality(np.zeros(20))))[2]
    assert any(reason.startswith("Not compared: unsupervised kernel regression, ") for reason in reasons)
    choice = MapChoice({"pca": FittedMap("pca", None, NEAR)}, X, MapSettings(), True, ["pca", "manifold"])
    assert "no curved map was ready" in choice.made()[1]


@pytest.mark.parametrize(
    ("topology", "shape"),
    [
        (("interval",), "a curve"),
        (("circle",), "a closed loop"),
        (("interval", "interval"), "a curved surface"),
        (("interval", "circle"), "a tube"),
        (("circle", "circle"), "a torus"),
        (("circle", "circle", "interval"), "a curved space"),
    ],
)
def test_shapes_are_named_by_the_coordinates_of_the_manifold(topology, shape):
    estimator = SimpleNamespace(penalty_=0.1, chosen_="curved", init_="pca", topology_=topology)
    name, verdict, _ = made(FittedMap("manifold", estimator, NEAR), FittedMap("pca", None, NEAR))
    assert (name, verdict) == ("manifold", f"The rows lie along {shape}: the map unrolls it.")
