"""What maps and machines from a file must be before they are used: types, shapes, ranges, and numbers that are finite.

Compiled functions trust the arrays that they are given, and other code fails late or in odd ways. One function for each
kind of object says what it must have to be used; attributes that only describe the fit are not checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import PCA

from mercer.components import KernelPCA
from mercer.components.preimages import LearnedPreimages, RidgePreimages
from mercer.components.removal import RemovedFunctions
from mercer.graphs import LaplacianEigenmaps, NeighbourAffinity, NeighbourSearch
from mercer.graphs.brute import BruteForce
from mercer.graphs.searches import Approximate, Tree
from mercer.losses import Hinge, Logistic, SquaredHinge
from mercer.losses.rows import SquaredRows
from mercer.machines import CellMachine, QuantileBand, SupportVectorClassifier, SupportVectorRegressor
from mercer.machines.calibration import Calibration
from mercer.machines.parametric import ParametricPart
from mercer.manifolds import (
    Cells,
    LatentBasis,
    LatentMap,
    LatentSpace,
    ManifoldDensity,
    PrincipalManifold,
    UnsupervisedKernelRegression,
)
from mercer.manifolds.latent.rotation import Rotation
from mercer.manifolds.latent.space import TOPOLOGIES
from mercer.manifolds.principal.result import ManifoldFit
from mercer.manifolds.ukr.density_kernels import DENSITY_KERNELS, LatentDensity
from mercer.manifolds.ukr.rows import DataRows
from mercer.manifolds.ukr.surface import Surface
from mercer.manifolds.ukr.tuning import TUNING
from mercer.manifolds.ukr.units import LatentUnits
from mercer.tables.memory import refuse_if_too_large
from mercer.workflows.model_files.archives import Refused
from mercer.workflows.model_files.cell_checks import check_cells
from mercer.workflows.model_files.kernel_checks import check_stored_kernel, check_stored_kernel_parameter
from mercer.workflows.model_files.values import (
    attribute,
    equal,
    floats,
    is_number,
    number,
    part,
    positions,
    texts,
    truths,
    whole,
)

# Most dimensions of a grid of nodes.
_MOST_GRID_DIMS = 10
# Along a coordinate.
_MOST_CELLS = 1000


def check_map(estimator: Any, method: str, n_columns: int, dim: int) -> None:
    """Refuse an estimator that is not a map of rows with so many columns to so many coordinates, by this method."""
    kind, check = _MAPS[method]
    _check_type(estimator, kind, f"the map of method {method!r}")
    check_names(estimator)
    equal(estimator, "n_features_in_", n_columns)
    check(estimator, n_columns, dim)


def check_machine(machine: Any, n_columns: int, n_classes: int | None) -> None:
    """Refuse an estimator that is not a machine for rows with so many columns, of numbers or of so many classes."""
    kind = SupportVectorRegressor if n_classes is None else SupportVectorClassifier
    if type(machine) is CellMachine:
        check_names(machine)
        check_cells(machine, kind, n_columns, n_classes, _machine)
    else:
        _check_type(machine, kind, "the machine")
        check_names(machine)
        equal(machine, "n_features_in_", n_columns)
        _machine(machine, n_columns, 1 if n_classes is None or n_classes == 2 else n_classes)
    if n_classes is not None:
        texts(machine, "classes_", n_classes)
        part(machine, "loss_", Hinge, SquaredHinge, Logistic)
        if part(machine, "calibration_", type(None), Calibration) is not None:
            for name in ("slopes", "offsets"):
                floats(machine.calibration_, name, 1 if n_classes == 2 else n_classes)


def check_band(band: Any, n_columns: int) -> None:
    """Refuse what is not a band around predictions."""
    if type(band) is CellMachine:
        check_names(band)
        check_cells(band, QuantileBand, n_columns, None, lambda machine, d, _: _band(machine, d))
        return
    _check_type(band, QuantileBand, "the band")
    check_names(band)
    _band(band, n_columns)


def check_names(value: Any, seen: set[int] | None = None) -> None:
    """Refuse objects whose attributes hide methods of theirs: what was stored would be called instead."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, np.ndarray | csr_array | str | int | float | None):
        return
    seen.add(id(value))
    if isinstance(value, dict | list | tuple):
        parts = list(value.values() if isinstance(value, dict) else value)
    else:
        stored = getattr(value, "__dict__", {})  # compiled objects have none
        for name in stored:
            if callable(getattr(type(value), name, None)):
                raise Refused(f"its {type(value).__name__} has a value where its method {name} should be")
        parts = list(stored.values())
    for one in parts:
        check_names(one, seen)


def _check_type(value: Any, kind: type, what: str) -> None:
    if type(value) is not kind:
        raise Refused(f"{what} must be {kind.__name__}, and is {type(value).__name__}")


# Maps ----------------------------------------------------------------------------------------------------------------


def _pca(pca: PCA, d: int, q: int) -> None:
    equal(pca, "whiten", False)
    floats(pca, "mean_", d)
    floats(pca, "components_", q, d)
    floats(pca, "explained_variance_", q)


