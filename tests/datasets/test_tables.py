import gzip

import numpy as np
import pytest

from mercer.datasets import load_table
from tests.datasets.folders import use_data

SHAPES = {
    "abalone": (4177, 10),
    "airfoil": (1503, 5),
    "autompg": (392, 7),
    "california": (20640, 8),
    "compactiv": (8192, 21),
    "concrete": (1030, 8),
    "energy": (768, 8),
    "sml": (4137, 26),
    "solar": (1066, 10),
}
TEXTS = {
    "abalone": ("abalone.data.gz", "M,1,2\nI,3,4\n", [[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 3.0]], [2.0, 4.0]),
    "airfoil": ("airfoil.txt.gz", "1\t2\n3\t4\n", [[1.0], [3.0]], [2.0, 4.0]),
    "california": ("california_housing.csv.gz", "a,target\n1,2\n3,4\n", [[1.0], [3.0]], [2.0, 4.0]),
    "compactiv": ("compactiv_keel.dat.gz", "@data\n1,2\n3,4\n", [[1.0], [3.0]], [2.0, 4.0]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_reads_files_as_they_are_published(name, tmp_path, monkeypatch):
    file_name, text, rows, targets = TEXTS[name]
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    (tmp_path / "regression").mkdir()
    with gzip.open(tmp_path / "regression" / file_name, "wt") as file:
        file.write(text)
    X, y = load_table(name)
    np.testing.assert_array_equal(X, rows)
    np.testing.assert_array_equal(y, targets)


def test_refuses_other_names_and_says_how_to_get_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="name of load_table must be one of .*got 'iris'; others are not read."):
        load_table("iris")
    with pytest.raises(FileNotFoundError, match=r"^energy.csv.gz must be in .*take the table energy"):
        load_table("energy")


@pytest.mark.parametrize("name", SHAPES)
def test_the_real_tables(name, monkeypatch):
    use_data(monkeypatch, "regression")
    X, y = load_table(name)
    assert X.shape == SHAPES[name]
    assert np.isfinite(X).all()
    assert np.isfinite(y).all()
