import numpy as np
import pytest
from scipy.linalg import eigh

from mercer.solvers import dense_eigenpairs, lanczos_eigenpairs, sample_columns

rng = np.random.default_rng(0)


def matrix(values):
    U = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    return (U * values) @ U.T


SPECTRA = {
    "fast": 0.5 ** np.arange(200.0),
    "slow": 1.0 / np.arange(1.0, 201.0),
    "indefinite": np.sin(np.arange(200.0)) * 0.95 ** np.arange(200.0),
    "cluster": np.r_[np.ones(12), np.full(188, 0.1)],
    "rank_two": np.r_[3.0, 1.0, np.zeros(198)],
    "flat": np.ones(200),
    "zero": np.zeros(200),
}


@pytest.mark.parametrize("name", SPECTRA)
def test_lanczos_agrees_with_lapack(name):
    A = matrix(SPECTRA[name])
    n_products = []

    def product(V):
        n_products.append(V.shape[1])
        return A @ V

    start = np.hstack([sample_columns(A[:, ::4], 20), rng.normal(size=(200, 1))])
    pairs = lanczos_eigenpairs(product, start, 5, tol=1e-12)
    exact = eigh(A, eigvals_only=True)
    exact = exact[np.argsort(-np.abs(exact))][:5]
    assert pairs.status == "optimal"
    np.testing.assert_allclose(np.abs(pairs.values), np.abs(exact)[: len(pairs.values)], atol=1e-11)
    assert len(pairs.values) == 5 or name == "zero"
    np.testing.assert_allclose(pairs.products, A @ pairs.vectors, atol=1e-11)
    residual = np.linalg.norm(A @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    assert residual.max() < 1e-5
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(len(pairs.values)), atol=1e-10)
    assert pairs.n_iter == len(n_products) == len(pairs.history) <= 20


def test_null_vectors_stay_out():
    A = matrix(SPECTRA["slow"])
    Q = np.linalg.qr(rng.normal(size=(200, 3)))[0]
    P = np.eye(200) - Q @ Q.T
    pairs = lanczos_eigenpairs(lambda V: P @ A @ P @ V, rng.normal(size=(200, 20)), 5, tol=1e-12, orthogonal_to=Q)
    np.testing.assert_allclose(Q.T @ pairs.vectors, 0.0, atol=1e-10)
    np.testing.assert_allclose(pairs.values, eigh(P @ A @ P, eigvals_only=True)[::-1][:5], rtol=1e-10)


def test_a_start_without_direction_is_refused():
    with pytest.raises(ValueError, match="start of lanczos_eigenpairs must have a column"):
        lanczos_eigenpairs(lambda V: V, np.zeros((5, 2)), 1)


@pytest.mark.parametrize("definite", [True, False])
def test_dense_pairs_of_clusters_are_complete(definite):
    A = np.eye(60) - 1.0 / 60  # LAPACK's search for some of its eigenvalues finds none
    pairs = dense_eigenpairs(A, 2, definite=definite)
    np.testing.assert_allclose(pairs.values, [1.0, 1.0])
    assert np.all(pairs.vectors.max(axis=0) >= -pairs.vectors.min(axis=0) * (1 - 1e-6))


def test_dense_pairs_know_the_sum_of_all_and_their_precision():
    A = matrix(SPECTRA["indefinite"])
    pairs = dense_eigenpairs(A, 3)
    assert pairs.total == pytest.approx(np.abs(SPECTRA["indefinite"]).sum())
    assert np.isnan(dense_eigenpairs(A @ A, 3, definite=True).total)
    single = dense_eigenpairs(A.astype(np.float32), 3)
    assert np.all(np.abs(single.values - pairs.values) <= single.errors + pairs.errors)
    assert np.all(np.abs(single.values - pairs.values) > pairs.errors)
