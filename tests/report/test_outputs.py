import errno
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from mercer.plain_json import json_bytes, plain
from mercer.report import OutputError, OutputFolder, drafts
from mercer.report.outputs import manifest, write_file
from mercer.tables import memory
from mercer.tables.memory import available_memory, in_words, refuse_if_too_large


def test_all_files_or_none(tmp_path):
    folder = OutputFolder(tmp_path / "a/b")
    files = a_set(1)
    folder.write(files)
    with pytest.raises(TypeError):
        folder.write({**a_set(2), "report.html": "no bytes"})
    assert {path.name: path.read_bytes() for path in folder.path.iterdir()} == files


def test_one_file_whole_or_not_at_all(tmp_path):
    write_file(tmp_path / "x", b"1")
    with pytest.raises(TypeError):
        write_file(tmp_path / "x", "no bytes")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_bytes() == b"1"
    with pytest.raises(OutputError, match="Nothing was written to .*No such file or directory; choose another place"):
        write_file(tmp_path / "nowhere/x", b"1")


def a_set(number, *more):
    """Files of a result, as commands write them."""
    files = {"report.html": f"page {number}".encode(), **dict.fromkeys(more, b"")}
    return manifest({**files, "summary.json": json_bytes({"versions": {"mercer": number}})}, seconds=number)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def in_place(monkeypatch):
    """As on systems that cannot exchange folders."""
    monkeypatch.setattr(drafts, "_exchanged", lambda one, other: False)


@pytest.mark.parametrize("exchanged", [True, False])
def test_a_set_replaces_the_one_before_and_nothing_else(tmp_path, monkeypatch, exchanged):
    if not exchanged:
        in_place(monkeypatch)
    folder = tmp_path / "out"
    OutputFolder(folder).write(a_set(1, "model.skops"))
    (folder / "notes.txt").write_text("mine")
    folder.chmod(0o750)
    before = folder.stat().st_ino
    OutputFolder(folder).write(a_set(2))
    assert contents(folder) == {**a_set(2), "notes.txt": b"mine"}
    assert folder.stat().st_mode & 0o777 == 0o750
    assert (folder.stat().st_ino == before) != exchanged
    assert os.listdir(tmp_path) == ["out"]


def test_folders_that_must_stay_the_same_do(tmp_path, monkeypatch):
    folder = tmp_path / "out"
    OutputFolder(folder).write(a_set(1))
    inode = folder.stat().st_ino
    monkeypatch.chdir(folder)
    OutputFolder(".").write(a_set(3))
    assert folder.stat().st_ino == inode
    assert contents(folder) == a_set(3)
    (tmp_path / "link").symlink_to("out")
    monkeypatch.chdir(tmp_path)
    OutputFolder("link").write(a_set(4))
    assert (tmp_path / "link").is_symlink()
    assert contents(folder) == a_set(4)


def with_entries_of_others(folder):
    """A folder of results into which others have put files, a folder and a link."""
    OutputFolder(folder).write(a_set(1))
    (folder / "pictures").mkdir()
    (folder / "pictures/a.png").write_text("mine")
    (folder / "notes.txt").write_text("mine")
    (folder / "link").symlink_to("notes.txt")


def refuse_renames(monkeypatch, number, refuses):
    """Renames to some places fail with an error of the system; `os.rename` as it was."""
    rename = os.rename

    def refused(one, other):
        if refuses(Path(other)):
            raise OSError(number, os.strerror(number))
        rename(one, other)

    monkeypatch.setattr(os, "rename", refused)
    return rename


def are_there(folder):
    return (folder / "pictures/a.png").read_text() == (folder / "link").read_text() == "mine"


@pytest.mark.parametrize("exchanged", [True, False])
def test_folders_of_others_stay(tmp_path, monkeypatch, exchanged):
    folder = tmp_path / "out"
    with_entries_of_others(folder)
    inode = folder.stat().st_ino
    if not exchanged:
        in_place(monkeypatch)
    OutputFolder(folder).write(a_set(2))
    assert (folder.stat().st_ino == inode) != exchanged
    assert are_there(folder)
    assert (folder / "report.html").read_bytes() == b"page 2"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("after", [True, False])