def _manifold(manifold: PrincipalManifold, d: int, q: int) -> None:
    floats(manifold, "_origin", d)
    if not hasattr(manifold, "_rotation"):
        manifold._rotation = Rotation()  # the first model files had none
    if not hasattr(manifold, "kind_"):  # as in files of format 1
        penalty, init = getattr(manifold, "penalty_", None), getattr(manifold, "init_", None)
        manifold.kind_ = "mean" if init == "mean" else "pca" if init == "pca" and penalty != penalty else "manifold"
    equal(manifold, "kind_", "manifold", "pca", "mean")
    if attribute(part(manifold, "_rotation", Rotation), "components") is not None:
        floats(manifold._rotation, "components", None, d)
    floats(manifold, "embedding_", None, q)
    fit = part(manifold, "fit_", ManifoldFit)
    part(fit, "cost", SquaredRows)
    f = part(fit, "map", LatentMap)
    n_nodes, n_features, n_polynomials = _basis(part(f, "basis", LatentBasis), q)
    floats(f, "alpha", n_nodes, d)
    floats(f, "gamma", n_polynomials, d)
    floats(f, "coefficients", n_features + n_polynomials, d)
    density = part(manifold, "density_", ManifoldDensity)
    number(density, "variance", positive=True)
    cells = part(density, "cells", Cells)
    n_cells = len(floats(cells, "F", None, d))
    floats(cells, "U", q, n_cells, d)
    floats(cells, "squares", q, n_cells)
    floats(cells, "turns", n_cells, q, q)
    floats(cells, "centre", d)


def _basis(basis: LatentBasis, q: int) -> tuple[int, int, int]:
    """Numbers of nodes, penalised features and polynomials."""
    topology = part(part(basis, "space", LatentSpace), "topology", tuple)
    if len(topology) != q or not set(topology) <= set(TOPOLOGIES) or q > _MOST_GRID_DIMS:
        raise Refused(f"topology of its LatentSpace must be {q} of {', '.join(TOPOLOGIES)}, {_MOST_GRID_DIMS} at most")
    if attribute(basis.space, "n_cells") is not None:
        whole(basis.space, "n_cells", 1, _MOST_CELLS)
    sides = part(basis, "sides", tuple)
    fewest = basis.space.fewest_sides
    if len(sides) != q or not all(type(n) is int and n >= few for n, few in zip(sides, fewest, strict=True)):
        raise Refused(f"sides of its LatentBasis must be {q} whole numbers, and no less than {fewest}")
    n_nodes = math.prod(sides)
    n_features = floats(basis, "to_alpha", n_nodes, None).shape[1]
    linear = equal(basis, "linear", True, False)
    equal(basis, "whitened", True, False)
    check_stored_kernel(basis, "kernel", q)
    n_points = float(math.prod(basis.space.refined(sides)))
    refuse_if_too_large(8.0 * n_points * (n_nodes + n_features + 3 * q), "the grid of the map", "make the map again")
    return n_nodes, n_features, 1 + (topology.count("interval") if linear else 0)


def _kernel_regression(regression: UnsupervisedKernelRegression, d: int, q: int) -> None:
    kernel = equal(regression, "density_kernel", "gaussian", "quartic")
    equal(regression, "feature_kernel", None)
    n = len(floats(regression, "embedding_", None, q))
    # With many rows the surface consists of some of them.
    n_made = len(floats(regression, "_Z", n if n <= TUNING.most_regressed else None, q))
    floats(part(regression, "_training", DataRows), "points", n, d, missing=True)
    number(regression, "density_threshold_")
    number(regression, "_unit", positive=True)
    _origin(regression, "_origin", d)
    number(regression, "_farthest")
    _units(part(regression, "_units", LatentUnits), q)
    _latent_density(part(regression, "_density", LatentDensity), kernel, q)
    surface = part(regression, "_surface", Surface)
    _latent_density(part(surface, "density", LatentDensity), kernel, q)
    floats(surface, "Z", n_made, q)
    floats(surface, "means", d)
    floats(surface, "values", n_made, d)
    if attribute(surface, "seen") is not None:
        floats(surface, "seen", n_made, d)


def _latent_density(density: LatentDensity, kernel: str, q: int) -> None:
    part(density, "kernel", type(DENSITY_KERNELS[kernel]))
    if attribute(density, "periods") is not None:
        _units(density, q)


def _units(owner: Any, q: int) -> None:
    """Periods: positive, and infinite for lines."""
    periods = part(owner, "periods", np.ndarray)
    if periods.shape != (q,) or periods.dtype != np.float64 or not (periods > 0).all():
        raise Refused(f"periods of its {type(owner).__name__} must be {q} positive numbers")


