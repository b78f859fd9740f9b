"""Machines with their bands, as good as there was time for."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.losses import Loss, Quantile
from mercer.machines import QuantileBand, SupportVectorClassifier, SupportVectorRegressor
from mercer.machines.bands import folds_to_fit
from mercer.machines.classifier import N_FOLDS
from mercer.running import Status, unless_interrupted
from mercer.solvers import Iterate
from mercer.tables.schema import TableSchema
from mercer.tables.targets import Target
from mercer.workflows.kernel_choice import MOST_ROWS
from mercer.workflows.large_tables import machine_for, runs_for, set_calibration, without_callbacks
from mercer.workflows.loss_choice import Parts
from mercer.workflows.machine_models import MachineModel
from mercer.workflows.progress import Stages
from mercer.workflows.seen_rows import SeenRows

# Relative gap of the machines.
_TOL = 1e-3


class _Course:
    """Tells of the iterations of solvers: how much of several runs, one after the other, is behind."""

    def __init__(self, stages: Stages, n_runs: int):
        self._stages, self._n_runs = stages, n_runs
        self._n_begun, self._first_gap = 0, 1.0

    def __call__(self, iteration: int, values: Iterate) -> bool:
        gap = max(values.relative_gap, _TOL)
        if iteration == 0:
            self._n_begun, self._first_gap = self._n_begun + 1, max(gap, 2 * _TOL)
        # Gaps shrink by about the same factor in each iteration.
        behind = np.log(self._first_gap / gap) / np.log(self._first_gap / _TOL)
        return self._stages.tell((self._n_begun - 1 + max(float(behind), 0.0)) / self._n_runs, values.primal)


class Fitter:
    """Fits machines with their bands.

    Parameters
    ----------
    parts : Parts
        What they are made of.
    schema, target : TableSchema, Target
        How tables become rows, and what is predicted.
    n_rows : int
        All rows of the table: of very many, machines are fitted in cells.
    band : float or None
        The fraction of targets that a band is to hold.
    seed : int
        Of what is drawn.
    stages : Stages
        Called with the progress of the work.

    Attributes
    ----------
    stopped : bool
        Whether a machine was ended before its optimum.
    """

    def __init__(
        self, parts: Parts, schema: TableSchema, target: Target, n_rows: int, *, band: float | None, seed: int,
        stages: Stages,
    ):  # fmt: skip
        self._parts, self._schema, self._target, self._stages = parts, schema, target, stages
        self._n_rows, self._band, self._seed = n_rows, band, seed
        self.stopped = False
        self._first: MachineModel | None = None

    def fitted(self, words: str, X: Array, y: Array) -> MachineModel:
        """A machine as good as there was time for, and its band if there was time for all of it.

        The sigmoids of probabilities are those of the first machine, for which the log loss of held-out rows is known.
        """
        self._stages.begin(words)
        calibrates = self._target.classes is not None and self._first is None and _has_folds(self._parts.loss, y)
        n_runs = self._n_machines * (1 + N_FOLDS if calibrates else 1)
        n_runs += 0 if self._band is None else 2 * (1 + folds_to_fit(len(X)))
        course, A = _Course(self._stages, n_runs * runs_for(self._n_rows)), self._parts.choice.rows(X)
        machine = self._machine(course)
        if calibrates:
            machine.set_params(probability=True, random_state=self._seed)
        machine = machine_for(self._n_rows, machine).fit(A, y)
        if self._first is not None and self._target.classes is not None and _knows_all_classes(self._first):
            set_calibration(machine, self._first.machine.calibration_)
        self.stopped = Status.INTERRUPTED in np.ravel(machine.status_)
        model = self._model(machine, None if self.stopped else self._fitted_band(course, A, y), X)
        self._first = self._first or model
        return model

    def hurried(self, X: Array, y: Array) -> MachineModel:
        """A machine of a few rows, after the work was stopped: it takes moments, and nobody is asked again."""
        self.stopped = True
        rows = np.random.default_rng(self._seed).permutation(len(X))[:MOST_ROWS]
        if self._target.classes is not None:  # one row of each class must be there
            rows = np.union1d(rows, np.unique(y, return_index=True)[1])
        return self._model(self._machine(None).fit(self._parts.choice.rows(X[rows]), y[rows]), None, X[rows])

    @property
    def _n_machines(self) -> int:
        classes = self._target.classes
        return 1 if classes is None or len(classes) == 2 else len(classes)

    def _machine(self, course: _Course | None) -> Any:
        kind = SupportVectorRegressor if self._target.classes is None else SupportVectorClassifier
        parts = self._parts
        return kind(parts.choice.kernel, loss=parts.loss, C=parts.C, tol=_TOL, callback=course)

    def _fitted_band(self, course: _Course, A: Array, y: Array) -> Any:
        """The band; None without one, or if there was no time for it."""
        if self._band is None:
            return None
        weight = self._parts.weight(Quantile((1 + self._band) / 2))
        band = QuantileBand(
            self._parts.choice.kernel, coverage=self._band, C=weight, tol=_TOL, calibrate=True, callback=course,
            random_state=self._seed,
        )  # fmt: skip
        found = unless_interrupted(lambda: machine_for(self._n_rows, band).fit(A, y), lambda: None)
        self.stopped = self.stopped or found is None
        return found

    def _model(self, machine: Any, band: Any, X: Array) -> MachineModel:
        without_callbacks([machine] if band is None else [machine, band])
        seen = SeenRows.of(np.nan_to_num(X), seed=self._seed)
        metric = None if self._parts.choice.learned is None else self._parts.choice.learned.rows
        return MachineModel(machine, band, self._schema, self._target, seen, metric)


def _has_folds(loss: Loss, y: Array) -> bool:
    """Whether sigmoids are needed for probabilities, and no class is too small to be on both sides of a fold."""
    return not loss.has_probability and int(np.unique(y, return_counts=True)[1].min()) >= 2


def _knows_all_classes(model: MachineModel) -> bool:
    return len(model.machine.classes_) == len(model.target.classes or ())
