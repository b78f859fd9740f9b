"""Machines that see their rows through a learned metric."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.arrays import Array
from mercer.losses import Loss
from mercer.metrics import LearnedMetric
from mercer.metrics.tuning import TUNING
from mercer.problems import Iterate
from mercer.running import Status


def check_metric(machine: Any) -> None:
    """Refuse what is no metric, and kernels on other things than rows of numbers."""
    metric, owner = machine.metric, type(machine).__name__
    if metric is None:
        return
    if not isinstance(metric, LearnedMetric) and not (isinstance(metric, str) and metric == "learned"):
        raise ValueError(
            f"metric of {owner} must be None, 'learned' or a LearnedMetric, got {metric!r}; 'learned' weighs the "
            "columns by what they tell of y."
        )
    kernel = machine.kernel
    if kernel is not None and (kernel.pairwise or not kernel.takes_vectors):
        raise ValueError(
            f"kernel of {owner} must take rows of numbers to have a learned metric, got {kernel!r}; leave metric=None, "
            "or choose another kernel."
        )


def learned_metric(machine: Any, X: Any, targets: list[Array]) -> LearnedMetric:
    """The metric that a machine asks for; the callback of the machine is notified of the search, too."""
    given = machine.metric
    metric = (
        clone(given) if isinstance(given, LearnedMetric) else LearnedMetric(verbose=getattr(machine, "verbose", False))
    )
    own = metric.callback
    if machine.callback is not None:
        metric.set_params(callback=_Watcher(machine.callback, own))
    metric.fit(X, np.column_stack(targets)).set_params(callback=own)  # who watches is not kept
    return metric


class _Watcher:
    """Tells the callback of a machine, and that of its metric, of the evaluations of the likelihood.

    If that of the machine returns True, the metric ends as soon as there is one: after the grid of the first scales.
    """

    def __init__(self, of_machine: Any, of_metric: Any):
        self._of_machine, self._of_metric = of_machine, of_metric
        self._ends = False

    def __call__(self, iteration: int, objective: float) -> bool:
        values = Iterate(primal=objective, dual=-np.inf, floor=0.0)
        self._ends = bool(self._of_machine(iteration, values)) or self._ends
        ends = self._of_metric is not None and bool(self._of_metric(iteration, objective))
        return ends or (self._ends and iteration >= len(TUNING.scales))


def is_interrupted(machine: Any) -> bool:
    """Whether the metric of a machine was ended before its optimum."""
    metric = getattr(machine, "metric_", None)
    return metric is not None and metric.status_ == Status.INTERRUPTED


def unit_of_weights(machine: Any, loss: Loss, targets: list[Array], *, for_band: bool = False) -> float:
    """What the C of a machine is counted in: 1, or the weight that belongs to its metric and the kernel of that.

    Residuals of the size of the noise pull as hard as squared errors do with the weight 1 / penalty. For a band noise
    is all that the other rows do not explain of a row, since the band is to hold for new rows.
    """
    if machine.metric is None or machine.kernel is not None:
        return 1.0
    metric: LearnedMetric = machine.metric_
    variances = [float(y.var()) for y in targets]
    share = metric.leave_one_out_error_ if for_band else metric.noise_
    size = float(np.sqrt(share * np.mean([v for v in variances if v > 0] or [0.0])))
    if not size > 0:  # constant targets
        return 1.0
    below, above = (np.asarray(width) + size for width in loss.insensitivity)
    steepest = max(float(np.max(np.abs(loss.derivative(r)))) for r in (-below, above))
    return size * metric.noise_ / (share * metric.penalty_ * steepest)
