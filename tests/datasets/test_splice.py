import gzip

import numpy as np
import pytest

from mercer.datasets import load_splice
from tests.datasets.folders import use_data


def test_reads_a_cache_at_home(tmp_path, monkeypatch):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path)
    folder = tmp_path / ".cache" / "mercer" / "dna"
    folder.mkdir(parents=True)
    with gzip.open(folder / "splice_uci_letters.csv.gz", "wt") as file:
        file.write("label,sequence\nEI,ACGT\nN,TTTT\n")
    sequences, labels = load_splice()
    assert sequences.tolist() == ["ACGT", "TTTT"]
    assert labels.tolist() == ["EI", "N"]


def test_says_how_to_get_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="splice_uci_letters.csv.gz must be in .* UCI repository"):
        load_splice()


def test_the_real_set(monkeypatch):
    use_data(monkeypatch, "dna")
    sequences, labels = load_splice()
    assert len(sequences) == 3190
    assert {len(s) for s in sequences} == {60}
    assert dict(zip(*np.unique(labels, return_counts=True), strict=True)) == {"EI": 767, "IE": 768, "N": 1655}
