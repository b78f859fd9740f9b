"""Machines for tables with more rows than one machine takes in minutes: cells."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mercer.machines import Calibration, CellMachine

# A product with the Gram matrix of so many rows takes seconds, and a fit takes a hundred.
MOST_TOGETHER = 50_000
# Of machines in cells: a fifth of the rows above, and a twenty-fifth of the time, for each cell.
ROWS_OF_CELL = 10_000


def machine_for(n_rows: int, machine: Any) -> Any:
    """A machine for a table of so many rows: the one that is given, or cells of it."""
    return machine if n_rows <= MOST_TOGETHER else CellMachine(machine, max_rows=ROWS_OF_CELL)


def runs_for(n_rows: int) -> int:
    """About how many fits that is: one, or that of each cell."""
    n_cells, n_each = 1, float(n_rows)
    while n_rows > MOST_TOGETHER and n_each > ROWS_OF_CELL:
        n_cells, n_each = 2 * n_cells, 0.5 * (1.0 + CellMachine().overlap) * n_each
    return n_cells


def set_calibration(machine: Any, calibration: Calibration | None) -> None:
    """Give the sigmoids of another machine to one that was fitted without."""
    plain = machine.machine if isinstance(machine, CellMachine) else machine
    plain.set_params(probability=calibration is not None)
    machine.calibration_ = calibration


def without_callbacks(estimators: Iterable[Any]) -> None:
    """Forget who watched: that is not for the model file."""
    for estimator in estimators:
        plain = estimator.machine if isinstance(estimator, CellMachine) else estimator
        for one in (plain, *(getattr(plain, name) for name in ("lower_", "upper_") if hasattr(plain, name))):
            one.set_params(callback=None)
