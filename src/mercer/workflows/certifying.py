"""The guarantee that labelled rows give for a stored machine that has never seen them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.capacity import bernstein_bound
from mercer.tables.columns import counted
from mercer.tables.errors import InputError
from mercer.tables.reading import Table
from mercer.tables.targets import Target, true_values
from mercer.workflows.machine_models import MachineModel
from mercer.workflows.promises import CONFIDENCE, HeldOutPromise

# Rows this close, in standard deviations, are equal; with so many standard errors more equal rows than among the
# training rows it is no chance.
_EQUAL, _CLEAR = 1e-6, 3.0
# Errors of numbers are clipped at so many standard deviations of the target, if nothing else is asked for.
_LARGEST_ERROR = 4.0


@dataclass(frozen=True)
class Certification:
    """A guarantee for a machine.

    Attributes
    ----------
    target : Target
        What was predicted.
    n, n_wrong : int
        Rows, and those with a wrong class; n_wrong is 0 for numbers.
    error, bound : float
        Fraction of wrong rows, or mean absolute error in the units of the table, clipped; and what it is below.
    confidence : float
        With which probability.
    largest_error : float
        Where errors of numbers are clipped; NaN for classes.
    constant : float
        Error of the best constant on the same rows.
    notes : list of str
        What to know.
    """

    target: Target
    n: int
    n_wrong: int
    error: float
    bound: float
    confidence: float
    largest_error: float
    constant: float
    notes: list[str]

    @property
    def vacuous(self) -> bool:
        """Whether the bound is not below the error of the best constant."""
        return self.bound >= self.constant

    @property
    def text(self) -> str:
        """In words."""
        if self.target.classes is not None:
            text = HeldOutPromise(self.n_wrong, self.n, self.bound, self.confidence).text + "."
        else:
            unit = self.target.unit
            text = (
                f"Mean absolute error {self.error:.3g}{unit} on {counted(self.n, 'row', 'rows')}; "
                f"below {self.bound:.3g}{unit} with {100 * self.confidence:.4g}% confidence, "
                f"errors clipped at {self.largest_error:.3g}{unit}."
            )
        if self.vacuous:
            text += " That is vacuous: the best constant is no worse. More rows make a closer bound."
        return text

    def summary(self) -> dict[str, Any]:
        """All figures, for programs."""
        return {
            "kind": "certificate", "target": self.target.name, "task": self.target.task, "n_rows": self.n,
            "n_wrong": None if self.target.classes is None else self.n_wrong, "error": self.error, "bound": self.bound,
            "confidence": self.confidence, "largest_error": self.largest_error, "error_of_guessing": self.constant,
            "vacuous": self.vacuous, "notes": self.notes,
        }  # fmt: skip


def certify(
    model: MachineModel,
    table: Table,
    *,
    target: str | None = None,
    confidence: float = CONFIDENCE,
    largest_error: float | None = None,
) -> Certification:
    """The guarantee that a table of new labelled rows gives for a machine.

    Parameters
    ----------
    model : MachineModel
        A stored machine.
    table : Table
        Labelled rows that were drawn like those that are to come, and that the machine has never seen; rows that it was
        fitted to are refused.
    target : str, optional
        The column that holds the truth; by default the one that was learned.
    confidence : float
        Probability that the guarantee holds, between 0 and 1.
    largest_error : float, optional
        Errors of numbers are clipped there, since of unbounded ones nothing can be guaranteed; it must be fixed before
        the rows are examined. By default four standard deviations of the target that was learned.
    """
    column = model.target.name if target is None else target
    table.check_columns(column)
    truth, known = true_values(table.frame[column], model.target, table.conventions)
    if not known.any():
        raise InputError(f"{table.name} must have rows with a known {column}, got none; give labelled rows.")
    frame = table.frame.filter(pl.Series(known))
    notes = list(table.notes)
    n_lost = int((~known).sum())
    if n_lost:
        notes.append(counted(n_lost, f"row without {column} was", f"rows without {column} were") + " left out.")
    X, said = model.schema.matrix(frame)
    notes += [*said, *_refuse_seen_rows(model, X, table.name)]
    predicted = model.predict(X)[model.target.name].to_numpy()
    if model.target.classes is not None:
        wrong = predicted != truth[known]
        notes += _said_of_classes(model.target, truth[known], column, largest_error)
        promise = HeldOutPromise.of(wrong, confidence)
        constant = 1.0 - float(np.unique(truth[known], return_counts=True)[1].max()) / len(wrong)
        return Certification(
            model.target, len(wrong), promise.n_wrong, float(wrong.mean()), promise.bound, confidence, np.nan, constant,
            notes,
        )  # fmt: skip
    largest = _LARGEST_ERROR * _deviation(model.target) if largest_error is None else largest_error
    values = truth[known].astype(np.float64)
    errors = np.minimum(np.abs(values - predicted), largest)
    bound = bernstein_bound(errors, 1.0 - confidence, width=largest)
    constant = float(np.mean(np.minimum(np.abs(values - np.median(values)), largest)))
    return Certification(
        model.target, len(errors), 0, float(errors.mean()), bound, confidence, largest, constant, notes
    )


def _said_of_classes(target: Target, truth: Array, column: str, largest_error: float | None) -> list[str]:
    """What to know of classes: those that were not learned, which are another column's or new, and a useless option."""
    new = truth[~np.isin(truth, list(target.classes or ()))]
    notes = []
    if len(new):
        rows = counted(len(new), "row holds a class", "rows hold classes")
        notes.append(
            f"{column}: {rows} that the machine has not learned, such as {new[0]!r}; they count as wrong: is this the "
            "column with the truth?"
        )
    if largest_error is not None:
        notes.append("--largest-error is for numbers; classes do not need it.")
    return notes


def _deviation(target: Target) -> float:
    """About the standard deviation of the numbers that were learned, in the units of the table."""
    low, high = target.in_units(np.array([-1.0, 1.0]))
    return float(high - low) / 2.0


def _refuse_seen_rows(model: MachineModel, X: Array, name: str) -> list[str]:
    """Refuse rows that the machine was fitted to, as far as it knows them; what is left to say."""
    if model.seen is None:
        return ["The model file does not know its training rows: that these are new rows is up to you."]
    seen, rows = model.seen, np.nan_to_num(X)
    equal = int(np.sum(seen.distances(rows) <= _EQUAL))
    if not equal:
        return []
    # Where columns hold few values, new rows equal old ones by chance, as training rows equal each other.
    counts = np.unique(seen.rows, axis=0, return_counts=True)[1]
    share = float(counts[counts > 1].sum() / counts.sum())
    chance = share + _CLEAR * np.sqrt(share * (1.0 - share) / len(rows))
    if equal > chance * len(rows):
        raise InputError(
            f"{name} must hold rows that the machine has never seen, got {equal:,} of {len(rows):,} that it was fitted "
            "to; hold rows out before the fit, and give these."
        )
    equal_ones = counted(equal, "row equals a training row", "rows equal training rows")
    return [f"{equal_ones}, no more than training rows equal each other: that they are new rows is up to you."]
