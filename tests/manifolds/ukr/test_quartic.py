import numpy as np
import pytest

from mercer.kernels import L1
from mercer.manifolds.ukr import quartic
from mercer.manifolds.ukr.gaussian import AllPairs
from mercer.manifolds.ukr.quartic import Cells, NeighbourPairs, quartic_weights
from mercer.manifolds.ukr.targets import GramTargets, data_targets, feature_targets
from mercer.manifolds.ukr.tuning import PASSES, PassTuning

FEW = PassTuning(most_pairs=1000)


def within_reach(V, U, reach):
    return ((V[:, None] - U[None]) ** 2).sum(axis=2) < reach**2


def points(n=400, q=2, seed=0, extent=6.0):
    return np.random.default_rng(seed).uniform(0, extent, size=(n, q))


def some_targets(n, kind, seed=1):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(n, 5))
    if kind == "missing":
        Y[rng.random(Y.shape) < 0.2] = np.nan
    return feature_targets(L1()(Y)) if kind == "gram" else data_targets(Y)


@pytest.mark.parametrize(("q", "reach"), [(1, 0.3), (2, 0.7), (3, 1.0), (5, 1.5), (2, 50.0)])
def test_neighbours_by_cells(q, reach):
    U = points(q=q)
    U[5] = U[6]
    cells = Cells(U, reach)
    offsets, found = cells.neighbours()
    sorted_points = U[cells.order]
    np.testing.assert_array_equal(cells.U[:, :q], sorted_points)
    near = within_reach(sorted_points, sorted_points, reach)
    np.fill_diagonal(near, False)
    rows, columns = np.nonzero(near)
    np.testing.assert_array_equal(np.repeat(np.arange(len(U)), np.diff(offsets)), rows)
    np.testing.assert_array_equal(found, columns)


@pytest.mark.parametrize("q", [1, 2, 4])
def test_neighbours_of_new_points(q):
    U, V = points(q=q), points(q=q, n=60, seed=3) * 3 - 6
    V[0] = 1e12
    cells = Cells(U, 1.0)
    offsets, found = cells.neighbours(V)
    rows, columns = np.nonzero(within_reach(V, U[cells.order], 1.0))
    np.testing.assert_array_equal(np.repeat(np.arange(len(V)), np.diff(offsets)), rows)
    np.testing.assert_array_equal(found, columns)


def test_cells_of_points_that_coincide_or_scatter():
    assert len(Cells(np.zeros((20, 2)), 1.0).neighbours()[1]) == 20 * 19
    scattered = Cells(points(q=3) * 1e9, 1.0)
    assert len(scattered._starts) <= 4 * 400 + 1  # no more cells than a few for each point
    assert len(scattered.neighbours()[1]) == 0


def test_lists_that_would_be_too_long_are_not_made():
    offsets, found = Cells(np.zeros((2000, 2)), 1.0).neighbours(most=1e6)
    assert offsets[-1] > 1e6
    assert len(found) == 0


def test_mirrored_pairs():
    from mercer.manifolds.ukr.quartic_numba import link_mirrored

    offsets, found = Cells(points(), 0.8).neighbours()
    mirror = np.empty_like(found)
    link_mirrored(offsets, found, mirror)
    rows = np.repeat(np.arange(400), np.diff(offsets))
    np.testing.assert_array_equal(found[mirror], rows)
    np.testing.assert_array_equal(rows[mirror], found)


