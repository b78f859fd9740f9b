"""Whether a monotone function of the target is easier to learn: by the likelihood of rows that were left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import t as student

from mercer.arrays import Array
from mercer.machines import KernelRidge
from mercer.tables.targets import Target
from mercer.tables.transforms import Transform
from mercer.workflows.kernel_choice import KernelChoice
from mercer.workflows.loss_choice import quantiles
from mercer.workflows.scores import are_clearly_less

# Rows of the comparison, number of folds, and the least number of rows for a comparison.
_MOST_ROWS, _N_FOLDS, _FEWEST_ROWS = 1000, 4, 100
# Degrees of freedom of the noise that are tried: without heavy tails, outliers would call for a transform.
_DEGREES = (1.5, 3.0, 6.0, np.inf)
# Steps of the fit of the scale of the noise.
_STEPS = 30


def choose_transform(choice: KernelChoice, X: Array, y: Array, target: Target, seed: int) -> Transform:
    """The transform under which left-out numbers y, in the units of the table, are most likely; none if that is chance.

    Kernel ridge regression in the metric that was chosen, with the penalty of the least leave-one-out error for each
    transform, on at most 1,000 rows in four folds. Errors have the density of a Student distribution, fitted for each
    transform, times the slope of the transform. The likelihood must be higher by two standard errors of the difference.

    Parameters
    ----------
    choice : KernelChoice
        The kernel with the metric.
    X, y : arrays
        Rows and numbers; none of them is far from all others.
    target : Target
        What they are; dates have no transform.
    seed : int
        Draws the rows and the folds.
    """
    if target.classes is not None or target.dtype or len(y) < _FEWEST_ROWS:
        return Transform()
    X, y = _some(X, y, seed)
    found = {one: _costs(choice, X, y, target.transformed(one, y)) for one in Transform.candidates(y)}
    best = min(found, key=lambda one: float(found[one].mean()))
    return best if are_clearly_less(found[best], found[Transform()]) else Transform()


def keeps_squares(
    before: KernelChoice, after: KernelChoice, X: Array, y: Array, target: Target, transformed: Target, seed: int
) -> bool:
    """Whether means after a transform, with the metric learned for it, have no more squared errors than before it.

    In the units of the table, on rows that were left out as in `choose_transform`: they must not be more.
    """
    X, y = _some(X, y, seed)
    plain, square = (
        float(np.mean(_errors_of_means(*one, X, y) ** 2)) for one in ((before, target), (after, transformed))
    )
    return square <= plain


def _some(X: Array, y: Array, seed: int) -> tuple[Array, Array]:
    rows = np.random.default_rng(seed).permutation(len(X))[:_MOST_ROWS]
    return X[rows], y[rows]


def _costs(choice: KernelChoice, X: Array, y: Array, target: Target) -> Array:
    """Negative log-likelihoods of numbers in the units of the table."""
    values = target.learned(y)
    errors = values - _left_out(choice, choice.rows(X), values)
    return np.asarray(-_log_density(errors) - target.transform.log_slope(y) + np.log(target.scale))


def _errors_of_means(choice: KernelChoice, target: Target, X: Array, y: Array) -> Array:
    values = target.learned(y)
    predicted = _left_out(choice, choice.rows(X), values)
    return np.asarray(replace(target, errors=quantiles(values - predicted)).predicted(predicted) - y)


def _left_out(choice: KernelChoice, A: Array, y: Array) -> Array:
    """Predictions of rows that were not learned from."""
    values, everything = np.empty(len(y)), np.arange(len(y))
    for fold in np.array_split(everything, _N_FOLDS):
        learned = np.setdiff1d(everything, fold)
        values[fold] = KernelRidge(choice.kernel).fit(A[learned], y[learned]).predict(A[fold])
    return values


def _log_density(errors: Array) -> Array:
    """Log densities of errors by the Student distribution around 0 that suits them best."""
    fits = [student.logpdf(errors, degrees, scale=_scale(errors, degrees)) for degrees in _DEGREES]
    return np.asarray(max(fits, key=lambda logs: float(logs.sum())))


def _scale(errors: Array, degrees: float) -> float:
    """The most likely scale: errors are weighed down the more, the larger they are."""
    square = float(np.mean(errors**2)) or 1.0
    for _ in range(_STEPS if np.isfinite(degrees) else 0):
        square = float(np.mean((degrees + 1.0) / (degrees + errors**2 / square) * errors**2))
    return float(np.sqrt(square))
