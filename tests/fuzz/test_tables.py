"""Whatever a table is like, commands end as documented: never with a traceback, an error of Mercer, or not at all."""

import os
import signal
from collections import Counter

import numpy as np
import pytest
from typer.testing import CliRunner

from mercer.cli import app
from mercer.cli.messages import ExitCode
from tests.fuzz.random_tables import random_table, wide_table

DOCUMENTED = {code.value for code in ExitCode} - {ExitCode.BUG.value}
# A command on a table of sixty rows takes less than a second.
TOO_LONG = 120


def commands(seed, table):
    """Commands for a table: mostly maps, which are then applied to another table."""
    rng = np.random.default_rng(seed)
    options = []
    if rng.uniform() < 0.3:
        options += ["--drop", str(rng.choice(table.columns))]
    if rng.uniform() < 0.1:
        options += ["--decimal", ","]
    if rng.uniform() < 0.1:
        options += [str(rng.choice(["--header", "--no-header"]))]
    if rng.uniform() < 0.1:
        options += ["--encoding", str(rng.choice(["latin-1", "utf-16", "ascii", "utf-7"]))]
    chance = rng.uniform()
    if chance < 0.1:
        return [
            ["diagnose" if chance < 0.05 else "fit", table.file, "--target", str(rng.choice(table.columns)), *options]
        ]
    if rng.uniform() < 0.3:
        options += ["--label", str(rng.choice(table.columns))]
    first = ["map", table.file, "--method", "pca", "--out", "t-map", *options]
    apply = ["apply", "t-map/model.skops"]
    return [first, [*apply, table.file, "--impute", "--out", "c.csv"], [*apply, "other/" + random_table(seed + 1).file]]


def commands_for_wide(seed, table):
    """Commands for a wide table: one of five learns a column, for a few seconds."""
    rng = np.random.default_rng(seed)
    chance = rng.uniform()
    if chance < 0.2:
        target = str(rng.choice(table.columns))
        return [["diagnose" if chance < 0.1 else "fit", table.file, "--target", target, "--time-limit", "5"]]
    method = "pca" if chance < 0.8 else "auto"
    first = ["map", table.file, "--method", method, "--time-limit", "5", "--out", "t-map"]
    return [first, ["apply", "t-map/model.skops", table.file, "--impute", "--out", "c.csv"]]


def ends_well(words):
    """The exit code of a command, which must be a documented one."""
    result = CliRunner().invoke(app, words)
    told = f"{words}: {result.exit_code} {result.output} {result.exception!r}"
    assert "Traceback" not in result.output, told
    assert result.exit_code in DOCUMENTED, told
    return result.exit_code


def run_table(seed, place, codes):
    table, other = random_table(seed), random_table(seed + 1)
    (place / "other").mkdir()
    (place / table.file).write_bytes(table.content)
    (place / "other" / other.file).write_bytes(other.content)
    run_commands(commands(seed, table), codes)


def run_wide_table(seed, place, codes):
    table = wide_table(seed)
    (place / table.file).write_bytes(table.content)
    run_commands(commands_for_wide(seed, table), codes)


def run_commands(sentences, codes):
    for words in sentences:
        code = ends_well(words)
        codes[words[0], code] += 1
        if code != 0:
            break


def run_seeds(run_one, seeds, folder, monkeypatch):
    """Run something for each seed, in a folder of its own, and count the exit codes of commands."""

    def too_long(signum, frame):
        raise TimeoutError("a command hangs")

    codes = Counter()
    before = signal.signal(signal.SIGALRM, too_long)
    try:
        for seed in seeds:
            place = folder / str(seed)
            place.mkdir()
            monkeypatch.chdir(place)
            signal.alarm(TOO_LONG)
            try:
                run_one(seed, place, codes)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}") from None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return codes


def test_some_tables(tmp_path, monkeypatch):
    codes = run_seeds(run_table, range(40), tmp_path, monkeypatch)
    # Most tables are good enough to be used.
    assert codes["map", 0] > 10


def test_some_wide_tables(tmp_path, monkeypatch):
    codes = run_seeds(run_wide_table, range(4), tmp_path, monkeypatch)
    assert codes["map", 0] > 1


@pytest.mark.slow
def test_many_tables(tmp_path, monkeypatch):
    n_tables = int(os.environ.get("MERCER_FUZZ_TABLES", "1000"))
    print(dict(sorted(run_seeds(run_table, range(1000, 1000 + n_tables), tmp_path, monkeypatch).items())))


@pytest.mark.slow
def test_many_wide_tables(tmp_path, monkeypatch):
    n_tables = int(os.environ.get("MERCER_FUZZ_WIDE_TABLES", "100"))
    print(dict(sorted(run_seeds(run_wide_table, range(1000, 1000 + n_tables), tmp_path, monkeypatch).items())))
