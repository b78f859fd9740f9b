"""Groups are counted where there is next to nothing between them, and nowhere else."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from mercer.graphs import separate_groups


def sizes(X):
    return np.bincount(separate_groups(X)).tolist()


@pytest.mark.parametrize(("n_groups", "n_columns", "n"), [(26, 16, 1040), (3, 2, 300), (3, 20, 180), (2, 5, 60)])
def test_gaussian_clusters(n_groups, n_columns, n):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_groups, n_columns))
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)
    centres *= 9.0 / gaps[gaps > 0].min()  # standard deviations between the nearest two
    X = centres[np.arange(n) % n_groups] + rng.normal(size=(n, n_columns))
    labels = separate_groups(X)
    assert len(set(zip(labels.tolist(), (np.arange(n) % n_groups).tolist(), strict=True))) == n_groups
    assert labels.max() == n_groups - 1


def sheet(rng, n):
    T = rng.uniform(-1, 1, size=(n, 2))
    return np.column_stack([T, T[:, 0] ** 2, T.prod(axis=1)]) + 0.05 * rng.normal(size=(n, 4))


def bent(rng, n):
    """A sheet whose rows are dense in the middle, with few at its ends."""
    T = rng.normal(size=(n, 2))
    return np.column_stack([T, T[:, 0] ** 2, T.prod(axis=1)]) + 0.05 * rng.normal(size=(n, 4))


def curve(rng, n):
    t = rng.uniform(0, 3, n)
    return np.column_stack([np.cos((j + 1) * t / 2) for j in range(6)]) + 0.05 * rng.normal(size=(n, 6))


NULLS = {
    "sheet": sheet,
    "bent sheet": bent,
    "curve": curve,
    "noise": lambda rng, n: rng.normal(size=(n, 8)),
    "noise with tails": lambda rng, n: rng.standard_t(2, size=(n, 4)),
    "skewed noise": lambda rng, n: rng.lognormal(size=(n, 5)),
    "cube": lambda rng, n: rng.uniform(size=(n, 3)),
}


@pytest.mark.parametrize("n", [60, 300, 1000])
@pytest.mark.parametrize("name", NULLS)
def test_what_is_of_one_piece_is_one_group(name, n):
    for seed in range(3):
        assert sizes(NULLS[name](np.random.default_rng(seed), n)) == [n]


def test_interleaved_spirals_are_two():
    rng, n = np.random.default_rng(0), 1200
    t, sign = 3 * np.pi * np.sqrt(rng.uniform(0.05, 1, n)), np.where(np.arange(n) % 2, 1, -1)
    X = np.column_stack([sign * t * np.cos(t), sign * t * np.sin(t)]) / 8 + 0.02 * rng.normal(size=(n, 2))
    assert sizes(X) == [600, 600]


def test_real_tables():
    iris = separate_groups(load_iris().data)
    assert sizes(load_iris().data) == [100, 50]
    assert set(iris[:50]) == {1}
    assert len(sizes(load_digits().data[:1000])) == 1


def test_equal_rows_count_once():
    X = np.repeat(np.random.default_rng(0).normal(size=(40, 3)), 20, axis=0)
    assert sizes(X) == [800]
    assert sizes(np.zeros((50, 2))) == [50]
    assert sizes(np.eye(60)) == [60]
    # Groups are as large as their rows are many.
    assert sizes(np.concatenate([X, X + 100.0, X[:700]])) == [1500, 800]
