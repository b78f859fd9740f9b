import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

from mercer.graphs import parts_of, shortest_links
from mercer.graphs.parts import connected

rng = np.random.default_rng(0)


def test_parts_are_numbered_by_size():
    W = np.zeros((9, 9))
    for i, j in [(0, 1), (2, 3), (3, 4), (4, 5), (7, 8)]:
        W[i, j] = W[j, i] = 0.5
    expected = [1, 1, 0, 0, 0, 0, 3, 2, 2]
    np.testing.assert_array_equal(parts_of(W), expected)
    np.testing.assert_array_equal(parts_of(sparse.csr_array(W)), expected)
    W[5, 6] = W[6, 5] = 1.0
    stored = sparse.csr_array(W)
    stored.data[stored.data == 1.0] = 0.0
    assert stored.nnz == 12
    np.testing.assert_array_equal(parts_of(stored), expected)
    assert stored.nnz == 12


def slow_length(X, part):
    """Length of the shortest tree that joins the parts, from the shortest links of all pairs of parts."""
    n_parts = part.max() + 1
    between = np.zeros((n_parts, n_parts))
    for p in range(n_parts):
        for q in range(p):
            between[p, q] = cdist(X[part == p], X[part == q]).min()
    return minimum_spanning_tree(between).sum()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "sizes",
    [(5, 4), (60, 40), (100, 3, 3, 3, 1, 1), (1,) * 12, (200, 200, 1)],
    ids=["two", "two_large", "small_ones", "all_alone", "large_and_alone"],
)
def test_links_are_those_of_the_shortest_tree(sizes, seed):
    r = np.random.default_rng(seed)
    X = np.vstack([r.normal(size=(size, 3)) * r.uniform(0.1, 1) + r.normal(size=3) * 10 for size in sizes])
    part = np.repeat(np.arange(len(sizes)), sizes)
    for rows in (X, sparse.csr_array(X)):
        i, j, r_ij = shortest_links(rows, part)
        assert len(i) == len(sizes) - 1
        np.testing.assert_allclose(r_ij, np.linalg.norm(X[i] - X[j], axis=1), rtol=1e-12)
        assert r_ij.sum() == pytest.approx(slow_length(X, part), rel=1e-9)
        joined = sparse.coo_array((np.ones(len(i)), (part[i], part[j])), shape=(len(sizes),) * 2)
        assert parts_of(joined + joined.T).max() == 0
    np.testing.assert_array_equal(part, np.repeat(np.arange(len(sizes)), sizes))


def test_a_graph_in_one_part_needs_no_links():
    assert all(len(part) == 0 for part in shortest_links(rng.normal(size=(5, 2)), np.zeros(5, dtype=int)))


def test_the_shortest_link_weighs_no_less_than_the_weakest_edge():
    X = np.array([[0.0], [1.0], [5.0], [6.5], [14.5]])
    W = np.zeros((5, 5))
    for i, j, weight in [(0, 1, 0.5), (2, 3, 0.25)]:
        W[i, j] = W[j, i] = weight
    for weight, expected in ((0.1, [0.25, 0.1]), (0.01, [0.25, 0.25 / 4]), (0.4, [0.4, 0.4])):
        joined = connected(W, X, parts_of(W), lambda r, weight=weight: np.full_like(r, weight)).toarray()
        np.testing.assert_array_equal(joined, joined.T)
        np.testing.assert_allclose([joined[1, 2], joined[3, 4]], expected)
        assert np.count_nonzero(joined) == 8
    no_edges = connected(np.zeros((3, 3)), X[[0, 0, 1]], np.arange(3), np.zeros_like).toarray()
    assert parts_of(no_edges).max() == 0
    np.testing.assert_array_equal(no_edges[no_edges > 0], 1.0)
