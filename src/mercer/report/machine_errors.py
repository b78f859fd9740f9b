"""Errors of a machine on held-out rows, and whether they are less than those of guessing by more than chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mercer.tables.targets import Target

Array = NDArray[Any]


def errors_on_held_out(
    held_out: pl.DataFrame, target: Target, y_train: Array, truth: Array
) -> tuple[float, float, float]:
    """Error, error of guessing, and by how many standard errors the losses are less."""
    predicted = held_out[target.name].to_numpy()
    if target.classes is not None:
        values, counts = np.unique(y_train, return_counts=True)
        losses, guesses = 1.0 * (predicted != truth), 1.0 * (truth != values[np.argmax(counts)])
        return float(losses.mean()), float(guesses.mean()), in_standard_errors(guesses - losses)
    mean = float(y_train.mean()) * target.scale + target.center
    losses, guesses = (predicted - truth) ** 2, (truth - mean) ** 2
    return float(np.sqrt(losses.mean())), float(np.sqrt(guesses.mean())), in_standard_errors(guesses - losses)


def in_standard_errors(gains: Array) -> float:
    """The mean in units of its standard error; a single row tells nothing."""
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.inf
    return float(gains.mean() / error) if error else float(np.inf * gains[0] if gains[0] else 0.0)


def coverage_of_band(held_out: pl.DataFrame, target: Target) -> float:
    """Share of held-out targets in the band; NaN without one."""
    if f"{target.name}_low" not in held_out.columns:
        return np.nan
    truth = held_out["truth"]
    inside = (truth >= held_out[f"{target.name}_low"]) & (truth <= held_out[f"{target.name}_high"])
    return float(np.mean(inside.to_numpy()))
