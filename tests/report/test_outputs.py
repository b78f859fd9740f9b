import numpy as np
import pytest

from mercer.report import OutputError, OutputFolder, memory
from mercer.report.memory import available_memory, in_words, refuse_if_too_large
from mercer.report.outputs import json_bytes, plain, write_file


def test_all_files_or_none(tmp_path):
    folder = OutputFolder(tmp_path / "a/b")
    folder.write({"x": b"1", "y": b"2"})
    assert (tmp_path / "a/b/x").read_bytes() == b"1"
    with pytest.raises(TypeError):
        folder.write({"x": b"3", "y": "no bytes"})
    assert sorted(path.name for path in folder.path.iterdir()) == ["x", "y"]
    assert (tmp_path / "a/b/x").read_bytes() == b"1"


def test_one_file_whole_or_not_at_all(tmp_path):
    write_file(tmp_path / "x", b"1")
    with pytest.raises(TypeError):
        write_file(tmp_path / "x", "no bytes")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_bytes() == b"1"
    with pytest.raises(OutputError, match="Nothing was written to .*No such file or directory; choose another place"):
        write_file(tmp_path / "nowhere/x", b"1")


@pytest.mark.parametrize(
    ("number", "words"),
    [(28, "the disk is full"), (122, "your share of the disk is full"), (30, "may only be read"), (5, "broken wire")],
)
def test_reasons_of_the_system(tmp_path, monkeypatch, number, words):
    def fails(path, content):
        raise OSError(number, "broken wire")

    folder = OutputFolder(tmp_path)
    monkeypatch.setattr("mercer.report.outputs.write_through", fails)
    with pytest.raises(OutputError, match=words):
        folder.write({"x": b""})


def test_plain_values():
    values = {"a": np.float64(1 / 3), "b": np.array([1, 2]), "c": (np.nan, np.inf, True, np.bool_(False), None), 4: {1}}
    assert plain(values, digits=3) == {"a": 0.333, "b": [1, 2], "c": [None, None, True, False, None], "4": "{1}"}
    assert json_bytes({"größe": np.nan}) == '{\n  "größe": null\n}\n'.encode()


def test_memory(monkeypatch):
    assert available_memory() > 1e6
    refuse_if_too_large(1.0, "nothing")
    assert [in_words(n) for n in (12, 1234, 5e6, 7e9, 3e12)] == ["12 bytes", "1.23 kB", "5 MB", "7 GB", "3 TB"]

    def no_file(self):
        raise OSError

    monkeypatch.setattr("pathlib.Path.read_text", no_file)
    assert available_memory() > 1e6
    monkeypatch.delattr("os.sysconf")
    assert available_memory() == np.inf


@pytest.mark.parametrize(("limit", "expected"), [("1000000", 400000), ("max", np.inf), ("500000", 0)])
def test_memory_of_a_container(monkeypatch, tmp_path, limit, expected):
    monkeypatch.setattr(memory, "_CONTAINER", tmp_path)
    monkeypatch.setattr(memory, "_of_machine", lambda: np.inf)
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text("600000\n")
    assert available_memory() == expected
