"""When rounds lead nowhere, and what is given back then."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mercer.problems import Iterate
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
    assert case.machine.history_[-1].primal <= 1.0001 * case.machine.history_[0].primal
