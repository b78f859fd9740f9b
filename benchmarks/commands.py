"""What whole commands cost: CPU and wall seconds and memory of `mercer map`, `fit` and `diagnose` on generated tables.

Each command is a process of its own, from imports to the last file; machine code is in the cache (`--cold`: it is not).
`mercer map` is also asked when its first map was on disk. Names on the command line choose cases.
The tables are one object seen from 72 sides (32 x 32 pixels), 2,000 rows on a noisy surface in 600 columns, digits
(scikit-learn), 100,000 rows of 30 columns, and 15,000 rows of Friedman's function with ten columns of noise.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

COLD = "--cold" in sys.argv
PAUSE = 0.05


# Tables --------------------------------------------------------------------------------------------------------------


def seventy_two_images(rng):
    """Eight spots of several sizes that turn around the middle, as a folder's images would be: 72 x 1,024."""
    y, x = np.mgrid[-1:1:32j, -1:1:32j]
    radius, place, size = np.sqrt(rng.uniform(0, 0.7, 8)), rng.uniform(0, 2 * np.pi, 8), rng.uniform(0.1, 0.3, 8)
    images = []
    for angle in 2 * np.pi * np.arange(72) / 72:
        u, v = radius * np.cos(place + angle), radius * np.sin(place + angle)
        images.append(sum(np.exp(-((x - a) ** 2 + (y - b) ** 2) / c**2) for a, b, c in zip(u, v, size, strict=True)))
    rows = np.round(np.reshape(images, (72, -1)) + 0.02 * rng.normal(size=(72, 1024)), 4)
    return pl.DataFrame(rows, schema=[f"pixel_{i // 32}_{i % 32}" for i in range(1024)])


def surface(rng, n=2_000, d=600):
    """A curved surface with noise."""
    z = rng.uniform(-1, 1, size=(n, 2))
    waves = np.column_stack([np.sin(a * z[:, 0] + b * z[:, 1] + c) for a, b, c in rng.normal(size=(30, 3)) * 2])
    X = waves @ rng.normal(size=(30, d)) + rng.normal(size=(n, d))
    return pl.DataFrame(X, schema=[f"x{i}" for i in range(d)])


def digits(rng):
    """1,797 digits of 8 x 8 pixels."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return pl.DataFrame(data.data, schema=list(data.feature_names)).with_columns(target=pl.Series(data.target))


def many_rows(rng):
    """100,000 rows of 30 columns."""
    return surface(rng, 100_000, 30)


def friedman(rng):
    """15,000 rows of 20 columns, of which five count."""
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(15_000, 20, noise=1.0, random_state=0)
    return pl.DataFrame(X, schema=[f"x{i}" for i in range(20)]).with_columns(y=pl.Series(y))


CASES = {
    "images": (seventy_two_images, ("map",)),
    "wide": (surface, ("map",)),
    "digits": (digits, ("map", "--label", "target")),
    "rows": (many_rows, ("map",)),
    "fit": (friedman, ("fit", "--target", "y")),
    "diagnose": (friedman, ("diagnose", "--target", "y")),
}


# Measurement ---------------------------------------------------------------------------------------------------------


def measured(command, words, table, folder, environment):
    """CPU seconds, wall seconds, MiB at the peak, seconds to the first report, and what was said."""
    out = folder / "out"
    words = [sys.executable, "-m", "mercer", command, str(table), *words, "--out", str(out), "--force"]
    begin = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    first = []

    def watch():
        while process.poll() is None and not first:
            if (out / "report.html").exists():
                first.append(time.perf_counter() - begin)
            time.sleep(PAUSE)

    watcher = threading.Thread(target=watch)
    watcher.start()
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    watcher.join()
    wall = time.perf_counter() - begin
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}: {said}")
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, first[0] if first else wall, said


def main():
    names = [name for name in sys.argv[1:] if name in CASES] or list(CASES)
    print(f"{'':10}{'CPU s':>9}{'wall s':>9}{'MiB':>8}{'first s':>9}")
    with tempfile.TemporaryDirectory() as place:
        for name in names:
            make, (command, *words) = CASES[name]
            table, folder = Path(place) / f"{name}.parquet", Path(place) / name
            make(np.random.default_rng(0)).write_parquet(table)
            folder.mkdir()
            environment = dict(os.environ)
            if COLD:
                environment["NUMBA_CACHE_DIR"] = str(folder / "cache")
            cpu, wall, memory, first, said = measured(command, words, table, folder, environment)
            print(f"{name:10}{cpu:9.1f}{wall:9.1f}{memory:8.0f}{first:9.1f}", flush=True)
            print("".join(f"    {line}\n" for line in said.splitlines()[:4]), end="")


if __name__ == "__main__":
    main()
