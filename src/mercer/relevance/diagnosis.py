"""The verdict on a learning problem: simple or complex, clean or noisy, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from mercer.kernels import distinct_rows
from mercer.relevance.analysis import Analysis
from mercer.relevance.labels import Labels
from mercer.relevance.learning_curve import LearningCurve

# More dimensions than this fraction of the samples are many. It divides table 4 of the paper, but for thyroid.
_HIGH_DIMENSION = 0.08
# More error than this fraction of that of the best constant is much. It divides table 4, but for splice, which the
# paper itself calls "not very noisy" in section 6.2.
_HIGH_NOISE = 0.3
# Likelihood ratios that chance reaches when labels and rows have nothing to do with each other.
_CHANCE = 12.0
_NOTHING_LEARNED = 0.9
# Doubling the data must remove this fraction of the error to be called a help.
_HELPFUL_GAIN = 0.1
# Held-out errors above this fraction of that of the best constant are told beside the word "clean".
_POOR = 0.5

_VERDICTS = {
    ("low", "low"): "low-dimensional and clean: this kernel suits the problem, and the data suffice for it",
    ("low", "high"): (
        "low-dimensional and noisy: more data of this kind will not help; better features or another kernel might"
    ),
    ("high", "low"): "complex and clean: more data will help",
    ("high", "high"): (
        "complex and noisy: this kernel does not fit the problem well; try another kernel or encoding before you "
        "collect more data"
    ),
}
_NOTHING = "nothing found: this kernel sees no more in the labels than chance; try other features or another kernel"
DIFFERENT = "all rows look equally different; widen it or scale the columns"
ALIKE = "all rows look alike; narrow it or scale the columns"
# Whether each verdict says that more data help; None if it says nothing of it.
_PROMISES = {("low", "low"): False, ("low", "high"): False, ("high", "low"): True, ("high", "high"): None}


@dataclass(frozen=True)
class Diagnosis:
    """A verdict in words, with its evidence.

    Attributes
    ----------
    verdict : str
        What is the case, and what to do.
    dimension, noise : {"low", "high"} or None
        The field of the table; None if there is no verdict.
    evidence : list of str
        The numbers it rests on, and what makes them doubtful.
    over_kernels : str or None
        What the whole family of kernels says.
    learning_curve : LearningCurve or None
        Errors after fits to subsamples.
    check : {"supports", "contradicts", "undecided"}
        What the learning curve says of dimension and noise; the verdict heeds it.
    """

    verdict: str
    dimension: str | None
    noise: str | None
    evidence: list[str] = field(default_factory=list)
    over_kernels: str | None = None
    learning_curve: LearningCurve | None = None
    check: str = "undecided"

    def __str__(self) -> str:
        lines = [self.verdict[0].upper() + self.verdict[1:] + ".", *(f"- {line}" for line in self.evidence)]
        if self.over_kernels:
            lines.append(f"- {self.over_kernels}")
        return "\n".join(lines)


def diagnose(
    best: int, family: list[Analysis], labels: Labels, curve: LearningCurve | None, X: Any, *, rank: int | None = None
) -> Diagnosis:
    """The diagnosis for the best kernel of a family; rank is that of the factors, if there were any."""
    found = family[best]
    key = _field(found, labels)
    verdict = _degenerate(found, labels) or _VERDICTS[key]
    evidence = _evidence(found, labels) + _doubts(found, labels, X, rank)
    if verdict != _VERDICTS[key]:
        return Diagnosis(verdict, None, None, evidence, None, curve)
    check, line = _check(_PROMISES[key], curve)
    verdict = _in_view_of_held_out_errors(key, check, curve)
    return Diagnosis(verdict, *key, [*evidence, line], _over_kernels(best, family, labels), curve, check)


def _field(found: Analysis, labels: Labels) -> tuple[str, str]:
    many = found.dimension > _HIGH_DIMENSION * len(labels)
    much = found.noise_level > _HIGH_NOISE * labels.guess_error
    return "high" if many else "low", "high" if much else "low"


def _degenerate(found: Analysis, labels: Labels) -> str | None:
    if found.is_rank_one:
        return f"no verdict: to this kernel {ALIKE}"
    if found.is_flat:
        return f"no verdict: to this kernel {DIFFERENT}"
    ratio = len(labels) * (found.nll[0] - found.nll[found.dimension])
    if ratio < _CHANCE or found.noise_level > _NOTHING_LEARNED * labels.guess_error:
        return _NOTHING
    return None


def _evidence(found: Analysis, labels: Labels) -> list[str]:
    n, d = len(labels), found.dimension
    if labels.classes is None:
        noise = f"{_percent(found.noise_level)} of the variance of the labels remains as noise"
    else:
        noise = (
            f"{_percent(found.noise_level)} of the labels contradict the denoised ones (guessing the largest class: "
            f"{_percent(labels.guess_error)})"
        )
    many = f"1 of {n} components is" if d == 1 else f"{d} of {n} components are"
    return [f"{many} relevant for {found.kernel!r}", noise]


def _doubts(found: Analysis, labels: Labels, X: Any, rank: int | None) -> list[str]:
    n, d = len(labels), found.dimension
    doubts = []
    if d and d >= n // 2:
        doubts.append("the dimension is at its limit of half the samples: the problem may be more complex still")
    elif d and rank is not None and d >= 0.9 * min(rank, len(found.spectrum)):
        doubts.append(f"the dimension is near the rank {rank} of the factor: raise rank")
    share = _contradictions(X, labels)
    if share:
        doubts.append(
            f"equal rows with different labels leave an error of at least {_percent(share)} to whatever kernel"
        )
    if labels.classes is None and not found.has_constant and labels.y.mean() ** 2 > 10 * labels.y.var():
        doubts.append("the mean of y is large against its spread and counts as signal: set intercept=True")
    return doubts


def _contradictions(X: Any, labels: Labels) -> float:
    """The error that no function of the rows can avoid, since equal rows have different labels."""
    group = distinct_rows(X)[1]
    if group.max() + 1 == len(group):
        return 0.0
    size = np.bincount(group)
    if labels.classes is None:
        means = np.bincount(group, labels.y) / size
        return float(np.sum((labels.y - means[group]) ** 2) / np.sum((labels.y - labels.y.mean()) ** 2))
    counts = np.zeros((len(size), len(labels.classes)))
    np.add.at(counts, (group, labels.y), 1)
    return float(1.0 - counts.max(axis=1).sum() / len(labels))


def _over_kernels(best: int, family: list[Analysis], labels: Labels) -> str | None:
    """Whether the verdict depends on the kernel, and whether the best one is at the end of those that were tried."""
    if len(family) < 3:
        return None
    found = _field(family[best], labels)
    sound = [a for a in family if _degenerate(a, labels) is None]
    agree = sum(_field(a, labels) == found for a in sound)
    text = f"{agree} of {len(family)} kernels tried say the same"
    if found == ("low", "high"):
        better = [a for a in sound if _field(a, labels) == ("low", "low")]
        if better:
            cleanest = min(better, key=lambda a: a.noise_level)
            text += f"; but to {cleanest.kernel!r} the problem is simple and clean"
        else:
            text += "; to none is it both simple and clean, so that the noise is likely in the data"
    if best in (0, len(family) - 1) and _is_ordered(family):
        text += f"; the best is the {'narrowest' if best == 0 else 'widest'}: try others beyond it"
    return text


def _is_ordered(family: list[Analysis]) -> bool:
    """Whether the kernels are listed from narrow to wide."""
    widths = [getattr(a.kernel, "width", None) for a in family]
    if not all(isinstance(width, Real) for width in widths):
        return False
    return bool(np.all(np.diff(np.array(widths, dtype=np.float64)) > 0))


def _check(more_data_help: bool | None, curve: LearningCurve | None) -> tuple[str, str]:
    if curve is None:
        return "undecided", "too few samples for a learning curve"
    if not curve.learns:
        return "undecided", "no subsample is large enough to learn anything from: a learning curve cannot tell"
    helps = curve.gain >= _HELPFUL_GAIN
    now, later = _percent(curve.expected(curve.n)), _percent(curve.expected(2 * curve.n))
    line = f"held-out errors on subsamples point to {now} now and {later} with twice the data"
    if more_data_help is None:
        return "undecided", line
    if helps == more_data_help:
        return "supports", f"{line}, which supports the verdict"
    return "contradicts", f"{line}, which contradicts what the components alone say"


def _in_view_of_held_out_errors(key: tuple[str, str], check: str, curve: LearningCurve | None) -> str:
    """The verdict, never better than what rows that were held out say."""
    verdict = _VERDICTS[key]
    if curve is None:
        return verdict
    now, later = _percent(curve.expected(curve.n)), _percent(curve.expected(2 * curve.n))
    if check == "contradicts" and _PROMISES[key]:
        return (
            f"complex, and clean only to the eye: this kernel can follow the labels, but held-out errors of {now} "
            "hardly fall with more data; try another kernel or encoding"
        )
    if check == "contradicts":
        kind = verdict.partition(":")[0]
        return f"{kind}; more data will help all the same: held-out errors of {now} fall to {later} with twice as many"
    if key[1] == "low" and not curve.learns:
        kind = verdict.partition(":")[0]
        return f"{kind} to this kernel, but held-out rows are predicted no better than by guessing: it may be chance"
    if key[1] == "low" and curve.expected(curve.n) > _POOR * curve.guess_error:
        return f"{verdict}; as yet held-out errors are {now}, and {later} with twice as much"
    return verdict


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
