"""What the metric finds, and what it makes of strange input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelRidge, LearnedMetric
from mercer.metrics import Compared
from mercer.metrics.tuning import TUNING


def friedman(n=150, n_noise=5, noise=0.1, seed=0):
    """Friedman's first function: five columns that count, of which two act together, and columns of noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 5 + n_noise))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + noise * rng.normal(size=n)


@pytest.fixture(scope="module")
def fitted():
    X, y = friedman()
    return LearnedMetric().fit(X, y), X, y


def test_finds_the_columns_that_count(fitted):
    metric, _, _ = fitted
    assert metric.importance_[:5].min() > 3 * metric.importance_[5:].max()
    assert metric.status_ == "optimal"
    assert "with equal weights" in metric.reason_


def test_the_machine_in_the_metric_predicts_better(fitted):
    metric, X, y = fitted
    X_new, y_new = friedman(1000, noise=0.0, seed=1)
    learned = KernelRidge(metric.kernel_, penalties=metric.penalty_).fit(metric.transform(X), y)
    isotropic = KernelRidge().fit(X, y)
    errors = [np.mean((y_new - p) ** 2) for p in (learned.predict(metric.transform(X_new)), isotropic.predict(X_new))]
    assert errors[0] < 0.5 * errors[1]


def test_the_table_holds_all_candidates(fitted):
    metric, _, _ = fitted
    assert all(isinstance(row, Compared) for row in metric.table_)
    compared = {(row.family, row.shape) for row in metric.table_}
    shapes = ("isotropic", "diagonal")
    families = ("Exponential", "ProductLaplace", "Gaussian")
    assert compared >= {(family, shape) for family in families for shape in shapes}
    assert sum(row.shape == "rotated" for row in metric.table_) == 1
    best = min(metric.table_, key=lambda row: row.error)
    assert 0 < best.error < 0.2


def test_interactions_are_those_of_the_function(fitted):
    metric, X, _ = fitted
    table = metric.interactions(X, n_columns=5)
    np.testing.assert_array_equal(table, table.T)
    pairs = np.where(np.isnan(table), -1.0, table)
    assert np.unravel_index(np.argmax(pairs), pairs.shape) in [(0, 1), (1, 0)]
    assert np.isnan(table[5, 6])
    with pytest.raises(ValueError, match="n_columns of LearnedMetric.interactions must be a whole number >= 1, got 0"):
        metric.interactions(X, n_columns=0)


def test_is_the_same_twice():
    X, y = friedman(80)
    first, second = (LearnedMetric().fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)
    assert first.table_ == second.table_
    assert first.reason_ == second.reason_


def test_units_of_columns_and_target_do_not_matter():
    X, y = friedman(80)
    plain, scaled = LearnedMetric().fit(X, y), LearnedMetric().fit(X * np.logspace(-150, 150, 10), 1e-8 * y + 1e3)
    np.testing.assert_allclose(scaled.transform(X * np.logspace(-150, 150, 10)), plain.transform(X), atol=1e-3)


def test_a_function_that_changes_within_short_distances_is_not_taken_for_noise():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1200, 4))
    y = np.sin(5 * X[:, 0]) * np.sin(5 * X[:, 1]) + np.sin(5 * X[:, 2]) * np.sin(5 * X[:, 3])
    for seed in range(3):  # of the rows on which scales are tried
        metric = LearnedMetric("Gaussian", rotation="none", random_state=seed).fit(X[:800], y[:800])
        model = KernelRidge(metric.kernel_, penalties=metric.penalty_).fit(metric.transform(X[:800]), y[:800])
        assert np.mean((model.predict(metric.transform(X[800:])) - y[800:]) ** 2) < 0.3 * y.var()


def test_a_robust_scale_is_not_moved_by_a_wild_value():
    X, y = friedman(80)
    wild = X.copy()
    wild[0] = 1e9
    errors = {}
    for scale in ("standard", "robust"):
        metric = LearnedMetric(scale=scale).fit(wild, y)
        model = KernelRidge(metric.kernel_, penalties=metric.penalty_).fit(metric.transform(wild), y)
        new, targets = friedman(200, seed=1)
        errors[scale] = np.mean((model.predict(metric.transform(new)) - targets) ** 2) / targets.var()
    assert errors["robust"] < 0.3
    assert errors["standard"] > 2 * errors["robust"]


