"""What can be promised of a machine: errors on rows that it has not seen, with a confidence; and without such rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.capacity import (
    RiskBounds,
    SampleCapacity,
    binomial_bound,
    hoeffding_samples,
    leave_one_out,
    risk_bounds,
    samples_to_confirm,
)
from mercer.machines import CellMachine, KernelRidge
from mercer.metrics import LearnedMetric
from mercer.relevance.labels import Labels
from mercer.workflows.machine_models import MachineModel

# Default confidence of promises.
CONFIDENCE = 0.95
# Most rows, times the cube root of the number of machines, whose matrix is factored for a leave-one-out error.
_MOST_FACTORED = 3000
# How close a promise is to come to the error: two of a hundred rows, or two hundredths of the range.
_CLOSE = 0.02


@dataclass(frozen=True)
class HeldOutPromise:
    """Wrong rows among those that a machine has not seen, and the error rate that they allow.

    Attributes
    ----------
    n_wrong, n : int
        Rows.
    bound : float
        The error on new rows is below it with the confidence.
    confidence : float
        Probability that this is true.
    """

    n_wrong: int
    n: int
    bound: float
    confidence: float = CONFIDENCE

    @classmethod
    def of(cls, wrong: Array, confidence: float = CONFIDENCE) -> HeldOutPromise:
        """The promise of rows that are told wrong, or not."""
        n_wrong, n = int(np.sum(wrong)), len(wrong)
        return cls(n_wrong, n, binomial_bound(n_wrong, n, 1.0 - confidence), confidence)

    @property
    def text(self) -> str:
        """In words."""
        return (
            f"{self.n_wrong:,} of {self.n:,} wrong; below {100 * self.bound:.3g}% with "
            f"{100 * self.confidence:.4g}% confidence"
        )


def said_of_own_rows(model: MachineModel, rows: Array, y: Array) -> tuple[float, RiskBounds | None]:
    """Leave-one-out error of the stored machine on the rows that it was fitted to, and all bounds for classes.

    The error is the fraction of wrong classes, or the root mean squared error in the units of the table; NaN where that
    takes too long.
    """
    machine, target = model.machine, model.target
    n_machines = 1 if target.classes is None or len(target.classes) == 2 else len(target.classes)
    if isinstance(machine, CellMachine) or len(rows) > _MOST_FACTORED / n_machines ** (1 / 3):
        return np.nan, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit has told of the matrix
        try:
            if target.classes is not None:
                bounds = risk_bounds(machine, rows, y, delta=1.0 - CONFIDENCE)
                return (bounds["leave-one-out"].value if "leave-one-out" not in bounds.missing else np.nan), bounds
            predictions = leave_one_out(machine, rows, y).predictions
        except ValueError:  # rounding: a matrix that is hardly positive
            return np.nan, None
    missed = target.predicted(predictions) - target.in_units(y)
    return float(np.sqrt(np.mean(missed**2))), None


@dataclass(frozen=True)
class Outlook:
    """What a diagnosis promises of a machine with its kernel.

    Attributes
    ----------
    effective_dimension : float
        Σ μ_i/(μ_i + λ) of the kernel matrix: how many directions the machine leaves free.
    n : int
        Rows that were examined.
    left_out_error : float
        Leave-one-out error of kernel ridge regression: fraction of wrong classes, or of the variance.
    n_to_hold_out : int
        Rows to hold out for a promise.
    classes : bool
        Whether the target holds classes.
    """

    effective_dimension: float
    n: int
    left_out_error: float
    n_to_hold_out: int
    classes: bool

    @classmethod
    def of(cls, metric: LearnedMetric, X: Array, labels: Labels) -> Outlook:
        """What can be said of these rows."""
        rows = metric.transform(X)
        capacity = SampleCapacity.of(np.asarray(metric.kernel_(rows), dtype=np.float64))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine = KernelRidge(metric.kernel_, penalties=metric.penalty_).fit(rows, labels.columns)
            values = leave_one_out(machine, rows, labels.columns).predictions
        error = float(labels.losses(values).mean())
        classes = labels.classes is not None
        delta = 1.0 - CONFIDENCE
        most = error if error + _CLOSE < 1.0 else 1.0 - 2.0 * _CLOSE
        to_hold_out = samples_to_confirm(most, delta, margin=_CLOSE) if classes else hoeffding_samples(_CLOSE, delta)
        return cls(capacity.effective_dimension(metric.penalty_), len(rows), error, to_hold_out, classes)

    @property
    def lines(self) -> list[str]:
        """In words."""
        error, confidence = 100 * self.left_out_error, f"{100 * CONFIDENCE:.4g} % confidence"
        what = "of the rows are wrong" if self.classes else "of the variance is left"
        if self.classes:
            promise = f"an error of {error:.1f} % could be promised to be below {error + 100 * _CLOSE:.1f} %"
        else:
            promise = "the mean absolute error, clipped at its range, could be promised to within 2 % of that range"
        return [
            f"the kernel leaves {self.effective_dimension:.1f} directions free (its effective dimension) on "
            f"{self.n:,} rows: the fewer beside the rows, the less can be learned by heart",
            f"leave-one-out: if each row is predicted from the others, {error:.1f} % {what}",
            f"hold out {self.n_to_hold_out:,} rows that nothing was chosen by, and {promise} with {confidence}",
        ]
