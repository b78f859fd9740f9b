"""Gram matrices that were computed elsewhere, in low precision or with a word on their positivity."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as Peer

from mercer import KernelRidge, SupportVectorRegressor
from mercer.kernels import Gaussian, Precomputed
from mercer.kernels.given import precision_of
from mercer.machines import matrix


def problem(n, width, seed=0):
    """A Gram matrix of training rows, values of new rows, and targets of both."""
    X = np.random.default_rng(seed).uniform(-3, 3, size=(n + 200, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 / 4
    K = Gaussian(width)(X)
    return K[:n, :n], K[n:, :n], y[:n], y[n:]


def in_single(K):
    return K.astype(np.float32).astype(np.float64)


def error(predicted, y):
    return np.sqrt(np.mean((predicted - y) ** 2))


@pytest.mark.parametrize("as_given", [in_single, lambda K: K.astype(np.float32)], ids=["cast", "float32"])
@pytest.mark.parametrize("width", [1.0, 2.0])
@pytest.mark.parametrize(("n", "solver"), [(300, "eigen"), (800, "eigen"), (800, "conjugate_gradients")])
def test_kernel_ridge_in_single_precision_is_near_the_best_penalty(as_given, width, n, solver):
    K, new, y, y_new = problem(n, width)
    assert np.linalg.eigvalsh(in_single(K))[0] < -1e-7
    model = KernelRidge(Precomputed(), solver=solver).fit(as_given(K), y)
    assert model.status_ == "optimal"
    # Penalties above rounding: those below it make the peer's matrix singular.
    peers = [Peer(alpha=a, kernel="precomputed").fit(in_single(K), y) for a in 10.0 ** np.arange(-5, 0)]
    best = min(error(peer.predict(in_single(new)), y_new) for peer in peers)
    assert error(model.predict(as_given(new)), y_new) <= 1.1 * best


def test_support_vectors_of_a_matrix_in_single_precision():
    K, new, y, _ = problem(300, 2.0)
    for solver in ("smo", "interior_point"):
        single, double = (
            SupportVectorRegressor(Precomputed(), solver=solver).fit(M, y).predict(new) for M in (in_single(K), K)
        )
        np.testing.assert_allclose(single, double, atol=5e-2)


def test_rows_in_single_precision_make_matrices_in_double():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(300, 2)).astype(np.float32)
    y = np.sin(2 * X[:, 0]).astype(np.float64)
    single, double = (KernelRidge(Gaussian(2.0)).fit(rows, y) for rows in (X, X.astype(np.float64)))
    assert single.penalty_ == pytest.approx(double.penalty_)
    np.testing.assert_allclose(single.predict(X), double.predict(X), atol=1e-6)


def test_indefinite_matrices_are_refused_whatever_their_precision():
    K, _, y, _ = problem(300, 2.0)
    values, vectors = np.linalg.eigh(K)
    values[0] = -1e-3 * values[-1]
    indefinite = vectors * values @ vectors.T
    indefinite = (indefinite + indefinite.T) / 2
    for M in (indefinite, in_single(indefinite), indefinite.astype(np.float32)):
        for model in (KernelRidge(Precomputed()), SupportVectorRegressor(Precomputed())):
            with pytest.raises(ValueError, match="must be positive semi-definite .* eigenvalue of -.* beside .*; mend"):
                model.fit(M, y)
    values[0] = -1e-7 * values[-1]  # in double precision this is no rounding
    with pytest.raises(ValueError, match="must be positive semi-definite"):
        KernelRidge(Precomputed()).fit(vectors * values @ vectors.T + 1e-13, y)


def test_the_word_of_the_user_replaces_the_test(monkeypatch):
    K, new, y, _ = problem(300, 1.0)
    expected = SupportVectorRegressor(Precomputed()).fit(K, y).predict(new)

    def never(*arguments):
        raise AssertionError("the matrix was tested")

    monkeypatch.setattr(matrix, "_refuse_indefinite", never)
    for kernel in (Precomputed(positive=True), 1.0 * Precomputed(positive=True)):
        np.testing.assert_array_equal(SupportVectorRegressor(kernel).fit(K, y).predict(new), expected)
    for kernel in (Precomputed(), Precomputed() + Precomputed(positive=True)):
        with pytest.raises(AssertionError, match="the matrix was tested"):
            SupportVectorRegressor(kernel).fit(K, y)
    with pytest.raises(ValueError, match="positive of Precomputed must be True or False, got 'yes'; give your word"):
        SupportVectorRegressor(Precomputed(positive="yes")).fit(K, y)


def test_the_precision_of_matrices():
    K = problem(300, 1.0)[0]
    half, single, double = (float(np.finfo(kind).eps) for kind in (np.float16, np.float32, np.float64))
    assert precision_of(K) == double
    assert precision_of(K.astype(np.float32)) == precision_of(in_single(K)) == single
    assert precision_of(K.astype(np.float16)) == precision_of(K.astype(np.float16).astype(np.float64)) == half
    counts = np.random.default_rng(0).integers(0, 50, size=(300, 20)).astype(np.float64)
    for exact in (np.eye(300), counts @ counts.T, np.ones((3, 3)), np.empty((0, 4))):
        assert precision_of(exact) == double
    asymmetric = K.astype(np.float32)
    asymmetric[0, 1] = np.nextafter(asymmetric[0, 1], np.float32(2.0))
    assert Precomputed()(asymmetric.astype(np.float64)).shape == K.shape
