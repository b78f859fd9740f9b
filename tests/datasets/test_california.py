import gzip

import numpy as np
import pytest

from mercer.datasets import load_california_housing
from tests.datasets.folders import use_data


def test_reads_the_folder_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    (tmp_path / "regression").mkdir()
    with gzip.open(tmp_path / "regression" / "california_housing.csv.gz", "wt") as file:
        file.write("a,b,target\n1,2,3\n4,5,6\n")
    X, y = load_california_housing()
    np.testing.assert_array_equal(X, [[1.0, 2.0], [4.0, 5.0]])
    np.testing.assert_array_equal(y, [3.0, 6.0])


def test_says_how_to_get_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"^california_housing.csv.gz must be in .*fetch_california_housing"):
        load_california_housing()


def test_the_real_set(monkeypatch):
    use_data(monkeypatch, "regression")
    X, y = load_california_housing()
    assert X.shape == (20640, 8)
    assert 0 < y.min() < y.max() < 10
