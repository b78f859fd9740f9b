"""Which rows judge a metric."""

import numpy as np

from mercer.metrics.choice import shuffled, split_rows, without_copies


def test_equal_rows_are_never_parted():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(700, 2)), 2, axis=0)
    for rows in (1000, 1400):  # held-out rows, and folds
        order, ranks = shuffled(X, rng)
        splits = split_rows(ranks, rows)
        assert len(splits) == (1 if rows == 1000 else 4)
        for split in splits:
            learned, held_out = (set(map(tuple, X[order[part]])) for part in (split.learned, split.held_out))
            assert not learned & held_out


def test_equal_rows_are_parted_where_most_rows_are_repeated():
    X = np.random.default_rng(0).integers(2, size=(100, 3)).astype(float)
    _, ranks = shuffled(X, np.random.default_rng(0))
    np.testing.assert_array_equal(ranks, np.arange(100))


def test_rows_outside_the_subsample_judge_if_they_are_many():
    (split,) = split_rows(np.arange(1300), 1000)
    np.testing.assert_array_equal(split.learned, np.arange(1000))
    np.testing.assert_array_equal(split.held_out, np.arange(1000, 1300))
    assert len(split_rows(np.arange(1299), 1000)) == 4


def test_each_row_is_in_one_fold():
    splits = split_rows(np.arange(50), 1000)
    np.testing.assert_array_equal(np.sort(np.concatenate([split.held_out for split in splits])), np.arange(50))
    assert all(not set(split.learned) & set(split.held_out) for split in splits)


def test_copies_are_left_out_and_repeated_measurements_are_not():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=(30, 1))
    copied, targets = np.vstack([X, X[:10]]), np.vstack([y, y[:10]])
    np.testing.assert_array_equal(without_copies(copied, targets), np.arange(30))
    targets[35] += 1.0  # one of them was measured again
    np.testing.assert_array_equal(without_copies(copied, targets), [*range(30), 35])
    counts = np.zeros((40, 1))
    counts[::7] = 1.0  # equal rows with equal counts were counted twice
    np.testing.assert_array_equal(without_copies(copied, counts), np.arange(40))
