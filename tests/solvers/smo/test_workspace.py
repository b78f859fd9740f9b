"""What programs with the same matrix share."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import SupportVectorClassifier
from mercer.kernels import Gaussian
from mercer.kernels.gram import Gram
from mercer.losses import EpsilonInsensitive
from mercer.problems import KernelProgram
from mercer.regularizers import RKHSNorm
from mercer.solvers import SMO
from mercer.solvers.smo import workspace
from mercer.solvers.smo.workspace import workspace_of
from tests.contracts.all_problems import rows, smooth_targets


def program(X, C=1.0, kernel=None):
    penalty = RKHSNorm().penalty(Gram(kernel or Gaussian(0.8), X), np.ones((len(X), 1)))
    return KernelProgram.build(penalty, smooth_targets(X), EpsilonInsensitive(0.1), C)


def test_programs_share_it_if_their_matrix_is_the_same():
    problem = program(rows(50))
    first = workspace_of(problem, 2**20)
    assert workspace_of(problem.with_weights((problem.C_below * 2, problem.C_above * 2)), 2**20) is first
    assert workspace_of(problem, 2**21) is not first
    formed = replace(problem, gram=problem.gram.toarray())
    assert workspace_of(formed, 2**21).gram is formed.gram
    assert workspace_of(program(rows(50)), 2**20) is not first


def test_answers_do_not_depend_on_what_was_solved_before():
    X = rows(600)
    alone = SMO().solve(program(X, C=10.0), tol=1e-6)
    problem = program(X)
    SMO().solve(problem, tol=1e-3)
    fresh = replace(problem.with_weights((10.0 * problem.C_below, 10.0 * problem.C_above)))  # no product is known
    after = SMO().solve(fresh, tol=1e-6)
    assert fresh.kept is problem.kept
    np.testing.assert_array_equal(after.B, alone.B)


def test_paths_and_classes_make_one(monkeypatch):
    made = []

    class Counted(workspace.Workspace):
        def __init__(self, *arguments):
            made.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(workspace, "Workspace", Counted)
    X = rows(200)
    y = np.digitize(smooth_targets(X), [-0.3, 0.3])
    machines = SupportVectorClassifier(Gaussian(0.8), solver="smo").regularization_path(X, y, [1.0, 3.0, 10.0])
    assert len(machines) == 3
    assert len(made) == 1


@pytest.mark.parametrize("formed", [False, True])
def test_a_constant_is_taken_from_matrices_that_hardly_vary(formed):
    X, chosen = rows(300), np.arange(0, 300, 3)
    problem = program(X, kernel=Gaussian(300.0))
    made = workspace_of(replace(problem, gram=problem.gram.toarray()) if formed else problem, 2**22)
    twin = made.without_constant
    assert twin is made.without_constant
    assert twin.without_constant is None
    assert (made.size, twin.axis is made.axis) == (1.0, True)
    assert 0 < twin.size < 1e-3
    shift = Gaussian(300.0)(X)[np.ix_(chosen, chosen)] - twin.columns.corner(chosen)
    np.testing.assert_allclose(shift, twin.system._shift, rtol=0, atol=1e-6 * twin.size)
    assert workspace_of(program(X), 2**22).without_constant is None
