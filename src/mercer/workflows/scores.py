"""How good predictions are on rows that were held out, beside those of others."""

from __future__ import annotations

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.tables.targets import Target
from mercer.workflows.machine_models import probability_column

# Least probability in log losses: a class that was never seen is expensive, but not infinitely so.
_LEAST_PROBABILITY = 1e-6
# A mean difference of more standard errors than this is no chance.
CLEAR = 2.0
# With fewer held-out rows no difference is significant.
FEWEST_HELD_OUT = 20


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


def in_standard_errors(gains: Array) -> float:
    """The mean in units of its standard error; zero for a single row."""
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.inf
    return float(gains.mean() / error) if error else float(np.inf * gains[0] if gains[0] else 0.0)


def are_clearly_less(ours: Array, others: Array) -> bool:
    """Whether losses of the same rows are less in the mean, by more than two standard errors of the difference."""
    return in_standard_errors(others - ours) > CLEAR


def mean_error(costs: Array, target: Target) -> float:
    """What losses are in the mean: the fraction of wrong classes, or the root mean squared error."""
    return float(costs.mean() if target.classes is not None else np.sqrt(costs.mean()))


def losses_of_guessing(target: Target, y_train: Array, truth: Array) -> Array:
    """Losses of the best constant: the largest class, or the mean."""
    if target.classes is not None:
        values, counts = np.unique(y_train, return_counts=True)
        return np.asarray(truth != values[np.argmax(counts)], dtype=np.float64)
    return np.asarray((truth - target.in_units(y_train.mean())) ** 2)


def coverage(held_out: pl.DataFrame, target: Target) -> float:
    """Fraction of held-out targets in the band; NaN without one."""
    if f"{target.name}_low" not in held_out.columns:
        return np.nan
    truth = held_out["truth"]
    inside = (truth >= held_out[f"{target.name}_low"]) & (truth <= held_out[f"{target.name}_high"])
    return float(np.mean(inside.to_numpy()))
