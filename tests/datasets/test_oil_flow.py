import gzip

import numpy as np
import pytest

from mercer.datasets import load_oil_flow
from tests.datasets.folders import use_data


def test_reads_the_files(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    (tmp_path / "oilflow").mkdir()
    for name, text in (("DataVdn", "0.1 0.2\n0.3 0.4\n"), ("DataVdnLbls", "0 1 0\n1 0 0\n")):
        with gzip.open(tmp_path / "oilflow" / f"{name}.txt.gz", "wt") as file:
            file.write(text)
    X, y = load_oil_flow("validation")
    np.testing.assert_array_equal(X, [[0.1, 0.2], [0.3, 0.4]])
    np.testing.assert_array_equal(y, [1, 0])


def test_says_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="DataTrn.txt.gz must be in .* '3 Phase Data' of Aston University"):
        load_oil_flow()
    with pytest.raises(ValueError, match="subset of load_oil_flow must be one of .*, got 'all'"):
        load_oil_flow("all")


def test_the_real_set(monkeypatch):
    use_data(monkeypatch, "oilflow")
    for subset in ("train", "validation", "test"):
        X, y = load_oil_flow(subset)
        assert X.shape == (1000, 12)
        assert set(y) == {0, 1, 2}
