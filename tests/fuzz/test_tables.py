"""Whatever a table is like, commands end as documented: never with a traceback, an error of Mercer, or not at all."""

import numpy as np
import pytest

from tests.fuzz.random_tables import random_table, wide_table
from tests.fuzz.running import run_commands, run_many, run_seeds


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


def test_some_tables(tmp_path, monkeypatch):
    codes = run_seeds(run_table, range(40), tmp_path, monkeypatch)
    # Most tables are good enough to be used.
    assert codes["map", 0] > 10


def test_some_wide_tables(tmp_path, monkeypatch):
    codes = run_seeds(run_wide_table, range(4), tmp_path, monkeypatch)
    assert codes["map", 0] > 1


@pytest.mark.slow
def test_many_tables(tmp_path, monkeypatch):
    run_many(run_table, "MERCER_FUZZ_TABLES", 1000, tmp_path, monkeypatch)


@pytest.mark.slow
def test_many_wide_tables(tmp_path, monkeypatch):
    run_many(run_wide_table, "MERCER_FUZZ_WIDE_TABLES", 100, tmp_path, monkeypatch)
