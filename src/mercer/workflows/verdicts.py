"""What errors on held-out rows say of a problem: noisy, in want of rows, of another method, or learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.relevance import LearningCurve
from mercer.workflows.held_out import HeldOut
from mercer.workflows.scores import are_clearly_less

# Fraction by which boosted trees must be better for the verdict that the kernel is wrong.
_BETTER = 0.9
# More data help if twice the rows remove this fraction of the error.
_HELP = 0.1
# Errors below this fraction of that of the best constant are small.
_SMALL = 0.1
# The lower end of the noise is at most this fraction of the likelihood's estimate.
_LOW_END = 0.8


@dataclass(frozen=True)
class Verdict:
    """What is the case, with the numbers that it rests on.

    Errors are fractions of wrong classes, or squared errors over that of the best constant.

    Attributes
    ----------
    kind : {"nothing found", "kernel wrong", "more data helps", "noisy", "clean"}
        The case.
    text : str
        The case, and what to do.
    unexplained, unexplained_error : float
        Error of the kernel on held-out rows, learned from the rows that were not held out, and its standard error.
    noise_low, noise_high, noise_error : float
        What the noise may be: at least by the likelihood, at most by the lowest error on held-out rows, and the
        standard error of that.
    trees, trees_error : float
        Error of boosted trees on the same rows, and its standard error.
    now : float
        Error to expect after learning from all rows.
    later : (float, float)
        Error to expect with twice the rows: least and largest.
    curve : LearningCurve
        Of the kernel.
    """

    kind: str
    text: str
    unexplained: float
    unexplained_error: float
    noise_low: float
    noise_high: float
    noise_error: float
    trees: float
    trees_error: float
    now: float
    later: tuple[float, float]
    curve: LearningCurve

    def evidence(self, measure: str) -> list[str]:
        """The numbers in words; `measure` is what errors are fractions of."""
        rows = f"{self.curve.sizes[-1]:,}"
        return [
            f"unexplained by this kernel on these rows: {_share(self.unexplained, self.unexplained_error)} of "
            f"{measure}, on held-out rows after learning from {rows}",
            f"boosted trees leave {_share(self.trees, self.trees_error)} on the same held-out rows, and guessing "
            f"leaves {_percent(self.curve.guess_error)}",
            f"noise at most {_share(self.noise_high, self.noise_error)}; by the likelihood {_percent(self.noise_low)} "
            "or more",
            f"with all {self.curve.n:,} rows {_percent(self.now)} are to be expected, and with twice as many "
            f"{_range(*self.later)}",
        ]


def judge(held_out: HeldOut, likelihood_noise: float) -> Verdict:
    """The verdict that errors on held-out rows support.

    Parameters
    ----------
    held_out : HeldOut
        Errors of the kernel and of boosted trees.
    likelihood_noise : float
        Error that noise alone would make, by the likelihood of the kernel.
    """
    curve = held_out.curve()
    kernel, trees, best_trees = held_out.kernel[-1], held_out.trees, held_out.trees_of_all
    best = kernel if kernel.mean() <= best_trees.mean() else best_trees
    now = float(np.mean(curve.forecast(curve.n)))
    later = curve.forecast(2 * curve.n)
    low = min(_LOW_END * likelihood_noise, float(best.mean()), curve.forecast(np.inf)[1])
    kind = _kind(held_out, curve, best)
    numbers: dict[str, Any] = {
        "unexplained": float(kernel.mean()), "unexplained_error": _standard_error(kernel),
        "noise_low": low, "noise_high": float(best.mean()), "noise_error": _standard_error(best),
        "trees": float(best_trees.mean()), "trees_error": _standard_error(best_trees), "now": now, "later": later,
    }  # fmt: skip
    text = _text(kind, numbers, float(trees.mean()))
    return Verdict(kind, text, curve=curve, **numbers)


def _kind(held_out: HeldOut, curve: LearningCurve, best: Array) -> str:
    guess, kernel, trees = held_out.guess_error, held_out.kernel[-1], held_out.trees
    if not are_clearly_less(best, held_out.guess):
        return "nothing found"
    if trees.mean() < _BETTER * kernel.mean() and are_clearly_less(trees, kernel):
        return "kernel wrong"
    now, later = np.mean(curve.forecast(curve.n)), np.mean(curve.forecast(2 * curve.n))
    if curve.falls and later < (1.0 - _HELP) * now and kernel.mean() > 1e-3 * guess:
        return "more data helps"
    return "clean" if kernel.mean() < _SMALL * guess else "noisy"


def _text(kind: str, numbers: dict[str, Any], trees: float) -> str:
    now, later, unexplained = _percent(numbers["now"]), _range(*numbers["later"]), _percent(numbers["unexplained"])
    noise = _range(numbers["noise_low"], numbers["noise_high"])
    if kind == "nothing found":
        return (
            "nothing found: neither kernels nor boosted trees predict held-out rows better than guessing; try other "
            "columns"
        )
    if kind == "kernel wrong":
        return (
            f"the kernel is wrong for this table: boosted trees leave {_percent(trees)} where the best kernel leaves "
            f"{unexplained}; use them, or encode the columns otherwise, before you speak of noise"
        )
    if kind == "more data helps":
        return f"more data will help: held-out errors of {now} fall to {later} with twice the rows"
    if kind == "clean":
        return f"clean: this kernel predicts held-out rows but for {unexplained}, and more rows would change little"
    return (
        f"noisy, as far as kernels and boosted trees can tell: the noise is {noise}, and held-out errors of {now} "
        "hardly fall with more rows; better columns might help"
    )


def _standard_error(losses: Array) -> float:
    return float(losses.std() / np.sqrt(len(losses)))


def _share(share: float, error: float) -> str:
    return f"{_percent(share)} (± {_percent(error)})"


def _range(low: float, high: float) -> str:
    ends = _percent(low), _percent(high)
    return ends[0] if ends[0] == ends[1] else f"{ends[0].removesuffix(' %')} to {ends[1]}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %" if share < 0.01 else f"{100 * share:.1f} %"
