"""Columns that give the target away: what is known only together with it teaches nothing."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import rankdata

from mercer.tables.columns import read_numbers, read_texts
from mercer.tables.schema import TableSchema

Array = NDArray[Any]

# A column of numbers says the same as the target if values, or their order, correlate by so much.
_CORRELATION = 0.9999
# Each value of a category must be there in so many rows on average; fewer may go with one class each by chance.
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
    found = []
    for column in schema.columns:
        series = frame[column.name]
        if y.dtype.kind == "f":
            leaked = column.kind != "category" and _tells_numbers(read_numbers(series, column.texts).values, y)
        else:
            leaked = _tells_classes(read_texts(series), y)
        if leaked:
            found.append(
                f"{column.name} gives {target} away: one can be computed from the other. If it is known only together "
                f"with {target}, leave it out with --drop {shlex.quote(column.name)}."
            )
    return found


def _tells_numbers(x: Array, y: Array) -> bool:
    known = np.isfinite(x)
    x, y = x[known], y[known]
    if len(x) < 3 or x.min() == x.max() or y.min() == y.max():
        return False
    # In units of their spread, numbers of any size can be multiplied.
    pairs = ((x / np.abs(x).max(), y), (rankdata(x), rankdata(y)))
    return any(abs(float(np.corrcoef(a, b)[0, 1])) > _CORRELATION for a, b in pairs)


def _tells_classes(texts: list[str | None], classes: Array) -> bool:
    pairs = {(text, name) for text, name in zip(texts, classes.tolist(), strict=True) if text is not None}
    values = {text for text, _ in pairs}
    n_known = sum(text is not None for text in texts)
    return len(pairs) == len(values) > 1 and n_known >= _ROWS_PER_VALUE * len(values)
