import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons

from mercer.graphs import (
    KernelAffinity,
    NeighbourAffinity,
    NeighbourSearch,
    PrecomputedAffinity,
    RadiusAffinity,
    auto_width,
)
from mercer.kernels import FromFunction, Gaussian, Linear, Precomputed

rng = np.random.default_rng(1)
X = rng.normal(size=(30, 2))
NEW = rng.normal(size=(8, 2))
WITH_DUPLICATES = np.vstack([X[:20], X[:3], X[:1], X[:1]])


def slow_weights(X, k, width, symmetric):
    """Weights of nearest neighbours by loops over pairs; ties are in no order."""
    n = len(X)
    D = np.sqrt(np.sum((X[:, None] - X) ** 2, axis=2))
    A = np.zeros((n, n))
    order = [sorted((j for j in range(n) if j != i), key=lambda j, i=i: D[i, j]) for i in range(n)]
    local = [D[i, order[i][min(7, n - 1) - 1]] for i in range(n)]
    smallest = min(length for length in local if length > 0)
    local = [length or smallest for length in local]
    last = [D[i, order[i][k - 1]] for i in range(n)]
    h = max(auto_width(X)[0], np.sqrt(np.mean(np.square(last)))) if width == "auto" else width
    for i in range(n):
        for j in order[i][:k]:
            if width is None:
                A[i, j] = 1.0
            elif width == "local":
                A[i, j] = np.exp(-(D[i, j] ** 2) / (local[i] * local[j]))
            else:
                A[i, j] = np.exp(-(D[i, j] ** 2) / (2 * h**2))
    if symmetric == "weighted":
        return (A + A.T) / 2
    return np.maximum(A, A.T) if symmetric == "union" else np.minimum(A, A.T)


@pytest.mark.parametrize("symmetric", ["union", "mutual", "weighted"])
@pytest.mark.parametrize("width", [None, "auto", "local", 0.7])
@pytest.mark.parametrize("k", [1, 4, 10, 29])
def test_weights_of_neighbours(k, width, symmetric):
    expected = slow_weights(X, k, width, symmetric)
    for rows, method in ((X, "tree"), (X, "brute"), (sparse.csr_array(X), "auto")):
        W = NeighbourAffinity(k, width, symmetric, method).fit(rows)
        assert sparse.issparse(W)
        np.testing.assert_allclose(W.toarray(), expected, rtol=1e-9, atol=1e-14)
        np.testing.assert_array_equal(W.diagonal(), 0.0)
        assert np.all(W.data > 0)


@pytest.mark.parametrize("width", [None, "auto", "local", 0.7])
def test_duplicates_are_neighbours_at_distance_zero(width):
    W = NeighbourAffinity(24, width, "union").fit(WITH_DUPLICATES).toarray()
    np.testing.assert_allclose(W, slow_weights(WITH_DUPLICATES, 24, width, "union"), rtol=1e-9)
    assert W[0, 20] == W[0, 24] == 1.0
    few = NeighbourAffinity(3, width, "union").fit(np.repeat(X, 12, axis=0))
    assert np.all(np.isfinite(few.data))
    np.testing.assert_array_equal(few.diagonal(), 0.0)


@pytest.mark.parametrize("width", [None, "auto", "local", 0.7])
def test_weights_of_new_rows(width):
    affinity = NeighbourAffinity(5, width)
    affinity.fit(X)
    found = affinity.between(NEW)[0].toarray()
    D = np.sqrt(np.sum((NEW[:, None] - X) ** 2, axis=2))
    near = np.sort(D, axis=1)[:, [4]] >= D
    if width is None:
        weights = np.ones_like(D)
    elif width == "local":
        among = np.sqrt(np.sum((X[:, None] - X) ** 2, axis=2))
        weights = np.exp(-(D**2) / np.outer(np.sort(D, axis=1)[:, 6], np.sort(among, axis=1)[:, 7]))
    else:
        weights = np.exp(-(D**2) / (2 * (affinity.about["width"] if width == "auto" else width) ** 2))
    weights *= near
    np.testing.assert_allclose(
        found / found.sum(axis=1, keepdims=True), weights / weights.sum(axis=1, keepdims=True), rtol=1e-8
    )


