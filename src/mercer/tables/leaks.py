"""Columns that give the target away: what is known only together with it teaches nothing."""

from __future__ import annotations

import shlex

import numpy as np
import polars as pl
from scipy.stats import rankdata

from mercer.arrays import Array
from mercer.tables.columns import read_numbers, read_texts
from mercer.tables.schema import TableSchema

# Correlation, of values or of ranks, from which on a column of numbers equals the target; and a smaller one of values,
# from which on it may be the target with an error.
_CORRELATION, _SUSPICION = 0.9999, 0.99
# A weighted sum of columns is the target if it leaves at most this fraction of the variance. A sum of more columns is a
# law to be learned, rather than a leak.
_LEFT, _MOST_SUMMED = 1e-9, 5
# A column counts in such a sum if it changes the target by more than this, in standard deviations.
_LEAST_SUMMAND = 1e-6
# Largest number of different targets for each value of a category that determines the target up to rounding.
_ROUNDING = 1e-9
# Fewest rows for each value of a category, on average: with fewer, each value may have one class by chance.
_ROWS_PER_VALUE = 5


def leaks(frame: pl.DataFrame, schema: TableSchema, target: str, y: Array) -> list[str]:
    """Warnings about used columns that tell the target by themselves, for numbers y or names of classes.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> from mercer.tables import TableSchema, table_from_frame
    >>> from mercer.tables.leaks import leaks
    >>> y = np.arange(30.0) ** 2
    >>> frame = pl.DataFrame({"a": np.sin(y), "twice": 2 * y + 1})
    >>> schema, _ = TableSchema.learn(table_from_frame(frame))
    >>> [text.partition(":")[0] for text in leaks(frame, schema, "y", y)]
    ['twice gives y away']
    """
    found, suspected, numbers = [], [], {}
    for column in schema.columns:
        series = frame[column.name]
        is_category = column.kind == "category"
        x = None if is_category else read_numbers(series, column.texts).values
        if x is not None:
            numbers[column.name] = x
        if y.dtype.kind == "f":
            leaked = _fixes_numbers(read_texts(series), y) if x is None else _tells_numbers(x, y)
            suspect = "" if x is None or leaked else _suspicion_of_numbers(x, y)
        else:
            leaked = _tells_classes(read_texts(series), y)
            suspect = "" if x is None or leaked else _suspicion_of_classes(x, y, target)
        advice = f"If it is known only together with {target}, leave it out with --drop {shlex.quote(column.name)}."
        if leaked:
            found.append(f"{column.name} gives {target} away: one can be computed from the other. {advice}")
        elif suspect:
            suspected.append(f"{column.name} may give {target} away: {suspect}. {advice}")
    if y.dtype.kind == "f" and not found:
        found = _sums(numbers, y, target)
    return [*found, *suspected]


def _sums(numbers: dict[str, Array], y: Array, target: str) -> list[str]:
    """A warning if the target is a weighted sum of a few columns."""
    names = list(numbers)
    X = np.column_stack([numbers[name] for name in names]) if names else np.empty((len(y), 0))
    known = np.isfinite(X).all(axis=1)
    # With as many columns as rows some sum always fits.
    if len(names) < 2 or known.sum() < 2 * (len(names) + 1):
        return []
    X, y = X[known], y[known]
    X = X / np.maximum(np.abs(X).max(axis=0), np.finfo(np.float64).tiny)
    X, y = X - X.mean(axis=0), y - y.mean()
    coef = np.linalg.lstsq(X, y, rcond=None)[0]
    spread = float(y @ y)
    if spread == 0 or float(np.sum((y - X @ coef) ** 2)) > _LEFT * spread:
        return []
    counts = np.abs(coef) * X.std(axis=0) > _LEAST_SUMMAND * y.std()
    summed = [name for name, is_in in zip(names, counts, strict=True) if is_in]
    if not 2 <= len(summed) <= _MOST_SUMMED:
        return []
    drops = " ".join(f"--drop {shlex.quote(name)}" for name in summed)
    return [
        f"{' and '.join(summed)} give {target} away: it is a weighted sum of them. If they are known only together "
        f"with {target}, leave them out with {drops}."
    ]


def _tells_numbers(x: Array, y: Array) -> bool:
    known = np.isfinite(x)
    x, y = x[known], y[known]
    if len(x) < 3 or x.min() == x.max() or y.min() == y.max():
        return False
    return _correlation(x, y) > _CORRELATION or _correlation(rankdata(x), rankdata(y)) > _CORRELATION


def _correlation(x: Array, y: Array) -> float:
    """Its size; in units of their spread, numbers of any size can be multiplied."""
    return abs(float(np.corrcoef(x / np.abs(x).max(), y)[0, 1]))


def _suspicion_of_numbers(x: Array, y: Array) -> str:
    """What makes a column suspect; empty if nothing does."""
    known = np.isfinite(x)
    x, y = x[known], y[known]
    if len(x) < _ROWS_PER_VALUE or x.min() == x.max() or y.min() == y.max():
        return ""
    r = _correlation(x, y)
    return f"their correlation is {r:.4f}" if r > _SUSPICION else ""


def _suspicion_of_classes(x: Array, classes: Array, target: str) -> str:
    """Classes of several rows each that lie one after the other along a column."""
    known = np.isfinite(x)
    x, classes = x[known], classes[known]
    names, codes = np.unique(classes, return_inverse=True)
    if len(names) < 2 or np.bincount(codes).min() < _ROWS_PER_VALUE:
        return ""
    order = np.lexsort((codes, x))
    x, codes = x[order], codes[order]
    steps = np.flatnonzero(np.diff(codes))
    # No threshold separates equal values of several classes.
    apart = len(steps) == len(names) - 1 and bool(np.all(x[steps] < x[steps + 1]))
    return f"{target} follows from thresholds on it" if apart else ""


def _fixes_numbers(texts: list[str | None], y: Array) -> bool:
    """Whether rows of one category all have the same number."""
    values: dict[str, list[float]] = {}
    for text, number in zip(texts, y.tolist(), strict=True):
        if text is not None:
            values.setdefault(text, []).append(number)
    n_known = sum(map(len, values.values()))
    if len(values) < 2 or n_known < _ROWS_PER_VALUE * len(values):
        return False
    return all(max(numbers) - min(numbers) <= _ROUNDING * float(np.ptp(y)) for numbers in values.values())


def _tells_classes(texts: list[str | None], classes: Array) -> bool:
    pairs = {(text, name) for text, name in zip(texts, classes.tolist(), strict=True) if text is not None}
    values = {text for text, _ in pairs}
    n_known = sum(text is not None for text in texts)
    return len(pairs) == len(values) > 1 and n_known >= _ROWS_PER_VALUE * len(values)
