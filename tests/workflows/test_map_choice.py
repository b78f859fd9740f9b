"""What is shown, and what is said of it, where not everything was compared."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mercer.workflows.map_choice import FittedMap, MapChoice
from mercer.workflows.methods import METHODS, MapSettings
from mercer.workflows.quality import MapQuality
from mercer.workflows.row_groups import groups_of

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 5))
NEAR, FAR = X[:, :2], rng.normal(size=(80, 2))
CURVED = SimpleNamespace(kind_="manifold", chosen_="curved", topology_=("interval", "interval"))


def quality(densities):
    none = np.full(len(densities), np.nan)
    return MapQuality(0.9, 0.9, 0.5, 0.5, np.zeros(5), none, densities)


def made(manifold, pca, method="auto", **others):
    maps = {"pca": pca, "manifold": manifold, **others}
    return MapChoice(maps, X, MapSettings(method=method), True, list(METHODS), groups_of(X)).made()


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
    choice = MapChoice({"pca": FittedMap("pca", None, NEAR)}, X, MapSettings(), True, ["pca", "manifold"], groups_of(X))
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
    estimator = SimpleNamespace(kind_="manifold", chosen_="curved", topology_=topology)
    name, verdict, _ = made(FittedMap("manifold", estimator, NEAR), FittedMap("pca", None, NEAR))
    assert (name, verdict) == ("manifold", f"The rows lie along {shape}: the map unrolls it.")


def clusters(n_groups, n=300, gap=12.0):
    """Groups of rows in five columns, so many standard deviations apart."""
    noise = np.random.default_rng(1).normal(size=(n, 5))
    noise[:, 0] += gap * (np.arange(n) % n_groups)
    return noise


def choice(rows, manifold, wanted=("pca", "manifold"), **others):
    maps = {"pca": FittedMap("pca", None, rows[:, :2], quality(np.zeros(20))), "manifold": manifold, **others}
    return MapChoice(maps, rows, MapSettings(), True, list(wanted), groups_of(rows))


def flat(init="pca"):
    return SimpleNamespace(kind_=init, chosen_="flat", topology_=("interval", "interval"))


def test_several_groups_are_no_curved_surface():
    rows = clusters(3)
    name, verdict, reasons = choice(rows, FittedMap("manifold", CURVED, rows[:, :2], quality(np.zeros(20)))).made()
    assert (name, verdict) == (
        "manifold", "The rows fall into 3 separate groups: the map lays them out side by side."
    )  # fmt: skip
    assert reasons[1] == "Between 3 groups of rows there is next to nothing: they hold 33%, 33%, 33% of the rows."
    rows[np.random.default_rng(0).integers(300, size=9), 3] = np.nan
    assert len(choice(rows, FittedMap("manifold", CURVED, rows[:, :2])).groups.shares) == 3


def test_many_groups_are_told_by_their_largest():
    shares = choice(clusters(9, 540), FittedMap("manifold", CURVED, NEAR)).groups
    assert shares.words == [
        "Between 9 groups of rows there is next to nothing: they hold 11%, 11%, 11%, 11%, 11% and smaller shares in 4 "
        "more of the rows."
    ]


def test_a_few_rows_apart_are_told_but_make_no_groups():
    rows = clusters(1, 400)
    rows[:35, 0] += 15.0
    _, verdict, reasons = choice(rows, FittedMap("manifold", CURVED, rows[:, :2], quality(np.zeros(20)))).made()
    assert verdict == "The rows lie along a curved surface: the map unrolls it."
    assert reasons[1] == "Between 2 groups of rows there is next to nothing: they hold 91%, 8.8% of the rows."


def test_groups_of_many_rows_are_counted_on_some():
    assert len(choice(clusters(2, 4000), FittedMap("manifold", CURVED, NEAR)).groups.shares) == 2


def test_no_structure_says_what_was_compared():
    name, verdict, _ = choice(X, FittedMap("manifold", flat("mean"), NEAR)).made()
    assert name == "pca"
    assert verdict == (
        "No structure was found: principal components predict held-out rows no better than the mean of the table, and "
        "no principal manifold predicts them better than both the mean and a plane. The picture shows principal "
        "components; do not read shapes into it."
    )
    rows = clusters(2)
    verdict = choice(rows, FittedMap("manifold", flat("mean"), rows[:, :2])).made()[1]
    assert verdict.startswith("The rows fall into 2 separate groups, and no other structure was found: principal")
    ring = replace(choice(X, FittedMap("manifold", flat("mean"), NEAR)), settings=MapSettings(topology=("circle",)))
    ring.maps["manifold"].estimator.topology_ = ("circle",)
    assert ring.made()[1].startswith("No structure was found: a closed loop predicts held-out rows no better than the")


def test_headlines_say_that_something_was_not_compared():
    manifold = FittedMap("manifold", flat(), NEAR)
    complete = choice(X, manifold, ["pca", "manifold"]).made()
    assert complete[1] == (
        "Principal components are enough: no principal manifold predicts held-out rows better than a plane does."
    )
    assert not any(reason.startswith("Not compared:") for reason in complete[2])
    interrupted = FittedMap("ukr", None, NEAR, None, interrupted=True)
    name, verdict, reasons = choice(X, manifold, ["pca", "manifold", "ukr"], ukr=interrupted).made()
    assert name == "pca"
    assert verdict.startswith("As far as maps were compared, principal components are enough: no principal manifold")
    assert "Not compared: unsupervised kernel regression." in reasons
    measured = replace(interrupted, quality=quality(np.zeros(20)), interrupted=False)
    assert choice(X, manifold, ["pca", "manifold", "ukr"], ukr=measured).made()[1] == complete[1]
