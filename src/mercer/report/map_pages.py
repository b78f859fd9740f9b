"""What the report and the summary of a map say."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mercer.report.columns import DATES, read_numbers, read_texts
from mercer.report.figures import choice_picture, curve_picture, decoded_images, density_picture, span_of
from mercer.report.mapping import MapResult
from mercer.report.methods import METHODS
from mercer.report.model_files import model_bytes
from mercer.report.outputs import json_bytes
from mercer.report.pages import render, script_data, versions
from mercer.report.schema import MOST_CATEGORIES
from mercer.report.stored_models import stored_map

Array = NDArray[Any]

# Rows and columns that a page holds: more would make it slow to open.
_MOST_POINTS, _MOST_COLUMNS = 20_000, 60
# Places along each coordinate of decoded profiles, and rows of that table.
_PLACES, _MOST_PROFILES = 7, 15
# Colours of the table of profiles, from low to high: viridis, and ink that can be read on it.
_SHADES = (("#440154", "#fff"), ("#414487", "#fff"), ("#2a788e", "#fff"), ("#22a884", "#111"), ("#7ad151", "#111"),
           ("#fde725", "#111"))  # fmt: skip


def map_files(result: MapResult, command: str) -> dict[str, bytes]:
    """The files of a map: coordinates, model, report and summary."""
    return {
        "embedding.parquet": embedding_file(result),
        "model.skops": model_bytes(stored_map(result.model)),
        "report.html": map_page(result, command),
        "summary.json": json_bytes(map_summary(result, command)),
    }


def embedding_file(result: MapResult) -> bytes:
    """Coordinates, distance and flag of each row of the table; empty for rows that are not on the map."""
    height, dim = result.table.frame.height, result.embedding.shape[1]
    Z, distances = np.full((height, dim), np.nan), np.full(height, np.nan)
    Z[result.rows], distances[result.rows] = result.embedding, result.distances
    columns = {f"coordinate_{c + 1}": Z[:, c] for c in range(dim)}
    frame = pl.DataFrame({**columns, "distance": distances}).with_columns(pl.selectors.float().fill_nan(None))
    frame = frame.with_columns(far=pl.col("distance") > result.model.far)
    file = io.BytesIO()
    result.model.schema.named(result.table.frame, frame, result.label).write_parquet(file)
    return file.getvalue()


def map_summary(result: MapResult, command: str) -> dict[str, Any]:
    """All figures of a map, for programs."""
    return {
        "kind": "map", "partial": result.partial, "verdict": result.verdict, "reasons": result.reasons,
        "method": result.model.method, "n_rows": len(result.rows), "n_columns": result.X.shape[1],
        "n_coordinates": result.embedding.shape[1], "table": result.table.name, "label": result.label,
        "quality": {name: _figures(result, name) for name in result.maps},
        "reconstruction_error": dict(column_errors(result)), "far": result.model.far,
        "notes": result.notes, "warnings": result.warnings,
        "command": command, "seed": result.settings.seed, "versions": versions(),
    }  # fmt: skip


def _figures(result: MapResult, name: str) -> dict[str, float]:
    found = result.maps[name]
    names = ("trustworthiness", "continuity", "reconstruction", "hidden_entries")
    figures = {figure: np.nan if found.quality is None else getattr(found.quality, figure) for figure in names}
    figures["log_density"] = _ladder_density(result, name)
    return figures if result.label is None else {**figures, "label_agreement": found.agreement}


def _ladder_density(result: MapResult, name: str) -> float:
    """Mean log density of held-out rows in five folds, for the maps that the ladder of models compares."""
    manifold = result.maps.get("manifold")
    candidates = getattr(getattr(manifold, "estimator", None), "candidates_", None) or {"rung": []}
    dim = result.maps[name].embedding.shape[1]
    found = [
        held_out
        for rung, q, held_out in zip(
            *(candidates.get(key, []) for key in ("rung", "n_components", "held_out")), strict=True
        )
        if rung == name and q == dim and np.isfinite(held_out)
    ]
    return max(found, default=np.nan)


def column_errors(result: MapResult) -> list[tuple[str, float]]:
    """Held-out reconstruction error of each column of the table as a share of its variance; none for images."""
    quality = result.chosen.quality
    if quality is None or result.model.schema.image_shape is not None:
        return []
    errors = quality.column_errors
    return [(name, float(np.mean(errors[group]))) for name, group in result.model.schema.groups.items()]


def map_page(result: MapResult, command: str) -> bytes:
    """The report of a map."""
    images = result.model.schema.image_shape is not None
    chosen = result.chosen
    rows = [(METHODS[name].words, name == chosen.method, _figures(result, name)) for name in result.maps]
    data = map_data(result)
    return render(
        "map.html.j2",
        title=f"Map of {result.table.name}",
        result=result,
        method=METHODS[chosen.method].words,
        figures=rows,
        classes=result.label is not None and _is_category(result.table.frame[result.label]),
        data=script_data(data),
        columns=[(i, column["name"]) for i, column in enumerate(data["columns"]) if column["kind"] != "text"],
        first_colour=next((i for i, c in enumerate(data["columns"]) if c["name"] == result.label), 0),
        n_shown=len(data["rows"]),
        maps=[found["name"] for found in data["maps"]],
        axes=[axis["name"] for axis in data["maps"][0]["axes"]],
        density=density_picture(result),
        stretched=hasattr(chosen.estimator, "metric") and result.embedding.shape[1] <= 2,
        decoded=decoded_images(result) if images else None,
        profiles=None if images else profiles(result),
        curve=curve_picture(result) if has_curve(result) else None,
        errors=sorted(column_errors(result), key=lambda pair: -pair[1]),
        choice=choice_picture(chosen.estimator),
        how=getattr(chosen.estimator, "chosen_", None),
        circles="circle" in str(result.settings.topology) and chosen.method == "manifold",
        n_far=int(np.sum(result.distances > result.model.far)),
        command=command,
        versions=versions(),
    )


def has_curve(result: MapResult) -> bool:
    """Whether there is a curve to be drawn in two columns of numbers."""
    columns = result.model.schema.columns
    return result.embedding.shape[1] == 1 and sum(column.kind != "category" for column in columns) >= 2


def map_data(result: MapResult) -> dict[str, Any]:
    """What the interactive map needs of each row."""
    shown = np.arange(len(result.rows))
    if len(shown) > _MOST_POINTS:
        shown = np.sort(np.random.default_rng(0).choice(shown, _MOST_POINTS, replace=False))
    rows = result.rows[shown]
    order = [result.model.method, *(name for name in result.maps if name != result.model.method)]
    maps = [_points(METHODS[name].words, result.maps[name].embedding[shown], result, shown) for name in order]
    pixels = set(result.table.pixels)
    names = [name for name in result.table.frame.columns if name not in pixels]
    if result.label is not None:
        names = [result.label, *(name for name in names if name != result.label)]
    columns = [_column(result.table.frame[name], rows) for name in names[:_MOST_COLUMNS]]
    columns.append(_numbers("distance from the map", result.distances[shown]))
    data = {"maps": maps, "rows": rows, "columns": columns, "images": None}
    if result.model.schema.image_shape is not None:
        X = np.nan_to_num(result.X[shown] + np.array([c.center[0] / c.scale for c in result.model.schema.columns]))
        low, high = X.min(), X.max()
        grey = np.round(255 * (X - low) / (high - low or 1.0)).astype(np.uint8)
        data["images"] = {
            "shape": list(result.model.schema.image_shape), "values": base64.b64encode(grey.tobytes()).decode(),
        }  # fmt: skip
    return data


def _points(words: str, Z: Array, result: MapResult, shown: Array) -> dict[str, Any]:
    """Places of the rows on one map; a map of one coordinate is drawn over the distances from the shown one."""
    axes = [{"name": f"coordinate {c + 1}", "coordinate": True} for c in range(Z.shape[1])]
    if Z.shape[1] == 1:
        Z = np.column_stack([Z, result.distances[shown]])
        axes.append({"name": "distance from the curve", "coordinate": False})
    return {"name": words, "points": Z, "axes": axes}


def _is_category(series: pl.Series) -> bool:
    if series.dtype.is_float() or series.dtype.is_nested() or DATES.of(series.dtype) is not None:
        return False
    return series.n_unique() <= MOST_CATEGORIES


def _column(series: pl.Series, rows: Array) -> dict[str, Any]:
    if _is_category(series):
        known = read_texts(series)
        texts = [known[row] for row in rows]
        values = sorted({text for text in texts if text is not None}, key=_sorting_key)
        places = {value: place for place, value in enumerate(values)}
        codes = [None if text is None else places[text] for text in texts]
        counts = [codes.count(place) for place in range(len(values))]
        return {"name": series.name, "kind": "category", "categories": values, "values": codes, "counts": counts}
    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        return _numbers(series.name, read_numbers(series).values[rows])
    entries = series.to_list()
    return {"name": series.name, "kind": "text", "values": [_text(entries[row]) for row in rows]}


def _text(entry: Any) -> str | None:
    return None if entry is None else str(entry)


def _sorting_key(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def _numbers(name: str, values: Array) -> dict[str, Any]:
    known = values[np.isfinite(values)]
    # A few entries far out would leave all others in one colour.
    low, high = np.quantile(known, [0.02, 0.98]) if known.size else (0.0, 1.0)
    if low == high and known.size:
        low, high = known.min(), known.max()
    return {"name": name, "kind": "number", "values": values, "range": [low, high]}


def profiles(result: MapResult) -> list[dict[str, Any]]:
    """For each coordinate, what places along it stand for in the units of the table, the others being in the middle."""
    schema, found = result.model.schema, []
    middle = np.nanmedian(result.embedding, axis=0)
    for c in range(result.embedding.shape[1]):
        places = span_of(result.embedding[:, c], _PLACES)
        Z = np.tile(middle, (_PLACES, 1))
        Z[:, c] = places
        X = result.model.rows(Z)
        frame = schema.frame(X)
        lines = []
        for column in schema.columns:
            numbers = X[:, schema.groups[column.name]]
            level = numbers[:, 0] if column.kind != "category" else np.zeros(_PLACES)
            shades = [None if column.kind == "category" else _shade(value) for value in level]
            texts = [_entry(value) for value in frame[column.name]]
            lines.append((float(np.ptp(numbers, axis=0).sum()), column.name, list(zip(texts, shades, strict=True))))
        lines = sorted(lines, key=lambda line: -line[0])
        found.append(
            {
                "name": f"coordinate {c + 1}", "places": places, "left_out": max(0, len(lines) - _MOST_PROFILES),
                "lines": [(name, cells) for _, name, cells in lines[:_MOST_PROFILES]],
            }
        )  # fmt: skip
    return found


def _shade(level: float) -> tuple[str, str]:
    """From two deviations below the mean to two above."""
    return _SHADES[int(np.clip((level + 2.0) / 4.0 * len(_SHADES), 0, len(_SHADES) - 1))]


def _entry(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
