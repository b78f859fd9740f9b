"""Rows some of whose entries are missing: what is refused, and when."""

import numpy as np
import pytest

from mercer.manifolds.latent.known_rows import LIMIT, check_known_rows


def _rows(*, row=False, column=False, equal=False, large=False):
    X = np.ones((4, 3)) if equal else np.arange(12.0).reshape(4, 3)
    if row:
        X[1] = np.nan
    if column:
        X[:, 2] = np.nan
    if large:
        X[0, 0] = 10 * LIMIT
    return X


@pytest.mark.parametrize("training", [True, False])
def test_single_missing_entries_are_fine(training):
    X = _rows()
    X[0, 0] = X[1, 1] = np.nan
    check_known_rows(X, "Owner", "manifold", training=training)


@pytest.mark.parametrize("training", [True, False])
def test_rows_of_which_nothing_is_known_and_huge_ones_are_refused(training):
    with pytest.raises(ValueError, match="known entry in every row, got 1 rows of NaN; leave them out"):
        check_known_rows(_rows(row=True), "Owner", "manifold", training=training)
    with pytest.raises(ValueError, match="X of Owner must .*1e\\+70"):
        check_known_rows(_rows(large=True), "Owner", "manifold", training=training)


def test_unknown_columns_and_equal_rows_are_refused_for_training_alone():
    with pytest.raises(ValueError, match=r"known entry in every column, got NaN only in columns \[2\]"):
        check_known_rows(_rows(column=True), "Owner", "manifold", training=True)
    with pytest.raises(ValueError, match="must have rows that differ, got 4 equal ones; there is no surface"):
        check_known_rows(_rows(equal=True), "Owner", "surface", training=True)
    check_known_rows(_rows(column=True), "Owner", "manifold", training=False)
    check_known_rows(_rows(equal=True), "Owner", "surface", training=False)