def test_a_function_of_one_direction_is_found_by_a_rotation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = np.sin(2 * X @ np.array([1.0, 1.0, 1.0, -1.0, 0.0, 0.0]) / 2)
    metric = LearnedMetric().fit(X, y)
    assert metric.reason_.split(":")[0].endswith("with weights and a rotation of the columns")
    errors = {(row.family, row.shape): row.error for row in metric.table_}
    assert min(e for (_, shape), e in errors.items() if shape == "rotated") < 0.5 * min(
        e for (_, shape), e in errors.items() if shape == "diagonal"
    )
    assert LearnedMetric(rotation="none").fit(X, y).components_.nonzero()[0].size == 6


def test_the_kernel_can_be_given(fitted):
    _, X, y = fitted
    metric = LearnedMetric("Gaussian").fit(X, y)
    assert {row.family for row in metric.table_} == {"Gaussian"}
    assert type(metric.kernel_).__name__ == "Gaussian"


def test_rows_outside_the_subsample_judge():
    X, y = friedman(500)
    metric = LearnedMetric("Exponential", rows=150, refine_rows=250, rotation="none").fit(X, y)
    assert "rows held out" in metric.reason_
    assert metric.importance_[:5].min() > 3 * metric.importance_[5:].max()


@pytest.mark.parametrize(("n", "expected"), [(100, 2000), (10_000, 2500), (100_000, 3000)])
def test_more_rows_are_refined_on_where_there_are_many(n, expected):
    assert LearnedMetric()._n_refined(n) == expected
    assert LearnedMetric(refine_rows=30)._n_refined(n) == 30


def test_groups_share_one_weight():
    rng = np.random.default_rng(0)
    levels = rng.integers(3, size=100)
    X = np.column_stack([np.eye(3)[levels], rng.normal(size=100)])
    y = np.array([0.0, 1.0, 3.0])[levels] + 0.1 * rng.normal(size=100)
    weights = LearnedMetric("Exponential", groups=[[0, 1, 2]]).fit(X, y).weights_
    assert weights[0] == weights[1] == weights[2] != weights[3]


def test_several_targets_share_one_metric():
    X, _ = friedman(100)
    targets = np.column_stack([np.sin(6 * X[:, 0]), X[:, 5], np.ones(100)])
    metric = LearnedMetric().fit(X, targets)
    assert metric.importance_[[0, 5]].min() > 3 * np.delete(metric.importance_, [0, 5]).max()


def test_labels_that_are_not_numbers_are_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    labels = np.array(["low", "middle", "high"])[np.digitize(X[:, 1], [-0.5, 0.5])]
    for y in (labels, labels.astype(object), pd.Series(labels), labels == "low"):
        assert np.argmax(LearnedMetric("Exponential").fit(X, y).importance_) == 1


def test_missing_values_have_an_indicator():
    X, y = friedman(120)
    rng = np.random.default_rng(1)
    X[rng.random(120) < 0.3, 0] = np.nan
    X[rng.random(120) < 0.3, 6] = np.nan
    told = y + 30 * np.isnan(X[:, 6])
    metric = LearnedMetric().fit(X, told)
    assert metric.components_.shape[0] == 12
    assert np.argmax(metric.importance_) == 6  # that it is missing tells most
    assert np.isfinite(metric.transform(X)).all()


def test_constant_columns_have_no_weight(fitted):
    _, X, y = fitted
    metric = LearnedMetric("Exponential").fit(np.column_stack([X, np.ones(len(X)), np.zeros(len(X))]), y)
    np.testing.assert_array_equal(metric.weights_[-2:], 0.0)
    np.testing.assert_array_equal(metric.components_[-2:], 0.0)
    np.testing.assert_array_equal(metric.importance_[-2:], 0.0)
    assert "2 constant columns have the weight 0." in metric.reason_


@pytest.mark.parametrize("what", ["targets", "columns"])
def test_says_if_there_is_nothing_to_learn(what):
    X, y = friedman(30)
    X, y = (X, np.ones(30)) if what == "targets" else (np.ones_like(X), y)
    metric = LearnedMetric().fit(X, y)
    reason = "the targets are constant" if what == "targets" else "all columns are constant"
    assert metric.reason_ == f"Nothing to learn: {reason}."
    assert metric.table_ == []
    assert np.isfinite(metric.transform(X)).all()
    assert np.isfinite(metric.interactions(X)).any()