def test_a_process_that_is_killed_while_it_exchanges_loses_no_folder_of_others(tmp_path, monkeypatch, after):
    folder, exchanged = tmp_path / "out", drafts._exchanged
    with_entries_of_others(folder)

    def dies(one, other):
        if after:
            exchanged(one, other)
        os._exit(9)

    output = OutputFolder(folder)
    monkeypatch.setattr(drafts, "_exchanged", dies)
    child = os.fork()
    if not child:
        output.write(a_set(2))
    os.waitpid(child, 0)
    # A whole set, at once; the folder of others is where the new one was made, until the next run.
    assert (folder / "report.html").read_bytes() == (b"page 2" if after else b"page 1")
    assert (folder / "summary.json").exists()
    OutputFolder(folder)
    assert are_there(folder)
    assert os.listdir(tmp_path) == ["out"]


def test_what_cannot_be_given_back_is_not_removed(tmp_path, monkeypatch):
    folder = tmp_path / "out"
    with_entries_of_others(folder)
    output = OutputFolder(folder)
    in_place(monkeypatch)
    rename = refuse_renames(monkeypatch, errno.EIO, lambda place: place in (folder / "pictures", folder / "link"))
    output.write(a_set(2))
    assert not (folder / "pictures").exists()
    monkeypatch.setattr(os, "rename", rename)
    OutputFolder(folder)
    assert are_there(folder)
    assert os.listdir(tmp_path) == ["out"]


def test_folders_that_cannot_move_are_left_where_they_are(tmp_path, monkeypatch):
    folder = tmp_path / "out"
    with_entries_of_others(folder)
    inode = folder.stat().st_ino
    refuse_renames(monkeypatch, errno.EBUSY, lambda place: place.name == "pictures")
    OutputFolder(folder).write(a_set(2))
    assert folder.stat().st_ino == inode
    assert are_there(folder)
    assert (folder / "report.html").read_bytes() == b"page 2"


def test_files_that_come_while_folders_are_exchanged_stay(tmp_path, monkeypatch):
    folder, exchanged = tmp_path / "out", drafts._exchanged
    OutputFolder(folder).write(a_set(1))

    def late(one, other):
        (other / "late.txt").write_text("mine")
        return exchanged(one, other)

    monkeypatch.setattr(drafts, "_exchanged", late)
    OutputFolder(folder).write(a_set(2))
    assert contents(folder) == {**a_set(2), "late.txt": b"mine"}


