"""What the interactive map of a report needs of each row: places, entries and pictures."""

from __future__ import annotations

import base64
from math import ceil, prod
from typing import Any

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.tables.columns import MOST_CATEGORIES, read_numbers, read_texts
from mercer.tables.dates import DATES
from mercer.tables.labels import are_classes
from mercer.tables.reading import Table
from mercer.workflows.mapping import MapResult
from mercer.workflows.methods import METHODS

# Rows and columns that a page holds, and bytes of its pictures: more would make it slow to open.
_MOST_POINTS, _MOST_COLUMNS, _MOST_BYTES = 20_000, 60, 8_000_000
# Values of a category that look different on the map: 20 colours with three shapes each. The rest is "other".
MOST_COLOURED = 60


def map_data(result: MapResult) -> dict[str, Any]:
    """What the interactive map needs of each row."""
    shown = np.arange(len(result.rows))
    if len(shown) > _MOST_POINTS:
        shown = np.sort(np.random.default_rng(0).choice(shown, _MOST_POINTS, replace=False))
    rows = result.rows[shown]
    order = [result.model.method, *(name for name in result.maps if name != result.model.method)]
    maps = [_points(METHODS[name].words, result.maps[name].embedding[shown], result, shown) for name in order]
    names, n_left_out = _shown_columns(result)
    columns = [_column(result.table.frame[name], rows, is_label=name == result.label) for name in names]
    if result.label is not None:
        columns += _as_number(result.table.frame[result.label], rows)
    if result.colors is not None:
        columns += [_column(series, rows, is_label=False) for series in result.colors.get_columns()]
    columns.append(_numbers("distance from the map", result.distances[shown]))
    return {
        "maps": maps, "rows": rows, "columns": columns, "n_table_columns": len(names), "n_left_out": n_left_out,
        "images": None if result.model.schema.image_shape is None else _pictures(result.table, rows),
    }  # fmt: skip


def column_errors(result: MapResult) -> list[tuple[str, float]]:
    """Held-out reconstruction error of each column of the table as a fraction of its variance; none for images."""
    quality = result.chosen.quality
    if quality is None or result.model.schema.image_shape is not None:
        return []
    errors = quality.column_errors
    return [(name, float(np.mean(errors[group]))) for name, group in result.model.schema.groups.items()]


def _points(words: str, Z: Array, result: MapResult, shown: Array) -> dict[str, Any]:
    """Places of the rows on one map; a map of one coordinate is drawn over the distances from the shown one."""
    axes = [{"name": f"coordinate {c + 1}", "coordinate": True} for c in range(Z.shape[1])]
    if Z.shape[1] == 1:
        Z = np.column_stack([Z, result.distances[shown]])
        axes.append({"name": "distance from the curve", "coordinate": False})
    return {"name": words, "points": Z, "axes": axes}


# Entries -------------------------------------------------------------------------------------------------------------


def _shown_columns(result: MapResult) -> tuple[list[str], int]:
    """The label and the columns that the map keeps best, in the order of the table; and how many are left out."""
    hidden = {*(result.table.pixels if result.model.schema.image_shape is not None else ()), result.label}
    names = [name for name in result.table.frame.columns if name not in hidden]
    first = [] if result.label is None else [result.label]
    room = _MOST_COLUMNS - len(first)
    errors = dict(column_errors(result))
    # Unused columns name the rows.
    best = sorted(names, key=lambda name: np.nan_to_num(errors.get(name, -1.0), nan=np.inf))
    kept = set(best[:room])
    return [*first, *(name for name in names if name in kept)], max(0, len(names) - room)


def _column(series: pl.Series, rows: Array, *, is_label: bool) -> dict[str, Any]:
    if are_classes(series) if is_label else _is_category(series):
        return _category(series, rows)
    if DATES.of(series.dtype) is not None:
        return _dates(series, rows)
    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        return _numbers(series.name, read_numbers(series).values[rows])
    entries = series.to_list()
    return {"name": series.name, "kind": "text", "values": [_text(entries[row]) for row in rows]}


def _is_category(series: pl.Series) -> bool:
    """Few values, or texts that come twice or more."""
    if series.dtype.is_float() or series.dtype.is_nested() or DATES.of(series.dtype) is not None:
        return False
    n_values = series.n_unique()
    return n_values <= MOST_CATEGORIES or (not series.dtype.is_numeric() and n_values <= len(series) / 2)


