"""Commands that are stopped at random moments, also while modules are imported."""

import collections
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

COMMANDS = {
    "map": ("map", "table.csv", "--out", "out"),
    "fit": ("fit", "table.csv", "--target", "y", "--band", "0.8", "--out", "out"),
    "relate": ("relate", "table.csv", "--with", "y", "--out", "out"),
    "diagnose": ("diagnose", "table.csv", "--target", "y", "--out", "out"),
    "apply": ("apply", "model/model.skops", "table.csv", "--out", "result.parquet"),
}
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a table and a model, and how long each command takes when nobody stops it."""
    place = tmp_path_factory.mktemp("signals")
    rows = np.random.default_rng(0).normal(size=(40, 4))
    pl.DataFrame({name: rows[:, j] for j, name in enumerate("abcy")}).write_csv(place / "table.csv")
    begun = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "mercer", "map", "table.csv", "--method", "pca", "--out", "model"],
        cwd=place, check=True, capture_output=True,
    )  # fmt: skip
    return place, time.monotonic() - begun


def listens(process):
    """Whether a process has come so far that it handles SIGTERM; before, it is Python that starts."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False


def stopped(place, command, number, delay):
    """Run a command, and send it a signal after a while; the code is None if it had ended by then."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mercer", *COMMANDS[command]], cwd=place, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    while process.poll() is None and not listens(process):
        time.sleep(0.001)
    time.sleep(delay)
    in_time = process.poll() is None
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    return process.returncode if in_time else None, errors


def check(place, number, code, errors):
    assert code in (0, CODES[number]), (code, errors)
    assert "Traceback" not in errors, errors
    assert "ignored" not in errors, errors
    out, result = place / "out", place / "result.parquet"
    if out.exists():
        assert sorted(json.loads((out / "times.json").read_bytes())["files"]) == sorted(p.name for p in out.iterdir())
        json.loads((out / "summary.json").read_bytes())
    if result.exists():
        pl.read_parquet(result)
    assert {path.name for path in place.iterdir()} - {"out", "result.parquet"} == {"table.csv", "model"}
    return out.exists() or result.exists()


def stop_many(place, usual, n_signals):
    """Count how commands end; signals that come too late do not count, and make the next ones come earlier."""
    rng, ends, longest = random.Random(0), collections.Counter(), dict.fromkeys(COMMANDS, usual)
    while ends.total() < n_signals:
        subprocess.run(["rm", "-rf", "out", "result.parquet"], cwd=place, check=True)
        command = list(COMMANDS)[ends.total() % len(COMMANDS)]
        number = rng.choice(list(CODES))
        code, errors = stopped(place, command, number, rng.uniform(0.0, longest[command]))
        longest[command] *= 0.8 if code is None else 1.1
        if code is not None:
            ends[command, code, "written" if check(place, number, code, errors) else "nothing"] += 1
            print(ends.total(), dict(ends), flush=True)
    return ends


def test_a_few_signals(place):
    assert sum(stop_many(*place, 6).values()) == 6


@pytest.mark.slow
def test_many_signals(place):
    ends = stop_many(*place, 200)
    assert {command for command, code, _ in ends if code != 0} == set(COMMANDS)
    assert any(code != 0 and what == "written" for _, code, what in ends)
