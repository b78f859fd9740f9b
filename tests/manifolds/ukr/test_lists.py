import numpy as np
import pytest
from sklearn.datasets import load_digits

from mercer import UnsupervisedKernelRegression
from mercer.datasets import make_s_sheet
from mercer.manifolds.ukr.lists import ListObjective
from mercer.manifolds.ukr.objective import LatentObjective
from mercer.manifolds.ukr.targets import data_targets
from mercer.manifolds.ukr.units import LatentUnits

SHEET, PLACES = make_s_sheet(150, n_columns=6, noise=0.03, random_state=0)
PLANE = LatentUnits(np.full(2, np.inf))


def some_points(n, extent=4.0):
    return extent * np.random.default_rng(0).uniform(-1, 1, size=(n, 2))


@pytest.mark.parametrize("n_excluded", [0, 3])
@pytest.mark.parametrize("periods", [(np.inf, np.inf), (9.0, np.inf)])
def test_lists_of_all_rows_give_the_objective(n_excluded, periods):
    Y, Z = SHEET[:50], some_points(50)
    units = LatentUnits(np.array(periods))
    exact = LatentObjective(
        data_targets(Y), n_excluded=n_excluded, periods=units.periods if units.is_circle.any() else None
    )
    lists = ListObjective(Y, n_excluded, units)
    (value, gradient), (ours, our_gradient) = exact.value_and_gradient(Z), lists.value_and_gradient(Z)
    assert ours == pytest.approx(value, rel=1e-5)
    assert lists.value(Z) == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(our_gradient, gradient, atol=1e-5 * np.abs(gradient).max() + 1e-7)


def test_near_rows_are_enough():
    Z = 12 * PLACES  # many more rows than are within reach of each
    exact, lists = LatentObjective(data_targets(SHEET), n_excluded=2), ListObjective(SHEET, 2, PLANE)
    (value, gradient), (ours, our_gradient) = exact.value_and_gradient(Z), lists.value_and_gradient(Z)
    assert ours == pytest.approx(value, rel=1e-3)
    cosine = np.vdot(gradient, our_gradient) / np.linalg.norm(gradient) / np.linalg.norm(our_gradient)
    assert cosine > 0.999


def test_lists_are_made_anew_after_ten_evaluations():
    lists = ListObjective(SHEET, 2, PLANE)
    first, moved = 12 * PLACES, 12 * PLACES[np.random.default_rng(0).permutation(150)]
    lists.value_and_gradient(first)
    stale = [lists.value_and_gradient(moved)[0] for _ in range(10)]
    assert len(set(stale[:-1])) == 1
    assert stale[-1] == ListObjective(SHEET, 2, PLANE).value(moved) != stale[0]


def test_equal_points_and_no_one_left():
    Y, Z = SHEET[:6], np.zeros((6, 2))
    value, gradient = ListObjective(Y, 3, PLANE).value_and_gradient(Z)
    assert value == pytest.approx(np.sum((Y - Y.mean(axis=0)) ** 2) / 6, rel=1e-5)  # all are as near as the third
    np.testing.assert_array_equal(gradient, 0)


def test_many_rows_start_from_a_manifold():
    X, told = load_digits().data[:500], []
    model = UnsupervisedKernelRegression(2, random_state=0, callback=lambda *each: told.append(each)).fit(X)
    assert model.init_ == "manifold"
    assert model.candidates_["start"] == ["manifold"]
    assert model.history_[0] == pytest.approx(model.candidates_["objective"][0], rel=1e-9)
    assert np.all(np.diff(model.history_) <= 0)
    assert model.n_iter_ == len(model.history_) - 1 <= 11
    # What it tells is the objective over all pairs, and not over lists.
    exact = LatentObjective(data_targets(X), n_excluded=model.n_excluded_)
    assert model.objective_ == pytest.approx(exact.value(model.embedding_), rel=1e-9)
    assert len(told) > model.n_iter_
    slow = UnsupervisedKernelRegression(2, init="isomap-8", n_excluded=model.n_excluded_, random_state=0).fit(X)
    assert model.objective_ < 1.1 * slow.objective_


@pytest.mark.parametrize("nonsense", [False, True])
def test_a_manifold_that_is_not_clearly_better_is_no_start(nonsense, monkeypatch):
    from mercer.manifolds.ukr import starts

    slow = UnsupervisedKernelRegression(2, random_state=0).fit(SHEET)
    monkeypatch.setattr("mercer.manifolds.ukr.settings._FAST_ROWS", (100, 1000))
    if nonsense:
        places = np.random.default_rng(0).uniform(-1, 1, size=(150, 2))
        monkeypatch.setattr(starts, "manifold_coordinates", lambda Y, space: places)
    model = UnsupervisedKernelRegression(2, random_state=0).fit(SHEET)
    assert model.candidates_["start"] == slow.candidates_["start"]
    np.testing.assert_allclose(model.embedding_, slow.embedding_)


def test_a_fast_fit_may_be_ended():
    model = UnsupervisedKernelRegression(2, init="manifold", random_state=0, callback=lambda n, fit: n == 3).fit(SHEET)
    assert model.status_ == "interrupted"
    assert model.n_iter_ == 1
    assert model.history_[-1] <= model.history_[0]


def test_missing_entries_take_the_long_way(monkeypatch):
    monkeypatch.setattr("mercer.manifolds.ukr.settings._FAST_ROWS", (50, 1000))
    X = SHEET[:60].copy()
    X[3, 2] = np.nan
    assert "lle-12" in UnsupervisedKernelRegression(2, random_state=0).fit(X).candidates_["start"]


def test_the_start_may_be_asked_for():
    model = UnsupervisedKernelRegression(2, init="manifold", density_kernel="quartic", random_state=0).fit(SHEET)
    assert model.init_ == "manifold"


def test_the_comparison_may_be_ended(monkeypatch):
    from mercer.manifolds.ukr import training

    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return factor_scale(*arguments)

    factor_scale = training.factor_scale
    monkeypatch.setattr("mercer.manifolds.ukr.settings._FAST_ROWS", (100, 1000))
    monkeypatch.setattr(training, "factor_scale", interrupted)
    model = UnsupervisedKernelRegression(2, n_excluded=3, random_state=0).fit(SHEET)
    assert model.init_ == "manifold"
    calls.append(1)
    with pytest.raises(KeyboardInterrupt):
        UnsupervisedKernelRegression(2, n_excluded=3, random_state=0).fit(SHEET)