def test_files_of_others_are_not_replaced(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    OutputFolder(folder)
    (folder / "report.html").write_text("mine")
    with pytest.raises(OutputError, match="report.html is there, and Mercer did not write it; .* give --force"):
        OutputFolder(folder)
    (folder / "report.html").rename(folder / "other.html")
    output = OutputFolder(folder)
    with pytest.raises(OutputError, match="other.html is there, and Mercer did not write it"):
        output.write({"other.html": b""})
    OutputFolder(folder, force=True).write({"other.html": b"ours"})
    assert contents(folder) == {"notes.txt": b"mine", "other.html": b"ours"}


def test_lists_of_others_say_nothing(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "times.json").write_text('{"files": ["notes.txt"]}')
    OutputFolder(folder, force=True).write(a_set(1))
    assert contents(folder) == {**a_set(1), "notes.txt": b"mine"}


def test_a_folder_around_that_is_closed(tmp_path, monkeypatch):
    folder, mkdtemp = tmp_path / "out", tempfile.mkdtemp
    OutputFolder(folder).write(a_set(1))
    inode = folder.stat().st_ino

    def refused(*, prefix, dir):
        if dir == tmp_path:
            raise PermissionError(errno.EACCES, "Permission denied")
        return mkdtemp(prefix=prefix, dir=dir)

    monkeypatch.setattr(tempfile, "mkdtemp", refused)
    monkeypatch.setattr(os, "access", lambda place, mode: place != tmp_path)
    OutputFolder(folder).write(a_set(2))
    assert contents(folder) == a_set(2)
    assert folder.stat().st_ino == inode
    with pytest.raises(OutputError, match="writing is not permitted; choose another place with --out"):
        OutputFolder(tmp_path / "new").write(a_set(3))


def test_a_folder_in_the_place_of_a_file(tmp_path):
    output = OutputFolder(tmp_path / "out")
    output.write(a_set(1))
    (tmp_path / "out/model.skops").mkdir()
    with pytest.raises(OutputError, match="Nothing was written to .*: model.skops is a folder there; move it away"):
        output.write(a_set(2, "model.skops"))
    assert contents(tmp_path / "out") == a_set(1)
    with pytest.raises(OutputError, match="model.skops is a folder there"):
        OutputFolder(tmp_path / "out", force=True)


def test_a_manifest_reaches_no_other_folder(tmp_path):
    (tmp_path / "precious").write_text("mine")
    output = OutputFolder(tmp_path / "out")
    output.write({**a_set(1), "times.json": b'{"files": ["../precious", "..", 3]}'})
    with pytest.raises(OutputError, match="report.html is there, and Mercer did not write it"):
        OutputFolder(tmp_path / "out")
    OutputFolder(tmp_path / "out", force=True).write(a_set(2))
    assert (tmp_path / "precious").read_text() == "mine"


def test_failures_leave_no_folders(tmp_path, monkeypatch):
    output = OutputFolder(tmp_path / "a/b/c")
    assert os.listdir(tmp_path) == []
    monkeypatch.setattr(drafts, "write_through", lambda path, content: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        output.write(a_set(1))
    assert os.listdir(tmp_path) == []


def test_a_move_that_was_not_finished_is(tmp_path, monkeypatch):
    in_place(monkeypatch)
    folder, rename, n_moves = tmp_path / "out", os.rename, [0]
    OutputFolder(folder).write(a_set(1, "old.txt"))

    def dies(one, other):
        n_moves[0] += 1
        if n_moves[0] == 3:  # after the commit and one file
            raise OSError(errno.EIO, "the disk is away")
        rename(one, other)

    output = OutputFolder(folder)
    monkeypatch.setattr(os, "rename", dies)
    with pytest.raises(OutputError, match="the disk is away"):
        output.write(a_set(2))
    assert set(contents(folder)) == {"report.html"}
    monkeypatch.setattr(os, "rename", rename)
    OutputFolder(folder)
    assert contents(folder) == a_set(2)
    assert sorted(os.listdir(folder)) == sorted(a_set(2))


def test_a_process_that_writes_for_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(drafts, "_PATIENCE", 0.05)
    output = OutputFolder(tmp_path / "out")
    with drafts.locked(tmp_path), pytest.raises(OutputError, match="another process has been writing to"):
        output.write(a_set(1))


def test_links_to_files_are_followed(tmp_path):
    (tmp_path / "link.csv").symlink_to("real.csv")
    write_file(tmp_path / "link.csv", b"1")
    assert (tmp_path / "real.csv").read_bytes() == b"1"
    assert (tmp_path / "link.csv").is_symlink()


@pytest.mark.parametrize(
    ("number", "words"),
    [(28, "the disk is full"), (122, "your share of the disk is full"), (30, "may only be read"), (5, "broken wire")],
)
def test_reasons_of_the_system(tmp_path, monkeypatch, number, words):
    def fails(path, content):
        raise OSError(number, "broken wire")

    folder = OutputFolder(tmp_path)
    monkeypatch.setattr("mercer.report.drafts.write_through", fails)
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


def test_memory_within_the_limit_of_the_process(monkeypatch):
    monkeypatch.setattr("resource.getrlimit", lambda which: (10**12, 10**12))
    assert 0.9e12 < memory.address_space_left() < 1e12
    monkeypatch.setattr("resource.getrlimit", lambda which: (1000, 1000))
    assert available_memory() == 0


def test_the_root_is_locked_once(monkeypatch):
    monkeypatch.setattr(drafts, "_PATIENCE", 0.1)
    folder = OutputFolder("/")
    with folder._locked():
        pass
