import numpy as np
import pytest

from mercer.datasets import make_arc
from mercer.manifolds.ukr.density_kernels import LatentDensity
from mercer.manifolds.ukr.fitting import OPTIMIZERS, fit_latent, homotopy
from mercer.manifolds.ukr.problem import LatentProblem
from mercer.manifolds.ukr.targets import data_targets

X, ANGLES = make_arc(80, angle=3.0, noise=0.03, random_state=0)
START = 4 * X[:, :1]


def problem(**options):
    return LatentProblem(data_targets(X), **options)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_optimisers_lower_the_objective(optimizer, kernel):
    objective = problem(density_kernel=kernel)
    start = START / (1 if kernel == "gaussian" else 3)
    fit = fit_latent(objective, start, optimizer=optimizer, max_iter=120, tol=1e-6)
    assert fit.history[0] == objective.value(start)
    assert fit.objective == pytest.approx(objective.value(fit.Z), rel=1e-12)
    assert fit.objective == fit.history[-1] < 0.5 * fit.history[0]
    assert np.all(np.diff(fit.history) <= 0)
    assert fit.n_iter == len(fit.history) - 1 <= 120
    assert not objective.isolated(fit.Z).any()


def test_ends_when_little_is_gained():
    fit = fit_latent(problem(n_excluded=5), START, optimizer="rprop", tol=0.01, max_iter=1000)
    assert fit.status == "optimal"
    assert fit.n_iter < 500
    assert fit_latent(problem(), START, max_iter=3).status == "max_iter"


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_callbacks_end_it(optimizer):
    told = []
    fit = fit_latent(problem(), START, optimizer=optimizer, callback=lambda n, fit: told.append(fit) or n == 4)
    assert fit.status == "interrupted"
    assert [f.n_iter for f in told] == [1, 2, 3, 4]
    assert told[-1].objective == fit.objective


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_interrupts_leave_the_best(optimizer):
    def interrupt(n, fit):
        if n == 6:
            raise KeyboardInterrupt

    objective = problem()
    fit = fit_latent(objective, START, optimizer=optimizer, callback=interrupt)
    assert fit.status == "interrupted"
    assert fit.objective == pytest.approx(objective.value(fit.Z))
    assert fit.objective < objective.value(START)


def test_shows_progress(capsys):
    fit_latent(problem(), START, max_iter=3, verbose=True)
    assert "Unsupervised kernel regression" in capsys.readouterr().err


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_homotopy_keeps_densities_above_the_thresholds(kernel):
    objective = LatentProblem(data_targets(X[::3]), density_kernel=kernel)
    fit = homotopy(objective, START[::3], (0.5, 0.2))
    Z = fit.Z
    assert fit.objective == pytest.approx(objective.value(Z))
    assert objective.density(Z, Z).min() >= 0.2 / objective.density.integral(1)
    assert objective.value(Z) < 0.7 * objective.value(0.01 * START[::3])


def test_homotopy_can_be_interrupted(monkeypatch):
    calls, density = [], LatentDensity.__call__

    def interrupting(*points):
        calls.append(1)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return density(*points)

    monkeypatch.setattr(LatentDensity, "__call__", interrupting)
    fit = homotopy(problem(), START)
    assert fit.status == "interrupted"
    assert fit.n_iter < 20


def test_points_that_are_isolated_at_first_do_not_hold_the_others():
    objective = problem(density_kernel="quartic")
    start = START / 3
    start[5] = 100.0
    assert objective.isolated(start)[5]
    fit = fit_latent(objective, start, optimizer="rprop", max_iter=60)
    assert fit.objective < 0.8 * fit.history[0]
    assert objective.isolated(fit.Z).sum() <= 1
