"""How good predictions are on rows that were held out, beside those of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mercer.report.machine_models import probability_column
from mercer.tables.targets import Target

Array = NDArray[Any]

# Probabilities below this count as this: a class that was never seen costs much, but not all.
_LEAST_PROBABILITY = 1e-6
# Standard errors of a mean difference that are not chance.
_CLEAR = 2.0


def losses(predicted: pl.DataFrame, target: Target, truth: Array) -> Array:
    """What each prediction costs: 1 for a wrong class and 0 for a right one, or the squared error."""
    values = predicted[target.name].to_numpy()
    return np.asarray(values != truth if target.classes is not None else (values - truth) ** 2, dtype=np.float64)


def log_loss(predicted: pl.DataFrame, truth: Array) -> float:
    """Mean negative logarithm of the probabilities of the true classes; NaN without probabilities."""
    given = [predicted[name].to_numpy() if (name := probability_column(label)) in predicted.columns else None
             for label in truth]  # fmt: skip
    if all(column is None for column in given):
        return np.nan
    probabilities = np.array([0.0 if column is None else column[row] for row, column in enumerate(given)])
    return -float(np.mean(np.log(np.maximum(probabilities, _LEAST_PROBABILITY))))


def are_clearly_less(ours: Array, others: Array) -> bool:
    """Whether losses of the same rows are less in the mean, by more than two standard errors of the difference."""
    gain = others - ours
    return len(gain) > 1 and bool(gain.mean() > _CLEAR * gain.std(ddof=1) / np.sqrt(len(gain)))


def errors(held_out: pl.DataFrame, target: Target, y_train: Array, truth: Array) -> tuple[float, float]:
    """Error of the predictions, and of the best constant: share of wrong classes, or root mean square."""
    predicted = held_out[target.name].to_numpy()
    if target.classes is not None:
        values, counts = np.unique(y_train, return_counts=True)
        return float(np.mean(predicted != truth)), float(np.mean(truth != values[np.argmax(counts)]))
    mean = float(y_train.mean()) * target.scale + target.center
    return float(np.sqrt(np.mean((predicted - truth) ** 2))), float(np.sqrt(np.mean((truth - mean) ** 2)))


def coverage(held_out: pl.DataFrame, target: Target) -> float:
    """Share of held-out targets in the band; NaN without one."""
    if f"{target.name}_low" not in held_out.columns:
        return np.nan
    truth = held_out["truth"]
    inside = (truth >= held_out[f"{target.name}_low"]) & (truth <= held_out[f"{target.name}_high"])
    return float(np.mean(inside.to_numpy()))
