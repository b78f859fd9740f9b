"""What machines in cells from a model file must be before they are used: see `model_checks`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.machines import CellMachine, QuantileBand, SupportVectorClassifier
from mercer.machines.cell import Cell
from mercer.machines.cell_tree import CellTree
from mercer.workflows.model_files.archives import Refused
from mercer.workflows.model_files.values import equal, floats, part, positions, whole

# Most cells: those of the largest possible table, with twenty rows each.
_MOST_CELLS = 10**7


def check_cells(
    cells: CellMachine, kind: type, n_columns: int, n_classes: int | None, check: Callable[[Any, int, int], None]
) -> None:
    """Refuse cells whose machines are not of a kind, or fail its check: for columns, and for a number of functions."""
    equal(cells, "n_features_in_", n_columns)
    equal(part(cells, "machine", kind), "metric", None)
    if "metric_" in vars(cells):
        raise Refused("its CellMachine has a metric, which is stored beside it")
    parts, n_cells = part(cells, "cells_", list), _tree(part(cells, "tree_", CellTree), n_columns)
    if len(parts) != n_cells or not all(type(cell) is Cell for cell in parts):
        raise Refused(f"cells_ of its CellMachine must be {n_cells} of Cell")
    several = () if n_classes is None or n_classes == 2 else (n_classes,)
    for cell in parts:
        floats(cell, "constant", *((2,) if kind is QuantileBand else several))
        if part(cell, "machine", type(None), kind) is None:
            continue
        equal(cell.machine, "n_features_in_", n_columns)
        n_functions = 1 if n_classes is None else _n_functions(cell.machine, n_classes)
        check(cell.machine, n_columns, n_functions)


def _tree(tree: CellTree, d: int) -> int:
    """Number of its cells."""
    n_cells = whole(tree, "n_cells", 1, _MOST_CELLS)
    n = n_cells - 1
    floats(tree, "directions", n, d)
    if not (floats(tree, "low", n) <= floats(tree, "high", n)).all():
        raise Refused("low of its CellTree is above high")
    children = positions(tree, "children", n, 2, least=-n_cells, below=max(n, 1))
    # Each split but the first, and each cell, is on one side of an earlier split: so all paths end in a cell.
    once = np.array_equal(np.sort(children.ravel()), np.delete(np.arange(-n_cells, n), n_cells)) if n else True
    if not once or not ((children < 0) | (children > np.arange(n)[:, None])).all():
        raise Refused("children of its CellTree are not those of a tree")
    return n_cells


def _n_functions(machine: SupportVectorClassifier, n_classes: int) -> int:
    """Of the machine of a cell, whose classes are positions of the classes of all."""
    known = positions(machine, "classes_", None, below=n_classes)
    if len(known) < 2 or not (np.diff(known) > 0).all():
        raise Refused("classes_ of a machine in a cell must be two positions or more, in ascending order")
    return 1 if len(known) == 2 else len(known)
