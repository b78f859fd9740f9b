"""How wrong predictions are, as a fraction of what the mean leaves: of the variance, or of the deviance of classes."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, xlogy

from mercer.arrays import Array

# Newton steps of the logistic regression, and its ridge: classes that are distinguished without error have a finite
# slope.
_STEPS, _RIDGE = 15, 1e-3


def are_classes(Y: Array) -> bool:
    """Whether each target has two values only."""
    return all(len(np.unique(y)) == 2 for y in Y.T)


def variance_left(Y: Array, values: Array) -> Array:
    """Squared errors of standardised targets, one number for each row: the mean of its targets."""
    return np.asarray(np.mean((Y - values) ** 2, axis=1))


def deviance_left(Y: Array, values: Array) -> Array:
    """Log losses of the sigmoid of each column of values that fits best, over those of the frequencies of its classes.

    One number for each row: the mean of its targets. Values that order the rows well count, whatever their scale:
    squared errors punish smooth functions of labels, which cannot jump, though they tell the classes apart.
    """
    return np.asarray(np.mean([_deviance_left(y > 0, f) for y, f in zip(Y.T, values.T, strict=True)], axis=0))


def is_clearly_less(losses: Array, others: Array, n_errors: float) -> bool:
    """Whether a mean loss is less by more than n standard errors of the difference on the same rows."""
    return standard_errors_of_gain(losses, others) > n_errors


def standard_errors_of_gain(losses: Array, others: Array) -> float:
    """By how many standard errors of the difference on the same rows a mean loss is less than another."""
    gain = others - losses
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(np.sqrt(len(gain)) * gain.mean() / gain.std()))


def _deviance_left(label: Array, f: Array) -> Array:
    n, spread = len(f), float(f.std())
    Phi = np.column_stack([np.ones(n), (f - f.mean()) / (spread if spread > 0 else 1.0)])
    coef = np.zeros(2)
    for _ in range(_STEPS):
        p = expit(Phi @ coef)
        gradient = Phi.T @ (p - label) / n + _RIDGE * coef
        hessian = (Phi.T * (p * (1.0 - p))) @ Phi / n + _RIDGE * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        coef -= step * min(1.0, 2.0 / float(np.linalg.norm(step)) if step.any() else 1.0)  # full steps may go too far
    if coef[1] < 0.0:  # a constant is better: folds of noise fall on the other side of the mean of the rest
        return np.ones(n)
    p = expit(Phi @ coef)
    share = float(label.mean())
    entropy = -float(xlogy(share, share) + xlogy(1.0 - share, 1.0 - share))
    # The slope is fitted to the same rows, which is worth 1/n of the mean loss by Akaike's criterion.
    losses = -np.log(np.where(label, p, 1.0 - p)) + 1.0 / n
    return np.asarray(losses / entropy if entropy > 0 else np.ones(n))