def _kernel_pca(pca: KernelPCA, d: int, q: int) -> None:
    check_stored_kernel_parameter(pca, d)
    check_stored_kernel(pca, "kernel_", d)
    equal(pca, "preimage", "auto")
    equal(pca, "n_components_", q)
    n = len(floats(pca, "rows_", None, d))
    floats(pca, "dual_coef_", n, q)
    floats(pca, "_mean_coef", n)
    floats(pca, "eigenvalues_", q)
    removed = part(pca, "_removed", RemovedFunctions)
    equal(removed, "_linear", False)
    check_stored_kernel(removed, "_kernel", d)
    number(removed, "_constant")
    floats(removed, "_mean", 0)
    floats(removed, "_map", 0, 0)
    truths(removed, "_varying", 0)
    floats(pca, "_offset", int(equal(removed, "_any", True, False)), q)
    if "_learned" in vars(pca):
        learned = part(pca, "_learned", LearnedPreimages)
        n_learned = len(floats(learned, "_X", None, d))
        _preimages(part(learned, "plain", RidgePreimages), n_learned, d, q)
        if part(learned, "noisy", type(None), RidgePreimages) is not None:
            _preimages(learned.noisy, n_learned, d, q)


def _preimages(ridge: RidgePreimages, n: int, d: int, q: int) -> None:
    check_stored_kernel(ridge, "_kernel", q)
    floats(ridge, "scores", n, q)
    floats(ridge, "_mean", d)
    floats(ridge, "_coef", n, d)
    floats(ridge, "left_out", n, d)


def _eigenmaps(maps: LaplacianEigenmaps, d: int, q: int) -> None:
    equal(maps, "affinity", "neighbors")
    equal(maps, "neighbors", "auto", "tree", "brute", "approximate")
    equal(maps, "_density", None)
    n = len(floats(maps, "_training_rows", None, d))
    for name in ("embedding_", "_functions", "_lift"):
        floats(maps, name, n, q, missing=True)
    positions(maps, "_embedded_with", n, below=n + 1)
    _graph(part(maps, "graph_", csr_array), n)
    affinity = part(maps, "_affinity", NeighbourAffinity)
    equal(affinity, "_n", n)
    equal(affinity, "_width", "auto")
    whole(affinity, "_k", 1, n)
    equal(affinity, "_local", None)
    if not is_number(part(affinity, "about", dict).get("width")) or affinity.about["width"] < 0:
        raise Refused("its NeighbourAffinity has no width")
    _search(part(affinity, "_search", NeighbourSearch), n, d)


def _graph(graph: csr_array, n: int) -> None:
    try:
        graph.check_format(full_check=True)
    except ValueError as error:
        raise Refused(f"graph_ of its LaplacianEigenmaps is no graph ({error})") from None
    if graph.shape != (n, n):
        raise Refused(f"graph_ of its LaplacianEigenmaps must have the shape ({n}, {n}), not {graph.shape}")


def _search(search: NeighbourSearch, n: int, d: int) -> None:
    number(search, "_unit", positive=True)
    floats(search, "_X", n, d)
    _origin(search, "_origin", d)
    inner = part(search, "_search", Tree, BruteForce, Approximate)
    floats(inner, "_X", n, d)
    if type(inner) is Approximate:
        equal(inner, "_index", None)
        _origin(inner, "_centre", d)


def _origin(owner: Any, name: str, d: int) -> None:
    """A point, or 0 for the origin."""
    if isinstance(attribute(owner, name), np.ndarray):
        floats(owner, name, d)
    else:
        equal(owner, name, 0.0)


_MAPS: dict[str, tuple[type, Callable[[Any, int, int], None]]] = {
    "pca": (PCA, _pca), "manifold": (PrincipalManifold, _manifold), "kpca": (KernelPCA, _kernel_pca),
    "ukr": (UnsupervisedKernelRegression, _kernel_regression), "eigenmaps": (LaplacianEigenmaps, _eigenmaps),
}  # fmt: skip


# Machines ------------------------------------------------------------------------------------------------------------


def _machine(machine: Any, d: int, n_functions: int) -> None:
    """Kernel functions and a parametric part, once or for each of some functions."""
    check_stored_kernel_parameter(machine, d)
    check_stored_kernel(machine, "kernel_", d)
    columns = () if n_functions == 1 else (n_functions,)
    n_support = len(positions(machine, "support_", None, below=2**62))
    floats(machine, "support_vectors_", n_support, d)
    floats(machine, "dual_coef_", n_support, *columns)
    n_columns = _parametric_part(part(machine, "_part", ParametricPart), d)
    floats(machine, "parametric_coef_", n_columns, *columns)


def _band(band: QuantileBand, d: int) -> None:
    number(band, "margin_")
    for name in ("lower_", "upper_"):
        machine = part(band, name, SupportVectorRegressor)
        equal(machine, "n_features_in_", d)
        _machine(machine, d, 1)


def _parametric_part(parametric: ParametricPart, d: int) -> int:
    """Number of its columns."""
    items = part(parametric, "_items", list)
    # Any other item could be a callable.
    if not all(isinstance(item, str) and item in ("constant", "linear") for item in items):
        raise Refused("items of its ParametricPart must be 'constant' or 'linear'")
    check_stored_kernel(parametric, "_kernel", d)
    n_columns = sum(1 if item == "constant" else d for item in items)
    return len(positions(parametric, "_kept", None, below=n_columns))
