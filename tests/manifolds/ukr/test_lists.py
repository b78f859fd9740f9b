import numpy as np
import pytest
from sklearn.datasets import load_digits

from mercer import UnsupervisedKernelRegression
from mercer.datasets import make_s_sheet
from mercer.manifolds.ukr.lists import ListProblem
from mercer.manifolds.ukr.problem import LatentProblem
from mercer.manifolds.ukr.targets import data_targets
from mercer.manifolds.ukr.tuning import TUNING
from mercer.manifolds.ukr.units import LatentUnits
from tests.manifolds.ukr.tuned import tuned

SHEET, PLACES = make_s_sheet(150, n_columns=6, noise=0.03, random_state=0)
PLANE = LatentUnits(np.full(2, np.inf))


def fast(*, fast_rows=100, **options):
    """An estimator that takes the short way for few rows."""
    numbers = {name: options.pop(name) for name in list(options) if hasattr(TUNING, name) and name != "max_iter"}
    return tuned(UnsupervisedKernelRegression(2, random_state=0, **options), fast_rows=fast_rows, **numbers)


def some_points(n, extent=4.0):
    return extent * np.random.default_rng(0).uniform(-1, 1, size=(n, 2))


@pytest.mark.parametrize("n_excluded", [0, 3])
@pytest.mark.parametrize("periods", [(np.inf, np.inf), (9.0, np.inf)])
def test_lists_of_all_rows_give_the_objective(n_excluded, periods):
    Y, Z = SHEET[:50], some_points(50)
    units = LatentUnits(np.array(periods))
    exact = LatentProblem(
        data_targets(Y), n_excluded=n_excluded, periods=units.periods if units.is_circle.any() else None
    )
    lists = ListProblem(Y, n_excluded, units)
    (value, gradient), (ours, our_gradient) = exact.value_and_gradient(Z), lists.value_and_gradient(Z)
    assert ours == pytest.approx(value, rel=1e-5)
    assert lists.value(Z) == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(our_gradient, gradient, atol=1e-5 * np.abs(gradient).max() + 1e-7)


def test_near_rows_are_enough():
    Z = 12 * PLACES  # many more rows than are within reach of each
    exact, lists = LatentProblem(data_targets(SHEET), n_excluded=2), ListProblem(SHEET, 2, PLANE)
    (value, gradient), (ours, our_gradient) = exact.value_and_gradient(Z), lists.value_and_gradient(Z)
    assert ours == pytest.approx(value, rel=1e-3)
    cosine = np.vdot(gradient, our_gradient) / np.linalg.norm(gradient) / np.linalg.norm(our_gradient)
    assert cosine > 0.999


def test_lists_are_made_anew_after_ten_evaluations():
    lists = ListProblem(SHEET, 2, PLANE).evaluator()
    first, moved = 12 * PLACES, 12 * PLACES[np.random.default_rng(0).permutation(150)]
    lists.value_and_gradient(first)
    stale = [lists.value_and_gradient(moved)[0] for _ in range(10)]
    assert len(set(stale[:-1])) == 1
    assert stale[-1] == ListProblem(SHEET, 2, PLANE).value(moved) != stale[0]


def test_equal_points_and_no_one_left():
    Y, Z = SHEET[:6], np.zeros((6, 2))
    value, gradient = ListProblem(Y, 3, PLANE).value_and_gradient(Z)
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
    exact = LatentProblem(data_targets(X), n_excluded=model.n_excluded_)
    assert model.objective_ == pytest.approx(exact.value(model.embedding_), rel=1e-9)
    assert len(told) > model.n_iter_
    slow = UnsupervisedKernelRegression(2, init="isomap-8", n_excluded=model.n_excluded_, random_state=0).fit(X)
    assert model.objective_ < 1.1 * slow.objective_


@pytest.mark.parametrize("nonsense", [False, True])
def test_a_manifold_that_is_not_clearly_better_is_compared_with_few_starts(nonsense, monkeypatch):
    from mercer.manifolds.ukr import starts

    slow = UnsupervisedKernelRegression(2, random_state=0).fit(SHEET)
    if nonsense:
        places = np.random.default_rng(0).uniform(-1, 1, size=(150, 2))
        monkeypatch.setattr(starts, "manifold_coordinates", lambda Y, space: places)
    model = fast().fit(SHEET)
    table = model.candidates_
    assert table["start"] == ["pca", "manifold", "isomap-12"]
    assert model.init_ == table["start"][int(np.nanargmin(table["descended"]))]
    assert max(table["iterations"]) <= 30
    assert model.objective_ < 1.1 * slow.objective_


def test_a_fast_fit_may_be_ended():
    model = UnsupervisedKernelRegression(2, init="manifold", random_state=0, callback=lambda n, fit: n == 40).fit(SHEET)
    assert model.status_ == "interrupted"
    assert model.n_iter_ == 1
    assert model.history_[-1] <= model.history_[0]


