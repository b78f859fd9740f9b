import threading

import numpy as np
import pytest
from scipy.linalg import LinAlgError, eigh

from mercer.solvers.lapack import TridiagonalForm, call_lapack


def symmetric(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A + A.T


@pytest.mark.parametrize("n", [1, 2, 3, 50, 200])
def test_equals_scipys(n):
    K = symmetric(n)
    values, vectors = eigh(K)
    form = TridiagonalForm(K.copy())
    found, S = form.eigenpairs()
    U = form.turned(S)
    np.testing.assert_allclose(found, values, atol=1e-12 * np.abs(values).max())
    np.testing.assert_allclose(np.abs(np.sum(U * vectors, axis=0)), 1.0, atol=1e-9)
    np.testing.assert_allclose(U.T @ U, np.eye(n), atol=1e-13 * n)
    np.testing.assert_allclose((U * found) @ U.T, K, atol=1e-12 * n)
    T = np.diag(form.diagonal) + np.diag(form.subdiagonal, 1) + np.diag(form.subdiagonal, -1)
    np.testing.assert_allclose(form.turned(form.turned(T).T).T, K, atol=1e-12 * n)


def test_turning_back_undoes_turning():
    form = TridiagonalForm(symmetric(30))
    X = np.random.default_rng(1).normal(size=(30, 4))
    np.testing.assert_allclose(form.turned(form.turned(X), back=True), X, atol=1e-14)
    assert form.turned(X[:, :0]).shape == (30, 0)


def test_read_only_matrices_are_not_overwritten():
    K = symmetric(20)
    K.flags.writeable = False
    before = K.copy()
    TridiagonalForm(K)
    np.testing.assert_array_equal(K, before)


def test_several_at_the_same_time():
    matrices = [symmetric(120, seed) for seed in range(8)]
    found = {}

    def work(i):
        found[i] = TridiagonalForm(matrices[i].copy()).eigenpairs()[0]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, K in enumerate(matrices):
        np.testing.assert_allclose(found[i], np.linalg.eigvalsh(K), atol=1e-11)


def test_failures_are_told():
    with pytest.raises(LinAlgError, match="dsytrd of LAPACK failed with code -1"):
        call_lapack("dsytrd", b"?", 1, np.ones((1, 1)), 1, *[np.ones(1)] * 3, np.ones(64), 64)
