"""What holds for every problem of latent points: each density kernel, regularisation, constraint and optimiser.

Nothing that a solver says of itself is believed: values, gradients and constraints are computed by `slow_latent`.
"""

import pickle
import warnings
from dataclasses import FrozenInstanceError, replace
from functools import partial
from inspect import isabstract

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import UnsupervisedKernelRegression, manifolds
from mercer.datasets import make_arc
from mercer.manifolds import DensityKernel, QuarticDensity
from mercer.manifolds.ukr.density_kernels import DENSITY_KERNELS
from mercer.manifolds.ukr.fitting import OPTIMIZERS, LatentSolver, fit_latent, homotopy
from mercer.manifolds.ukr.gaussian import Evaluation
from mercer.manifolds.ukr.lists import ListProblem
from mercer.manifolds.ukr.problem import LatentProblem, PairEvaluator
from mercer.manifolds.ukr.targets import data_targets
from mercer.manifolds.ukr.units import LatentUnits
from tests.contracts import slow_latent

LINES, CYLINDER = np.array([np.inf, np.inf]), np.array([9.0, np.inf])
SPACES = pytest.mark.parametrize("periods", [LINES, CYLINDER], ids=["plane", "cylinder"])
KERNELS = pytest.mark.parametrize("kernel", DENSITY_KERNELS)
SCALES = {"gaussian": 2.0, "quartic": 0.6}
HOLES = pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
LEFT_OUT = pytest.mark.parametrize("n_excluded", [0, 3])


def rows(holes=False):
    X, t = make_arc(60, angle=3.0, noise=0.05, random_state=0)
    X = np.column_stack([X, X[:, 0] * X[:, 1]])
    if holes:
        hidden = np.random.default_rng(1).random(X.shape) < 0.15
        hidden[hidden.all(axis=1)] = False
        X = np.where(hidden, np.nan, X)
    return X, np.column_stack([t - 1.5, np.random.default_rng(2).normal(size=60) / 4])


def problem(Y, kernel, n_excluded=0, periods=LINES):
    return LatentProblem(data_targets(Y), kernel, n_excluded, periods if np.isfinite(periods).any() else None)


def value_of(Y, Z, kernel, n_excluded=0, periods=LINES):
    return slow_latent.value_and_gradient(Y, Z, kernel, n_excluded, periods)[0]


@HOLES
@SPACES
@LEFT_OUT
@KERNELS
def test_values_and_gradients_are_those_of_the_slow_twin(kernel, n_excluded, periods, holes):
    Y, Z = rows(holes)
    Z = SCALES[kernel] * Z
    Z[0] += [0.0, 40.0]
    value, gradient, isolated = slow_latent.value_and_gradient(Y, Z, kernel, n_excluded, periods)
    ours = problem(Y, kernel, n_excluded, periods)
    found = ours.value_and_gradient(Z)
    assert found[0] == pytest.approx(value, rel=1e-10)
    assert ours.value(Z) == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(found[1], gradient, atol=1e-9 * np.abs(gradient).max())
    np.testing.assert_array_equal(ours.isolated(Z), isolated)
    assert isolated[0] == (kernel == "quartic")


@SPACES
@KERNELS
def test_densities_are_those_of_the_slow_twin(kernel, periods):
    Y, Z = rows()
    ours = problem(Y, kernel, 0, periods)
    shares = ours.density(Z, Z) * ours.density.integral(2)
    np.testing.assert_allclose(shares, slow_latent.densities(Z, kernel, periods), rtol=1e-9)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@SPACES
