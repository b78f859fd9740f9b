"""What the report and the summary of a map say."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl

from mercer.plain_json import json_bytes
from mercer.report.figures import choice_picture, curve_picture, decoded_images, density_picture
from mercer.report.map_data import column_errors, map_data
from mercer.report.pages import Bar, percent, render, script_data, versions
from mercer.report.profiles import profiles
from mercer.tables.labels import are_classes
from mercer.workflows.mapping import MapResult
from mercer.workflows.methods import METHODS
from mercer.workflows.model_files.files import model_bytes
from mercer.workflows.model_files.stored import stored_map
from mercer.workflows.quality import n_neighbours

# Columns with a larger reconstruction error than this, as a fraction of the variance, are marked.
_MUCH = 0.9


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
    far = pl.Series(result.model.are_far(Z, distances))
    frame = frame.with_columns(far=pl.when(pl.col("distance").is_not_null()).then(far))
    file = io.BytesIO()
    result.model.schema.named(result.table.frame, frame, result.label).write_parquet(file)
    return file.getvalue()


def map_summary(result: MapResult, command: str) -> dict[str, Any]:
    """All figures of a map, for programs."""
    return {
        "kind": "map", "partial": result.partial, "verdict": result.verdict, "reasons": result.reasons,
        "method": result.model.method, "n_rows": len(result.rows), "n_columns": result.X.shape[1],
        "n_coordinates": result.embedding.shape[1], "table": result.table.name, "label": result.label,
        "quality": {name: _figures(result, name) for name in result.maps}, "not_compared": result.not_compared,
        "reconstruction_error": dict(column_errors(result)), "far": result.model.far,
        "notes": result.notes, "warnings": result.warnings,
        "command": command, "seed": result.settings.seed, "versions": versions(),
    }  # fmt: skip


def _figures(result: MapResult, name: str) -> dict[str, float]:
    found = result.maps[name]
    names = ("shared_neighbours", "trustworthiness", "continuity", "reconstruction", "hidden_entries")
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


def _first_colour(result: MapResult) -> str | None:
    """The column that the map is coloured by at first: predictions, or the label."""
    return result.label if result.colors is None else result.colors.columns[0]


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
        data=script_data(data),
        columns=[(i, column["name"]) for i, column in enumerate(data["columns"]) if column["kind"] != "text"],
        first_colour=next((i for i, c in enumerate(data["columns"]) if c["name"] == _first_colour(result)), 0),
        n_shown=len(data["rows"]),
        n_neighbours=n_neighbours(len(result.rows)),
        measures=_measures(result),
        unmeasured=_unmeasured(result),
        maps=[found["name"] for found in data["maps"]],
        axes=[axis["name"] for axis in data["maps"][0]["axes"]],
        density=density_picture(result),
        stretched=hasattr(chosen.estimator, "metric") and result.embedding.shape[1] <= 2,
        decoded=decoded_images(result) if images else None,
        profiles=None if images else profiles(result),
        curve=curve_picture(result) if has_curve(result) and not images else None,
        errors=_bars(result),
        choice=choice_picture(chosen.estimator),
        how=getattr(chosen.estimator, "chosen_", None),
        circles="circle" in getattr(chosen.estimator, "topology_", ()),
        n_far=int(result.model.are_far(result.embedding, result.distances).sum()),
        command=command,
        versions=versions(),
    )


def _measures(result: MapResult) -> list[tuple[str, str]]:
    """What the columns of the table of figures are called, and what they measure."""
    n = len(result.rows)
    k = n_neighbours(n)
    chance = f"Chance would give {100 * k / max(n - 1, 1):.2g}%."
    measures = [
        (f"true neighbours of {k}",
         f"Of the {k} nearest rows on the map, the share that is among the {k} nearest in the table. "
         f"It is also the share of the {k} nearest in the table that is among the {k} nearest on the map. {chance}"),
        ("trustworthiness", "How near the false neighbours on the map are in the table: 100% if there are none, "
         "little less if they are nearly neighbours, about 50% by chance. It is no share of neighbours."),
        ("continuity", "The same the other way round: how near the neighbours in the table that the map has lost are "
         "on the map. 100% if none is lost, about 50% by chance."),
        ("lost there and back", "Squared error of rows that the map was not fitted to, taken to the map and back, as a "
         "share of their variance: 0% is perfect, 100% is no better than the mean."),
        ("error on hidden entries", "Squared error of guesses of hidden entries of such rows, as a share of the error "
         "of their means: 0% is perfect, above 100% is worse than the mean."),
        ("log density", "Mean log density of rows that were held out, for the maps that are compared by it."),
    ]  # fmt: skip
    if result.label is not None:
        name = result.label
        took = "The label took no part in making or choosing the map."
        measures.append(
            (
                f"nearest neighbour has the same {name}",
                f"Share of the rows whose nearest row on the map has the same {name}. {took}",
            )
            if are_classes(result.table.frame[name])
            else (
                f"{name} explained by neighbours",
                f"Share of the variance of {name} that neighbours on the map explain. {took}",
            )
        )
    return measures


def _unmeasured(result: MapResult) -> list[str]:
    """Maps that have no figures since the work was stopped; one that turned out flat needs none."""
    names = [name for name, found in result.maps.items() if found.quality is None and not found.is_flat]
    return [METHODS[name].words + (" (shown)" if name == result.chosen.method else "") for name in names]


def _bars(result: MapResult) -> list[Bar]:
    """What the map loses of each column, those that lose most first."""
    errors = sorted(column_errors(result), key=lambda pair: -np.nan_to_num(pair[1]))
    return [(name, 100 * float(np.clip(np.nan_to_num(e), 0, 1)), percent(e), e > _MUCH) for name, e in errors]


def has_curve(result: MapResult) -> bool:
    """Whether there is a curve to be drawn in two columns of numbers."""
    columns = result.model.schema.columns
    return result.embedding.shape[1] == 1 and sum(column.kind != "category" for column in columns) >= 2
