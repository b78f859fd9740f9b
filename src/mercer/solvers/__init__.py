"""Solvers: algorithms over arrays for kernel programs, each with what it requires."""

from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.least_squares import LeastSquares
from mercer.solvers.linear_program import LinearProgram
from mercer.solvers.result import Iterate, Solver, SolverResult, check_options
from mercer.solvers.selection import SOLVERS, check_solver_name, choose_solver

__all__ = [
    "Solver",
    "SolverResult",
    "Iterate",
    "InteriorPoint",
    "LinearProgram",
    "LeastSquares",
    "SOLVERS",
    "choose_solver",
    "check_solver_name",
    "check_options",
]
