import numpy as np
import pytest

from mercer.datasets import make_arc, make_semiparametric, make_sinc, make_spiral


def test_sinc():
    X, y = make_sinc(200, noise=0.0, random_state=0)
    assert X.shape == (200, 1)
    np.testing.assert_allclose(y, np.sin(np.pi * X[:, 0]) / (np.pi * X[:, 0]))
    assert np.all(np.diff(X[:, 0]) >= 0)
    _, noisy = make_sinc(200, noise=0.3, random_state=0)
    assert 0.2 < np.std(noisy - y) < 0.4
    np.testing.assert_array_equal(make_sinc(5, random_state=1)[1], make_sinc(5, random_state=1)[1])


def test_semiparametric():
    X, y = make_semiparametric(2000, noise=0.0, random_state=0)
    u = 2 * np.pi * (X[:, 0] - 5)
    np.testing.assert_allclose(y, np.sin(X[:, 0]) + np.sin(u) / u)
    assert X.shape == (2000, 1)
    assert X.min() >= 0
    assert 9 < X.max() <= 10
    same, noisy = make_semiparametric(2000, noise=0.2, random_state=0)
    np.testing.assert_array_equal(same, X)
    assert abs(np.std(noisy - y) - 0.2) < 0.01
    assert np.abs(noisy - y).max() <= 0.2 * np.sqrt(3)
    assert make_semiparametric()[0].shape == (50, 1)


def test_spiral():
    X, t = make_spiral(2000, noise=0.0, random_state=0)
    np.testing.assert_allclose(X, (0.2 + t)[:, None] * np.column_stack([np.cos(4 * np.pi * t), np.sin(4 * np.pi * t)]))
    assert abs(np.linalg.norm(np.diff(X, axis=0), axis=1).sum() - 8.85) < 0.02
    inner = np.linalg.norm(np.diff(X[t < t[1000]], axis=0), axis=1).sum()
    assert abs(inner / 8.85 - 0.5) < 0.03  # uniform in length
    noisy, _ = make_spiral(2000, random_state=0)
    assert abs(np.std(noisy - X) - 0.05) < 0.002


def test_arc():
    X, t = make_arc(500, angle=2.0, noise=0.0, random_state=0)
    np.testing.assert_allclose(np.arctan2(X[:, 1], X[:, 0]), t)
    assert 1.9 < t.max() <= 2.0
    assert make_arc(1000, random_state=0)[1].max() > 6


@pytest.mark.parametrize("make", [make_sinc, make_semiparametric, make_spiral, make_arc])
def test_bad_input(make):
    with pytest.raises(ValueError, match=f"n_samples of {make.__name__} must be a whole number >= 1, got 0"):
        make(0)
    with pytest.raises(ValueError, match=f"noise of {make.__name__} must be >= 0, got -1"):
        make(5, noise=-1)
