import numpy as np
import pytest

from mercer.datasets import load_usps
from tests.datasets.folders import use_data


def test_reads_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    (tmp_path / "usps").mkdir()
    pixels, digits = np.array([[-1000, 250], [1000, 0]], dtype=np.int16), np.array([7, 2], dtype=np.int8)
    np.savez(tmp_path / "usps" / "usps.npz", X_train=pixels, y_train=digits, X_test=pixels[:1], y_test=digits[:1])
    X, y = load_usps()
    np.testing.assert_array_equal(X, [[-1.0, 0.25], [1.0, 0.0]])
    np.testing.assert_array_equal(y, [7, 2])
    assert load_usps("test")[0].shape == (1, 2)


def test_says_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="usps.npz must be in .* take the 'ZIP code' data"):
        load_usps()
    with pytest.raises(ValueError, match="subset of load_usps must be one of .*, got 'validation'"):
        load_usps("validation")


def test_the_real_set(monkeypatch):
    use_data(monkeypatch, "usps")
    X, y = load_usps()
    assert X.shape == (7291, 256)
    assert np.abs(X).max() <= 1.0
    assert np.count_nonzero(y == 2) == 731
    assert load_usps("test")[0].shape == (2007, 256)
