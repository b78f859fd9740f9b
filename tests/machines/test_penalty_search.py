"""The search for a penalty beside refits and beside the exact leave-one-out path."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.kernels import Exponential, Gaussian, ThinPlate
from mercer.kernels.gram import Gram
from mercer.machines.penalty_search import PenaltySearch, Samples, leave_one_out_error
from mercer.solvers import ConjugateGradients
from mercer.solvers.leading_spectrum import leading_spectrum
from tests.contracts.all_problems import rows, smooth_targets

N = 400
X = rows(N)
Y = np.column_stack([smooth_targets(X), np.cos(X[:, 0])])
WEIGHT = np.random.default_rng(3).uniform(0.2, 3.0, size=N)
GRID = np.geomspace(1e-3, 1e2, 11)


def samples(weight=None):
    return Samples(Y, np.ones(N) if weight is None else weight, np.zeros(N))


def search(kernel=None, weight=None, kind=PenaltySearch):
    return kind(kernel or Gaussian(0.8), X, np.ones((N, 1)), samples(weight), memory=2**30)


def run(grid, kind=PenaltySearch, **options):
    return search(kind=kind).run(lambda mean: grid, **{"tol": 1e-8, "max_iter": None, "verbose": False, **options})


@pytest.mark.parametrize("parametric", [None, "constant", "linear"])
@pytest.mark.parametrize("kernel", [Gaussian(0.8), Exponential(0.5), ThinPlate()], ids=repr)
def test_leave_one_out_error_of_a_complete_factor_is_exact(kernel, parametric):
    exact = KernelRidge(kernel, penalties=GRID, parametric=parametric, solver="eigen").fit(X, Y, WEIGHT)
    Phi = exact._part.columns(X)
    spectrum = leading_spectrum(Gram(kernel, X), Phi, WEIGHT, rank=N, conditional=bool(kernel.order))
    estimates = [leave_one_out_error(spectrum, samples(WEIGHT), penalty) for penalty in GRID]
    np.testing.assert_allclose(estimates, exact.leave_one_out_error_, rtol=1e-6)


def test_leave_one_out_error_of_an_accurate_factor_is_close():
    exact = KernelRidge(Gaussian(2.0), penalties=GRID, solver="eigen").fit(X, Y)
    spectrum = leading_spectrum(Gaussian(2.0)(X), np.ones((N, 1)), np.ones(N), rank=60)
    assert spectrum.trace_error < 1e-5 * N
    estimates = [leave_one_out_error(spectrum, samples(), penalty) for penalty in GRID]
    np.testing.assert_allclose(estimates, exact.leave_one_out_error_, rtol=1e-3)


def test_errors_are_those_of_refits():
    searched = search(weight=WEIGHT)
    held_out, rest = searched._held_out, searched._rest
    np.testing.assert_array_equal(np.sort(np.concatenate([held_out, rest])), np.arange(N))
    found = searched.run(lambda mean: GRID, tol=1e-12, max_iter=None, verbose=False)
    tried = np.flatnonzero(np.isfinite(found.errors))
    assert len(tried) >= 2
    for i in tried:
        model = KernelRidge(Gaussian(0.8), penalties=GRID[i], solver="eigen").fit(X[rest], Y[rest], WEIGHT[rest])
        squares = np.mean((Y[held_out] - model.predict(X[held_out])) ** 2, axis=1)
        expected = np.sqrt(np.average(squares, weights=WEIGHT[held_out]))
        np.testing.assert_allclose(found.errors[i], expected, rtol=1e-5)
    for start, column in zip(found.starts, range(2), strict=True):
        assert not np.any(start.B[held_out])
        assert start.status == "optimal", column


def test_the_best_lies_between_worse_ones():
    found = run(GRID)
    tried = np.flatnonzero(np.isfinite(found.errors))
    np.testing.assert_array_equal(tried, np.arange(tried[0], tried[-1] + 1))
    assert found.errors[found.best] == np.nanmin(found.errors)
    assert tried[0] < found.best or found.best == 0
    assert tried[-1] > found.best or found.best == len(GRID) - 1
    np.testing.assert_array_equal(found.penalties, GRID)
    assert not found.interrupted


def test_the_order_of_the_penalties_does_not_matter():
    ascending, order = run(GRID), np.random.default_rng(0).permutation(len(GRID))
    shuffled = run(GRID[order])
    assert GRID[order][shuffled.best] == GRID[ascending.best]
    np.testing.assert_allclose(shuffled.errors, ascending.errors[order], rtol=1e-8)


def test_the_search_ends_at_the_ends():
    assert run(np.geomspace(10.0, 1e3, 3)).best == 0
    assert run(np.geomspace(1e-8, 1e-4, 3)).best == 2


def test_penalties_that_take_too_long_are_no_candidates():
    class Free(PenaltySearch):
        solver = ConjugateGradients(rank=10)

    class Bound(Free):
        most_iterations = 1

    free, bound = run(GRID, Free), run(GRID, Bound)
    assert np.isfinite(bound.errors).sum() == 1
    assert np.isfinite(free.errors).sum() > 1
    assert bound.errors[bound.best] == np.nanmin(bound.errors)


def test_first_penalty_that_cannot_be_solved_for():
    found = run(GRID, max_iter=0)
    assert np.isnan(found.errors).all()
    assert {start.status for start in found.starts} == {"max_iter"}


def test_few_rows_leave_half():
    searched = PenaltySearch(Gaussian(0.8), X[:5], np.ones((5, 1)), samples().restricted_to(np.arange(5)), memory=2**30)
    assert (len(searched._held_out), len(searched._rest)) == (2, 3)


def test_samples_merge_equal_rows():
    twice = np.vstack([X[:10], X[:4]])
    targets = np.vstack([Y[:10], Y[:4] + 1.0])
    weight = np.arange(1.0, 15.0)
    positions, group, merged = Samples.merged(twice, targets, weight)
    np.testing.assert_array_equal(twice[positions][group], twice)
    np.testing.assert_array_equal(positions, np.arange(10))
    np.testing.assert_allclose(merged.weight[0], 1.0 + 11.0)
    np.testing.assert_allclose(merged.targets[0], Y[0] + 11.0 / 12.0)
    residuals = targets - 0.3
    group = np.r_[:10, :4]
    expected = np.sqrt(np.sum(weight[:, None] * residuals**2) / (2 * weight.sum()))
    np.testing.assert_allclose(merged.error(merged.targets - 0.3), expected, rtol=1e-12)
    np.testing.assert_allclose(merged.restricted_to(group[-4:]).weight, merged.weight[:4])