def _category(series: pl.Series, rows: Array) -> dict[str, Any]:
    """Codes of values: in the order of their names or, where not all can be coloured, the most frequent ones first."""
    known = read_texts(series)
    texts = [known[row] for row in rows]
    values = sorted({text for text in texts if text is not None}, key=_sorting_key)
    counts = pl.Series(texts, dtype=pl.String).drop_nulls().value_counts()
    frequency = dict(counts.iter_rows())
    if len(values) > MOST_COLOURED:
        values.sort(key=lambda value: -frequency[value])
    places = {value: place for place, value in enumerate(values)}
    return {
        "name": series.name, "kind": "category", "categories": values, "coloured": min(len(values), MOST_COLOURED),
        "values": [None if text is None else places[text] for text in texts],
        "counts": [frequency[value] for value in values],
    }  # fmt: skip


def _as_number(label: pl.Series, rows: Array) -> list[dict[str, Any]]:
    """Whole numbers of many values may be classes or sizes: the page colours by either."""
    if not label.dtype.is_integer() or not are_classes(label) or label.n_unique() <= MOST_CATEGORIES:
        return []
    return [_numbers(f"{label.name}, as a number", read_numbers(label).values[rows])]


def _dates(series: pl.Series, rows: Array) -> dict[str, Any]:
    """Numbers to colour by, and texts to read."""
    kind = DATES[str(DATES.of(series.dtype))]
    found = _numbers(series.name, read_numbers(series).values[rows])
    low, high = found["range"]
    ends = kind.from_numbers(pl.Series([low, (low + high) / 2, high], dtype=pl.Float64)).to_list()
    entries = series.to_list()
    return {**found, "texts": [_text(entries[row]) for row in rows], "ends": [str(end) for end in ends]}


def _numbers(name: str, values: Array) -> dict[str, Any]:
    known = values[np.isfinite(values)]
    # A few entries far out would leave all others in one colour.
    low, high = np.quantile(known, [0.02, 0.98]) if known.size else (0.0, 1.0)
    if low == high and known.size:
        low, high = known.min(), known.max()
    return {"name": name, "kind": "number", "values": values, "range": [low, high]}


def _text(entry: Any) -> str | None:
    return None if entry is None else str(entry)


def _sorting_key(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


# Pictures ------------------------------------------------------------------------------------------------------------


def pixel_ends(table: Table) -> tuple[float, float]:
    """The values of black and white pixels: 0 and 255 for bytes, else the least and the largest value."""
    pixels = table.frame.select(table.pixels)
    if all(dtype == pl.UInt8 for dtype in pixels.dtypes):
        return 0.0, 255.0
    values = [read_numbers(series).values for series in pixels.get_columns()]
    return float(np.nanmin(values)), float(np.nanmax(values))


def _pictures(table: Table, rows: Array) -> dict[str, Any]:
    """Rows as bytes, height by width by channels; smaller than the images if there are many."""
    shape = table.image_shape
    assert shape is not None
    low, high = pixel_ends(table)
    values = np.empty((len(rows), len(table.pixels)), dtype=np.uint8)
    for j, name in enumerate(table.pixels):
        pixels = np.nan_to_num(read_numbers(table.frame[name]).values[rows], nan=low)
        values[:, j] = np.round(255 * np.clip((pixels - low) / (high - low or 1.0), 0.0, 1.0))
    images = _shrunk(values.reshape(-1, shape[0], shape[1], prod(shape[2:])))
    size = list(images.shape[1:3])
    return {
        "shape": size if len(shape) == 2 else [*size, shape[2]],
        "values": base64.b64encode(images.tobytes()).decode(),
    }  # fmt: skip


def _shrunk(images: Array) -> Array:
    """Means over squares of pixels that are as small as the room in the page allows."""
    n, height, width, channels = images.shape
    side = min(ceil(np.sqrt(images.size / _MOST_BYTES)), height, width)
    if side <= 1:
        return images
    cut = images[:, : height // side * side, : width // side * side]
    blocks = cut.reshape(n, height // side, side, width // side, side, channels)
    return np.round(blocks.mean(axis=(2, 4))).astype(np.uint8)
