"""The tour of `mercer demo`: what it shows, on data that comes with scikit-learn or is generated."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup
from threadpoolctl import threadpool_limits

from mercer.datasets import make_arc
from mercer.plots import MapDisplay
from mercer.report.diagnosis_pages import diagnosis_files, diagnosis_verdict
from mercer.report.figures import curve_picture, drawing, learning_picture, prediction_picture
from mercer.report.learning_pages import machine_files, machine_verdict
from mercer.report.map_pages import map_files
from mercer.report.pages import render, versions
from mercer.tables.reading import Table, table_from_frame
from mercer.tables.targets import LearningProblem
from mercer.threads import allowed_threads
from mercer.workflows.diagnosing import diagnose_problem
from mercer.workflows.learning import MachineSettings, fit_machine
from mercer.workflows.mapping import MapResult, make_map
from mercer.workflows.methods import MapSettings

# Number of images, and of kinds of digits: the whole set would take minutes.
_DIGITS, _KINDS = 120, 4


@dataclass(frozen=True)
class Findings:
    """What one part of the tour gives.

    Attributes
    ----------
    files : dict of bytes
        Its folder: the report, and the table, so that the command can be repeated there.
    verdict : str
        What was found, in a sentence or two.
    picture : Markup
        SVG for the page that leads to the report.
    """

    files: dict[str, bytes]
    verdict: str
    picture: Markup


@dataclass(frozen=True)
class Station:
    """One part of the tour.

    Attributes
    ----------
    name : str
        Of its folder.
    title : str
        What it shows.
    command : str
        What does the same in its folder.
    run : callable
        run(command) gives the findings.
    """

    name: str
    title: str
    command: str
    run: Callable[[str], Findings]

    @property
    def table(self) -> str:
        """The file that the command reads, which is in the folder, too."""
        return self.command.split()[2]


def _digits(command: str) -> Findings:
    table = digits_table()
    result = make_map(table, MapSettings(), label="target")
    agreement = {name: found.agreement for name, found in result.maps.items()}
    verdict = (
        f"{result.verdict} The nearest neighbour on the map is the same digit for "
        f"{100 * agreement[result.model.method]:.0f}% of the rows, with principal components for "
        f"{100 * agreement['pca']:.0f}%."
    )
    return Findings(map_files(result, command) | _file(table), verdict, _map_picture(result))


def _circle(command: str) -> Findings:
    X, angle = make_arc(300, noise=0.1, random_state=0)
    columns = {"east": X[:, 0], "north": X[:, 1], "hour": 12 * np.mod(angle / np.pi, 2)}
    table = Table(pl.DataFrame(columns), "circle.csv")
    result = make_map(table, MapSettings(method="manifold", dim=1, topology="circle"), label="hour")
    return Findings(map_files(result, command) | _file(table), result.verdict, curve_picture(result))


def _diagnosis(command: str) -> Findings:
    table = diabetes_table()
    result = diagnose_problem(LearningProblem.read(table, "target"))
    files = diagnosis_files(result, command) | _file(table)
    curve = result.learning_curve
    assert curve is not None  # hundreds of rows always have one
    return Findings(files, diagnosis_verdict(result), learning_picture(curve))


def _machine(command: str) -> Findings:
    table = diabetes_table()
    result = fit_machine(LearningProblem.read(table, "target"), MachineSettings(band=0.8))
    truth, predicted = (result.held_out[name].to_numpy() for name in ("truth", "target"))
    interval = result.held_out.select("target_low", "target_high").to_numpy()
    files = machine_files(result, command) | _file(table)
    return Findings(files, machine_verdict(result), prediction_picture(truth, predicted, interval, "target"))


def digits_table() -> Table:
    """Images of the digits 0 to 3, one in each row."""
    from sklearn.datasets import load_digits

    data = load_digits(n_class=_KINDS)
    return _table(data, data.data[:_DIGITS], data.target[:_DIGITS], "digits.csv")


def diabetes_table() -> Table:
    """Ten measurements of patients, and how far the disease went within a year."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    return _table(data, data.data, data.target, "diabetes.csv")


def _table(data: Any, X: Any, y: Any, name: str) -> Table:
    # Not as_frame=True, which needs pandas.
    columns = dict(zip(data.feature_names, X.T, strict=True))
    return table_from_frame(pl.DataFrame({**columns, "target": y}), name)


def _file(table: Table) -> dict[str, bytes]:
    return {table.name: table.frame.write_csv().encode()}


def _map_picture(result: MapResult) -> Markup:
    """Rows on the map, in the colours of their labels."""
    labels = result.table.frame["target"].cast(pl.String).to_numpy()[result.rows]
    with drawing(5.6, 4.2) as picture:
        MapDisplay(points=result.embedding, y=labels).plot(picture.figure.subplots())
        return picture.svg()


# The longest first; the last one uses the compiled functions of the first, which exist by then.
STATIONS = (
    Station("digits", "A map of digits", "mercer map digits.csv --label target", _digits),
    Station(
        "diagnosis", "Is diabetes complex, or noisy?", "mercer diagnose diabetes.csv --target target", _diagnosis
    ),
    Station("machine", "Predictions with a band", "mercer fit diabetes.csv --target target --band 0.8", _machine),
    Station(
        "circle", "A closed curve through noisy rows",
        "mercer map circle.csv --label hour --dim 1 --method manifold --topology circle", _circle,
    ),
)  # fmt: skip


def tour() -> Iterator[tuple[Station, Findings]]:
    """Each station with its findings, as they are done: one process for each core.

    Processes, since the first run of all is compilation for the most part, and that takes turns within a process.
    """
    n_cores = allowed_threads()
    n_workers = min(n_cores, len(STATIONS))
    n_threads = max(1, n_cores // n_workers)
    # A process that was forked would inherit threads of BLAS that do not run in it.
    with multiprocessing.get_context("spawn").Pool(n_workers, _begin_work, (n_threads,)) as workers:
        for number, findings in workers.imap_unordered(_visit, range(len(STATIONS))):
            yield STATIONS[number], findings
        # Workers clean up when they end by themselves; leaving the block would kill them.
        workers.close()
        workers.join()


def _begin_work(n_threads: int) -> None:
    threadpool_limits(n_threads)
    # A terminal sends Ctrl-C to all processes; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _visit(number: int) -> tuple[int, Findings]:
    station = STATIONS[number]
    return number, station.run(station.command)


def overview_page(done: Sequence[tuple[Station, Findings]]) -> bytes:
    """The page that leads to the others."""
    return render(
        "demo.html.j2", title="A tour of Mercer", done=done, partial=len(done) < len(STATIONS), command="mercer demo",
        versions=versions(),
    )  # fmt: skip
