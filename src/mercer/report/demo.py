"""The tour of `mercer demo`: what it shows, on data that comes with scikit-learn or is generated."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from mercer.datasets import make_arc
from mercer.kernels.blas import allowed_threads
from mercer.report.diagnosing import diagnose_problem
from mercer.report.learning import MachineSettings, fit_machine
from mercer.report.learning_pages import diagnosis_files, diagnosis_verdict, machine_files, machine_verdict
from mercer.report.map_pages import map_files
from mercer.report.mapping import make_map
from mercer.report.methods import MapSettings
from mercer.report.pages import render, versions
from mercer.report.tables import Table, table_from_frame
from mercer.report.targets import LearningProblem

Files = dict[str, bytes]
# Digits of four kinds, and so many of them: the whole set takes minutes.
_DIGITS, _KINDS = 120, 4


@dataclass(frozen=True)
class Station:
    """One part of the tour.

    Attributes
    ----------
    name : str
        Of its folder.
    title : str
        What it shows.
    run : callable
        run() gives the files and the verdict.
    """

    name: str
    title: str
    run: Callable[[], tuple[Files, str]]


def _digits() -> tuple[Files, str]:
    from sklearn.datasets import load_digits

    data = load_digits(n_class=_KINDS, as_frame=True).frame.iloc[:_DIGITS]
    table = _table(data, "digits.csv")
    result = make_map(table, MapSettings(), label="target")
    files = map_files(result, "mercer map digits.csv --label target")
    agreement = {name: found.agreement for name, found in result.maps.items()}
    return files, (
        f"{result.verdict} The nearest neighbour on the map is the same digit for "
        f"{100 * agreement[result.model.method]:.0f}% of the rows, with principal components for "
        f"{100 * agreement['pca']:.0f}%."
    )


def _circle() -> tuple[Files, str]:
    X, angle = make_arc(300, noise=0.1, random_state=0)
    columns = {"east": X[:, 0], "north": X[:, 1], "hour": 12 * np.mod(angle / np.pi, 2)}
    table = Table(pl.DataFrame(columns), "circle.csv")
    result = make_map(table, MapSettings(method="manifold", dim=1, topology="circle"), label="hour")
    return map_files(
        result, "mercer map circle.csv --label hour --dim 1 --method manifold --topology circle"
    ), result.verdict


def _diabetes() -> LearningProblem:
    from sklearn.datasets import load_diabetes

    return LearningProblem.read(_table(load_diabetes(as_frame=True, scaled=False).frame, "diabetes.csv"), "target")


def _diagnosis() -> tuple[Files, str]:
    result = diagnose_problem(_diabetes())
    return diagnosis_files(result, "mercer diagnose diabetes.csv --target target"), diagnosis_verdict(result)


def _machine() -> tuple[Files, str]:
    result = fit_machine(_diabetes(), MachineSettings(band=0.8))
    return machine_files(result, "mercer fit diabetes.csv --target target --band 0.8"), machine_verdict(result)


def _table(data: Any, name: str) -> Table:
    return table_from_frame(pl.DataFrame({column: data[column].to_numpy() for column in data.columns}), name)


# The longest first; and last what needs the same compiled functions as the first, which are there by then.
STATIONS = (
    Station("digits", "A map of digits", _digits),
    Station("diagnosis", "Is diabetes complex, or noisy?", _diagnosis),
    Station("machine", "Predictions with a band", _machine),
    Station("circle", "A closed curve through noisy rows", _circle),
)


def tour() -> Iterator[tuple[Station, Files, str]]:
    """Each station with its files and its verdict, as they are done: one process for each core.

    Processes, since the first run of all is compilation for the most part, and that takes turns within a process.
    """
    n_cores = allowed_threads()
    n_workers = min(n_cores, len(STATIONS))
    n_threads = max(1, n_cores // n_workers)
    # A process that was forked would inherit threads of BLAS that do not run in it.
    with multiprocessing.get_context("spawn").Pool(n_workers, _begin_work, (n_threads,)) as workers:
        for number, files, verdict in workers.imap_unordered(_visit, range(len(STATIONS))):
            yield STATIONS[number], files, verdict


def _begin_work(n_threads: int) -> None:
    threadpool_limits(n_threads)
    # A terminal sends Ctrl-C to all processes; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _visit(number: int) -> tuple[int, Files, str]:
    return number, *STATIONS[number].run()


def overview_page(done: Sequence[tuple[Station, str]]) -> bytes:
    """The page that leads to the others."""
    return render(
        "demo.html.j2", title="A tour of Mercer", done=done, partial=len(done) < len(STATIONS), command="mercer demo",
        versions=versions(),
    )  # fmt: skip