def test_noise_has_equal_weights_and_is_called_so():
    rng = np.random.default_rng(0)
    metric = LearnedMetric().fit(rng.normal(size=(200, 5)), rng.normal(size=200))
    assert np.ptp(metric.weights_) == 0
    distances = pdist(metric.transform(rng.normal(size=(200, 5))))
    assert 0.5 < np.median(distances) < 2.0  # and not so narrow that all rows look different
    assert "Nothing found: no metric predicts better than the mean." in metric.reason_


@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_few_rows(n):
    X, y = friedman(n)
    metric = LearnedMetric().fit(X, y)
    assert np.isfinite(metric.transform(X)).all()
    if n < TUNING.least_distinct:
        assert "the distinct rows are too few to compare metrics." in metric.reason_


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 90))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    assert np.argmax(LearnedMetric().fit(X, y).importance_) == 0


def test_of_very_many_columns_those_that_tell_something_are_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 1000))
    y = X[:, 500] ** 2 + 0.1 * rng.normal(size=150)
    metric = LearnedMetric("Exponential", rotation="none").fit(X, y)
    assert "800 columns that tell least of the targets by themselves have the weight 0." in metric.reason_
    assert np.argmax(metric.importance_) == 500
    assert metric.transform(X).shape == (150, 200)


@pytest.mark.parametrize("labels", [False, True])
def test_a_selection_of_columns_does_not_give_the_targets_away(labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 1000))
    y = rng.normal(size=100)
    metric = LearnedMetric().fit(X, np.where(y > 0, "high", "low") if labels else y)
    assert "Nothing found: no metric predicts better than the mean." in metric.reason_
    assert metric.noise_ > 0.9
    assert min(row.error for row in metric.table_ if row.shape == "diagonal") > 0.95


def test_all_columns_take_part_where_a_selection_would_be_worse():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 250))
    y = X @ rng.normal(size=250) / np.sqrt(250) + 0.1 * rng.normal(size=600)
    metric = LearnedMetric("Gaussian", rotation="none").fit(X[:300], y[:300])
    assert "Gaussian with equal weights" in metric.reason_
    assert metric.transform(X).shape == (600, 250)
    machine = KernelRidge(metric.kernel_, penalties=metric.penalty_).fit(metric.transform(X[:300]), y[:300])
    assert machine.score(metric.transform(X[300:]), y[300:]) > 0.6


def test_a_selection_does_not_part_groups():
    rng = np.random.default_rng(0)
    levels = rng.integers(20, size=200)
    X = np.hstack([np.eye(20)[levels], rng.normal(size=(200, 230))])
    y = rng.normal(size=20)[levels] + 0.1 * rng.normal(size=200)
    metric = LearnedMetric("Exponential", groups=[list(range(20))], rotation="none").fit(X, y)
    assert metric.reason_.startswith("Exponential with a weight for each column")
    assert (metric.weights_[:20] > 0).all()
    assert np.count_nonzero(metric.weights_) == TUNING.most_columns


def test_duplicated_columns_share_what_they_tell(fitted):
    metric, X, y = fitted
    twice = LearnedMetric().fit(np.column_stack([X, 3.0 - 2.0 * X]), y)
    np.testing.assert_array_equal(twice.weights_[10:], twice.weights_[:10])
    np.testing.assert_allclose(twice.importance_[10:], twice.importance_[:10])
    np.testing.assert_allclose(twice.importance_[:5], metric.importance_[:5], rtol=0.2)  # not a half for each
    named = "column 10 (of column 0), column 11 (of column 1), column 12 (of column 2)"
    assert f"10 columns are duplicates and share the weight: {named} and 7 more." in twice.reason_
    table = twice.interactions(np.column_stack([X, 3.0 - 2.0 * X]), n_columns=10)
    assert np.isnan(table[0, 10])
    assert table[0, 1] == pytest.approx(table[10, 11])
    assert table[0, 1] == pytest.approx(metric.interactions(X)[0, 1], rel=0.3)


def test_duplicates_are_named_by_their_names(fitted):
    _, X, y = fitted
    frame = pd.DataFrame(np.column_stack([X, X[:, 0]]), columns=[*"abcdefghij", "again"])
    metric = LearnedMetric("Exponential", rotation="none").fit(frame, y)
    assert "1 column is a duplicate and shares the weight: again (of a)." in metric.reason_
    in_a_group = LearnedMetric("Exponential", rotation="none", groups=[["a", "again"]]).fit(frame, y)
    assert "duplicate" not in in_a_group.reason_
    np.testing.assert_array_equal(in_a_group.weights_, metric.weights_)