@pytest.mark.parametrize("kind", ["data", "missing", "gram"])
@pytest.mark.parametrize("n_excluded", [0, 5])
@pytest.mark.parametrize("q", [1, 2, 3])
def test_sparse_equals_dense_with_isolated_points(kind, n_excluded, q):
    U, targets = points(q=q, extent=[60.0, 6.0, 4.0][q - 1]), some_targets(400, kind)
    assert isinstance(targets, GramTargets) == (kind == "gram")
    U[:3] += 100.0 * np.arange(3)[:, None]
    U[10] = U[11]
    sparse, dense = (
        pairs.run(U, with_gradient=True)
        for pairs in (
            NeighbourPairs(targets, n_excluded=n_excluded),
            AllPairs(targets, quartic=True, n_excluded=n_excluded),
        )
    )
    assert sparse.isolated[1:3].all()
    np.testing.assert_array_equal(sparse.isolated, dense.isolated)
    np.testing.assert_allclose(sparse.errors, dense.errors, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(sparse.gradient, dense.gradient, rtol=1e-12, atol=1e-12 * np.abs(dense.gradient).max())
    only_errors = NeighbourPairs(targets, n_excluded=n_excluded).run(U, with_gradient=False)
    np.testing.assert_array_equal(only_errors.errors, sparse.errors)
    assert only_errors.gradient is None


def test_lists_are_kept_until_points_have_moved():
    U, targets = points(), some_targets(400, "data")
    pairs, rng = NeighbourPairs(targets, n_excluded=0), np.random.default_rng(5)
    exact = AllPairs(targets, quartic=True, n_excluded=0)
    rebuilt = []
    for _ in range(12):
        evaluation, expected = (p.run(U, with_gradient=True) for p in (pairs, exact))
        np.testing.assert_allclose(evaluation.errors, expected.errors, rtol=1e-12)
        np.testing.assert_allclose(evaluation.gradient, expected.gradient, atol=1e-11)
        rebuilt.append(pairs.n_rebuilt)
        U = U + rng.uniform(-0.05, 0.05, size=U.shape)
    assert rebuilt[:2] == [1, 1]
    assert 1 < rebuilt[-1] < 7
    pairs.run(U[:, :1], with_gradient=False)  # another number of coordinates
    assert pairs.n_rebuilt == rebuilt[-1] + 1


def test_collapsed_points_go_over_all_pairs():
    U, targets = 1e-3 * points(), some_targets(400, "data")
    pairs = NeighbourPairs(targets, n_excluded=2)
    evaluation = pairs.run(U, with_gradient=True)
    assert pairs._lists.too_long
    expected = AllPairs(targets, quartic=True, n_excluded=2).run(U, with_gradient=True)
    np.testing.assert_array_equal(evaluation.gradient, expected.gradient)


@pytest.mark.parametrize("kind", ["data", "missing"])
@pytest.mark.parametrize("n_excluded", [0, 5, 40])
@pytest.mark.parametrize("q", [1, 2, 3])
def test_many_pairs_need_no_lists(kind, n_excluded, q):
    U, targets = points(q=q, extent=[60.0, 6.0, 4.0][q - 1]), some_targets(400, kind)
    U[:3] += 100.0 * np.arange(3)[:, None]
    U[10] = U[11]
    pairs = NeighbourPairs(targets, n_excluded=n_excluded, tuning=FEW)
    found = pairs.run(U, with_gradient=True)
    assert isinstance(pairs._lists, quartic._CellPairs)
    dense = AllPairs(targets, quartic=True, n_excluded=n_excluded).run(U, with_gradient=True)
    np.testing.assert_array_equal(found.isolated, dense.isolated)
    np.testing.assert_allclose(found.errors, dense.errors, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.gradient, dense.gradient, rtol=1e-12, atol=1e-12 * np.abs(dense.gradient).max())
    only_errors = pairs.run(U + 0.01, with_gradient=False)
    np.testing.assert_allclose(only_errors.errors, found.errors, rtol=1e-9)
    assert only_errors.gradient is None
    assert pairs.n_rebuilt == 1
    pairs.run(U + 1.0, with_gradient=False)
    assert pairs.n_rebuilt == 2


def test_inner_products_of_many_pairs_go_over_all():
    U, targets = points(), some_targets(400, "gram")
    pairs = NeighbourPairs(targets, n_excluded=2, tuning=FEW)
    found = pairs.run(U, with_gradient=True)
    assert pairs._lists.too_long
    expected = AllPairs(targets, quartic=True, n_excluded=2).run(U, with_gradient=True)
    np.testing.assert_array_equal(found.gradient, expected.gradient)


@pytest.mark.parametrize("kind", ["data", "gram", "many"])
def test_threads_do_not_matter(monkeypatch, kind):
    U, targets = points(1500, extent=12.0), some_targets(1500, kind)
    tuning = FEW if kind == "many" else PASSES
    results = []
    for n_threads in (1, 2):
        monkeypatch.setattr(quartic, "allowed_threads", lambda n_threads=n_threads: n_threads)
        results.append(NeighbourPairs(targets, n_excluded=3, tuning=tuning).run(U, with_gradient=True))
    np.testing.assert_array_equal(results[0].errors, results[1].errors)
    np.testing.assert_array_equal(results[0].gradient, results[1].gradient)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_weights_and_sums(q):
    U, V = points(q=q), points(q=q, n=150, seed=3) * 2 - 3
    D = ((V[:, None] - U[None]) ** 2).sum(axis=2)
    K = np.maximum(1 - D, 0) ** 2
    np.testing.assert_allclose(Cells(U, 1.0).sums(V), K.sum(axis=1), atol=1e-12)
    alone = K.sum(axis=1) == 0
    assert alone.any()
    K[alone, D[alone].argmin(axis=1)] = 1
    np.testing.assert_allclose(quartic_weights(V, U).toarray(), K / K.sum(axis=1, keepdims=True), atol=1e-12)
    assert quartic_weights(V[:0], U).shape == (0, 400)
    assert Cells(U, 1.0).sums(V[:0]).shape == (0,)
