"""Solvers: algorithms over arrays, for kernel programs, each with what it requires, for eigenpairs, and descent."""

from mercer.problems import Iterate
from mercer.solvers.conjugate_gradients import ConjugateGradients
from mercer.solvers.eigen import Eigenpairs, dense_eigenpairs, lanczos_eigenpairs, sample_columns
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.least_squares import LeastSquares
from mercer.solvers.linear_program import LinearProgram
from mercer.solvers.result import Solver, SolverResult, check_options
from mercer.solvers.rprop import RpropResult, rprop
from mercer.solvers.selection import SOLVERS, SolverName, bytes_of_matrices, check_solver_name, choose_solver
from mercer.solvers.smo import SMO
from mercer.solvers.sparse_eigen import leading_eigenpairs
from mercer.solvers.working_set import WorkingSet

__all__ = [
    "Solver",
    "SolverResult",
    "Iterate",
    "InteriorPoint",
    "LinearProgram",
    "LeastSquares",
    "ConjugateGradients",
    "SMO",
    "WorkingSet",
    "Eigenpairs",
    "dense_eigenpairs",
    "lanczos_eigenpairs",
    "leading_eigenpairs",
    "sample_columns",
    "rprop",
    "RpropResult",
    "SOLVERS",
    "SolverName",
    "choose_solver",
    "bytes_of_matrices",
    "check_solver_name",
    "check_options",
]
