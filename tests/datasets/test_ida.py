import numpy as np
import pytest

from mercer.datasets import load_ida
from tests.datasets.folders import use_data


def test_reads_the_folder_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    (tmp_path / "ida").mkdir()
    rows = np.arange(8.0).reshape(4, 2)
    np.savez(
        tmp_path / "ida" / "heart.npz", X=rows, t=np.array([1, -1, 1, -1], dtype=np.int8),
        train=np.array([[0, 1], [2, 3]], dtype=np.int32), test=np.array([[2, 3], [0, 1]], dtype=np.int32),
    )  # fmt: skip
    X, y, splits = load_ida("heart")
    np.testing.assert_array_equal(X, rows)
    assert y.tolist() == [1, -1, 1, -1]
    assert [(train.tolist(), test.tolist()) for train, test in splits] == [([0, 1], [2, 3]), ([2, 3], [0, 1])]


def test_says_how_to_get_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="^banana.npz must be in") as caught:
        load_ida("banana")
    for word in (str(tmp_path / "ida"), "Rätsch", "numpy.savez", "MERCER_DATA"):
        assert word in str(caught.value)
    with pytest.raises(ValueError, match=r"name of load_ida must be one of \('banana', .*, got 'iris'"):
        load_ida("iris")


@pytest.mark.parametrize(("name", "n_train"), [("banana", 400), ("german", 700), ("image", 1300), ("twonorm", 400)])
def test_the_real_sets(name, n_train, monkeypatch):
    use_data(monkeypatch, "ida")
    X, y, splits = load_ida(name)
    assert set(y.tolist()) == {-1, 1}
    for train, test in splits:
        assert len(train) == n_train
        assert not np.intersect1d(train, test).size
        assert max(train.max(), test.max()) < len(X) == len(y)