@LEFT_OUT
@KERNELS
def test_descents_are_monotone_in_the_best_points(kernel, n_excluded, periods, optimizer):
    Y, Z = rows()
    Z, ours = SCALES[kernel] * Z, problem(Y, kernel, n_excluded, periods)
    told = []
    fit = fit_latent(
        ours, Z, optimizer=optimizer, max_iter=40, callback=lambda n, fit: told.append((n, fit.objective, fit.Z))
    )
    assert fit.history[0] == pytest.approx(value_of(Y, Z, kernel, n_excluded, periods), rel=1e-10)
    assert np.all(np.diff(fit.history) <= 0)
    assert fit.objective == fit.history[-1] < fit.history[0]
    assert fit.n_iter == len(fit.history) - 1 == len(told) <= 40
    assert fit.status in ("optimal", "max_iter")
    # What was told after each iteration is the best so far, and its value is that of its points.
    assert [n for n, _, _ in told] == list(range(1, fit.n_iter + 1))
    assert [value for _, value, _ in told] == fit.history[1:]
    for _, value, points in (told[0], told[len(told) // 2], told[-1]):
        assert value_of(Y, points, kernel, n_excluded, periods) == pytest.approx(value, rel=1e-9)
    isolated = [slow_latent.value_and_gradient(Y, each, kernel, n_excluded, periods)[2] for each in (Z, fit.Z)]
    assert not (isolated[1] & ~isolated[0]).any()


@pytest.mark.parametrize("thresholds", [(0.5,), (0.4, 0.2)])
@SPACES
@KERNELS
def test_densities_stay_above_thresholds(kernel, periods, thresholds):
    Y, Z = rows()
    fit = homotopy(problem(Y, kernel, 0, periods), Z, thresholds)
    assert slow_latent.densities(fit.Z, kernel, periods).min() >= thresholds[-1] * (1 - 1e-9)
    assert fit.objective == pytest.approx(value_of(Y, fit.Z, kernel, 0, periods), rel=1e-9)
    assert np.all(np.diff(fit.history) <= 0)
    assert fit.n_iter == len(fit.history) - 1 == 100 * len(thresholds)


@pytest.mark.parametrize("raises", [False, True], ids=["callback", "Ctrl-C"])
@pytest.mark.parametrize("when", [1, 2, 7])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@KERNELS
def test_descents_end_where_they_are_told_to(kernel, optimizer, when, raises):
    Y, Z = rows()
    told = []

    def callback(n, fit):
        told.append(fit)
        if n == when and raises:
            raise KeyboardInterrupt
        return n == when

    fit = fit_latent(problem(Y, kernel), SCALES[kernel] * Z, optimizer=optimizer, callback=callback)
    assert fit.status == "interrupted"
    assert fit.n_iter == len(told) == when
    assert fit.history == told[-1].history
    np.testing.assert_array_equal(fit.Z, told[-1].Z)


@pytest.mark.parametrize("max_iter", [1, 2, 9])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@KERNELS
def test_descents_make_as_many_iterations_as_they_may(kernel, optimizer, max_iter):
    Y, Z = rows()
    fit = fit_latent(problem(Y, kernel), SCALES[kernel] * Z, optimizer=optimizer, max_iter=max_iter)
    assert (fit.status, fit.n_iter) == ("max_iter", max_iter)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@KERNELS
def test_descents_end_when_twenty_iterations_gain_little(kernel, optimizer):
    Y, Z = rows()
    fit = fit_latent(problem(Y, kernel, 3), SCALES[kernel] * Z, optimizer=optimizer, tol=0.05, max_iter=500)
    assert fit.status == "optimal"
    assert fit.n_iter < 300
    again = fit_latent(problem(Y, kernel, 3), SCALES[kernel] * Z, optimizer=optimizer, tol=0.05, max_iter=500)
    np.testing.assert_array_equal(fit.Z, again.Z)


def below(kind):
    """All classes that derive from one, and can be made."""
    classes = {deeper for derived in kind.__subclasses__() for deeper in below(derived)}
    return classes if isabstract(kind) else {kind, *classes}


def test_every_density_kernel_and_optimiser_is_tested_here():
    kernels = {kind for kind in below(DensityKernel) if kind.__module__.startswith("mercer.")}
    assert kernels == {type(kernel) for kernel in DENSITY_KERNELS.values()}
    assert set(slow_latent.PROFILES) == set(SCALES) == set(DENSITY_KERNELS)
    assert {kind.__name__ for kind in (DensityKernel, *kernels)} <= set(manifolds.__all__)
    solvers = {kind for kind in below(LatentSolver) if kind.__module__.startswith("mercer.")}
    assert solvers == {type(solver) for solver in OPTIMIZERS.values()}


@KERNELS
def test_sums_and_weights_follow_from_the_profile(kernel):
    density, (_, Z) = DENSITY_KERNELS[kernel], rows()
    U, V = SCALES[kernel] * Z, SCALES[kernel] * Z[:20] + 0.1
    V[3] = 50.0
    squares = ((V[:, None] - U) ** 2).sum(axis=2)
    K = slow_latent.PROFILES[kernel][0](squares)
    np.testing.assert_allclose(density.profile(squares), K, rtol=1e-12)
    np.testing.assert_allclose(density.sums(V, U), K.sum(axis=1), rtol=1e-9, atol=1e-300)
    weights = density.weights(V, U)
    weights = weights.toarray() if sparse.issparse(weights) else weights
    relative = density.relative(squares)
    np.testing.assert_allclose(weights, relative / relative.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12)
    near = np.arange(20) != 3
    np.testing.assert_allclose(weights[near], K[near] / K[near].sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12)
    assert density.profile(np.zeros(1)) == 1.0
    assert density.profile(np.array([density.gap**2])) < 1e-7
    if density.ends:
        assert density.profile(np.array([density.reach**2])) == 0.0


@KERNELS
def test_kernels_may_be_given_by_name(kernel):
    Y, Z = rows()
    value = LatentProblem(data_targets(Y), DENSITY_KERNELS[kernel], 3).value(Z)
    assert problem(Y, kernel, 3).value(Z) == value
    assert DENSITY_KERNELS[kernel] == type(DENSITY_KERNELS[kernel])()
    options = {"init": "pca", "max_iter": 3, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        named, given = (
            UnsupervisedKernelRegression(1, density_kernel=each, **options).fit(Y)
            for each in (kernel, DENSITY_KERNELS[kernel])
        )
    np.testing.assert_array_equal(named.embedding_, given.embedding_)
    assert clone(given).density_kernel == DENSITY_KERNELS[kernel]
    rows_of_both = [pickle.loads(pickle.dumps(model)).transform(Y + 0.01) for model in (named, given)]
    np.testing.assert_array_equal(*rows_of_both)


@HOLES
@SPACES
@LEFT_OUT
@KERNELS
def test_checks_compute_what_the_slow_twin_does(kernel, n_excluded, periods, holes):
    Y, Z = rows(holes)
    Z = SCALES[kernel] * Z
    Z[0] += [0.0, 40.0]
    value, _, isolated = slow_latent.value_and_gradient(Y, Z, kernel, n_excluded, periods)
    check = problem(Y, kernel, n_excluded, periods).check(Z, [value])
    assert check.holds()
    assert check.value == pytest.approx(value, rel=1e-9)
    assert check.n_isolated == isolated.sum()
    assert check.least_density == pytest.approx(slow_latent.densities(Z, kernel, periods).min(), rel=1e-9)


@KERNELS
def test_checks_believe_no_solver(kernel, monkeypatch):
    Y, Z = rows()
    ours = problem(Y, kernel, 3)
    honest = fit_latent(ours, SCALES[kernel] * Z, optimizer="rprop", max_iter=20)
    assert ours.check(honest.Z, honest.history).holds()
    assert not ours.check(honest.Z, [*honest.history, 0.999 * honest.objective]).holds()
    assert not ours.check(honest.Z + 0.1 * Z, honest.history).holds()
    assert not ours.check(honest.Z, [0.5 * honest.objective, honest.objective]).monotone
    constrained = replace(ours, least_density=0.9)
    assert not constrained.check(honest.Z, honest.history).admissible
    boast = PairEvaluator.value_and_gradient
    monkeypatch.setattr(PairEvaluator, "value", lambda self, Z: 0.5)
    monkeypatch.setattr(
        PairEvaluator, "value_and_gradient", lambda self, *a: (0.5 * boast(self, *a)[0], boast(self, *a)[1])
    )
    lying = fit_latent(ours, SCALES[kernel] * Z, optimizer="rprop", max_iter=20)
    assert not ours.check(lying.Z, lying.history).holds()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@KERNELS
def test_problems_are_data(kernel, optimizer):
    Y, Z = rows()
    ours = problem(Y, kernel, 3)
    before = dict(vars(ours))
    fits = [fit_latent(ours, SCALES[kernel] * Z, optimizer=optimizer, max_iter=9) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].Z, fits[1].Z)
    assert vars(ours) == before
    with pytest.raises(FrozenInstanceError):
        ours.n_excluded = 2


def test_optimisers_refuse_what_they_cannot_solve():
    Y, Z = rows()
    constrained = replace(problem(Y, "gaussian"), least_density=0.1)
    lists = ListProblem(Y, 3, LatentUnits(LINES))
    for name in ("lbfgs", "rprop+lbfgs"):
        with pytest.raises(ValueError, match="cannot solve this problem: it keeps no density above a threshold"):
            fit_latent(constrained, Z, optimizer=name)
        with pytest.raises(ValueError, match="cannot solve this problem: its lists of neighbours change along a line"):
            fit_latent(lists, Z, optimizer=name)
    assert OPTIMIZERS["rprop"].refusal(constrained) is None
    assert OPTIMIZERS["rprop"].refusal(lists) is None
    for name in OPTIMIZERS:
        with pytest.raises(ValueError, match="Z of LatentDensity must be finite, got nan or inf"):
            fit_latent(problem(Y, "gaussian"), np.full_like(Z, np.nan), optimizer=name)


class Triweight(QuarticDensity):
    """(1 - r²)³ within distance 1, by the profile alone."""

    name = "triweight"
    compact = None

    def profile(self, squares):
        return np.maximum(1.0 - squares, 0.0) ** 3

    def pairs(self, targets, n_excluded, tuning=None):
        return ByDifferences(self, targets, n_excluded)


class ByDifferences:
    """Errors by the profile, and their gradient by differences."""

    def __init__(self, kernel, targets, n_excluded):
        self.problem = partial(LatentProblem, targets, kernel, n_excluded)
        self.errors = lambda U: self.problem().check(U).value

    def run(self, U, *, with_gradient, n_threads=None):
        steps = 1e-6 * np.eye(U.size).reshape(U.size, *U.shape)
        slopes = [(self.errors(U + step) - self.errors(U - step)) / 2e-6 for step in steps if with_gradient]
        gradient = np.reshape(slopes, U.shape) * len(U) / 2 if with_gradient else None
        return Evaluation(np.full(len(U), self.errors(U)), np.zeros(len(U), dtype=bool), gradient)


def test_a_new_density_kernel_is_one_class():
    Y, Z = rows()
    Y, Z = Y[::3], Z[::3]
    ours = LatentProblem(data_targets(Y), Triweight())
    fit = fit_latent(ours, Z, optimizer="lbfgs", max_iter=8)
    assert ours.check(fit.Z, fit.history).holds()
    assert fit.objective < 0.95 * fit.history[0]
    with pytest.raises(ValueError, match="density_kernel of .* must be one that new rows can be projected with"):
        UnsupervisedKernelRegression(1, density_kernel=Triweight()).fit(Y)
