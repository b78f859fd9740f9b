"""When rounds lead nowhere, and what is given back then."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mercer.kernels import Linear
from mercer.kernels.gram import Gram
from mercer.losses import SquaredHinge
from mercer.problems import Iterate, KernelProgram
from mercer.regularizers import RKHSNorm
from mercer.solvers import SMO
from mercer.solvers.decomposition import Watch
from tests.contracts.random_programs import random_case


def rounds_until_stalled(values, every=5, tol=1e-6):
    watch = Watch(every, tol)
    for number, (primal, dual) in enumerate(values):
        watch.look(Iterate(primal, dual, 0.0))
        if watch.stalled:
            return number
    return None


def test_watch_waits_while_the_dual_value_rises():
    assert rounds_until_stalled((2.0, 1.0 - 0.5 / (k + 1)) for k in range(300)) is None


def test_watch_is_not_deceived_by_values_that_rise_and_fall_for_ever():
    waves = ((2.0, 1.0 + 0.01 * abs(k % 10 - 5)) for k in range(2000))
    assert rounds_until_stalled(waves) < 100


@pytest.mark.parametrize("seed", [1140, 1402])
def test_stalled_result_is_the_best_that_was_seen(seed):
    case = random_case(seed, largest=400)
    gaps = []
    case.machine.set_params(callback=lambda number, iterate: gaps.append(iterate.relative_gap), max_iter=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.machine.fit(case.X, case.y, case.weight)
    assert case.machine.status_ != "optimal"
    assert np.isfinite(case.machine.gap_)
    assert np.isfinite(case.machine.dual_coef_).all()
    assert case.machine.history_[-1].relative_gap <= 1.0 + 1e-9  # that of the start, B = 0


def test_values_that_no_solution_has_lead_back_to_the_last_good_one():
    # In single precision the matrix, whose entries are all near 1e6, has negative eigenvalues.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) + 1e3
    y = np.where(X[:, 0] > 1e3, 1.0, -1.0)
    penalty = RKHSNorm().penalty(Gram(Linear(), X), np.ones((300, 1)))
    problem = KernelProgram.build(penalty, y, SquaredHinge(), C=100.0)
    result = SMO().solve(problem, tol=1e-4)
    assert result.status == "optimal"
    assert max(iterate.dual for iterate in result.history) < 10 * result.primal
