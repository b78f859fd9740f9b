"""Small models of all kinds, with tables that they can be used on."""

import warnings
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import polars as pl

from mercer.report import (
    METHODS,
    LearningProblem,
    MachineSettings,
    MapModel,
    MapSettings,
    TableSchema,
    fit_machine,
    model_bytes,
    stored_machine,
    stored_map,
    table_from_frame,
)
from mercer.workflows.map_models import distances_of

MAPS = {
    "curve": ("manifold", MapSettings(dim=1)),
    "circle": ("manifold", MapSettings(dim=1, topology="circle")),
    "cylinder": ("manifold", MapSettings(dim=2, topology=("interval", "circle"))),
    "ukr": ("ukr", MapSettings()),
    "kpca": ("kpca", MapSettings()),
    "eigenmaps": ("eigenmaps", MapSettings()),
    "pca": ("pca", MapSettings()),
}
MACHINES = {
    "regression": ("y", MachineSettings(kernel="gaussian")),
    "band": ("y", MachineSettings(kernel="polynomial", band=0.8)),
    "classes": ("kind", MachineSettings(kernel="exponential")),
}


@dataclass(frozen=True)
class Specimen:
    """A model file, and the kind of command that takes it."""

    kind: str
    dim: int
    content: bytes


def table(n=40, seed=0):
    """Rows of numbers, dates and categories, one number far from the others."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 3, n)
    a, b = np.cos(t) + 0.05 * rng.normal(size=n), np.sin(t) + 0.05 * rng.normal(size=n)
    a[0] = 1e6
    days = pl.Series(np.datetime64("2020-01-01") + rng.integers(1000, size=n).astype("timedelta64[D]"))
    colour = np.array(["red", "green", "blue"])[rng.integers(3, size=n)]
    kind = np.where(t < 1, "low", np.where(t < 2, "middle", "high"))
    return pl.DataFrame({"a": a, "b": b, "day": days, "colour": colour, "y": t + 0.1 * b, "kind": kind})


def new_table():
    """Other rows, with missing entries."""
    gaps = {name: pl.when(pl.int_range(pl.len()) % 4 == place).then(None).otherwise(pl.col(name)) for place, name in
            enumerate(("a", "day", "colour"))}  # fmt: skip
    return table(10, seed=1).with_columns(**gaps)


def fitted_map(method, settings):
    given = table_from_frame(table())
    schema, _ = TableSchema.learn(given, ["y", "kind"])
    X, _ = schema.matrix(given.frame)
    estimator = METHODS[method].make(settings, len(X))
    if method == "manifold":
        estimator.set_params(width=0.7, penalty=1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X)
    distances_of(estimator, X, False)
    return MapModel(estimator, schema, method, METHODS[method].takes_missing, settings.n_coordinates, 1.0, "kind")


def specimens():
    """Model files by name."""
    files = {}
    for name, (method, settings) in MAPS.items():
        files[name] = Specimen("map", settings.n_coordinates, model_bytes(stored_map(fitted_map(method, settings))))
    for name, (target, settings) in MACHINES.items():
        problem = LearningProblem.read(table_from_frame(table()), target)
        files[name] = Specimen("machine", 0, model_bytes(stored_machine(fit_machine(problem, settings).model)))
    with patch.multiple("mercer.workflows.large_tables", MOST_TOGETHER=30, ROWS_OF_CELL=20):
        for target in ("y", "kind"):
            problem = LearningProblem.read(table_from_frame(table()), target)
            model = fit_machine(problem, MachineSettings(kernel="gaussian")).model
            files[f"cells of {target}"] = Specimen("machine", 0, model_bytes(stored_machine(model)))
    return files


def places(dim, n=5):
    """Coordinates of some points."""
    Z = np.random.default_rng(0).uniform(-0.5, 0.5, size=(n, dim))
    return pl.DataFrame({f"coordinate_{c + 1}": Z[:, c] for c in range(dim)})
