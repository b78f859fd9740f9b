"""Everything that can be said of the error of a fitted machine, in one table that calls vacuous what is vacuous."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from mercer.arrays import Array
from mercer.capacity.certificates import bernstein_bound, binomial_bound, compression_bound, pac_bayes_bound
from mercer.capacity.checks import check_delta
from mercer.capacity.classes import KernelBall
from mercer.capacity.contributions import is_hinge, xi_alpha
from mercer.capacity.deviations import deviation, rademacher_deviation
from mercer.capacity.fitted import fitted_programs
from mercer.capacity.left_out import leave_one_out, margins_of
from mercer.machines.certified import FittedProgram
from mercer.machines.samples import checked_weights
from mercer.parameters import check_count

Kind = Literal["estimate", "guarantee"]

# Scales of margins that are tried, from the radius of the data in factors of 1/√2.
_N_MARGINS = 60


@dataclass(frozen=True)
class RiskBound:
    """One statement on the error of a machine.

    Attributes
    ----------
    name : str
        What it is called.
    value : float
        The error, at most 1 for classes and at most the stated range for numbers.
    kind : {"estimate", "guarantee"}
        A guarantee holds with probability 1 - δ; an estimate may be too small.
    holds : str
        For what it holds.
    vacuous : bool
        Whether it is not below the error of the best constant, so that it says nothing.
    note : str
        What it rests on.
    """

    name: str
    value: float
    kind: Kind
    holds: str
    vacuous: bool
    note: str


@dataclass(frozen=True)
class RiskBounds:
    """The table of all statements; it is a sequence of `RiskBound`, and its string is the table.

    Attributes
    ----------
    bounds : list of RiskBound
        All that could be computed.
    constant : float
        Error of the best constant on the training rows.
    delta : float
        Probability with which each guarantee may be wrong, each by itself.
    unit : str
        What the error is.
    missing : dict
        Why the other statements could not be made.
    """

    bounds: list[RiskBound]
    constant: float
    delta: float
    unit: str
    missing: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.bounds)

    def __getitem__(self, which: int | str) -> RiskBound:
        """A statement by its position or its name."""
        if isinstance(which, str):
            return {bound.name: bound for bound in self.bounds}[which]
        return self.bounds[which]

    @property
    def best_guarantee(self) -> RiskBound | None:
        """The least guarantee that is not vacuous; None if all are."""
        return min(
            (bound for bound in self.bounds if bound.kind == "guarantee" and not bound.vacuous),
            key=lambda bound: bound.value,
            default=None,
        )

    @property
    def best_estimate(self) -> RiskBound:
        """The estimate that is to be trusted most: leave-one-out where there is one, else the training error."""
        estimates = {bound.name: bound for bound in self.bounds if bound.kind == "estimate"}
        return estimates.get("leave-one-out", estimates["training rows"])

    def __str__(self) -> str:
        width = max(len(bound.name) for bound in self.bounds)
        lines = [f"{self.unit}; guarantees hold with probability {1 - self.delta:g}, each by itself"]
        for bound in self.bounds:
            word = "vacuous" if bound.vacuous else ""
            lines.append(
                f"{bound.name:<{width}}  {bound.value:8.4g}  {bound.kind:<9}  {word:<7}  {bound.note}".rstrip()
            )
        lines.append(f"{'best constant':<{width}}  {self.constant:8.4g}")
        return "\n".join(lines)


def risk_bounds(
    machine: Any,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    n_tried: int = 1,
    held_out: tuple[Any, Any] | None = None,
    sample_weight: Any = None,
) -> RiskBounds:
    """All that can be said of the error of a fitted machine on new rows.

    Parameters
    ----------
    machine : kernel machine
        A fitted machine with the regularizer "rkhs": a classifier, or a regressor with one target.
    X, y, sample_weight : array
        What it was fitted on; weights must be equal.
    delta : float
        Probability of being wrong of each guarantee.
    n_tried : int
        Among how many machines this one was chosen by its table, or by the held-out rows: δ is divided by it.
    held_out : pair (X, y), optional
        Rows that the machine has never seen.

    Returns
    -------
    RiskBounds
        Shares of wrong rows for classes. For numbers mean absolute errors, clipped at the range of the training
        targets: of unbounded errors nothing can be guaranteed.

    Notes
    -----
    What is worth looking at: the leave-one-out error, held-out rows, and PAC-Bayes or compression where there are none.
    Uniform bounds (Rademacher averages, covering numbers) are vacuous on samples of usual size, and rank machines
    wrongly; they are here so that this can be seen. Guarantees are for kernels and weights that were fixed before the
    data were seen: a width from the median distance looks at X.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import SupportVectorClassifier
    >>> from mercer.capacity import risk_bounds
    >>> X, y = make_moons(400, noise=0.15, random_state=0)
    >>> machine = SupportVectorClassifier().fit(X[:300], y[:300])
    >>> bounds = risk_bounds(machine, X[:300], y[:300], held_out=(X[300:], y[300:]))
    >>> bounds.best_guarantee.name, bounds["covering numbers"].vacuous
    ('held-out rows', True)
    """
    owner = "risk_bounds"
    delta, n_tried = check_delta(delta, owner), check_count(n_tried, "n_tried", owner)
    parts = fitted_programs(machine, X, y, sample_weight, owner)
    program, name = parts[0].program, type(machine).__name__
    weight = checked_weights(machine, sample_weight, len(y))
    if np.ptp(weight) > 0:
        raise ValueError(
            f"sample_weight of {owner} must be constant, since guarantees count each row once, got weights from "
            f"{weight.min():g} to {weight.max():g}; fit without weights."
        )
    if not hasattr(machine, "classes_") and (len(parts) > 1 or not hasattr(machine, "predict") or np.ndim(y) > 1):
        raise ValueError(f"machine of {owner} must have classes or one target, got {name}; fit one for each target.")
    if program.gram.is_zero or program.budget is not None or np.any(program.target) or program.conditional:
        raise ValueError(
            f"machine of {owner} must have the regularizer 'rkhs', a positive definite kernel, and no width or margin "
            f"that it finds, got {machine!r}; take mercer.capacity.leave_one_out and held-out rows."
        )
    table = _Classes if hasattr(machine, "classes_") else _Numbers
    return table(machine, X, y, parts, delta, delta / n_tried, held_out).bounds()


class _Table:
    """What both tables share: statements are made one by one, and those that cannot be made say why."""

    unit: str
    largest: float
    constant: float

    def __init__(
        self,
        machine: Any,
        X: Any,
        y: Any,
        parts: list[FittedProgram],
        delta: float,
        share: float,
        held_out: tuple[Any, Any] | None,
    ):
        self.machine, self.X, self.y, self.parts, self.held_out = machine, X, np.asarray(y), parts, held_out
        self.delta, self.share, self.m = delta, share, len(parts[0].program.y)
        self.diagonal = parts[0].program.diagonal
        self._bounds: list[RiskBound] = []
        self._missing: dict[str, str] = {}

    def bounds(self) -> RiskBounds:
        """The table."""
        self.state()
        return RiskBounds(self._bounds, self.constant, self.delta, self.unit, self._missing)

    def state(self) -> None:
        raise NotImplementedError

    def add(self, name: str, kind: Kind, holds: str, note: str, value: Callable[[], float]) -> None:
        """Make a statement, clipped at the largest error, if it can be made."""
        try:
            found = min(float(value()), self.largest)
        except ValueError as error:
            self._missing[name] = str(error)
            return
        self._bounds.append(RiskBound(name, found, kind, holds, found >= self.constant, note))

    def sizes(self, part: FittedProgram) -> tuple[float, Array]:
        """‖w‖² and k(x, x) with the parametric columns as features."""
        B, d = part.B, part.d
        squared = float(B @ part.gram_B) + float(d @ d)
        return max(squared, 0.0), self.diagonal + np.sum(part.program.columns**2, axis=1)

    def doubled(self, part: FittedProgram, unit: float) -> tuple[float, float, int]:
        """A norm Λ >= that of the machine and a radius R, with Λ R = unit 2^j, and j: one of a list of classes."""
        squared, sizes = self.sizes(part)
        radius = float(np.sqrt(sizes.max()))
        j = max(0, int(np.ceil(np.log2(max(np.sqrt(squared) * radius / unit, 1.0)))))
        return unit * 2.0**j / radius, radius, j


class _Classes(_Table):
    """Statements on the share of wrong rows."""

    unit = "share of wrong rows"
    largest = 1.0

    def state(self) -> None:
        codes = np.searchsorted(self.machine.classes_, self.y)
        values = self.machine.decision_function(self.X)
        wrong = margins_of(values, codes) <= 0
        self.constant = 1.0 - float(np.bincount(codes).max()) / len(codes)
        new = "the error on new rows"
        self.add(
            "training rows", "estimate", new, "too small: the machine knows these rows", lambda: float(wrong.mean())
        )
        self.add(
            "leave-one-out", "estimate", "the error of machines on one row less", "by the span of support vectors",
            lambda: leave_one_out(self.machine, self.X, self.y).error,
        )  # fmt: skip
        if is_hinge(self.parts[0].program.loss):
            self.add(
                "xi-alpha", "estimate", "no less than the leave-one-out error", "close where coefficients are small",
                lambda: xi_alpha(self.machine, self.X, self.y),
            )  # fmt: skip
        if self.held_out is not None:
            X, y = self.held_out
            k, n = int(np.sum(np.asarray(self.machine.predict(X)) != np.asarray(y))), len(y)
            self.add("held-out rows", "guarantee", new, f"{k} of {n} wrong", lambda: binomial_bound(k, n, self.share))
        support = np.any([np.abs(part.B) > 1e-9 * np.abs(part.B).max(initial=0.0) for part in self.parts], axis=0)
        d = int(support.sum())
        self.add(
            "compression", "guarantee", new, f"{d} support vectors of {self.m} rows",
            lambda: compression_bound(d, int(wrong[~support].sum()), self.m, self.share),
        )  # fmt: skip
        each = "twice the Gibbs classifier" + (", summed over the classes" if len(self.parts) > 1 else "")
        self.add("PAC-Bayes", "guarantee", new, each, lambda: self.summed(self.pac_bayes))
        self.add("Rademacher", "guarantee", new, "ramp at the best margin", lambda: self.summed(self.rademacher))
        self.add(
            "covering numbers", "guarantee", new, "the loss of the machine, uniformly over a ball",
            lambda: self.summed(self.covering),
        )  # fmt: skip

    def summed(self, bound: Callable[[FittedProgram, float], float]) -> float:
        """One against the rest: if the named class is wrong, one of the machines is."""
        return sum(bound(part, self.share / len(self.parts)) for part in self.parts)

    def margins(self, part: FittedProgram) -> Array:
        """Y f(x) / (‖w‖ ‖Φ(x)‖)."""
        squared, sizes = self.sizes(part)
        f = part.program.sign * part.fitted
        return np.clip(f / np.maximum(np.sqrt(squared * sizes), np.finfo(np.float64).tiny), -1.0, 1.0)

    def pac_bayes(self, part: FittedProgram, share: float) -> float:
        """Twice the bound of the Gibbs classifier."""
        return 2.0 * pac_bayes_bound(self.margins(part), share).value

    def covering(self, part: FittedProgram, share: float) -> float:
        """The loss of the machine, in units of what it is for f = 0, and the deviation of its ball."""
        norm, radius, j = self.doubled(part, 1.0)
        loss = part.program.loss
        level = share / ((j + 1) * (j + 2))
        found = deviation(KernelBall(norm, radius), self.m, level, loss=loss, loss_range=norm * radius)
        return (part.certificate.risk + found.value) / float(loss.value(1.0))

    def rademacher(self, part: FittedProgram, share: float) -> float:
        """Ramp risk at a margin plus the deviation of the ball of norm one; all margins of a list at once."""
        squared, sizes = self.sizes(part)
        f = part.program.sign * part.fitted / max(np.sqrt(squared), np.finfo(np.float64).tiny)
        radius, average = float(np.sqrt(sizes.max())), float(np.sqrt(sizes.sum())) / self.m
        best = self.largest
        for j in range(1, _N_MARGINS + 1):
            gamma = radius * 2.0 ** (0.5 - 0.5 * j)
            ramp = float(np.mean(np.clip(1.0 - f / gamma, 0.0, 1.0)))
            level = share / (j * (j + 1))
            best = min(best, ramp + rademacher_deviation(average, self.m, level, lipschitz=1.0 / gamma))
        return best


class _Numbers(_Table):
    """Statements on mean absolute errors."""

    unit = "mean absolute error"

    def state(self) -> None:
        y = self.y.astype(np.float64)
        self.largest, self.constant = float(np.ptp(y)), float(np.mean(np.abs(y - np.median(y))))
        if not self.largest > 0:
            raise ValueError(
                f"y of risk_bounds must differ between rows, got {y[0]:g} only; errors are clipped at the range of y."
            )
        clipped, new = f"errors clipped at {self.largest:.4g}", "the error on new rows"
        errors = np.minimum(np.abs(y - self.machine.predict(self.X)), self.largest)
        self.add(
            "training rows", "estimate", new, "too small: the machine knows these rows", lambda: float(errors.mean())
        )
        self.add("leave-one-out", "estimate", "the error of machines on one row less", "by the span", self.left_out)
        if self.held_out is not None:
            X, new_y = self.held_out
            residuals = np.abs(np.asarray(new_y, dtype=np.float64) - self.machine.predict(X))
            self.add(
                "held-out rows", "guarantee", new, f"{len(residuals)} rows, {clipped}",
                lambda: bernstein_bound(residuals, self.share, width=self.largest),
            )  # fmt: skip
        self.add("Rademacher", "guarantee", new, clipped, lambda: float(errors.mean()) + self.rademacher())
        self.add("covering numbers", "guarantee", new, clipped, lambda: float(errors.mean()) + self.covering())

    def left_out(self) -> float:
        """Mean absolute error without each row."""
        return float(np.mean(np.abs(self.y - leave_one_out(self.machine, self.X, self.y).predictions)))

    def rademacher(self) -> float:
        """Deviation of the ball whose norm is that of the machine or the next power of two."""
        norm, _, j = self.doubled(self.parts[0], self.largest)
        average = norm * float(np.sqrt(self.sizes(self.parts[0])[1].sum())) / self.m
        return rademacher_deviation(average, self.m, self.share / ((j + 1) * (j + 2)), width=self.largest)

    def covering(self) -> float:
        """The same by covering numbers: clipped errors differ by no more than functions do."""
        norm, radius, j = self.doubled(self.parts[0], self.largest)
        return deviation(
            KernelBall(norm, radius), self.m, self.share / ((j + 1) * (j + 2)), loss_range=self.largest
        ).value