def test_repeated_rows_do_not_promise_a_target_without_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = X[:, 0] + rng.normal(size=100)
    once = LearnedMetric("Exponential").fit(X, y)
    twice = LearnedMetric("Exponential").fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert 0.5 * once.penalty_ < twice.penalty_ < 2 * once.penalty_
    assert once.noise_ == pytest.approx(twice.noise_, rel=0.2)


def test_repeated_rows_with_other_targets_tell_the_noise():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 2)), 5, axis=0)
    metric = LearnedMetric("Exponential").fit(X, X[:, 0] + 0.5 * rng.normal(size=200))
    assert metric.noise_ == pytest.approx(0.2, rel=0.3)


def test_conjugate_gradients_finish_where_the_target_has_no_noise():
    """Scale and ridge would go to zero together."""
    X, y = friedman(400, noise=0.0)
    metric = LearnedMetric().fit(X, y)
    assert metric.penalty_ >= TUNING.least_ridge
    options = {"penalties": metric.penalty_, "solver": "conjugate_gradients"}
    assert KernelRidge(metric.kernel_, **options).fit(metric.transform(X), y).status_ == "optimal"


def test_heavy_tails_in_columns_and_targets():
    rng = np.random.default_rng(0)
    X = rng.standard_t(1.0, size=(300, 4))
    y = np.sin(np.clip(X[:, 0], -3, 3)) + 0.05 * rng.standard_t(1.5, size=300)
    metric = LearnedMetric().fit(X, y)
    assert np.isfinite(metric.transform(X)).all()
    assert np.argmax(metric.importance_) == 0


def test_single_precision_and_frames():
    X, y = friedman(60)
    expected = LearnedMetric().fit(X.astype(np.float32).astype(float), y)
    single = LearnedMetric().fit(X.astype(np.float32), y.astype(np.float32).astype(float))
    np.testing.assert_allclose(
        single.transform(X.astype(np.float32)), expected.transform(X.astype(np.float32)), rtol=0.05, atol=0.05
    )
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(10)])
    metric = LearnedMetric().set_output(transform="pandas").fit(frame, y)
    assert "learnedmetric0" in metric.transform(frame).columns


def test_an_interrupted_search_keeps_the_best_so_far(fitted):
    _, X, y = fitted
    seen = []

    def callback(iteration, objective):
        seen.append((iteration, objective))
        return iteration == 70

    with pytest.warns(ConvergenceWarning, match="LearnedMetric was interrupted; its metric is the best so far."):
        metric = LearnedMetric(callback=callback).fit(X, y)
    assert metric.status_ == "interrupted"
    assert metric.reason_.endswith("The search was interrupted.")
    assert metric.n_iter_ == len(seen) == 71
    assert [iteration for iteration, _ in seen] == list(range(71))
    assert np.isfinite(metric.transform(X)).all()


def test_any_moment_is_a_good_end():
    X, y = friedman(60, n_noise=1)
    n_iter = LearnedMetric().fit(X, y).n_iter_
    for last in range(10, n_iter, 60):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            metric = LearnedMetric(callback=lambda iteration, _, last=last: iteration >= last).fit(X, y)
        assert metric.status_ == "interrupted"
        assert metric.importance_.any()


def test_ctrl_c_keeps_the_best_so_far(fitted):
    _, X, y = fitted

    def presses(iteration, objective):
        if iteration == 70:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="LearnedMetric was interrupted; its metric is the best so far."):
        metric = LearnedMetric(callback=presses).fit(X, y)
    assert metric.status_ == "interrupted"
    assert metric.importance_.any()


def test_the_leave_one_out_error_is_that_of_kernel_ridge_regression(fitted):
    metric, X, y = fitted
    path = KernelRidge(metric.kernel_, penalties=metric.penalty_).fit(metric.transform(X), y).leave_one_out_error_
    assert metric.leave_one_out_error_ == pytest.approx(path[0] ** 2 / y.var())
    assert LearnedMetric().fit(X, np.ones(len(X))).leave_one_out_error_ == 0.0
    assert LearnedMetric().fit(np.ones_like(X), y).leave_one_out_error_ == 1.0