def test_new_rows_far_away_still_have_a_nearest_neighbour():
    affinity = NeighbourAffinity(3, 0.1)
    affinity.fit(X)
    np.testing.assert_allclose(affinity.between(1e6 + NEW)[0].max(axis=1).toarray().ravel(), 1.0)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("width", [None, "auto", "local"])
def test_weights_do_not_depend_on_the_unit(width, scale):
    expected = NeighbourAffinity(5, width).fit(X).toarray()
    np.testing.assert_allclose(NeighbourAffinity(5, width).fit(scale * X).toarray(), expected, rtol=1e-9)


def test_what_was_found_is_told():
    affinity = NeighbourAffinity(5, "auto")
    affinity.fit(X)
    assert affinity.about["neighbor_method"] == "tree"
    assert affinity.about["n_neighbors"] == 5
    distances = NeighbourSearch(X).of_rows(5)[0]
    assert affinity.about["width"] == pytest.approx(np.sqrt(np.mean(distances[:, -1] ** 2)))
    assert len(affinity.about["width_curve"].widths) == len(affinity.about["width_curve"].slopes)
    radius = RadiusAffinity(1.0)
    radius.fit(X)
    assert radius.about == {"neighbor_method": "tree"}


def test_the_width_reaches_from_most_rows_to_their_neighbours():
    """The fastest growth of the sum of all weights is among the densest rows."""
    many = np.random.default_rng(0)
    rows = np.vstack([0.1 * many.normal(size=(200, 50)), many.normal(size=(400, 50))])
    affinity = NeighbourAffinity(10, "auto")
    affinity.fit(rows)
    assert auto_width(rows)[0] < 1 < 5 < affinity.about["width"]
    moons = make_moons(400, noise=0.05, random_state=0)[0]
    affinity.fit(moons)
    assert affinity.about["width"] == auto_width(moons)[0]


def test_all_others_are_neighbours_where_there_are_fewer():
    for width in (None, "auto", "local", 0.7):
        few, all_others = NeighbourAffinity(10, width), NeighbourAffinity(4, width)
        np.testing.assert_array_equal(few.fit(X[:5]).toarray(), all_others.fit(X[:5]).toarray())
        assert few.about["n_neighbors"] == 4
        np.testing.assert_array_equal(few.between(NEW)[0].toarray(), all_others.between(NEW)[0].toarray())
        assert few.fit(X).nnz > 10 * 30  # parameters are not changed by a fit


def test_weights_that_vanish_are_no_edges():
    W = NeighbourAffinity(2, 1e-3).fit(np.array([[0.0], [1e-3], [2e-3], [5.0], [5.0 + 1e-3], [5.0 + 2e-3], [9.0]]))
    assert W.nnz == 12
    assert NeighbourAffinity(2, 1e-200).fit(X).nnz == 0


def test_radius():
    D = np.sqrt(np.sum((X[:, None] - X) ** 2, axis=2))
    for rows, new in ((X, NEW), (sparse.csr_array(X), sparse.csr_array(NEW))):
        affinity = RadiusAffinity(0.8)
        np.testing.assert_array_equal(affinity.fit(rows).toarray(), D <= 0.8)
        weights, equal = affinity.between(rows)
        np.testing.assert_array_equal(weights.toarray(), D <= 0.8)
        np.testing.assert_array_equal(equal, np.arange(30))
        weights, equal = affinity.between(new)
        np.testing.assert_array_equal(weights.toarray(), np.sqrt(np.sum((NEW[:, None] - X) ** 2, axis=2)) <= 0.8)
        np.testing.assert_array_equal(equal, -1)


