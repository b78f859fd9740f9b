"""A machine for one cell of the rows, and what stands for it where there is none."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier

from mercer.arrays import Array
from mercer.losses import Loss
from mercer.machines.base import KernelMachine
from mercer.problems import Certificate
from mercer.regularizers import Regularizer
from mercer.running import Status


@dataclass(frozen=True)
class Cell:
    """The function of one cell.

    Attributes
    ----------
    machine : estimator or None
        Fitted to the rows of the cell; None where these are of one class, or the fit was ended before.
    constant : array
        The function where there is no machine, and decision values of the classes that a machine does not know.
    ended : bool
        Whether the fit was ended before there was a machine.
    """

    machine: Any
    constant: Array
    ended: bool = False

    def values(self, Z: Array) -> Array:
        """The interval, the decision values for all classes, or the prediction for each row."""
        if self.machine is None:
            return np.broadcast_to(self.constant, (len(Z), *self.constant.shape))
        if hasattr(self.machine, "predict_interval"):
            return np.asarray(self.machine.predict_interval(Z))
        if is_classifier(self.machine):
            return self._of_classes(self.machine.decision_function(Z))
        return np.asarray(self.machine.predict(Z))

    def _of_classes(self, values: Array) -> Array:
        """Decision values for all classes; those of the machine are positions of the ones that it knows."""
        if self.constant.ndim == 0:
            return values
        known = self.machine.classes_
        result = np.tile(self.constant, (len(values), 1))
        result[:, known] = np.column_stack([-values, values]) if len(known) == 2 else values
        return result

    @property
    def support(self) -> Array:
        """Positions of the support vectors among the rows of the cell."""
        return np.concatenate([np.zeros(0, dtype=np.intp), *(machine.support_ for machine in self._machines)])

    @property
    def stories(self) -> list[tuple[float, str, int]]:
        """Gap, status and number of iterations of each function."""
        if self.ended:
            return [(np.inf, Status.INTERRUPTED, 0)]
        return [
            story
            for machine in self._machines
            for story in zip(
                *(np.ravel(getattr(machine, name)) for name in ("gap_", "status_", "n_iter_")), strict=True
            )
        ]

    def certificates(self, Z: Array, y: Array, weight: Array) -> list[Certificate]:
        """The certificate of each function, from the rows of the cell."""
        found: list[Certificate] = []
        for machine in self._machines:
            certificate = machine.certificate(Z, y, weight)
            found += certificate if isinstance(certificate, list) else [certificate]
        return found

    def without_callbacks(self) -> Self:
        """The cell, whose machines have no callbacks any more."""
        for machine in [self.machine, *self._machines]:
            if machine is not None and "callback" in machine.get_params(deep=False):
                machine.set_params(callback=None)
        return self

    @property
    def _machines(self) -> list[KernelMachine]:
        if self.machine is None:
            return []
        return [self.machine.lower_, self.machine.upper_] if hasattr(self.machine, "lower_") else [self.machine]


@dataclass(frozen=True)
class CellCertificates:
    """The certificates of all cells.

    Attributes
    ----------
    cells : list of list of Certificate
        Of each cell: one for each of its functions, none where it is constant.
    """

    cells: list[list[Certificate]]

    @property
    def relative_gap(self) -> float:
        """The largest one of all cells."""
        return max((abs(one.relative_gap) for cell in self.cells for one in cell), default=0.0)

    @property
    def infeasibility(self) -> float:
        """The largest one of all cells."""
        return max((one.infeasibility for cell in self.cells for one in cell), default=0.0)

    def holds(self, tol: float) -> bool:
        """Whether the function of every cell is optimal and feasible to a relative tolerance."""
        return all(one.holds(tol) for cell in self.cells for one in cell)


def decision_of_shares(codes: Array, n_classes: int, *, odds: bool) -> Array:
    """Decision values that say no more than how many rows of a cell are of each class.

    Twice the share less one, or the logarithm of the odds by the rule of succession; of the second class alone, if
    there are two.
    """
    n, counts = len(codes), np.bincount(codes, minlength=n_classes)
    values = np.log((counts + 1.0) / (n - counts + n_classes - 1.0)) if odds else 2.0 * counts / n - 1.0
    return np.asarray(values if n_classes > 2 else values[1])


def machine_of_rows(machine: Any, n: int, rows: Array, classes: Array | None) -> Any:
    """A copy of a machine with the entries of its parameters that belong to some of n rows, and to some classes."""
    parameters = machine.get_params(deep=False)
    callback = parameters.get("callback")
    changes: dict[str, Any] = {} if callback is None else {"callback": callback}
    if "C" in parameters:
        changes["C"] = _entries(parameters["C"], n, rows)
    if isinstance(parameters.get("loss"), Loss):
        changes["loss"] = parameters["loss"].restricted_to(rows)
    if isinstance(parameters.get("regularizer"), Regularizer):
        changes["regularizer"] = parameters["regularizer"].restricted_to(rows)
    if isinstance(parameters.get("class_weight"), dict) and classes is not None:
        changes["class_weight"] = {k: parameters["class_weight"][k] for k in classes.tolist()}
    # The callback itself is called, and not a copy of it.
    plain = copy(machine) if callback is None else copy(machine).set_params(callback=None)
    return clone(plain).set_params(**changes)


def _entries(C: Any, n: int, rows: Array) -> Any:
    if isinstance(C, tuple):
        return tuple(_entries(side, n, rows) for side in C)
    return np.asarray(C)[rows] if np.shape(C) == (n,) else C
