"""Metrics that are learned from targets: how much each column counts for a kernel."""

from mercer.metrics.learned_metric import Compared, LearnedMetric

__all__ = ["Compared", "LearnedMetric"]
