"""Machines that see their rows through a learned metric."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from mercer.metrics import LearnedMetric


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


def learned_metric(machine: Any) -> LearnedMetric:
    """The metric that a machine asks for, not yet fitted."""
    if isinstance(machine.metric, LearnedMetric):
        return clone(machine.metric)
    return LearnedMetric(verbose=getattr(machine, "verbose", False))
