import numpy as np
import pytest
from scipy.stats import spearmanr

from mercer.datasets import make_arc, make_spiral
from mercer.manifolds import LatentSpace
from mercer.manifolds.ukr.starts import apart, candidate_names, candidates, spread

LINE, RING, PLANE = (LatentSpace(kinds) for kinds in (("interval",), ("circle",), ("interval", "interval")))
RNG = np.random.RandomState(0)


def test_names():
    assert candidate_names("auto")[0] == "pca"
    assert {name.partition("-")[0] for name in candidate_names("auto")} == {"pca", "isomap", "eigenmaps", "lle"}
    assert candidate_names("eigenmaps-7") == ["eigenmaps-7"]
    for nonsense in ("", "magic", "pca-3", "lle-", "lle-0", "lle-x", "isomap--3"):
        assert candidate_names(nonsense) in ([], candidate_names("lle"))


def test_all_methods_find_a_curve():
    X, t = make_arc(200, angle=3.0, noise=0.02, random_state=0)
    found = dict(candidates(X, LINE, ["pca", "isomap-8", "eigenmaps-8", "lle-10"], RNG))
    for name, box in found.items():
        assert box.shape == (200, 1)
        assert np.abs(box).max() <= 1.0
        assert abs(spearmanr(box[:, 0], t)[0]) > (0.6 if name == "pca" else 0.99)


def test_few_rows_have_few_neighbours():
    X = RNG.normal(size=(6, 2))
    assert list(dict(candidates(X, LINE, ["isomap-5", "isomap-8", "isomap-12"], RNG))) == ["isomap-5"]


@pytest.mark.parametrize("space", [LINE, RING])
def test_rows_between_others(space):
    X, t = make_spiral(400, noise=0.01, random_state=0) if space is LINE else make_arc(400, noise=0.01, random_state=0)
    some = np.arange(0, 400, 2)
    coordinates = (2 * t / t.max() - 1)[some, None]
    Z = spread(X, some, coordinates, space)
    np.testing.assert_array_equal(Z[some], coordinates)
    error = Z[:, 0] - (2 * t / t.max() - 1)
    error = (error + 1) % 2 - 1 if space is RING else error
    assert np.abs(error).max() < 0.05


def test_points_on_a_line_are_moved_apart():
    line = np.column_stack([np.linspace(-1, 1, 20), np.zeros(20)])
    moved = apart(line, PLANE, RNG)
    np.testing.assert_array_equal(moved[:, 0], line[:, 0])
    assert 0 < np.ptp(moved[:, 1]) <= 0.02
    assert apart(moved, PLANE, RNG) is moved
