"""The factor on our own threads, against SciPy's."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from mercer.kernels import Gaussian
from mercer.solvers.cholesky import Cholesky


def positive(n, dtype):
    X = np.random.default_rng(n).normal(size=(n, 3))
    return np.ascontiguousarray(Gaussian(0.5)(X) + 0.1 * np.eye(n), dtype=dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 300, 901, 1500])
def test_equals_scipys(n, dtype):
    A = positive(n, dtype)
    right_sides = np.random.default_rng(0).normal(size=(n, 130))
    expected = cho_solve(cho_factor(A.astype(np.float64)), right_sides)
    factor = Cholesky(A.copy())
    for n_columns in (0, 1, 2, 130):
        solution = factor.solve(right_sides[:, :n_columns])
        assert solution.dtype == dtype
        scale = 1e3 * np.finfo(dtype).eps * np.abs(expected).max()
        np.testing.assert_allclose(solution, expected[:, :n_columns], rtol=0, atol=scale)


def test_one_thread_and_two_give_the_same_digits():
    A, right_sides = positive(1200, np.float32), np.ones((1200, 100))
    solutions = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            solutions.append(Cholesky(A.copy()).solve(right_sides))
    np.testing.assert_array_equal(*solutions)


@pytest.mark.parametrize("bad", [3, 700, 1100])  # in the first panel, in the middle, in the last
def test_matrices_that_are_not_positive_are_refused(bad):
    A = positive(1100 + 1, np.float64)
    A[bad, bad] = -1.0
    with pytest.raises(LinAlgError, match="dpotrf of LAPACK failed with code"):
        Cholesky(A)
