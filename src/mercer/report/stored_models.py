"""Maps and machines to model files, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mercer.report.errors import ModelFileError
from mercer.report.learning import MachineModel
from mercer.report.map_models import MapModel
from mercer.report.model_files import ModelFile, load_model
from mercer.report.schema import TableSchema
from mercer.report.seen_rows import SeenRows
from mercer.report.targets import Target

_COMMANDS = {"map": "mercer apply", "machine": "mercer predict"}


def stored_map(model: MapModel) -> ModelFile:
    """What the file of a map holds."""
    facts = {
        "schema": model.schema.to_json(), "method": model.method, "takes_missing": model.takes_missing,
        "dim": model.dim, "far": model.far, "label": model.label,
    }  # fmt: skip
    return ModelFile("map", {"estimator": model.estimator}, facts)


def load_map(path: str | Path) -> MapModel:
    """Open the file of a map."""
    file = _load(path, "map")
    facts, far = file.facts, file.facts["far"]
    return MapModel(
        file.objects["estimator"], TableSchema.from_json(facts["schema"]), facts["method"], facts["takes_missing"],
        facts["dim"], np.inf if far is None else far, facts.get("label"),
    )  # fmt: skip


def stored_machine(model: MachineModel) -> ModelFile:
    """What the file of a machine holds."""
    facts: dict[str, Any] = {"schema": model.schema.to_json(), "target": model.target.to_json()}
    objects = {"machine": model.machine, "band": model.band}
    if model.seen is not None:
        objects["seen"], facts["far"] = model.seen.rows, model.seen.far
    return ModelFile("machine", objects, facts)


def load_machine(path: str | Path) -> MachineModel:
    """Open the file of a machine."""
    file = _load(path, "machine")
    schema, target = TableSchema.from_json(file.facts["schema"]), Target.from_json(file.facts["target"])
    machine, band = file.objects["machine"], file.objects["band"]
    if band is not None and not hasattr(band, "margin_"):
        # Bands of the first model files had none, and later ones had it beside them.
        band.margin_ = file.facts.get("margin", 0.0)
    rows = file.objects.get("seen")  # the first model files had none
    return MachineModel(machine, band, schema, target, None if rows is None else SeenRows(rows, file.facts["far"]))


def _load(path: str | Path, kind: str) -> ModelFile:
    file = load_model(path)
    if file.kind != kind:
        use = _COMMANDS.get(file.kind)
        raise ModelFileError(
            f"{path} holds a {file.kind}, not a {kind}; " + (f"use `{use}`." if use else "give another file.")
        )
    return file
