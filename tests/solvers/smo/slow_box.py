"""Derivatives of the dual objective, written down as they are defined."""

import numpy as np


def _derivative(box, B, g, above):
    """With the price of positive variables where `above`, and that of negative ones elsewhere."""
    return g + np.where(above, box.up + box.curve_up * B, -box.down + box.curve_down * B)


def rising(box, B, g):
    """Where variables rise; infinite at the upper bound."""
    return np.where(box.high > B, _derivative(box, B, g, B >= 0), np.inf)


def falling(box, B, g):
    """Where variables fall; minus infinite at the lower bound."""
    return np.where(box.low < B, _derivative(box, B, g, B > 0), -np.inf)


def violation_of(box, B, g, *, paired=True):
    """How far the variables are from the optimality conditions."""
    highest, lowest = falling(box, B, g).max(), rising(box, B, g).min()
    return highest - lowest if paired else max(highest, -lowest)
