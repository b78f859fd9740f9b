import numpy as np
import pytest
from scipy import sparse

from mercer.components.removal import RemovedFunctions, is_table
from mercer.kernels import Gaussian, Multiquadric, ThinPlate

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 100.0]
NEW = rng.normal(size=(8, 3))


@pytest.mark.parametrize(
    ("remove", "kernel", "n_functions"),
    [
        (None, Gaussian(), 0),
        ("constant", Gaussian(), 1),
        ("linear", Gaussian(), 4),
        (None, Multiquadric(), 1),
        (None, ThinPlate(), 4),
        ("linear", ThinPlate(), 4),
    ],
)
def test_functions_are_orthonormal_and_span_what_they_should(remove, kernel, n_functions):
    removed = RemovedFunctions(remove, kernel).fit(X)
    assert removed.Q.shape == (50, n_functions)
    np.testing.assert_allclose(removed.Q.T @ removed.Q, np.eye(n_functions), atol=1e-12)
    np.testing.assert_allclose(removed(X), removed.Q, atol=1e-12)
    polynomials = np.hstack([np.ones((50, 1)), X])[:, :n_functions]
    np.testing.assert_allclose(removed.project_out(polynomials), 0.0, atol=1e-10)
    # At new rows they are the same functions: coefficients found on the training rows hold there.
    of_new = np.hstack([np.ones((8, 1)), NEW])[:, :n_functions]
    coefficients = np.linalg.lstsq(polynomials, removed.Q, rcond=None)[0]
    np.testing.assert_allclose(removed(NEW), of_new @ coefficients, atol=1e-8)


def test_columns_that_add_nothing_count_once():
    table = np.hstack([X, X[:, :1] - 2.0 * X[:, 1:2], np.full((50, 1), 0.3), 1e8 + 1e-9 * X[:, :1]])
    removed = RemovedFunctions("linear", Gaussian()).fit(table)
    assert removed.Q.shape[1] == 4
    np.testing.assert_allclose(removed(sparse.csr_array(table)), removed.Q, atol=1e-10)


def test_tables_are_told_from_other_objects():
    assert is_table(X)
    assert is_table(sparse.csr_array(X))
    assert is_table(np.ones((3, 2), dtype=bool))
    for other in (["a", "b"], np.array(["a", "b"]), np.ones(3), np.full((2, 2), np.nan), np.array([[{}, {}]])):
        assert not is_table(other)
