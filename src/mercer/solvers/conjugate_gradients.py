"""Squared loss at scale: conjugate gradients, for matrices that are too large to be factored, or even formed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.problems import Iterate, KernelProgram
from mercer.running import Iterates, Status, Step, unless_interrupted
from mercer.solvers.certified import with_certificate
from mercer.solvers.leading_spectrum import LeadingSpectrum, leading_spectrum
from mercer.solvers.needs import (
    EQUAL_WEIGHTS,
    NO_BUDGET,
    NO_TARGET,
    QUADRATIC_PENALTY,
    SQUARED_LOSS,
    WHOLE_MATRIX,
    unmet,
)
from mercer.solvers.parametric import free_fit
from mercer.solvers.result import Options, Solver, SolverResult, check_options

# Some ten are needed where the preconditioner is good, some hundred where the penalty is small beside what it leaves.
_MAX_ITER = 1000
# Rank of the preconditioner: with 5 √n it costs about as much as three products with a Gaussian Gram matrix, and for
# few samples it is complete.
_RANK_PER_ROOT, _LEAST_RANK = 5.0, 200


class ConjugateGradients(Solver):
    """Preconditioned conjugate gradients, for the squared loss: (K + 1/C) B + Φ d = y, ΦᵀB = 0.

    The Gram matrix may be an operator, and an iteration costs one product with it. It is formed only if it fits into
    half of `memory` and products with it are slow.

    Parameters
    ----------
    rank : int, optional
        Rank of the preconditioner; by default 5 √n, but 200 at least, and no more than fits into half of `memory`.
        Where C is large, a larger one saves iterations.
    random_state : int, optional
        Seed of the rows from which the preconditioner is made.

    Notes
    -----
    In the variables b = B / √C, orthogonal to √C Φ, the matrix is 1 + √C K √C, which is positive definite for
    conditionally positive kernels too. Its preconditioner is 1 plus the leading part of the spectrum of √C K √C
    (`leading_spectrum`). With r the residual, the duality gap is 1/2 ||r||²: it is known in every iteration at no
    further cost, and no other stopping rule is needed. Before success is claimed the values are computed from a new
    product; if rounding has spoilt them, iterations start afresh from there. [Diaz2023]_.

    Memory: that of the preconditioner, some vectors, and the matrix if it is formed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.gram import Gram
    >>> from mercer.losses import Squared
    >>> from mercer.problems import KernelProgram
    >>> from mercer.regularizers import RKHSNorm
    >>> from mercer.solvers import ConjugateGradients
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> penalty = RKHSNorm().penalty(Gram(Gaussian(), X), np.ones((500, 1)))
    >>> problem = KernelProgram.build(penalty, np.sin(X[:, 0]), Squared(), C=10.0)
    >>> result = ConjugateGradients().solve(problem, tol=1e-8)
    >>> result.status, problem.certificate(result).holds(1e-8)
    ('optimal', True)
    """

    name = "conjugate_gradients"
    needs_matrix = False

    def __init__(self, rank: int | None = None, *, random_state: int | None = 0):
        self.rank = rank
        self.random_state = random_state

    def refusal(self, problem: KernelProgram) -> str | None:
        """Losses that are not the squared one, coefficients with an l1 price, and low-rank factors."""
        squared, whole = SQUARED_LOSS.or_else("working_set"), WHOLE_MATRIX.or_else("least_squares")
        return unmet(problem, squared, QUADRATIC_PENALTY, whole, EQUAL_WEIGHTS, NO_BUDGET, NO_TARGET)

    def preconditioner(
        self, problem: KernelProgram, *, weights: Array | None = None, memory: int = 2**30
    ) -> LeadingSpectrum:
        """The preconditioner of a program, and of all that differ from it in y, and in C by a factor.

        It is expressed in units of the weights, which are proportional to C, by default C itself.
        """
        if self.rank is not None and (
            isinstance(self.rank, bool) or not isinstance(self.rank, Integral) or self.rank < 0
        ):
            raise ValueError(
                f"rank of ConjugateGradients must be a whole number >= 0, got {self.rank!r}; or None for 5 √n."
            )
        n = len(problem.y)
        fits = int(memory / 2 / (8 * n))
        rank = min(max(_LEAST_RANK, int(_RANK_PER_ROOT * np.sqrt(n))), fits) if self.rank is None else int(self.rank)
        return leading_spectrum(
            problem.gram,
            problem.columns,
            problem.C_above if weights is None else weights,
            rank=rank,
            conditional=problem.conditional,
            random_state=self.random_state,
        )

    def _solve(self, problem: KernelProgram, options: Options) -> SolverResult:
        problem = replace(problem, gram=problem.gram.for_products(options.memory // 2))
        spectrum = self.preconditioner(problem, memory=options.memory)
        starts = None if options.start is None else [options.start]
        return _solved([problem], _Systems([problem], spectrum, starts), options)[0]

    def solve_all(
        self,
        problems: Sequence[KernelProgram],
        preconditioner: LeadingSpectrum,
        *,
        starts: Sequence[SolverResult] | None = None,
        tol: float = 1e-8,
        max_iter: int | None = None,
        verbose: bool = False,
        callback: Any = None,
    ) -> list[SolverResult]:
        """Solve programs that differ in y alone together: a product with several columns costs little more than one.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.losses import Squared
        >>> from mercer.problems import KernelProgram
        >>> from mercer.regularizers import RKHSNorm
        >>> from mercer.solvers import ConjugateGradients
        >>> x = np.linspace(-1, 1, 20)
        >>> penalty = RKHSNorm().penalty(np.exp(-((x[:, None] - x) ** 2)), np.ones((20, 1)))
        >>> problems = [KernelProgram.build(penalty, y, Squared(), C=10.0) for y in (np.sin(x), np.cos(x))]
        >>> solver = ConjugateGradients()
        >>> [result.status for result in solver.solve_all(problems, solver.preconditioner(problems[0]))]
        ['optimal', 'optimal']
        """
        check_options(tol, max_iter, f"solver {self.name!r}", callback)
        options = Options(None, tol, max_iter, callback, verbose, 0)
        free, zero = [free_fit(problem) for problem in problems], np.zeros(len(problems[0].y))
        left = [j for j, d in enumerate(free) if d is None]
        some = [problems[j] for j in left]
        starts = None if starts is None else [starts[j] for j in left]
        solved = iter(_solved(some, _Systems(some, preconditioner, starts), options) if some else [])
        results = [
            next(solved) if d is None else self._result(Status.OPTIMAL, problem, zero, d, 0, options)
            for problem, d in zip(problems, free, strict=True)
        ]
        return unless_interrupted(
            lambda: _certified(problems, results, tol),
            lambda: [replace(result, status=Status.INTERRUPTED) for result in results],
        )


def _certified(problems: Sequence[KernelProgram], results: list[SolverResult], tol: float) -> list[SolverResult]:
    """The results with their certificates, for which one product is enough."""
    products = problems[0].times_gram(np.column_stack([result.B for result in results])).T
    certificates = [
        problem.certificate_of(h, 0.5 * float(result.B @ h), result.B, result.d, h)
        for problem, result, h in zip(problems, results, products, strict=True)
    ]
    return [with_certificate(*pair, tol) for pair in zip(results, certificates, strict=True)]


def _solved(problems: Sequence[KernelProgram], systems: _Systems, options: Options) -> list[SolverResult]:
    together = _Together(len(problems), systems, options.tol)
    status = options.run(together.iterates(), "Conjugate gradients", _MAX_ITER).status
    if status == Status.INTERRUPTED:
        for j in together.running + together.waiting:
            together.statuses[j] = status
    return systems.results(together.statuses, together.histories, options.tol)


class _Together:
    """Iterations of several programs, each with its values and its status.

    Attributes
    ----------
    running, waiting : list of int
        The programs that need more iterations, and those that have reached the tolerance if rounding did no harm.
    """

    def __init__(self, n: int, systems: _Systems, tol: float):
        self.histories: list[list[Iterate]] = [[] for _ in range(n)]
        self.statuses = [Status.MAX_ITER] * n
        self.running, self.waiting = list(range(n)), list[int]()
        self._systems, self._tol = systems, tol
        self._exact_gap = np.full(n, np.inf)

    def iterates(self) -> Iterates[Iterate]:
        """The values of the first program in each iteration."""
        self._systems.start()
        while True:
            for j in self.running:
                self.histories[j].append(self._systems.iterate(j))
            gaps = {j: self._gap(j) for j in self.running}
            self.waiting += [j for j in self.running if gaps[j] <= self._tol]
            self.running = [j for j in self.running if j not in self.waiting]
            if self.waiting and not self.running:
                self._check_waiting()
            largest = max(gaps.values(), default=0.0)
            yield Step(self.histories[0][-1], largest, None if self.running else Status.OPTIMAL)
            for j in self._systems.advance(self.running):
                self.statuses[j] = Status.STALLED
                self.running.remove(j)

    def _gap(self, j: int) -> float:
        return abs(self.histories[j][-1].relative_gap)

    def _check_waiting(self) -> None:
        """Compute the values anew; what rounding has spoilt goes on, as long as that helps."""
        self._systems.refresh(self.waiting)
        for j in self.waiting:
            self.histories[j][-1] = self._systems.exact_iterate(j)
            gap = self._gap(j)
            if gap <= self._tol:
                self.statuses[j] = Status.OPTIMAL
            elif gap < self._exact_gap[j] / 2:
                self.running.append(j)
            else:
                self.statuses[j] = Status.STALLED
            self._exact_gap[j] = gap
        self.waiting = []


class _Systems:
    """(M + ridge) b = g with M = (1 - P) W K W (1 - P) for several g at once: one column for each program.

    Residuals r and directions p belong to the programs by columns too.
    """

    def __init__(
        self,
        problems: Sequence[KernelProgram],
        spectrum: LeadingSpectrum,
        starts: Sequence[SolverResult] | None,
    ):
        self._problems = problems
        self._spectrum = spectrum
        self._root = spectrum.root[:, None]
        self._ridge = float(spectrum.root[0] ** 2 / problems[0].C_above[0])
        columns = self._root * problems[0].columns
        self._size = np.linalg.norm(columns, axis=0)
        self._size[self._size == 0] = 1.0
        self._columns = columns / self._size
        self._pseudoinverse = np.linalg.pinv(self._columns, rcond=len(columns) * np.finfo(np.float64).eps)
        self._y = np.column_stack([problem.y for problem in problems])
        self._g = spectrum.project(self._root * self._y)
        self._b = np.zeros_like(self._g)
        self._gram_B = np.zeros_like(self._g)
        self._is_exact = np.ones(len(problems), dtype=bool)
        if starts is not None:
            self._b = spectrum.project(np.column_stack([start.B for start in starts]) / self._root)
            self._is_exact[:] = False
        self._r, self._p, self._rz = self._g.copy(), np.zeros_like(self._g), np.zeros(len(problems))

    def start(self) -> None:
        """Residuals at the starts; one whose dual value is less than that of zero is forgotten."""
        every = list(range(len(self._problems)))
        if not self._is_exact.all():
            self.refresh(every)
            worse = ~(np.sum(self._b * (self._g + self._r), axis=0) > 0)
            self._b[:, worse] = self._gram_B[:, worse] = 0.0
            self._r[:, worse] = self._g[:, worse]
        self._restart(every)

    def iterate(self, j: int) -> Iterate:
        """Values of a program from what the method has at hand."""
        b, r = self._b[:, j], self._r[:, j]
        dual = 0.5 * float(b @ (self._g[:, j] + r))
        return Iterate(dual + 0.5 * float(r @ r) / self._ridge, dual, self._problems[j].floor)

    def exact_iterate(self, j: int) -> Iterate:
        """Values of a program as it computes them, from a product with the present B."""
        return self._problems[j].iterate(self._B[:, j], self._d(j), self._gram_B[:, j])

    def refresh(self, which: list[int]) -> None:
        """Compute residuals from the solutions, and go on from there."""
        b = self._spectrum.project(self._b[:, which])
        # Once more, with the columns themselves: where they are large, or nearly dependent, the basis is not exact.
        self._b[:, which] = b - self._pseudoinverse.T @ (self._columns.T @ b)
        self._gram_B[:, which] = self._problems[0].times_gram(self._B[:, which])
        missing = self._spectrum.project(self._root * (self._y[:, which] - self._gram_B[:, which]))
        self._r[:, which] = missing - self._ridge * self._b[:, which]
        self._is_exact[which] = True
        self._restart(which)

    def advance(self, which: list[int]) -> list[int]:
        """One step of some of the programs; returns those for which there is none."""
        p, root = self._p[:, which], self._root
        with np.errstate(all="ignore"):
            Mp = self._spectrum.project(root * self._problems[0].times_gram(root * self._spectrum.project(p)))
            q = Mp + self._ridge * p
            curvature, rz = np.sum(p * q, axis=0), self._rz[which]
            length = rz / curvature
            can = (curvature > 0) & (rz > 0) & np.isfinite(length)
            moved = np.asarray(which)[can]
            self._is_exact[moved] = False
            self._b[:, moved] += length[can] * p[:, can]
            self._r[:, moved] -= length[can] * q[:, can]
            z = self._spectrum.solve(self._r[:, moved], self._ridge)
            self._rz[moved] = np.sum(self._r[:, moved] * z, axis=0)
            self._p[:, moved] = z + self._rz[moved] / rz[can] * p[:, can]
        return [j for j, possible in zip(which, can, strict=True) if not possible]

    def results(self, statuses: list[Status], histories: list[list[Iterate]], tol: float) -> list[SolverResult]:
        """What was reached, in exact values."""
        stale = np.flatnonzero(~self._is_exact).tolist()
        if stale:
            self.refresh(stale)
        results = []
        for j, (status, history) in enumerate(zip(statuses, histories, strict=True)):
            history[-1:] = [self.exact_iterate(j)]
            if status == Status.MAX_ITER and abs(history[-1].relative_gap) <= tol:
                status = Status.OPTIMAL
            results.append(
                SolverResult(
                    status, self._B[:, j], self._d(j), history[-1].primal, history[-1].dual, len(history) - 1, history
                )
            )
        return results

    def _restart(self, which: list[int]) -> None:
        z = self._spectrum.solve(self._r[:, which], self._ridge)
        self._p[:, which] = z
        self._rz[which] = np.sum(self._r[:, which] * z, axis=0)

    @property
    def _B(self) -> Array:
        return self._root * self._b

    def _d(self, j: int) -> Array:
        """Coefficients of the columns that are best for the present B."""
        return self._pseudoinverse @ (self._root[:, 0] * (self._y[:, j] - self._gram_B[:, j])) / self._size
