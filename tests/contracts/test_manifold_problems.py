"""What holds for the fit of every manifold problem: the least regularized error is sought, and said what it is."""

import numpy as np
import pytest

from mercer.manifolds import Adaptation, ManifoldDensity, Rows, fit_manifold, project, soft_map
from mercer.running import Stopping
from tests.contracts.all_manifolds import (
    COSTS,
    PENALTY,
    PROBLEMS,
    SPACES,
    basis_of,
    costs,
    images,
    norm,
    rows_of,
    value,
)

of_every_problem = pytest.mark.parametrize(("cost", "regularizer", "space"), PROBLEMS)


def fitted(cost, regularizer, space, *, holes=False, max_iter=6, **options):
    X, Z = rows_of(space, holes=holes)
    start = basis_of(regularizer, space).space.inside(Z + 0.3 * np.random.default_rng(1).normal(size=Z.shape))
    fit = fit_manifold(
        X, start, basis_of(regularizer, space), PENALTY,
        cost=COSTS[cost], regularizer=regularizer, max_iter=max_iter, **options,
    )  # fmt: skip
    return X, fit


@of_every_problem
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
def test_the_objective_is_what_the_map_and_the_places_cost(cost, regularizer, space, holes):
    X, fit = fitted(cost, regularizer, space, holes=holes)
    np.testing.assert_allclose(fit.costs, costs(cost, X, images(fit.map, fit.Z)), rtol=1e-6, atol=1e-7)
    assert fit.objective == pytest.approx(value(cost, regularizer, X, fit.map, fit.Z), rel=1e-6)
    assert fit.objective == fit.history[-1]
    assert len(fit.history) == fit.n_iter + 1
    assert np.all(np.diff(fit.history) <= 1e-10)
    assert fit.history[-1] < fit.history[0]


@of_every_problem
def test_no_other_place_is_better(cost, regularizer, space):
    X, fit = fitted(cost, regularizer, space)
    grid = fit.map.basis.space.grid((201,) if len(SPACES[space]) == 1 else (41, 41))
    F = images(fit.map, grid)
    best = np.array([costs(cost, np.broadcast_to(x, F.shape), F).min() for x in X])
    is_best = fit.costs <= best + 1e-6
    # Absolute values have kinks, at which a descent may stop.
    assert is_best.mean() > 0.8 if cost == "l1" else is_best.all()


@of_every_problem
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
def test_neither_half_step_raises_the_objective(cost, regularizer, space, holes):
    X, fit = fitted(cost, regularizer, space, holes=holes, max_iter=2)
    rows, f, Z = Rows(X), fit.map, fit.Z
    # Where absolute values have kinks the half-steps are those of a smooth cost beside them.
    cost_now = COSTS[cost].scaled_to(rows.residuals(slice(None), images(f, Z)))

    def total(f, Z):
        R = rows.residuals(slice(None), images(f, Z))
        return cost_now.of_residuals(R).mean() + PENALTY * norm(regularizer, f)

    before = total(f, Z)
    adapted = Adaptation(rows, f.basis, PENALTY, regularizer).solve(Z, cost_now, f)
    assert total(adapted, Z) <= before + 1e-8
    projected = project(rows, adapted, cost=cost_now, start=Z)
    assert total(adapted, projected.Z) <= total(adapted, Z) + 1e-8


@of_every_problem
def test_a_limit_gives_the_best_so_far(cost, regularizer, space):
    _, short = fitted(cost, regularizer, space, max_iter=2)
    _, long = fitted(cost, regularizer, space, max_iter=5)
    assert short.n_iter == 2
    assert short.status == "max_iter"
    np.testing.assert_allclose(short.history[:-1], long.history[:2], rtol=1e-9)
    assert short.objective <= short.history[-2] + 1e-10
    if cost != "l1":  # whose first steps are for a smoothed cost
        assert long.objective <= short.objective + 1e-10


@of_every_problem
@pytest.mark.parametrize("by_key", [False, True], ids=["by callback", "by Ctrl-C"])
def test_an_interrupt_gives_the_best_so_far(cost, regularizer, space, by_key):
    seen = []

    def stop(n_iter, fit):
        seen.append((n_iter, fit.objective))
        if n_iter == 2 and by_key:
            raise KeyboardInterrupt
        return n_iter == 2

    X, fit = fitted(cost, regularizer, space, callback=stop)
    assert fit.status == "interrupted"
    assert [n_iter for n_iter, _ in seen] == [1, 2]
    assert fit.objective <= seen[-1][1] + 1e-10
    assert fit.objective == pytest.approx(value(cost, regularizer, X, fit.map, fit.Z), rel=1e-6)
    # And it can go on from there.
    again = fit_manifold(
        X, fit, fit.map.basis, PENALTY, cost=COSTS[cost], regularizer=regularizer, max_iter=20
    )  # fmt: skip
    assert again.objective <= fit.objective * (1 + 1e-6) or cost == "l1"


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("regularizer", ["rkhs", "l2"])
@pytest.mark.parametrize("accelerated", [False, True])
def test_the_objective_of_em_is_the_likelihood_with_the_prior_of_the_map(space, regularizer, accelerated):
    X, Z = rows_of(space)
    basis = basis_of(regularizer, space)
    soft = soft_map(X, Z, basis, PENALTY, Stopping(tol=1e-6, max_iter=8), accelerated=accelerated)
    assert np.all(np.diff(soft.history) <= 1e-10)
    density = soft.density
    assert isinstance(density, ManifoldDensity)
    # A row is normal around each cell, with the noise and the tangents of the cell as covariance.
    cells, s2 = density.cells, density.variance
    log_p = []
    for x in X - cells.centre:
        each = []
        for g in range(len(cells.F)):
            C = s2 * np.eye(X.shape[1]) + cells.U[:, g].T @ cells.U[:, g]
            r = x - cells.F[g]
            each.append(-0.5 * (r @ np.linalg.solve(C, r) + np.linalg.slogdet(2 * np.pi * C)[1]))
        log_p.append(np.logaddexp.reduce(each) - np.log(len(cells.F)))
    prior = PENALTY / (2 * s2) * norm(regularizer, soft.map)
    assert soft.history[-1] == pytest.approx(-np.mean(log_p) + prior, abs=1e-5)
    np.testing.assert_allclose(cells.F + cells.centre, images(soft.map, basis.space.cells[0]), atol=1e-6)
