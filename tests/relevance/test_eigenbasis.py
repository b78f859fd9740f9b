import numpy as np
import pytest

from mercer.kernels import Exponential, Gaussian, Linear, Precomputed
from mercer.kernels.gram import incomplete_cholesky
from mercer.relevance.eigenbasis import Eigenbasis

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] + 0.1 * rng.normal(size=80)])


def dense(kernel, rows=X, targets=Y):
    (found,) = Eigenbasis.of_gram(kernel, kernel(rows), targets)
    return found


@pytest.mark.parametrize("kernel", [Exponential(1.0), Gaussian(0.3), Gaussian(3.0), Linear()], ids=repr)
def test_agrees_with_the_full_eigendecomposition(kernel):
    values, vectors = np.linalg.eigh(kernel(X))
    values, vectors = values[::-1], vectors[:, ::-1]
    basis = dense(kernel)
    r = len(basis.values)
    np.testing.assert_allclose(basis.values, values[:r], rtol=1e-9, atol=1e-13 * values[0])
    assert r == 80 or values[r] < 2e-13 * values[0]
    d = np.count_nonzero(values > 1e-8 * values[0])
    np.testing.assert_allclose(np.abs(basis.coefficients[:d]), np.abs(vectors.T @ Y)[:d], atol=1e-6)
    projection = basis.vectors(d) @ basis.coefficients[:d]
    np.testing.assert_allclose(projection, vectors[:, :d] @ (vectors.T @ Y)[:d], atol=1e-7)
    np.testing.assert_allclose(basis.vectors(r).T @ basis.vectors(r), np.eye(r), atol=1e-9)
    np.testing.assert_allclose(basis.vectors(d).T @ basis.vectors(d), np.eye(d), atol=1e-12)
    np.testing.assert_allclose(np.sum(basis.coefficients**2, axis=0) + basis.tail, np.sum(Y**2, axis=0), rtol=1e-12)


def test_low_rank_factor_has_its_own_spectrum_and_an_exact_tail():
    low_rank = incomplete_cholesky(Gaussian(0.7), X, rank=15)
    basis = Eigenbasis.of_low_rank(low_rank, Y)
    values, vectors = np.linalg.eigh(low_rank.factor @ low_rank.factor.T)
    np.testing.assert_allclose(basis.values, values[::-1][:15], rtol=1e-10)
    np.testing.assert_allclose(np.abs(basis.coefficients), np.abs(vectors[:, ::-1][:, :15].T @ Y), atol=1e-9)
    np.testing.assert_allclose(np.sum(basis.coefficients**2, axis=0) + basis.tail, np.sum(Y**2, axis=0), rtol=1e-13)


def test_cuts_are_where_eigenvalues_differ():
    circle = np.exp(2j * np.pi * np.arange(12) / 12)
    rows = np.column_stack([circle.real, circle.imag])
    # Sines and cosines of one frequency share an eigenvalue; the lowest one is simple.
    basis = dense(Gaussian(0.8), rows, np.ones((12, 1)))
    assert basis.cuts(12).tolist() == [1, 3, 5]
    assert not dense(Gaussian(1e-3), rows, np.ones((12, 1))).cuts(12).size


def test_single_precision_leaves_fewer_components():
    K = Gaussian(2.0)(X)
    (single,) = Eigenbasis.of_gram(Precomputed(), K.astype(np.float32), Y)
    (double,) = Eigenbasis.of_gram(Precomputed(), K.copy(), Y)
    assert len(single.values) < len(double.values) < 80
    # Its rounding reaches into the eigenvalues that double precision still tells.
    assert single.values[-1] > 1e-6 * single.values[0]


@pytest.mark.parametrize(
    "K", [np.diag([1.0, 1.0, -1.0, -1.0]), -np.eye(6), np.kron(np.eye(4), [[0.0, 1.0], [1.0, 0.0]])]
)
def test_indefinite_matrices_are_refused(K):
    with pytest.raises(ValueError, match=r"Precomputed\(positive=False\) must be positive definite on X to have"):
        list(Eigenbasis.of_gram(Precomputed(), K, np.ones((len(K), 1))))
