"""Theorem 1: what every graph Laplacian has in common."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import laplacian as peer_laplacian

from mercer.graphs import NeighbourAffinity, degrees, laplacian, parts_of, walk_spectrum
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
KINDS = ("unnormalised", "symmetric", "random_walk")


def blocks(*sizes):
    W = np.zeros((sum(sizes), sum(sizes)))
    start = 0
    for size in sizes:
        A = rng.uniform(0.1, 1.0, size=(size, size))
        W[start : start + size, start : start + size] = A + A.T
        start += size
    return W


# Edges 1-2, 1-3 and 4-5.
EXAMPLE_2 = np.array(
    [
        [0.0, 1.0, 1.0, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0, 1.0, 0.0],
    ]
)
SCALES = np.exp(4 * rng.normal(size=13))
GRAPHS = {
    "example_2": EXAMPLE_2,
    "full": Gaussian(1.0)(rng.normal(size=(20, 2))),
    "neighbours": NeighbourAffinity(4, "auto").fit(rng.normal(size=(50, 2))).toarray(),
    "three_parts": blocks(4, 7, 2),
    "many_parts": blocks(*[3] * 9),
    "path": np.diag(np.ones(19), 1) + np.diag(np.ones(19), -1),
    "bipartite": np.kron([[0.0, 1.0], [1.0, 0.0]], np.ones((4, 4))),
    "scales": np.outer(SCALES, SCALES) * blocks(5, 8),
}
STORED = {"dense": np.asarray, "sparse": sparse.csr_array}


def dense(L):
    return L.toarray() if sparse.issparse(L) else L


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("name", GRAPHS)
def test_quadratic_forms(name, stored):
    W = GRAPHS[name]
    f, d = rng.normal(size=len(W)), W.sum(axis=1)
    L, symmetric, walk = (laplacian(STORED[stored](W), kind) for kind in KINDS)
    assert all(sparse.issparse(A) == (stored == "sparse") for A in (L, symmetric, walk))
    differences = (f[:, None] - f) ** 2
    assert f @ (L @ f) == pytest.approx(0.5 * np.sum(W * differences), rel=1e-9)
    g = f / np.sqrt(d)
    assert f @ (symmetric @ f) == pytest.approx(0.5 * np.sum(W * (g[:, None] - g) ** 2), rel=1e-6)
    np.testing.assert_allclose(dense(walk), dense(L) / d[:, None], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GRAPHS)
def test_symmetric_and_without_negative_eigenvalues(name, kind):
    W = GRAPHS[name]
    L = laplacian(W, kind)
    if kind == "random_walk":
        L = np.sqrt(W.sum(axis=1))[:, None] * L / np.sqrt(W.sum(axis=1))  # similar, and symmetric
    scale = np.abs(L).max()
    np.testing.assert_allclose(L, L.T, atol=1e-12 * scale)
    values = np.linalg.eigvalsh((L + L.T) / 2)
    assert values.min() > -1e-12 * scale
    assert kind == "unnormalised" or values.max() < 2 + 1e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in GRAPHS if name != "scales"])
def test_zero_eigenvalues_count_the_parts(name, kind):
    W = GRAPHS[name]
    L, part = laplacian(W, kind), parts_of(W)
    n_parts = part.max() + 1
    _, sizes, V = np.linalg.svd(L)
    assert np.sum(sizes < 1e-10) == n_parts
    indicators = (part[:, None] == np.arange(n_parts)).astype(float)
    scale = np.sqrt(W.sum(axis=1))[:, None] if kind == "symmetric" else 1.0
    np.testing.assert_allclose(L @ (scale * indicators), 0.0, atol=1e-10)
    kernel = V[-n_parts:].T / scale
    for p in range(n_parts):
        np.testing.assert_allclose(np.ptp(kernel[part == p], axis=0), 0.0, atol=1e-10)


@pytest.mark.parametrize("name", GRAPHS)
def test_agrees_with_scipy(name):
    W = GRAPHS[name] - np.diag(np.diag(GRAPHS[name]))  # SciPy leaves out the diagonal
    np.testing.assert_allclose(laplacian(W), peer_laplacian(W), rtol=1e-12)
    np.testing.assert_allclose(laplacian(W, "symmetric"), peer_laplacian(W, normed=True), atol=1e-12)


def test_example_2():
    L = laplacian(EXAMPLE_2)
    np.testing.assert_allclose(np.linalg.eigvalsh(L), [0, 0, 1, 2, 3], atol=1e-14)
    assert L[4, 4] == 1
    np.testing.assert_array_equal(np.diag(L), [2, 1, 1, 1, 1])
    np.testing.assert_array_equal(degrees(EXAMPLE_2), [2, 1, 1, 1, 1])
    np.testing.assert_array_equal(parts_of(EXAMPLE_2), [0, 0, 0, 1, 1])


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("name", [name for name in GRAPHS if name != "scales"])
def test_spectrum_of_the_walk(name, stored):
    W = GRAPHS[name]
    n, d = len(W), W.sum(axis=1)
    expected = np.sort(np.linalg.eigvals(W / d[:, None]).real)[::-1]
    for k in {1, 3, n // 2, n}:
        spectrum = walk_spectrum(STORED[stored](W), k)
        np.testing.assert_allclose(spectrum.values, expected[:k], atol=1e-7)
        psi = spectrum.functions
        np.testing.assert_allclose(W @ psi / d[:, None], psi * spectrum.values, atol=1e-7)
        np.testing.assert_allclose((psi * d[:, None]).T @ psi / d.sum(), np.eye(k), atol=1e-9)
        assert spectrum.status == "optimal"
        assert spectrum.residuals.max() < 1e-9
        if parts_of(W).max() < k:
            np.testing.assert_allclose(psi[:, 0], 1.0, rtol=1e-12)
            assert spectrum.values[0] == 1.0


def test_a_graph_that_is_barely_connected_does_not_lose_its_constant():
    W = blocks(10, 15)
    W[3, 20] = W[20, 3] = 1e-18
    psi = walk_spectrum(W, 2).functions
    np.testing.assert_allclose(psi[:, 0], 1.0, rtol=1e-12)
    assert np.ptp(psi[:10, 1]) < 1e-6
    assert np.ptp(psi[10:, 1]) < 1e-6
    assert abs(W.sum(axis=1) @ psi[:, 1]) < 1e-9


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="kind of laplacian must be one of .*, got 'normalised'; choose one of them"):
        laplacian(EXAMPLE_2, "normalised")
    alone = np.diag([1.0, 1.0], 1) + np.diag([1.0, 1.0], -1)
    alone[1, 2] = alone[2, 1] = 0.0
    np.testing.assert_array_equal(laplacian(alone)[2], 0.0)
    for kind in KINDS[1:]:
        with pytest.raises(ValueError, match="W of laplacian must have weights at every vertex .* got 1 isolated"):
            laplacian(alone, kind)
    with pytest.raises(ValueError, match="W of walk_spectrum must have weights at every vertex .* 1 isolated"):
        walk_spectrum(alone, 1)
