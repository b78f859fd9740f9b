"""Maps and machines to model files, and back."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.machines import CellMachine
from mercer.tables.errors import ModelFileError, ReportError
from mercer.workflows.kernel_choice import MetricRows
from mercer.workflows.machine_models import MachineModel
from mercer.workflows.map_models import MapModel
from mercer.workflows.methods import METHODS
from mercer.workflows.model_files.archives import Refused
from mercer.workflows.model_files.checks import check_band, check_machine, check_map
from mercer.workflows.model_files.facts import Facts, read_schema, read_target, require
from mercer.workflows.model_files.files import ModelFile, load_model, refusals
from mercer.workflows.model_files.values import floats
from mercer.workflows.seen_rows import SeenRows

_COMMANDS = {"map": "mercer apply", "machine": "mercer predict"}
# Maps have no more coordinates than this.
_MOST_COORDINATES = 1000


def stored_map(model: MapModel) -> ModelFile:
    """What the file of a map holds."""
    facts = {
        "schema": model.schema.to_json(), "method": model.method, "takes_missing": model.takes_missing,
        "dim": model.dim, "far": model.far, "label": model.label,
    }  # fmt: skip
    objects = {"estimator": model.estimator}
    if model.seen is not None:
        objects["places"], facts["far_place"] = model.seen.rows, model.seen.far
    return ModelFile("map", objects, facts)


def load_map(path: str | Path) -> MapModel:
    """Open the file of a map; it is tried on a few rows before it is returned."""
    file = _load(path, "map")
    with refusals(Path(path).name):
        facts, schema = Facts(file.facts, "its map"), read_schema(file.facts.get("schema"))
        method = facts.choice("method", tuple(METHODS))
        takes_missing = METHODS[method].takes_missing
        require(facts.get("takes_missing") is takes_missing, "takes_missing of its map is not that of its method")
        dim = facts.whole("dim", 1, _MOST_COORDINATES)
        far = np.inf if facts.get("far") is None else facts.number("far", positive=True)
        label = None if facts.get("label") is None else facts.text("label")
        estimator = _object(file, "estimator")
        check_map(estimator, method, len(schema.features), dim)
        seen = _seen(file, facts, "places", "far_place", dim)
        model = MapModel(estimator, schema, method, takes_missing, dim, far, label, seen)
        _try(lambda X: _there_and_back(model, X), schema.features)
        return model


def stored_machine(model: MachineModel) -> ModelFile:
    """What the file of a machine holds."""
    facts: dict[str, Any] = {"schema": model.schema.to_json(), "target": model.target.to_json()}
    objects = {"machine": model.machine, "band": model.band}
    if model.metric is not None:
        objects["metric"] = [model.metric.matrix, model.metric.shift, model.metric.missing]
    if model.seen is not None:
        objects["seen"], facts["far"] = model.seen.rows, model.seen.far
    return ModelFile("machine", objects, facts)


def load_machine(path: str | Path) -> MachineModel:
    """Open the file of a machine; it is tried on a few rows before it is returned."""
    file = _load(path, "machine")
    with refusals(Path(path).name):
        facts, schema = Facts(file.facts, "its machine"), read_schema(file.facts.get("schema"))
        target, d = read_target(file.facts.get("target")), len(schema.features)
        machine, band = _object(file, "machine"), _object(file, "band")
        metric = _metric(file.objects.get("metric"), d)
        n_seen = d if metric is None else len(metric.shift)
        check_machine(machine, n_seen, None if target.classes is None else len(target.classes))
        if band is not None:
            if not isinstance(band, CellMachine) and not hasattr(band, "margin_"):
                # The first model files had no margin; later ones stored it beside the band.
                vars(band)["margin_"] = facts.get("margin", 0.0)
            check_band(band, n_seen)
        seen = _seen(file, facts, "seen", "far", d)
        model = MachineModel(machine, band, schema, target, seen, metric)
        _try(lambda X: _predicted(model, X), schema.features)
        return model


def _seen(file: ModelFile, facts: Facts, rows: str, far: str, n_columns: int) -> SeenRows | None:
    """What a model has seen; the first model files had none."""
    if rows not in file.objects:
        return None
    seen = SeenRows(file.objects[rows], facts.number(far, positive=True))
    floats(seen, "rows", None, n_columns)
    return seen


def _metric(values: Any, n_columns: int) -> MetricRows | None:
    """The metric of a machine; kernels that are named have none."""
    if values is None:
        return None
    require(isinstance(values, list) and len(values) in (2, 3), "its metric is no matrix with a shift")
    if len(values) == 2:
        # In the first model files a missing entry was 0.
        values = [*values, np.zeros(np.shape(values[0]))]
    metric = MetricRows(*values)
    n_components = len(floats(metric, "shift", None))
    for name in ("matrix", "missing"):
        floats(metric, name, n_columns, n_components)
    return metric


def _load(path: str | Path, kind: str) -> ModelFile:
    file = load_model(path)
    if file.kind != kind:
        use = _COMMANDS.get(file.kind)
        raise ModelFileError(
            f"{path} holds a {file.kind}, not a {kind}; " + (f"use `{use}`." if use else "give another file.")
        )
    return file


def _object(file: ModelFile, name: str) -> Any:
    if name not in file.objects:
        raise Refused(f"it has no {name}")
    return file.objects[name]


def _there_and_back(model: MapModel, X: Array) -> None:
    Z = model.coordinates(X)
    model.are_far(Z, model.distances(X))
    model.schema.frame(model.rows(Z[np.isfinite(Z).all(axis=1)]))


def _predicted(model: MachineModel, X: Array) -> None:
    model.predict(X)
    if model.seen is not None:
        model.seen.distances(X)


def _try(use: Callable[[Array], None], features: list[str]) -> None:
    """Refuse a model that fails for rows that any table may have: the mean, and others near it."""
    rows = np.vstack([np.zeros(len(features)), np.ones(len(features)), np.resize([-2.0, 3.0], len(features))])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(rows)
    except (ReportError, MemoryError):
        raise
    except Exception as error:
        # Inconsistent attributes raise any kind of error.
        raise Refused(f"it cannot be used ({type(error).__name__}: {error})") from None