def test_kernel_and_given_weights():
    kernel = Gaussian(0.5)
    affinity = KernelAffinity(kernel)
    np.testing.assert_array_equal(affinity.fit(X), kernel(X))
    weights, equal = affinity.between(np.vstack([NEW, X[3:5]]))
    np.testing.assert_allclose(weights[:8], kernel(NEW, X))
    np.testing.assert_array_equal(equal, [-1] * 8 + [3, 4])
    given = PrecomputedAffinity()
    W = kernel(X)
    fitted = given.fit(W)
    np.testing.assert_array_equal(fitted, W)
    assert not np.shares_memory(fitted, W)
    np.testing.assert_array_equal(given.between(W)[0], W)
    np.testing.assert_array_equal(given.between(W)[1], -1)
    stored = sparse.csr_array(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]))
    stored.data[1] = 0.0
    stored[2, 0] = 0.0
    assert PrecomputedAffinity().fit(stored).nnz == 2
    assert stored.nnz == 4


@pytest.mark.parametrize(
    ("make", "rows", "message"),
    [
        (lambda: NeighbourAffinity(0), X, "n_neighbors of NeighbourAffinity must be a whole number >= 1, got 0"),
        (lambda: NeighbourAffinity(2.0), X, "n_neighbors of NeighbourAffinity must be a whole number >= 1, got 2.0"),
        (lambda: NeighbourAffinity(3, -1.0), X, "width of NeighbourAffinity must be None, 'auto', 'local' or"),
        (lambda: NeighbourAffinity(3, "wide"), X, "width of NeighbourAffinity must be None, 'auto', 'local' or"),
        (lambda: NeighbourAffinity(3, None, "both"), X, "symmetric of NeighbourAffinity must be one of .* got 'both'"),
        (lambda: NeighbourAffinity(3, neighbors="ball"), X, "neighbors of NeighbourAffinity must be one of"),
        (lambda: NeighbourAffinity(3, "auto"), np.ones((5, 2)), "X of auto_width must have two distinct rows or more"),
        (lambda: RadiusAffinity(0.0), X, "radius of RadiusAffinity must be a number > 0, got 0.0; give a distance"),
        (lambda: RadiusAffinity(np.nan), X, "radius of RadiusAffinity must be a number > 0, got nan"),
        (lambda: RadiusAffinity(1e-6), X, "radius of .* must reach from some rows to others, got 1e-06.*enlarge it"),
        (lambda: RadiusAffinity(8.0), X, "radius of RadiusAffinity must leave some rows apart, got 8.0.*reduce it"),
        (lambda: RadiusAffinity(1e300), X, "radius of RadiusAffinity must leave some rows apart, got 1e"),
        (lambda: RadiusAffinity(1.0), np.ones((5, 2)), "radius of RadiusAffinity must leave some rows apart"),
        (lambda: KernelAffinity(Linear()), X, "affinity of KernelAffinity must have finite weights >= 0, got -"),
        (lambda: KernelAffinity(Precomputed()), X, "affinity of KernelAffinity must be a Kernel on vectors"),
        (lambda: KernelAffinity(FromFunction(np.dot)), X, "affinity of KernelAffinity must be a Kernel on vectors"),
        (PrecomputedAffinity, X, "X of PrecomputedAffinity must be a square matrix of weights, got shape"),
        (PrecomputedAffinity, X @ X.T, "X of PrecomputedAffinity must have finite weights >= 0, got -"),
        (PrecomputedAffinity, np.array([[0.0, np.inf], [np.inf, 0.0]]), "must have finite weights >= 0, got inf"),
        (PrecomputedAffinity, np.triu(np.ones((3, 3))), "X of PrecomputedAffinity must be a symmetric matrix"),
        (PrecomputedAffinity, sparse.csr_array(np.triu(np.ones((3, 3)))), "must be a symmetric matrix of weights"),
        (PrecomputedAffinity, sparse.csr_array(-np.eye(3)), "must have finite weights >= 0, got -1; Negative values"),
    ],
)
def test_bad_graphs_are_refused(make, rows, message):
    with pytest.raises(ValueError, match=message):
        make().fit(rows)


def test_a_kernel_may_be_negative_at_new_rows_only():
    affinity = KernelAffinity(Linear())
    affinity.fit(np.abs(X))
    with pytest.raises(ValueError, match="affinity of KernelAffinity must have finite weights >= 0, got -"):
        affinity.between(-np.abs(X))
