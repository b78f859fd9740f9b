import gzip
from pathlib import Path

import numpy as np
import pytest

from mercer.datasets import load_santa_fe
from tests.datasets.folders import use_data


def write(folder, name, values):
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / f"SantaFe.{name}.txt.gz", "wt") as file:
        file.write("".join(f"{value}\n" for value in values))


def test_reads_the_folder_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    write(tmp_path / "santafe", "D", [0.5, 0.25, 1.0])
    write(tmp_path / "santafe", "D.cont", [0.125])
    series, continuation = load_santa_fe("D")
    np.testing.assert_array_equal(series, [0.5, 0.25, 1.0])
    np.testing.assert_array_equal(continuation, [0.125])


def test_else_reads_a_cache_at_home(tmp_path, monkeypatch):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    write(tmp_path / ".cache" / "mercer" / "santafe", "A", [86, 141])
    write(tmp_path / ".cache" / "mercer" / "santafe", "A.cont", [95])
    assert load_santa_fe()[0].tolist() == [86, 141]


def test_says_how_to_get_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="SantaFe.A.txt.gz and SantaFe.A.cont.txt.gz must be in") as caught:
        load_santa_fe("A")
    for word in (str(tmp_path / "santafe"), "Weigend and Gershenfeld", "TSPred", "gzip", "MERCER_DATA"):
        assert word in str(caught.value)
    write(tmp_path / "santafe", "A", [1])
    with pytest.raises(FileNotFoundError, match="^SantaFe.A.cont.txt.gz must be in"):
        load_santa_fe("A")
    with pytest.raises(ValueError, match=r"name of load_santa_fe must be one of \('A', 'D'\), got 'B'"):
        load_santa_fe("B")


@pytest.mark.parametrize(("name", "given", "asked"), [("A", 1000, 100), ("D", 100_000, 500)])
def test_the_real_series(name, given, asked, monkeypatch):
    use_data(monkeypatch, "santafe")
    series, continuation = load_santa_fe(name)
    assert series.shape == (given,)
    assert continuation.shape == (asked,)
    # The continuation goes on where the series ends: the jump is no larger than those within.
    assert abs(continuation[0] - series[-1]) <= np.abs(np.diff(series)).max()
