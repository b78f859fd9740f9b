"""The search for a manifold, driven by a density that is known: nothing is fitted."""

from types import SimpleNamespace

import numpy as np
import pytest

from mercer.manifolds import Candidate, LatentSpace
from mercer.manifolds.principal.choice.candidates import Setting
from mercer.manifolds.principal.choice.search import ManifoldSearch
from mercer.manifolds.principal.choice.tuning import TUNING

LINE, LOOP = LatentSpace(("interval",)), LatentSpace(("circle",))
SHEET, TUBE = LatentSpace(("interval", "interval")), LatentSpace(("circle", "interval"))
ERRORS = np.random.default_rng(0).normal(size=200)


def search_of(*, widths=None, penalties=TUNING.penalties, n_folds=3, drops_circles=False, n_nodes=5, starts=("a", "b")):
    folds = SimpleNamespace(
        positions=[np.arange(4)] * n_folds, training=[None] * n_folds, fewest_rows=10,
        basis_for=lambda space, width: SimpleNamespace(nodes=np.zeros((n_nodes(width), 1) if callable(n_nodes) else 5)),
    )  # fmt: skip
    names = {name: np.zeros((4, 1)) for name in starts}
    return ManifoldSearch(folds, lambda space: names, widths, penalties, drops_circles)


def driven(search, density):
    """The best of a search and all settings that it asked for, given the density of each setting."""
    asked, answer = [], None
    while True:
        try:
            setting = search.send(answer)
        except StopIteration as end:
            return end.value, asked
        assert isinstance(setting, Setting)
        asked.append(setting)
        answer = Candidate(
            "manifold", setting.space, setting.width, setting.penalty, setting.start, [None], [1.0],
            density(setting) + 0.01 * ERRORS, None,
        )  # fmt: skip


def hill(width, penalty, start="b"):
    """A density that is highest at one setting, and from one start."""
    return lambda s: -abs(np.log(s.width / width)) - 0.3 * abs(np.log10(s.penalty / penalty)) + (s.start == start)


@pytest.mark.parametrize("space", [LINE, SHEET])
@pytest.mark.parametrize("penalty", [1e-2, 1e-4, 1e-7])
def test_the_best_setting_from_the_best_start_is_found(space, penalty):
    for width in TUNING.widths[TUNING.kind(space)]:
        best, asked = driven(search_of().best([space]), hill(width, penalty))
        assert (best.width, best.penalty, best.start) == (width, penalty, "b")
        followed = [s for s in asked if not s.is_probe and s.stopping is not TUNING.first]
        assert {s.start for s in followed} == {"b"}


def test_starts_are_fitted_by_falling_penalties_each_from_the_map_before():
    _, asked = driven(search_of().best([LINE]), hill(0.17, 1e-3))
    first = [s for s in asked if s.stopping is TUNING.first]
    assert [(s.start, s.penalty) for s in first[:4]] == [("a", 1e-2), ("a", 1e-3), ("b", 1e-2), ("b", 1e-3)]
    assert isinstance(first[0].before, list)
    assert isinstance(first[1].before, Candidate)
    assert first[1].before.penalty == 1e-2


def test_no_setting_is_followed_twice():
    _, asked = driven(search_of(n_folds=1).best([LINE]), hill(0.1, 1e-4))
    followed = [(s.width, s.penalty) for s in asked if s.stopping is TUNING.followed[0]]
    leap = [(TUNING.wide[0], penalty) for penalty in TUNING.light]
    others = [each for each in followed if each not in leap]
    assert len(set(others)) == len(others)


def test_a_leap_finds_wide_kernels_beyond_worse_ones():
    def two_hills(s):
        return max(hill(0.1, 1e-3)(s), 2 - abs(np.log(s.width / 0.8)) * 9 - abs(np.log10(s.penalty / 1e-5)))

    best, asked = driven(search_of().best([LINE]), two_hills)
    assert (best.width, best.penalty) == (0.8, 1e-5)
    probes = [s for s in asked if s.is_probe]
    assert [s.penalty for s in probes] == list(TUNING.light)  # one fold first


def test_one_fold_spares_a_leap_that_is_clearly_worse():
    _, asked = driven(search_of().best([LINE]), hill(0.1, 1e-2))
    assert [s.is_probe for s in asked[-len(TUNING.light) :]] == [True] * len(TUNING.light)
    assert TUNING.wide[0] not in {s.width for s in asked if not s.is_probe}


def test_given_widths_and_penalties_are_taken():
    best, asked = driven(search_of(widths=[0.3], penalties=[5e-4]).best([SHEET]), hill(0.1, 1e-2))
    assert {(s.width, s.penalty) for s in asked} == {(0.3, 5e-4)}
    assert (best.width, best.penalty) == (0.3, 5e-4)


def test_kernels_with_more_nodes_than_rows_are_not_tried():
    few = search_of(n_nodes=lambda width: 5 if width >= 0.1 else 11)
    _, asked = driven(few.best([LINE]), hill(0.035, 1e-3))
    assert min(s.width for s in asked) == 0.1


@pytest.mark.parametrize("gain", [0.5, -0.5])
def test_a_circle_must_be_clearly_better_than_the_manifold_without_it(gain):
    def density(s):
        return hill(0.2, 1e-3)(s) + gain * (s.space == TUBE) - 3.0 * (s.space == SHEET)

    best, asked = driven(search_of(drops_circles=True).best([SHEET, TUBE]), density)
    assert LINE in {s.space for s in asked}  # the tube without its circle
    assert best.space == (TUBE if gain > 0 else SHEET)
    assert driven(search_of().best([SHEET, TUBE]), density)[0].space == TUBE


def test_spaces_that_start_far_behind_are_not_followed():
    _, asked = driven(search_of().best([LINE, LOOP]), lambda s: hill(0.2, 1e-3)(s) - 5.0 * (s.space == LOOP))
    assert {s.stopping is TUNING.first for s in asked if s.space == LOOP} == {True}