def test_missing_entries_take_the_short_way():
    X = SHEET.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    errors = []
    for least in (500, 50):
        model = fast(fast_rows=least).fit(X)
        errors.append(np.mean((model.inverse_transform(model.embedding_) - SHEET) ** 2))
    assert set(model.candidates_["start"]) <= {"pca", "manifold", "isomap-12"}
    assert errors[1] < 1.1 * errors[0]


def test_the_start_may_be_asked_for():
    model = UnsupervisedKernelRegression(2, init="manifold", density_kernel="quartic", random_state=0).fit(SHEET)
    assert model.init_ == "manifold"


def test_the_comparison_may_be_ended(monkeypatch):
    from mercer.manifolds.ukr import comparison

    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return factor_scale(*arguments)

    factor_scale = comparison.factor_scale
    monkeypatch.setattr(comparison, "factor_scale", interrupted)
    model = fast(n_excluded=3).fit(SHEET)
    assert (model.status_, model.n_iter_) == ("interrupted", 0)
    assert model.candidates_["start"] == ["pca", "manifold"]
    calls.append(1)
    with pytest.raises(KeyboardInterrupt):
        fast(n_excluded=3).fit(SHEET)


@pytest.mark.parametrize("n_rows", [150, 60], ids=["of all", "of a sample"])
@pytest.mark.parametrize("when", [1, 3, 8, 45])
def test_the_callback_ends_the_search(when, n_rows):
    """It is asked after each start and each iteration, of rows of the sample, and never again once it said so."""
    told = []

    def callback(n, fit):
        told.append((len(fit.Z), fit.objective))
        return len(told) == when

    model = fast(callback=callback, fast_rows=50, fast_start_rows=n_rows).fit(SHEET)
    assert len(told) == when
    assert {n for n, _ in told} == {n_rows}
    assert model.status_ == "interrupted"
    assert model.embedding_.shape == (150, 2)
    assert np.isfinite(model.embedding_).all()
    if when == 8 and n_rows == 150:  # what the descent had found by then is not lost
        assert model.objective_ <= min(model.candidates_["objective"])


def test_an_interrupt_with_another_number_left_out_keeps_the_first_start(monkeypatch):
    from mercer.manifolds.ukr import comparison, search

    calls, factor_scale = [], comparison.factor_scale

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return factor_scale(*arguments)

    monkeypatch.setattr(comparison, "factor_scale", interrupted)
    monkeypatch.setattr(search, "common_share", lambda *arguments: 0.5)
    model = fast().fit(SHEET)
    assert len(calls) == 4
    assert (model.status_, model.n_excluded_) == ("interrupted", 5)


def test_many_rows_are_fitted_by_lists_alone():
    exact = fast().fit(SHEET)
    listed = fast(exact_rows=120, fast_start_rows=100).fit(SHEET)
    assert listed.n_iter_ == 1
    targets = data_targets(SHEET)
    for value, n_excluded in ((listed.objective_, listed.n_excluded_), (listed.leave_one_out_error_, 0)):
        assert value == pytest.approx(LatentProblem(targets, n_excluded=n_excluded).value(listed._Z), rel=0.01)
    assert listed.objective_ < 1.15 * exact.objective_


@pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning")
def test_of_very_many_rows_some_make_the_surface():
    few = {"fast_rows": 50, "most_regressed": 100, "regressed": 100}
    model = fast(warm_start=True, **few).fit(SHEET)
    assert model.embedding_.shape == (150, 2)
    assert len(model._surface.Z) == 100
    np.testing.assert_array_equal(model.transform(SHEET), model.embedding_)
    back = model.inverse_transform(model.embedding_)
    assert np.sum((back - SHEET) ** 2) < 0.05 * np.sum((SHEET - SHEET.mean(axis=0)) ** 2)
    np.testing.assert_allclose(model.project(SHEET).squares, np.sum((back - SHEET) ** 2, axis=1), rtol=1e-9)
    first = model.objective_
    assert model.fit(SHEET).objective_ < 1.1 * first
    stopped = fast(callback=lambda n, fit: True, **few).fit(SHEET)
    assert stopped.status_ == "interrupted"
    assert np.isfinite(stopped.embedding_).all()


@pytest.mark.parametrize("factor", [1e20, 1e-25])
def test_units_do_not_matter(factor):
    fits = [UnsupervisedKernelRegression(2, init="manifold", random_state=0).fit(s * SHEET) for s in (1.0, factor)]
    assert [fit.init_ for fit in fits] == ["manifold"] * 2
    assert fits[1].objective_ / factor**2 == pytest.approx(fits[0].objective_, rel=0.05)
    assert fits[1].score(factor * SHEET) / factor**2 == pytest.approx(fits[0].score(SHEET), rel=0.05)


def test_rows_far_from_zero_have_the_same_surface():
    near, far = (UnsupervisedKernelRegression(2, init="manifold", random_state=0).fit(SHEET + s) for s in (0.0, 1e8))
    assert far.score(SHEET[:50] + 0.01 + 1e8) == pytest.approx(near.score(SHEET[:50] + 0.01), rel=1e-3)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-3)
