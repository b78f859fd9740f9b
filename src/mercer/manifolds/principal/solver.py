"""What the solvers of manifold problems have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from mercer.manifolds.principal.problem import ManifoldProblem
from mercer.manifolds.principal.result import Callback, ManifoldFit
from mercer.running import Stopping


class ManifoldSolver(ABC):
    """An algorithm for some manifold problems.

    Attributes
    ----------
    name : str
        What users call it.
    """

    name: ClassVar[str]

    @abstractmethod
    def refusal(self, problem: ManifoldProblem) -> str | None:
        """Why this solver cannot take the problem; None if it can."""

    @abstractmethod
    def _solve(
        self, problem: ManifoldProblem, start: Any, stopping: Stopping, callback: Callback | None
    ) -> ManifoldFit:
        """Solve a problem that was not refused."""

    def solve(
        self, problem: ManifoldProblem, start: Any, stopping: Stopping, callback: Callback | None = None
    ) -> ManifoldFit:
        """Fit a manifold; Ctrl-C ends the fit with the best map so far.

        Parameters
        ----------
        problem : ManifoldProblem
            The problem.
        start : array of shape (m, q), LatentMap or ManifoldFit
            Latent coordinates of the rows, a map of any basis on the same space, or another fit.
        stopping : Stopping
            When to end; its own callback is told only of values.
        callback : callable, optional
            Called as callback(n_iter, fit) after each iteration; ends the fit if it returns True.
        """
        reason = self.refusal(problem)
        if reason is not None:
            raise ValueError(f"solver {self.name!r} cannot solve this problem: {reason}.")
        return self._solve(problem, start, stopping, callback)
