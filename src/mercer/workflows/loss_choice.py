"""Losses by name, and the choice among them and their weight: by rows that the machines were not fitted to."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Array
from mercer.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Laplace,
    Logistic,
    Loss,
    Squared,
    SquaredHinge,
    optimal_epsilon,
)
from mercer.machines import SupportVectorClassifier, SupportVectorRegressor
from mercer.machines.calibration import Calibration
from mercer.metrics.judges import is_clearly_less
from mercer.running import raise_if_interrupted
from mercer.workflows.kernel_choice import KernelChoice
from mercer.workflows.progress import Stages

# Losses by name, for the standard deviation of the noise; those of classes do not depend on it.
REGRESSION_LOSSES: dict[str, Callable[[float], Loss]] = {
    "epsilon": lambda noise: EpsilonInsensitive(optimal_epsilon("normal") * noise),
    "squared": lambda noise: Squared(),
    "laplace": lambda noise: Laplace(),
    "huber": lambda noise: Huber(noise),
}
CLASSIFICATION_LOSSES: dict[str, Callable[[float], Loss]] = {
    "squared_hinge": lambda noise: SquaredHinge(),
    "hinge": lambda noise: Hinge(),
    "logistic": lambda noise: Logistic(),
}
LOSSES = ("auto", *REGRESSION_LOSSES, *CLASSIFICATION_LOSSES)
# What "auto" compares with the first loss, which stays unless another is clearly better.
_ROBUST, _OTHER_MARGINS = ("huber", "laplace"), ("logistic",)
# Losses that the median minimises.
_OF_MEDIANS = ("epsilon", "laplace")
# Multiples of the formula for C that are tried; the middle one is the formula.
_FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)
# Rows and folds of the comparison; one fold with more than two classes, since each class has a machine.
_MOST_ROWS, _N_FOLDS, _FEWEST_ROWS = 1000, 4, 40
# Standard errors by which another factor, and another loss, must be better: the best of many losses with many factors
# is easily better by chance.
_CLEAR, _CLEAR_LOSS = 1.0, 2.0
# Squared errors must not rise by more than this fraction, whether by chance or not.
_MOST_RISE = 0.02
# Penalties are kept within these bounds of C.
_LEAST_C, _LARGEST_C = 1e-3, 1e5
# Relative gap of the machines that are compared: their errors differ by far more.
_TOL = 1e-2
# Quantiles of errors that are kept.
_N_QUANTILES = 50


@dataclass(frozen=True)
class Parts:
    """What a machine is made of.

    Attributes
    ----------
    choice : KernelChoice
        The kernel, the C of squared errors, and the size of errors.
    loss : Loss
        Of the machine.
    factor : float
        By what the formula for its C is multiplied.
    reason : str
        Why this loss and this factor; empty if nothing was compared.
    errors : tuple of float
        Quantiles of its errors on rows that it was not fitted to; none if nothing was compared, or if the user asks
        for a loss that is least at the median.
    """

    choice: KernelChoice
    loss: Loss
    factor: float = 1.0
    reason: str = ""
    errors: tuple[float, ...] = ()

    @property
    def C(self) -> float:
        """The weight of errors."""
        return _clipped(self.factor * self.weight(self.loss))

    def weight(self, loss: Loss) -> float:
        """The C of a loss for which errors of the size of the noise pull as hard as squared errors do."""
        steepest = float(np.max(np.abs(loss.derivative(np.array([-self.choice.noise, self.choice.noise])))))
        return _clipped(self.choice.C * self.choice.noise / max(steepest, 1e-3))


def losses_for(*, classes: bool) -> dict[str, Callable[[float], Loss]]:
    """Losses of machines of classes, or of numbers, by name."""
    return CLASSIFICATION_LOSSES if classes else REGRESSION_LOSSES


def plain_parts(choice: KernelChoice, name: str, *, classes: bool) -> Parts:
    """A loss by name, with the C of the formula."""
    return Parts(choice, losses_for(classes=classes)[name](choice.noise))


def _clipped(C: float) -> float:
    return float(np.clip(C, _LEAST_C, _LARGEST_C))


@dataclass(frozen=True)
class _Tried:
    """A loss with a factor: what it says of rows that were not learned, and the losses that are compared.

    `costs` are absolute errors of numbers, or log losses of classes; `squares` are squared errors of numbers.
    """

    name: str
    parts: Parts
    values: Array
    costs: Array
    squares: Array


def choose_loss(
    choice: KernelChoice, X: Array, y: Array, names: list[str], *, classes: bool, seed: int, stages: Stages
) -> Parts:
    """The first of some losses, with the C of the formula, unless another loss or factor is clearly better.

    Numbers: the factor of squared errors is judged by squared errors on rows that were left out, those of other losses
    by absolute errors; another factor must be better by a standard error of the difference. A robust loss replaces
    squared errors if absolute errors are less by two, and squared errors are not more by one, nor by 2 %: a robust
    loss predicts something like the median, which is no mean where noise is skewed. Classes: by log losses, of
    sigmoids for losses that have no probabilities.

    Parameters
    ----------
    choice : KernelChoice
        The kernel with the metric.
    X, y : arrays
        Rows, and numbers as they are learned or names of classes.
    names : list of str
        Losses by name.
    classes : bool
        Whether y are classes.
    seed : int
        Draws the rows and the folds.
    stages : Stages
        Called with each loss; raises `KeyboardInterrupt` if the work is to end.
    """
    rows = np.random.default_rng(seed).permutation(len(X))[:_MOST_ROWS]
    folds = _folds(y[rows], classes)
    if not folds:
        return plain_parts(choice, names[0], classes=classes)
    A, y = choice.rows(X[rows]), y[rows]
    judging = np.concatenate(folds)
    tried = []
    for i, name in enumerate(names):
        stages.go_on(i / len(names))
        parts = plain_parts(choice, name, classes=classes)
        for factor, values in zip(_FACTORS, _left_out_values(parts, A, y, folds, classes), strict=True):
            one = replace(parts, factor=factor)
            tried.append(_judged(name, one, values[judging], y[judging], classes))
    best = _best_margin(tried) if classes else _best_of_numbers(tried)
    asked_for_medians = len(names) == 1 and names[0] in _OF_MEDIANS
    errors = () if classes or asked_for_medians else quantiles(y[judging] - best.values)
    return replace(best.parts, reason=_reason(best, tried[_FACTORS.index(1.0)], classes), errors=errors)


def candidates(name: str, *, classes: bool, learns_metric: bool) -> list[str]:
    """Losses to compare, for the one that the user asks for; the first is the simple choice."""
    if name != "auto":
        return [name]
    if classes:
        return [next(iter(CLASSIFICATION_LOSSES)), *_OTHER_MARGINS]
    # A metric is learned by the likelihood of squared errors.
    return ["squared" if learns_metric else next(iter(REGRESSION_LOSSES)), *_ROBUST]


def _folds(y: Array, classes: bool) -> list[Array]:
    """Rows that are left out; none if they are too few, or if a class would not be on both sides."""
    if len(y) < _FEWEST_ROWS:
        return []
    if not classes:
        return list(np.array_split(np.arange(len(y)), _N_FOLDS))
    names, codes = np.unique(y, return_inverse=True)
    if np.bincount(codes).min() < _N_FOLDS:
        return []
    # Each class is divided by itself, so that every fold has rows of it.
    turn = np.empty(len(y), dtype=np.intp)
    turn[np.argsort(codes, kind="stable")] = np.arange(len(y))
    folds = [np.flatnonzero(turn % _N_FOLDS == k) for k in range(_N_FOLDS)]
    return folds if len(names) == 2 else folds[:1]


def _left_out_values(parts: Parts, A: Array, y: Array, folds: list[Array], classes: bool) -> list[Array]:
    """For each factor what machines say of the rows that they were not fitted to; NaN for others."""
    kind = SupportVectorClassifier if classes else SupportVectorRegressor
    machine = kind(parts.choice.kernel, loss=parts.loss, C=1.0, tol=_TOL)
    Cs = [replace(parts, factor=factor).C for factor in _FACTORS]
    n_values = len(np.unique(y)) if classes else 1
    values = [np.full((len(y), n_values if n_values > 2 else 1), np.nan) for _ in _FACTORS]
    for fold in folds:
        learned = np.setdiff1d(np.arange(len(y)), fold)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # nearly settled is settled enough to be compared
            path = machine.regularization_path(A[learned], y[learned], Cs)
        raise_if_interrupted(*(status for one in path for status in np.ravel(one.status_)))
        for found, one in zip(values, path, strict=True):
            said = one.decision_function(A[fold]) if classes else one.predict(A[fold])
            found[fold] = said.reshape(len(fold), -1)
    return values if n_values > 2 else [found[:, 0] for found in values]


def _judged(name: str, parts: Parts, values: Array, y: Array, classes: bool) -> _Tried:
    if not classes:
        errors = y - values
        return _Tried(name, parts, values, np.abs(errors), errors**2)
    codes = np.unique(y, return_inverse=True)[1]
    # Sigmoids for all losses: that of a loss with probabilities is nearly the identity.
    calibration = Calibration.fit(values, codes, np.ones(len(y)), n_folds=_N_FOLDS)
    costs = -calibration.log_probabilities(values)[np.arange(len(y)), codes]
    return _Tried(name, parts, values, costs, costs)


def _best_margin(tried: list[_Tried]) -> _Tried:
    base = next(one for one in tried if one.parts.factor == 1.0)
    best = min(tried, key=lambda one: float(one.costs.mean()))
    clear = _CLEAR if best.name == base.name else _CLEAR_LOSS
    return best if is_clearly_less(best.costs, base.costs, clear) else base


def _best_of_numbers(tried: list[_Tried]) -> _Tried:
    first = tried[0].name
    same, others = [one for one in tried if one.name == first], [one for one in tried if one.name != first]
    base = next(one for one in same if one.parts.factor == 1.0)
    by_squares = first == "squared"
    best = min(same, key=lambda one: float((one.squares if by_squares else one.costs).mean()))
    pair = (best.squares, base.squares) if by_squares else (best.costs, base.costs)
    base = best if is_clearly_less(*pair, _CLEAR) else base
    if not others:
        return base
    robust = min(others, key=lambda one: float(one.costs.mean()))
    wins = is_clearly_less(robust.costs, base.costs, _CLEAR_LOSS)
    loses = is_clearly_less(base.squares, robust.squares, _CLEAR)
    rises = float(robust.squares.mean()) > (1.0 + _MOST_RISE) * float(base.squares.mean())
    return robust if wins and not loses and not rises else base


def quantiles(errors: Array) -> tuple[float, ...]:
    """What errors are, in a few numbers that count alike."""
    shares = (np.arange(_N_QUANTILES) + 0.5) / _N_QUANTILES
    return tuple(float(value) for value in np.quantile(errors, shares))


def _reason(best: _Tried, simple: _Tried, classes: bool) -> str:
    measure = "log loss" if classes else "mean absolute error"
    if best is simple:
        return f"By the {measure} of rows that were left out, no other loss or weight of errors is clearly better."
    if best.name == simple.name:
        times = f"{best.parts.factor:g} times what was said before"
        return f"Errors weigh {times}: rows that were left out are then predicted better."
    gain = 100.0 * (1.0 - float(best.costs.mean()) / float(simple.costs.mean()))
    return f"The {measure} of rows that were left out is {gain:.2g}% less than by the loss {simple.name}."
