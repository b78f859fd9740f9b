"""Kernel ridge regression of all rows beside machines in cells, and boosted trees: error, seconds, memory.

California (16,512 rows to learn from) with the machine of all rows, and generated tables of 100,000 and 200,000 rows in
10 columns: sums of sines, a product and a ridge function of some columns, noise of a tenth of the standard deviation.
Errors are root mean squares over the standard deviation of the test targets, so that .1 is the noise. Seconds are CPU
seconds of all threads; the metric is learned once for each table and its seconds are told apart. Memory is the largest
resident size of a process for each fit, less that of the process before it.

`python benchmarks/cells.py` takes ten minutes; `--quick` leaves 200,000 rows out.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from mercer import CellMachine, KernelRidge, LearnedMetric
from mercer.datasets import load_table

NOISE, N_TEST, N_METRIC = 0.1, 3000, 12_000
SIZES = (5000, 10_000, 20_000)


def california():
    X, y = load_table("california")
    order = np.random.default_rng(0).permutation(len(X))
    n = int(0.8 * len(X))
    return X[order[:n]], y[order[:n]], X[order[n : n + N_TEST]], y[order[n : n + N_TEST]]


def generated(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + N_TEST, 10))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.tanh(X[:, 3] + X[:, 4] - X[:, 5]) + 0.5 * np.abs(X[:, 6])
    y = f / f.std() + NOISE * rng.normal(size=len(X))
    return X[:n], y[:n], X[n:], y[n:]


class Median:
    """The median alone, for the seconds and the memory of a process that fits nothing."""

    def fit(self, X, y):
        """Fit nothing else."""
        self.value = np.median(y)
        return self

    def predict(self, X):
        """The same for all rows."""
        return np.full(len(X), self.value)


def measured(connection, model, X, y, X_test, y_test):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, start, clock = peak(), time.process_time(), time.perf_counter()
        model.fit(X, y)
        fit, clock = time.process_time() - start, time.perf_counter() - clock
        memory, start = peak() - before, time.process_time()
        error = np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)) / y_test.std()
    cells = len(model.cells_) if isinstance(model, CellMachine) else 1
    connection.send((error, fit, clock, time.process_time() - start, memory, cells))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def line(name, *case):
    """Fit in a process of its own, which shares the table."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=measured, args=(theirs, *case))
    process.start()
    error, fit, clock, predict, memory, cells = ours.recv()
    process.join()
    print(f"  {name:28}{error:8.4f}{fit:9.1f}{clock:9.1f}{predict:9.2f}{memory:9.0f}{cells:7d}", flush=True)


def table(name, data, *, whole):
    X, y, X_test, y_test = data
    some = np.random.default_rng(0).choice(len(X), min(len(X), N_METRIC), replace=False)
    start = time.process_time()
    metric = LearnedMetric().fit(X[some], y[some])
    print(f"{name}, {len(X):,} rows x {X.shape[1]}; metric in {time.process_time() - start:.1f} s: {metric.reason_}")
    print(f"  {'':28}{'error':>8}{'fit s':>9}{'clock s':>9}{'use s':>9}{'MB':>9}{'cells':>7}")
    center, scale = y.mean(), y.std()
    rows = metric.transform(X), (y - center) / scale, metric.transform(X_test), (y_test - center) / scale
    machine = KernelRidge(metric.kernel_, penalties=metric.penalty_)
    line("median", Median(), *rows)
    if whole:
        line("all rows", machine, *rows)
    for size in SIZES:
        line(f"cells of {size:,}", CellMachine(machine, max_rows=size), *rows)
    line("cells of 5,000, no overlap", CellMachine(machine, max_rows=5000, overlap=0.0), *rows)
    line("cells of 5,000, overlap .3", CellMachine(machine, max_rows=5000, overlap=0.3), *rows)
    line("HistGradientBoosting", HistGradientBoostingRegressor(random_state=0), X, y, X_test, y_test)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without 200,000 rows")
    options = parser.parse_args()
    table("California", california(), whole=True)
    for n in (100_000,) if options.quick else (100_000, 200_000):
        table("generated", generated(n), whole=False)


if __name__ == "__main__":
    main()
