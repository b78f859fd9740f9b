"""Damaged and forged model files end with a message, never with a crash, a hang or much memory."""

import collections
import json
import os
import select
import subprocess
import sys

import numpy as np
import pytest

from tests.fuzz import worker
from tests.fuzz.edits import edited
from tests.fuzz.models import new_table, places, specimens

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and memory are told by Linux")

ALLOWED = {0, 3, 4, 6}
MOST_MEMORY = 2**30
# Far more than any command on these tables takes, compilation included.
SECONDS = 120


class Worker:
    """A process that uses model files; a new one takes the place of one that has ended."""

    def __init__(self):
        self._process = None

    def answer(self, case):
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, worker.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "MERCER_TRACEBACK": ""}, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], SECONDS)[0]:
            self.end()
            return {"codes": ["hang"], "memory": 0, "words": ""}
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            self._process = None
            return {"codes": [f"crash {code}"], "memory": 0, "words": ""}
        return json.loads(line)

    def end(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Model files of all kinds, and the folder with tables for them."""
    folder = tmp_path_factory.mktemp("fuzz")
    new_table().write_csv(folder / "table.csv")
    made = specimens()
    for dim in {specimen.dim for specimen in made.values()} - {0}:
        places(dim).write_csv(folder / f"places{dim}.csv")
    return made, folder


@pytest.fixture(scope="module")
def serving():
    process = Worker()
    yield process
    process.end()


def answer(serving, folder, specimen, content):
    """How commands end that use a model file."""
    model = folder / "model.skops"
    model.write_bytes(content)
    paths = {"model": model, "table": "table.csv", "places": f"places{specimen.dim}.csv", "out": "out.csv"}
    return serving.answer({"kind": specimen.kind, **{key: str(folder / path) for key, path in paths.items()}})


def run(serving, files, seeds):
    """Counts of exit codes, and the cases that ended as none must: what was done, and how they ended."""
    made, folder = files
    counts, bad = collections.Counter(), []
    for seed in seeds:
        name, specimen = list(made.items())[seed % len(made)]
        words, content = edited(specimen.content, np.random.default_rng([7, seed]))
        result = answer(serving, folder, specimen, content)
        code = result["codes"][-1]
        counts[code] += 1
        if code not in ALLOWED or result["memory"] > MOST_MEMORY or "Traceback" in result["words"]:
            bad.append(f"{seed} {name}: {words}\n    {result}")
    return counts, bad


def test_models_as_they_were_written_can_be_used(serving, files):
    made, folder = files
    for name, specimen in made.items():
        result = answer(serving, folder, specimen, specimen.content)
        assert set(result["codes"]) == {0}, (name, result)


def test_some_forged_files_cannot_hurt(serving, files):
    counts, bad = run(serving, files, range(60))
    assert not bad, "\n".join([str(counts), *bad])
    assert counts[4] > 20, counts  # else the edits are no edits


@pytest.mark.slow
def test_many_forged_files_cannot_hurt(serving, files):
    counts, bad = run(serving, files, range(1000))
    assert not bad, "\n".join([str(counts), *bad])
    print(f"\nexit codes of 1,000 forged files: {dict(counts)}")
