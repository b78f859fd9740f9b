"""Named small problems, for the tests that hold for every solver that does not refuse them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.kernels import Gaussian, Kernel, Multiquadric, Precomputed, ThinPlate
from mercer.kernels.gram import incomplete_cholesky
from mercer.losses import (
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Laplace,
    Logistic,
    Loss,
    PiecewisePolynomial,
    PolynomialLoss,
    Quantile,
    Squared,
    SquaredHinge,
)
from mercer.problems import KernelProgram
from mercer.regularizers import L1Coefficients, L2Coefficients, Mixed, Regularizer, RKHSNorm


@dataclass(frozen=True)
class NamedProblem:
    """A program and what is known of it.

    Attributes
    ----------
    optimum : float, optional
        The value of the program, where it is known in closed form.
    tol : float
        Relative gap that can be reached.
    """

    name: str
    program: KernelProgram
    optimum: float | None = None
    tol: float = 1e-8


def rows(n: int, n_columns: int = 2, seed: int = 0):
    return np.random.default_rng(seed).normal(size=(n, n_columns))


def smooth_targets(X, seed: int = 1):
    """A smooth function with noise and a few outliers."""
    rng = np.random.default_rng(seed)
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, -1] + 0.1 * rng.normal(size=len(X))
    y[::9] += 2.0
    return y


def labels(X, seed: int = 1):
    """Two overlapping classes, the first row positive and the second negative."""
    rng = np.random.default_rng(seed)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return y


def constants(n: int):
    return np.ones((n, 1))


def make(
    loss: Loss,
    C=1.0,
    *,
    X=None,
    y=None,
    n: int = 40,
    kernel: Kernel | None = None,
    regularizer: Regularizer | None = None,
    columns=None,
    budget: float | None = None,
) -> KernelProgram:
    """A program from its parts; by default a Gaussian kernel, the norm of its space and a constant."""
    kernel = Gaussian(0.8) if kernel is None else kernel
    X = rows(n) if X is None else X
    if y is None:
        y = labels(X) if loss.classification else smooth_targets(X)
    if columns is None:
        columns = kernel.polynomial_part(X) if kernel.order else constants(len(y))
    penalty = (regularizer or RKHSNorm()).penalty(kernel(X), columns)
    return KernelProgram.build(penalty, y, loss, C, conditional=bool(kernel.order), budget=budget)


def with_margin(share: float, *, one_class: bool = False, C=1.0) -> KernelProgram:
    """The program of the ν-classifier, or of the one-class machine: a margin, or a threshold, at the price ν ΣC."""
    program = make(Hinge(), C)
    total = share * float(program.C_above.sum())
    zero = np.zeros(len(program.y))
    if one_class:
        return replace(program, y=zero, sign=zero + 1.0, target=np.array([total]))
    columns = np.column_stack([program.columns, program.sign])
    return replace(program, y=zero, columns=columns, bounds=np.zeros(2), target=np.array([0.0, total]))


def low_rank(loss: Loss, C: float) -> KernelProgram:
    X = rows(60, n_columns=1)
    # The certificate subtracts 1/2 trace_error BᵀB from the dual value: 1e-13 of the trace is far below 1e-8 of it.
    factor = incomplete_cholesky(Gaussian(0.8), X, tol=1e-13)
    y = labels(X) if loss.classification else smooth_targets(X)
    return KernelProgram.build(RKHSNorm().penalty(factor, constants(60)), y, loss, C)


def positive_matrix(n: int):
    A = rows(n, n_columns=n, seed=5)
    return A @ A.T / n + 0.1 * np.eye(n)


def indefinite_matrix(n: int):
    A = rows(n, n_columns=n, seed=6)
    return (A + A.T) / np.sqrt(n)


REGRESSION_LOSSES: list[Loss] = [
    EpsilonInsensitive(0.1),
    EpsilonInsensitive((0.3, 0.05)),
    EpsilonInsensitive(np.linspace(0.0, 0.4, 40)),
    EpsilonInsensitive((0.2, np.linspace(0.0, 0.4, 40))),
    Laplace(),
    Squared(),
    Squared(epsilon=0.1),
    Huber(0.2),
    Huber(0.2, epsilon=np.linspace(0.0, 0.4, 40)),
    PolynomialLoss(1.5),
    PolynomialLoss(1.1),
    PolynomialLoss(1.02, epsilon=(0.05, np.linspace(0.0, 0.1, 40))),
    PolynomialLoss(3.0),
    PolynomialLoss(4.0, epsilon=(0.1, 0.0)),
    PiecewisePolynomial(1.5, 0.3),
    PiecewisePolynomial(4.0, 0.3, epsilon=0.05),
    Quantile(0.9),
    Quantile(0.2, epsilon=0.1),
    Expectile(0.9),
    Expectile(0.2, epsilon=0.1),
]
CLASSIFICATION_LOSSES: list[Loss] = [Hinge(), SquaredHinge(), Logistic()]
EVERY_LOSS = REGRESSION_LOSSES + CLASSIFICATION_LOSSES

REGULARIZERS: list[Regularizer] = [L1Coefficients(), L2Coefficients(), L2Coefficients(positive_matrix(40)), Mixed(0.5)]
DIFFERENT_LOSSES: list[Loss] = [
    EpsilonInsensitive(0.1),
    Squared(),
    Huber(0.2),
    PolynomialLoss(1.5),
    Hinge(),
    Logistic(),
]

_PER_SAMPLE = np.linspace(0.1, 5.0, 40)
_DUPLICATED = np.repeat(rows(15), 3, axis=0)
_TWO = np.array([[0.0], [1.0]])
_TREND = np.column_stack([np.ones(40), rows(40)[:, 0], np.sin(3 * rows(40)[:, 1])])
_MIXED = Mixed([0.0, 0.3, 2.0])


def _named():
    for loss in EVERY_LOSS:
        yield NamedProblem(f"{loss!r}", make(loss, 2.0))
    for regularizer in REGULARIZERS:
        for loss in DIFFERENT_LOSSES:
            kind = type(regularizer).__name__ + ("" if getattr(regularizer, "matrix", None) is None else " with matrix")
            yield NamedProblem(f"{kind}, {loss!r}", make(loss, 2.0, regularizer=regularizer))
    for loss in DIFFERENT_LOSSES:
        yield NamedProblem(f"no columns, {loss!r}", make(loss, 2.0, columns=np.empty((40, 0))))
        yield NamedProblem(f"three columns, {loss!r}", make(loss, 2.0, columns=_TREND))
        yield NamedProblem(
            f"three columns at different prices, {loss!r}", make(loss, columns=_TREND, regularizer=_MIXED)
        )
        yield NamedProblem(f"order 1, {loss!r}", make(loss, 2.0, kernel=Multiquadric(0.5)))
        yield NamedProblem(f"order 2, {loss!r}", make(loss, 2.0, kernel=ThinPlate()))
        yield NamedProblem(
            f"order 2 with a further column, {loss!r}",
            make(loss, 2.0, kernel=ThinPlate(), columns=np.column_stack([_TREND, rows(40)[:, 1]])),
        )
        yield NamedProblem(f"C of each sample, {loss!r}", make(loss, _PER_SAMPLE))
        yield NamedProblem(f"C from 1e-4 to 1e4, {loss!r}", make(loss, np.geomspace(1e-4, 1e4, 40)))
        yield NamedProblem(f"duplicates, {loss!r}", make(loss, 2.0, X=_DUPLICATED))
        yield NamedProblem(f"C = 1e-6, {loss!r}", make(loss, 1e-6))
        # Certificates count the rounding of products, which is some 1e-9 of the value with such weights.
        yield NamedProblem(f"C = 1e6, {loss!r}", make(loss, 1e6), tol=2e-8)
        yield NamedProblem(f"low rank, {loss!r}", low_rank(loss, 2.0))
        if loss.classification:
            yield NamedProblem(f"m = 2, {loss!r}", make(loss, 2.0, X=_TWO, y=np.array([1.0, -1.0])))
            continue
        yield NamedProblem(f"C below and above, {loss!r}", make(loss, (0.5, 4.0)))
        yield NamedProblem(f"C below and above of each sample, {loss!r}", make(loss, (_PER_SAMPLE, _PER_SAMPLE[::-1])))
        yield NamedProblem(f"m = 2, {loss!r}", make(loss, 2.0, X=_TWO, y=np.array([0.0, 3.0])))
        yield NamedProblem(f"constant y, {loss!r}", make(loss, 2.0, y=np.full(40, 3.0)), optimum=0.0)
        yield NamedProblem(f"y = 0, {loss!r}", make(loss, 2.0, y=np.zeros(40)), optimum=0.0)
        yield NamedProblem(f"y of size 1e6, {loss!r}", make(loss, 2.0, y=1e6 * smooth_targets(rows(40))))
        yield NamedProblem(f"y of size 1e-6, {loss!r}", make(loss, 2.0, y=1e-6 * smooth_targets(rows(40))))
    for regularizer in (L1Coefficients(), L2Coefficients()):
        program = make(
            EpsilonInsensitive(0.1),
            2.0,
            X=indefinite_matrix(40),
            y=smooth_targets(rows(40)),
            kernel=Precomputed(),
            regularizer=regularizer,
        )
        yield NamedProblem(f"indefinite matrix, {regularizer!r}", program)
    yield NamedProblem(
        "l1, piecewise linear, C below and above", make(Quantile(0.8), (0.5, _PER_SAMPLE), regularizer=L1Coefficients())
    )
    yield NamedProblem(
        "l1, order 2", make(EpsilonInsensitive(0.1), 2.0, kernel=ThinPlate(), regularizer=L1Coefficients())
    )
    for share in (0.05, 0.5, 1.0):
        yield NamedProblem(f"budget of {share}", make(Laplace(), 2.0, budget=share * 80.0))
    yield NamedProblem("budget, C of each sample", make(Laplace(), _PER_SAMPLE, budget=0.3 * _PER_SAMPLE.sum()))
    yield NamedProblem("budget, l1", make(Laplace(), 2.0, budget=24.0, regularizer=L1Coefficients()))
    yield NamedProblem("budget, order 2", make(Laplace(), 2.0, budget=24.0, kernel=ThinPlate()))
    yield NamedProblem("budget, mixed", make(Laplace(), budget=12.0, columns=_TREND, regularizer=_MIXED))
    yield NamedProblem("budget, three columns", make(Laplace(), 2.0, budget=24.0, columns=_TREND))
    yield NamedProblem("budget, no columns", make(Laplace(), 2.0, budget=24.0, columns=np.empty((40, 0))))
    for share in (0.3, 0.7):
        yield NamedProblem(f"margin at the price {share}", with_margin(share))
        yield NamedProblem(f"margin at the price {share}, C of each sample", with_margin(share, C=_PER_SAMPLE))
        yield NamedProblem(f"threshold at the price {share}", with_margin(share, one_class=True))
    yield NamedProblem("threshold, C of each sample", with_margin(0.4, one_class=True, C=_PER_SAMPLE))
    # C so small that only the constant remains: B is far from all its bounds, and so is every column's product with it.
    for loss in (
        Squared(),
        Squared(epsilon=0.1),
        Expectile(0.9),
        PolynomialLoss(1.1),
        Hinge(),
        EpsilonInsensitive(0.1),
    ):
        yield NamedProblem(f"l1, C = 1e-3, {loss!r}", make(loss, 1e-3, regularizer=L1Coefficients()))
    yield NamedProblem(
        "mixed, C = .05, PolynomialLoss(1.1)",
        make(PolynomialLoss(1.1), 0.05, kernel=Gaussian(1.0), regularizer=Mixed(1.0)),
    )
    # A kernel so wide that few eigenvalues of K are above rounding, and fewer of K², with B up to C = 1e4: rounding
    # stops the method at relative gaps between 1e-9 and 1e-6.
    for loss in (Laplace(), Hinge(), EpsilonInsensitive(0.1), Huber(0.2), Logistic()):
        for regularizer in (RKHSNorm(), L2Coefficients(), L1Coefficients(), Mixed(1.0)):
            yield NamedProblem(
                f"nearly singular, {regularizer!r}, {loss!r}",
                make(loss, 1e4, kernel=Gaussian(15.0), regularizer=regularizer),
                tol=1e-5 if isinstance(regularizer, L2Coefficients) else 1e-6,
            )
    # With K = 1 and no columns each sample is on its own: 1/2 h² + C c(y - h).
    alone = np.array([-3.0, 0.5, 0.05, 2.0])
    single = {"X": np.eye(4), "y": alone, "kernel": Precomputed(), "columns": np.empty((4, 0))}
    # h is y moved by at most C into the direction of zero.
    yield NamedProblem("alone, Laplace", make(Laplace(), 1.0, **single), optimum=2.5 + 0.125 + 0.00125 + 1.5)
    yield NamedProblem("alone, Squared", make(Squared(), 3.0, **single), optimum=0.5 * 0.75 * float(alone @ alone))
    # At C so small that every sample is at its bound, B = C sign(y - median) and the constant is a median.
    y = np.arange(5.0) ** 2
    B = 1e-3 * np.sign(y - 4.0)
    K = Gaussian(1.0)(np.arange(5.0)[:, None])
    known = float(y @ B - 0.5 * B @ K @ B)
    yield NamedProblem(
        "all at bound", make(Laplace(), 1e-3, X=np.arange(5.0)[:, None], y=y, kernel=Gaussian(1.0)), optimum=known
    )


PROBLEMS: list[NamedProblem] = list(_named())
assert len({problem.name for problem in PROBLEMS}) == len(PROBLEMS)


def with_matrix(program: KernelProgram) -> KernelProgram:
    """The same program with its low-rank matrix written out."""
    return replace(program, gram=program.gram.factor @ program.gram.factor.T)


def name_of(problem: NamedProblem) -> str:
    return problem.name
