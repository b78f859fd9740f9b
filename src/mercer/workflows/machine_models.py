"""A machine as it is stored, and what it says of new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.tables.dates import DATES
from mercer.tables.schema import TableSchema
from mercer.tables.targets import Target
from mercer.workflows.kernel_choice import MetricRows
from mercer.workflows.seen_rows import SeenRows, far_note, unknown_note


def probability_column(name: str) -> str:
    """The column of predictions that holds the probability of a class."""
    return f"probability of {name}"


@dataclass(frozen=True)
class MachineModel:
    """A machine as it is stored.

    Attributes
    ----------
    machine : estimator
        Of standardised rows and targets; of rows in the metric if there is one.
    band : QuantileBand or None
        Of the same.
    schema, target : TableSchema, Target
        How tables become rows, and what predictions mean.
    seen : SeenRows or None
        What it was fitted to; the first model files did not tell.
    metric : MetricRows or None
        How the columns count.
    """

    machine: Any
    band: Any
    schema: TableSchema
    target: Target
    seen: SeenRows | None = None
    metric: MetricRows | None = None

    def predict_table(self, frame: pl.DataFrame, *, impute: bool = False) -> tuple[pl.DataFrame, list[str]]:
        """Predictions for the rows of a table, with what tells them apart, and which of them are far; and notes."""
        X, notes = self.schema.matrix(frame, allow_missing_columns=impute)
        unknown = np.asarray(np.isnan(X).all(axis=1))
        notes = [*notes, *unknown_note(unknown, "and the prediction for a row of means")]
        result = self._with_dates(self.predict(X))
        if self.seen is not None:
            if self.schema.has_fences:
                X, _ = self.schema.matrix(frame, allow_missing_columns=impute, clipped=False)
            distances = np.where(unknown, np.nan, self.seen.distances(np.nan_to_num(X)))
            result = result.with_columns(distance=pl.Series(distances).fill_nan(None))
            result = result.with_columns(far=(pl.col("distance") > self.seen.far).fill_null(True))
            notes = [*notes, *far_note(result, "far from what the machine has seen: their predictions are guesses")]
        return self.schema.named(frame, result, self.target.name), notes

    def colors(self, frame: pl.DataFrame) -> pl.DataFrame:
        """What a map of a table can be coloured by: predictions, probabilities, and the width of the band."""
        name, low, high = self.target.name, f"{self.target.name}_low", f"{self.target.name}_high"
        found = self.predict(self.schema.matrix(frame)[0])
        widths = [(found[high] - found[low]).alias(f"width of the band of {name}")] if low in found.columns else []
        predicted = self._with_dates(found.select(name)) if self.target.classes is None else found
        return pl.DataFrame([*predicted.rename({name: f"predicted {name}"}).get_columns(), *widths])

    def _with_dates(self, predictions: pl.DataFrame) -> pl.DataFrame:
        if not self.target.dtype:
            return predictions
        return pl.DataFrame([DATES[self.target.dtype].from_numbers(series) for series in predictions.get_columns()])

    def predict(self, X: Array) -> pl.DataFrame:
        """Predictions for rows of numbers, in the units of the table; dates as numbers."""
        rows = np.nan_to_num(X) if self.metric is None else self.metric.transform(X)
        if self.target.classes is not None:
            return self._classes(rows)
        columns = {self.target.name: self.target.predicted(self.machine.predict(rows))}
        if self.band is not None:
            ends = self.target.in_units(self.band.predict_interval(rows))
            columns |= {f"{self.target.name}_low": ends[:, 0], f"{self.target.name}_high": ends[:, 1]}
        return pl.DataFrame(columns)

    @property
    def has_probabilities(self) -> bool:
        """Whether predictions of classes come with probabilities: the loss has them, or sigmoids were fitted."""
        if self.target.classes is None:
            return False
        return bool(self.machine.loss_.has_probability) or getattr(self.machine, "calibration_", None) is not None

    def _classes(self, rows: Array) -> pl.DataFrame:
        """The most probable class with the probabilities of all; without these the class that the machine says."""
        if not self.has_probabilities:
            return pl.DataFrame({self.target.name: [str(value) for value in self.machine.predict(rows)]})
        P = self.machine.predict_proba(rows)
        names = [str(name) for name in self.machine.classes_]
        columns: dict[str, Any] = {self.target.name: [names[best] for best in np.argmax(P, axis=1)]}
        return pl.DataFrame(columns | {probability_column(name): P[:, k] for k, name in enumerate(names)})
