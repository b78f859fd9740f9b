"""Processes that are killed while they write, and many that write at once: sets of files are never mixed."""

import json
import multiprocessing
import os
import random
import subprocess
import sys
import time

import pytest

from mercer.report import drafts
from mercer.report.outputs import OutputFolder, manifest, write_file

NAMES = ("embedding.parquet", "model.skops", "report.html", "summary.json")


def a_set(number):
    """Files that all tell the number of their set; some are large, so that writing takes time."""
    summary = json.dumps({"kind": "map", "number": number, "versions": {"mercer": "0"}}).encode()
    files = {name: f"{number};".encode() * random.Random(number).choice([1, 1000, 50_000]) for name in NAMES}
    return manifest({**files, "summary.json": summary}, seconds=number)


def number_of(folder):
    """The number of the set in a folder; all files must be there and be of it, every byte."""
    number = json.loads((folder / "summary.json").read_bytes())["number"]
    expected = a_set(number)
    assert {name: (folder / name).read_bytes() for name in expected} == expected
    return number


def write_sets(folder, first, last=10**9, begun=None):
    output = OutputFolder(folder)
    for number in range(first, last):
        output.write(a_set(number))
        if begun is not None:
            begun.set()


def write_files(path, first, begun):
    for number in range(first, 10**9):
        write_file(path, f"{number};".encode() * 100_000)
        begun.set()


def killed(delay, target, *arguments):
    """Run a function in a process, which is killed a while after it has written something, in the middle of things."""
    fork = multiprocessing.get_context("fork")
    begun = fork.Event()
    process = fork.Process(target=target, args=arguments, kwargs={"begun": begun})
    process.start()
    assert begun.wait(60)
    time.sleep(delay)
    process.kill()
    process.join()


def kill_many(place, n_kills, *, beside):
    """Kill writers of one folder; beside: those that exchange the folder, else those that move files in."""
    rng, folder, last = random.Random(0), place / "out", 0
    write_sets(folder, 0, 1)
    (folder / "notes.txt").write_text("mine")
    (folder / "pictures").mkdir()
    n_left = 0
    for _ in range(n_kills):
        killed(rng.uniform(0.0, 0.04), write_sets, folder, last + 1)
        n_left += len([*place.glob(".mercer-*"), *folder.glob(".mercer-*")])
        if not beside:
            contents = {(folder / name).read_bytes()[:8] for name in NAMES[:3] if (folder / name).exists()}
            assert len(contents) <= 1, contents
            OutputFolder(folder)
        last = number_of(folder)
        assert (folder / "notes.txt").read_text() == "mine"
    OutputFolder(folder)
    assert [path.name for path in place.iterdir()] == ["out"]
    assert {path.name for path in folder.iterdir()} == {*a_set(0), "notes.txt", "pictures"}
    return last, n_left


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("n_kills", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_sets_of_killed_processes(tmp_path, monkeypatch, n_kills, beside):
    if not beside:  # as on systems that cannot exchange folders
        monkeypatch.setattr(drafts, "_exchanged", lambda one, other: False)
    last, n_left = kill_many(tmp_path, n_kills, beside=beside)
    # Otherwise nobody was killed while he wrote.
    assert last > 0
    assert n_left > 0


@pytest.mark.parametrize("n_kills", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_single_files_of_killed_processes(tmp_path, n_kills):
    rng, path = random.Random(0), tmp_path / "result.csv"
    for first in range(n_kills):
        killed(rng.uniform(0.0, 0.04), write_files, path, first)
        words = path.read_bytes().split(b";")
        assert len(set(words) - {b""}) == 1
    write_file(path, b"1")
    assert [path.name for path in tmp_path.iterdir()] == ["result.csv"]


@pytest.mark.slow
def test_results_of_killed_commands(tmp_path):
    lines = "\n".join(f"{i * 7 % 13},{i * 5 % 11},{i % 4}" for i in range(30))
    (tmp_path / "table.csv").write_text(f"a,b,c\n{lines}\n")
    command = [sys.executable, "-m", "mercer", "map", "table.csv", "--method", "pca", "--out", "out", "--quiet"]
    begin = time.monotonic()
    subprocess.run(command, cwd=tmp_path, check=True)
    usual, rng = time.monotonic() - begin, random.Random(0)
    for _ in range(12):
        process = subprocess.Popen(command, cwd=tmp_path)
        time.sleep(rng.uniform(0.7, 1.1) * usual)
        process.kill()
        process.wait()
        names = json.loads((tmp_path / "out/times.json").read_bytes())["files"]
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    subprocess.run(command, cwd=tmp_path, check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "table.csv"]


@pytest.mark.parametrize("n_writers", [8, pytest.param(100, marks=pytest.mark.slow)])
def test_many_writers_at_once(tmp_path, n_writers):
    folder, seen = tmp_path / "out", set()
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=write_sets, args=(folder, 10 * i, 10 * i + 2)) for i in range(n_writers)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        if folder.exists():
            handle = os.open(folder, os.O_RDONLY)  # a reader that has the folder open sees one set, or what is left
            contents = set()
            for name in NAMES[:3]:
                try:
                    file = os.open(name, os.O_RDONLY, dir_fd=handle)
                except FileNotFoundError:
                    continue
                contents.add(os.read(file, 8).split(b";")[0])
                os.close(file)
            os.close(handle)
            assert len(contents) <= 1
            seen |= contents
        time.sleep(0.005)
    assert [writer.exitcode for writer in writers] == [0] * n_writers
    assert len(seen) > 1
    number_of(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
