"""Columns that a metric is learned on."""

import numpy as np
from sklearn.preprocessing import RobustScaler

from mercer.metrics.columns import Columns, group_numbers, most_relevant, relevance
from mercer.metrics.tuning import TUNING


def test_standardised_whatever_the_scale():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) * [1.0, 1e200, 1e-200, 1e-3] + [0.0, 1e200, 0.0, 1e6]
    Z = Columns.fit(X).transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(Z.std(axis=0), 1.0, rtol=1e-6)


def test_robust_moments_are_those_of_the_middle():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3)) * [1.0, 1e200, 1e-200]
    X[:400] = 1e300
    X[::7, 0] = np.nan
    columns = Columns.fit(X, robust=True)
    np.testing.assert_allclose(columns.spread, [1.0, 1e200, 1e-200], rtol=0.3)
    reference = RobustScaler(unit_variance=True).fit(X[:, [0]])
    np.testing.assert_allclose([columns.mean[0], columns.spread[0]], [reference.center_[0], reference.scale_[0]])
    # Where most values are equal the middle has no spread.
    X = np.column_stack([np.repeat([0.0, 1.0], [90, 10]), np.linspace(-1, 1, 100) * 1.7e308, np.full(100, 0.3)])
    columns, plain = Columns.fit(X, robust=True), Columns.fit(X)
    assert columns.mean[0] == plain.mean[0] == 0.1
    assert columns.spread[0] == plain.spread[0]
    assert np.isfinite(columns.transform(X)).all()
    np.testing.assert_array_equal(columns.varies, [True, True, False])


def test_constant_columns_are_zero_and_do_not_vary():
    X = np.column_stack([np.full(5, 0.1), np.arange(5.0), np.full(5, np.nan)])
    columns = Columns.fit(X)
    np.testing.assert_array_equal(columns.varies, [False, True, False])
    np.testing.assert_array_equal(columns.transform(X + 1)[:, [0, 2]], 0.0)


def test_missing_values_are_means_with_an_indicator():
    X = np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 7.0], [np.nan, 8.0]])
    columns = Columns.fit(X)
    Z = columns.transform(X)
    assert Z.shape == (4, 3)
    np.testing.assert_array_equal(Z[:, 0], [-1.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(Z[:, 2], [-1.0, 1.0, -1.0, 1.0])
    np.testing.assert_array_equal(columns.sources(), [0, 1, 0])
    # A value that is missing only later has no indicator.
    np.testing.assert_array_equal(columns.transform(np.array([[2.0, np.nan]])), [[0.0, 0.0, -1.0]])


def test_relevance_sees_what_no_correlation_sees():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    found = relevance(X, np.column_stack([X[:, 0] ** 2, X[:, 1]]), np.arange(3))
    assert found[:2].min() > 0.5
    assert found[2] < 0.1


def test_relevance_of_groups_is_joint_and_noise_has_none():
    rng = np.random.default_rng(0)
    levels = rng.integers(30, size=400)
    X = np.hstack([np.eye(30)[levels], rng.normal(size=(400, 100))])
    effects = rng.normal(size=30)
    groups = np.concatenate([np.zeros(30, dtype=int), np.arange(1, 101)])
    found = relevance(X, (effects[levels] + 0.1 * rng.normal(size=400))[:, None], groups)
    assert found[0] > 0.9
    assert abs(relevance(X, rng.normal(size=(400, 1)), groups).mean()) < 0.01
    rows_told_apart = relevance(np.column_stack([np.arange(8.0), X[:8, 0]]), rng.normal(size=(8, 1)), np.zeros(2, int))
    assert rows_told_apart < 1


def test_of_many_columns_whole_groups_are_used():
    rng = np.random.default_rng(0)
    levels = rng.integers(30, size=400)
    X = np.hstack([np.eye(30)[levels], rng.normal(size=(400, 250))])
    groups = np.concatenate([np.zeros(30, dtype=int), np.arange(1, 251)])
    y = (levels < 2) + 0.1 * rng.normal(size=400)
    used = most_relevant(X, y[:, None], groups)
    assert used[:30].all()
    assert used.sum() == TUNING.most_columns
    assert most_relevant(X[:, :200], y[:, None], groups[:200]).all()
    large = np.where(np.arange(280) < 150, 0, np.arange(280) - 149)  # one column of it tells all, and all are used
    assert most_relevant(X[:, ::-1], X[:, 279 - 100 : 280 - 100], large)[:150].all()


def test_groups_share_a_number_and_so_do_their_indicators():
    numbers = group_numbers([[0, 2]], 4, np.array([0, 1, 2, 3, 0, 2, 3]))
    np.testing.assert_array_equal(np.unique(numbers, return_inverse=True)[1], [0, 1, 0, 2, 3, 3, 4])