def test_an_interruption_before_anything_is_known_is_raised():
    X, y = friedman(60)
    with pytest.raises(KeyboardInterrupt):
        LearnedMetric(callback=lambda *_: True).fit(X, y)


def test_the_progress_bar_is_shown(capsys):
    LearnedMetric("Exponential", verbose=True).fit(*friedman(20))
    assert "Metric" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "Matern"}, "kernel of LearnedMetric must be one of .*got 'Matern'"),
        ({"scale": "huge"}, "scale of LearnedMetric must be one of .*got 'huge'"),
        ({"rotation": True}, "rotation of LearnedMetric must be one of .*got True"),
        ({"rows": 1}, "rows of LearnedMetric must be a whole number >= 2, got 1"),
        ({"refine_rows": 0.5}, "refine_rows of LearnedMetric must be a whole number >= 2, got 0.5"),
        ({"prior": -1.0}, "prior of LearnedMetric must be a number >= 0, got -1.0; 1 is the default"),
        ({"groups": [[0, 10]]}, "groups of LearnedMetric must be lists of different columns from 0 to 9"),
        ({"groups": [[0, 1], [1, 2]]}, "groups of LearnedMetric must be lists of different columns"),
        ({"groups": [[]]}, "groups of LearnedMetric must be lists of different columns"),
        ({"groups": [["a"]]}, "groups of LearnedMetric must be lists of different columns from 0 to 9, or their names"),
        ({"groups": 3}, "groups of LearnedMetric must be lists of different columns"),
    ],
)
def test_refuses_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        LearnedMetric(**parameters).fit(*friedman(20))


def test_groups_may_be_named():
    X, y = friedman(60)
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    named, counted = (
        LearnedMetric("Exponential", groups=g).fit(frame, y) for g in ([["b", "a"], [4, "f"]], [[0, 1], [4, 5]])
    )
    np.testing.assert_array_equal(named.weights_, counted.weights_)
    with pytest.raises(ValueError, match="got \\[\\['b', 'z'\\]\\]; name each column once at most"):
        LearnedMetric(groups=[["b", "z"]]).fit(frame, y)


@pytest.mark.parametrize("machine", [LearnedMetric(), KernelRidge(metric="learned")], ids=["metric", "machine"])
def test_says_what_to_do_with_text(machine):
    X, y = friedman(30)
    frame = pd.DataFrame(X).assign(colour=pd.Categorical(["red", "green"] * 15))
    frame.columns = frame.columns.astype(str)
    with pytest.raises(
        ValueError, match="(?s)must hold numbers to have a learned metric, got text .*; give categories as one"
    ):
        machine.fit(frame, y)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=str)
def test_refuses_missing_labels(missing):
    X, y = friedman(20)
    labels = np.where(y > np.median(y), "high", "low").astype(object)
    labels[[3, 5]] = missing
    with pytest.raises(
        ValueError, match="must hold a label for each row, got 2 missing, the first at position 3; leave"
    ):
        LearnedMetric().fit(X, labels)


def test_refuses_several_columns_of_labels():
    X, y = friedman(20)
    labels = np.where(y > np.median(y), "high", "low")
    for both in (np.column_stack([labels, labels]), pd.DataFrame({"a": labels, "b": labels})):
        with pytest.raises(ValueError, match=r"must be one column if it holds labels, got shape \(20, 2\); learn one"):
            LearnedMetric().fit(X, both)
    column = LearnedMetric("Exponential").fit(X, labels[:, None])
    np.testing.assert_array_equal(column.weights_, LearnedMetric("Exponential").fit(X, labels).weights_)


def test_refuses_other_input():
    X, y = friedman(20)
    with pytest.raises(TypeError, match="callback of LearnedMetric must be callable or None, got 3; give a function"):
        LearnedMetric(callback=3).fit(X, y)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        LearnedMetric().fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="y must be given: LearnedMetric requires y to be passed"):
        LearnedMetric().fit(X, None)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        LearnedMetric().fit(X, np.full(20, np.nan))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LearnedMetric().fit(X, y[1:])
    with pytest.raises(ValueError, match="infinity"):
        LearnedMetric().fit(np.where(X > 0.9, np.inf, X), y)


def test_clones_are_not_fitted(fitted):
    assert not hasattr(clone(fitted[0]), "components_")
