import numpy as np
import pytest

from mercer.manifolds.ukr import gaussian
from mercer.manifolds.ukr.gaussian import AllPairs, gaussian_sums, gaussian_weights
from mercer.manifolds.ukr.targets import data_targets
from mercer.manifolds.ukr.tuning import PassTuning

pytestmark = pytest.mark.uncompiled  # also run without compilation


def squared_distances(V, U):
    return ((V[:, None] - U[None]) ** 2).sum(axis=2)


def plain_weights(V, U, own, radii, quartic):
    """The plain twin of `fill_weights`, of points in natural units."""
    D = squared_distances(V, U)
    W, isolated = np.zeros(D.shape), np.zeros(len(V), dtype=bool)
    for i in range(len(V)):
        left = D[i] > radii[i]
        left[own[i] : own[i] + 1] &= own[i] < 0
        if not left.any():
            left = np.arange(len(U)) != own[i]
        nearest = D[i][left].min()
        isolated[i] = quartic and nearest >= 1
        if isolated[i]:
            W[i, np.flatnonzero(left & (D[i] == nearest))[0]] = 1
        elif quartic:
            W[i, left] = np.maximum(1 - D[i, left], 0) ** 2
        else:
            W[i, left] = np.exp(-(D[i, left] - nearest) / 2)
    return W, isolated


@pytest.fixture(params=[1, 2, 3])
def points(request):
    return np.random.default_rng(0).normal(size=(50, request.param))


@pytest.mark.parametrize("quartic", [False, True])
def test_compiled_weights_and_gradients(points, quartic):
    from mercer.manifolds.ukr.gaussian_numba import add_gradients

    pairs, rng = AllPairs(data_targets(points), quartic=quartic, n_excluded=0), np.random.default_rng(1)
    points[7] = 30.0
    own = np.array([3, 7, -1, 20, 9])
    radii = np.array([-1.0, -1.0, -1.0, 0.3, 1e9])
    V = points[np.maximum(own, 0)] + 0.0
    W, slopes, scale = np.empty((5, 50)), rng.normal(size=(5, 50)), pairs._scale
    scaled = pairs._scaled(points)
    columns = np.ascontiguousarray(scaled.T)
    isolated = pairs._fill(columns, pairs._scaled(V), own, radii * scale**2, W)
    expected, expected_isolated = plain_weights(V, points, own, radii, quartic)
    np.testing.assert_allclose(W, expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_array_equal(isolated, expected_isolated)
    assert isolated[1] == quartic

    own_gradients, gradients = np.empty((5, len(columns))), np.ones(columns.shape)
    add_gradients(columns, pairs._scaled(V), W, slopes, quartic, isolated, own_gradients, gradients)
    Q = (4 * np.sqrt(expected) if quartic else expected) * slopes
    Q[isolated] = 0
    pulls = Q[:, :, None] * (points - V[:, None])
    q = points.shape[1]
    np.testing.assert_allclose(own_gradients[:, :q] / scale, pulls.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose((gradients[:q].T - 1) / scale, -pulls.sum(axis=0), atol=1e-12)


def test_far_points_do_not_underflow():
    U = np.array([[0.0], [100.0], [300.0]])
    pairs = AllPairs(data_targets([[1.0], [2.0], [4.0]]), quartic=False, n_excluded=0)
    evaluation = pairs.run(U, with_gradient=True)
    np.testing.assert_allclose(evaluation.errors, [1, 1, 4])  # the nearest row counts alone
    np.testing.assert_array_equal(evaluation.gradient, 0)
    assert not evaluation.isolated.any()


def test_some_rows(points):
    Y = np.random.default_rng(2).normal(size=(50, 3))
    for n_excluded in (0, 4):
        pairs = AllPairs(data_targets(Y), quartic=True, n_excluded=n_excluded)
        rows = np.array([4, 40, 3])
        some, every = pairs.run(points, with_gradient=False, rows=rows), pairs.run(points, with_gradient=True)
        np.testing.assert_allclose(some.errors, every.errors[rows], rtol=1e-12)
        np.testing.assert_array_equal(some.isolated, every.isolated[rows])
        assert some.gradient is None


@pytest.mark.parametrize("quartic", [False, True])
def test_blocks_and_threads_do_not_matter(monkeypatch, quartic):
    rng = np.random.default_rng(3)
    U, Y = rng.normal(size=(500, 2)), rng.normal(size=(500, 3))
    results = []
    for n_threads, block in [(1, 2**14), (2, 2**14), (2, 2**12)]:
        monkeypatch.setattr(gaussian, "allowed_threads", lambda n_threads=n_threads: n_threads)
        pairs = AllPairs(data_targets(Y), quartic=quartic, n_excluded=3, tuning=PassTuning(block=block))
        results.append(pairs.run(U, with_gradient=True))
    one, two, small = results
    np.testing.assert_array_equal(one.errors, two.errors)
    np.testing.assert_array_equal(one.gradient, two.gradient)
    np.testing.assert_allclose(one.errors, small.errors, rtol=1e-12)
    np.testing.assert_allclose(one.gradient, small.gradient, atol=1e-12)


def test_weights_and_sums(points):
    V = np.random.default_rng(4).normal(size=(20, points.shape[1])) * 3
    K = np.exp(-squared_distances(V, points) / 2)
    np.testing.assert_allclose(gaussian_weights(V, points), K / K.sum(axis=1, keepdims=True), rtol=1e-11)
    np.testing.assert_allclose(gaussian_sums(V, points), K.sum(axis=1), rtol=1e-11)
    assert gaussian_weights(V[:0], points).shape == (0, 50)
