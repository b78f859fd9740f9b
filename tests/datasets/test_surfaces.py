import numpy as np
import pytest

from mercer.datasets import make_s_sheet, make_torus


def test_s_sheet():
    X, Z = make_s_sheet(300, noise=0.0, random_state=0)
    np.testing.assert_allclose(X[:, 1], Z[:, 1])
    np.testing.assert_allclose(X[:, 0] ** 2 + (np.abs(X[:, 2]) - 1) ** 2, 1)
    lifted, same = make_s_sheet(300, n_columns=10, noise=0.0, random_state=0)
    np.testing.assert_array_equal(same, Z)
    np.testing.assert_allclose(lifted @ lifted.T, X @ X.T, atol=1e-12)
    assert abs(np.std(make_s_sheet(300, random_state=0)[0] - X) - 0.05) < 0.005
    with pytest.raises(ValueError, match="n_columns of make_s_sheet must be >= 3, got 2"):
        make_s_sheet(10, n_columns=2)


def test_torus():
    X, Z = make_torus(300, radius=0.4, noise=0.0, random_state=0)
    np.testing.assert_allclose(np.hypot(np.hypot(X[:, 0], X[:, 1]) - 1, X[:, 2]), 0.4)
    np.testing.assert_allclose(np.arctan2(X[:, 1], X[:, 0]), Z[:, 0])


@pytest.mark.parametrize("make", [make_s_sheet, make_torus])
def test_bad_input(make):
    with pytest.raises(ValueError, match=f"n_samples of {make.__name__} must be a whole number >= 1, got 0"):
        make(0)
    with pytest.raises(ValueError, match=f"noise of {make.__name__} must be >= 0, got -1"):
        make(5, noise=-1)
