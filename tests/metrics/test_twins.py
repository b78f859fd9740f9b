"""Columns that are equal to others."""

import numpy as np

from mercer.metrics.twins import Twins


def columns():
    """Columns 0, 3 and 5 are the same but for a sign, and so are 1 and 4."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 3))
    return np.column_stack([Z, -Z[:, 0], Z[:, 1] + 1e-12, Z[:, 0]])


def test_equal_columns_and_negatives_are_found():
    twins = Twins.among(columns(), np.arange(6))
    np.testing.assert_array_equal(twins.leaders, [0, 1, 2, 0, 1, 0])
    np.testing.assert_array_equal(twins.signs, [1, 1, 1, -1, 1, 1])


def test_columns_of_one_group_are_no_twins():
    twins = Twins.among(columns(), np.array([0, 1, 2, 0, 1, 3]))
    assert twins.leaders[4] == 1 or twins.leaders[4] == 4
    np.testing.assert_array_equal(Twins.among(columns(), np.array([0, 1, 2, 0, 1, 0])).leaders, np.arange(6))
    np.testing.assert_array_equal(twins.sharing(np.array([0, 1, 2, 0, 1, 3])), [0, 1, 2, 0, 1, 0])


def test_twins_share_groups_and_move_together():
    twins = Twins.among(columns(), np.arange(6))
    np.testing.assert_array_equal(twins.sharing(np.array([7, 1, 2, 3, 4, 2])), [7, 1, 7, 7, 1, 7])
    slopes = np.array([[1.0, 2.0, 3.0, -4.0, 5.0, 6.0]])
    np.testing.assert_array_equal(np.abs(twins.together(slopes)), [[11.0, 7.0, 3.0, 11.0, 7.0, 11.0]])


def test_twins_are_named():
    twins = Twins.among(columns(), np.arange(6))
    assert twins.words(list("abc")) == []
    assert twins.words(list("abcd")) == ["1 column is a duplicate and shares the weight: d (of a)."]
    assert twins.words(list("abcdef")) == [
        "3 columns are duplicates and share the weight: d (of a), e (of b), f (of a)."
    ]
