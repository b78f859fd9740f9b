import numpy as np
import pytest

from mercer.datasets import make_sinc


def test_sinc():
    X, y = make_sinc(200, noise=0.0, random_state=0)
    assert X.shape == (200, 1)
    np.testing.assert_allclose(y, np.sin(np.pi * X[:, 0]) / (np.pi * X[:, 0]))
    assert np.all(np.diff(X[:, 0]) >= 0)
    _, noisy = make_sinc(200, noise=0.3, random_state=0)
    assert 0.2 < np.std(noisy - y) < 0.4
    np.testing.assert_array_equal(make_sinc(5, random_state=1)[1], make_sinc(5, random_state=1)[1])


def test_bad_input():
    with pytest.raises(ValueError, match="n_samples of make_sinc must be a whole number >= 1, got 0"):
        make_sinc(0)
    with pytest.raises(ValueError, match="noise of make_sinc must be >= 0, got -1"):
        make_sinc(5, noise=-1)
