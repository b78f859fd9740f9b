import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer.datasets import make_arc, make_s_sheet
from mercer.kernels import Gaussian
from mercer.manifolds import (
    LatentBasis,
    LatentSpace,
    ManifoldDensity,
    Polyline,
    PrincipalManifold,
    Rows,
    fit_manifold,
    hard_end,
    project,
    soft_fit,
    soft_map,
)
from mercer.manifolds.latent.kernels import default_kernel
from mercer.manifolds.principal.adaptation import Adaptation
from mercer.manifolds.principal.density import Cells
from mercer.manifolds.principal.soft import share_moved
from mercer.quantizers import SquaredCost, Stopping

BOX = np.linspace(-1, 1, 500)[:, None]
LINE, PLANE = LatentSpace(("interval",)), LatentSpace(("interval", "interval"))


def distance_to_arc(f):
    t = np.linspace(0, 4, 1000)
    return np.sqrt(np.mean(cdist(f(BOX), np.column_stack([np.cos(t), np.sin(t)])).min(axis=1) ** 2))


@pytest.mark.parametrize(("noise", "most"), [(0.05, 1.1), (0.15, 0.6), (0.3, 0.4)])
def test_nearer_to_the_truth_than_a_hard_fit(noise, most):
    X, t = make_arc(300, angle=4.0, noise=noise, random_state=1)
    basis = LatentBasis(LINE, Gaussian(0.48), (7,))
    hard = fit_manifold(X, t[:, None] / 2 - 1, basis, 1e-3)
    soft = soft_fit(X, hard.map, basis, 1e-3, Stopping(1e-5, 200))
    assert distance_to_arc(soft.map) < most * distance_to_arc(hard.map)
    assert soft.objective >= hard.objective  # what EM minimises is another thing


@pytest.mark.parametrize("linear", [False, True])
def test_likelihood_never_falls(linear):
    X, Z = make_s_sheet(200, noise=0.1, random_state=0)
    basis = LatentBasis(PLANE, Gaussian(0.6), (5, 4), linear=linear)
    start = fit_manifold(X + 50, Z, basis, 1e-3, max_iter=2).map
    soft = soft_map(X + 50, start, basis, 1e-3, Stopping(0.0, 15))
    assert np.all(np.diff(soft.history) <= 1e-10)
    assert soft.history[-1] < soft.history[0]
    log_p = soft.density.log_density(Rows(X + 50)).mean()
    norm = np.sum(soft.map.coefficients[: basis.n_features] ** 2)
    np.testing.assert_allclose(soft.history[-1], -log_p + 1e-3 / (4 * soft.density.variance) * norm, rtol=1e-8)
    np.testing.assert_allclose(soft.density.cells.F, Cells.of(soft.map).F, atol=1e-8)


def test_end_is_a_stationary_point():
    X, t = make_arc(100, angle=3.0, noise=0.2, random_state=0)
    basis = LatentBasis(LINE, Gaussian(0.8), (4,))
    start = fit_manifold(X, 2 * t[:, None] / 3 - 1, basis, 1e-2).map
    soft = soft_map(X, start, basis, 1e-2, Stopping(0.0, 3000))
    s2, rows = soft.density.variance, Rows(X)

    def objective(W):
        norm = np.sum(W[: basis.n_features] ** 2)
        return -ManifoldDensity(Cells.of(basis.map_of(W)), s2).log_density(rows).mean() + 1e-2 / (4 * s2) * norm

    for direction in np.random.default_rng(0).normal(size=(5, *soft.map.coefficients.shape)):
        up, down = (objective(soft.map.coefficients + h * direction) for h in (1e-5, -1e-5))
        assert abs(up - down) / 2e-5 < 1e-3


def test_start_may_have_another_basis():
    X, t = make_arc(200, angle=4.0, noise=0.1, random_state=0)
    wide = LatentBasis(LINE, Gaussian(0.8), (5,))
    start = fit_manifold(X, t[:, None] / 2 - 1, wide, 1e-3).map
    soft = soft_map(X, start, LatentBasis(LINE, Gaussian(0.3), (11,)), 1e-3, Stopping(1e-5, 100), variance=0.01)
    assert soft.status == "optimal"
    assert distance_to_arc(soft.map) < 0.03


@pytest.mark.parametrize("topology", ["interval", "circle"])
def test_starts_from_coordinates(topology):
    X, t = make_arc(200, noise=0.1, random_state=0)
    space = LatentSpace((topology,))
    basis = LatentBasis(space, default_kernel(space, np.array([0.5])), (8,))
    Z = t[:, None] / np.pi - 1
    adapted = Adaptation(Rows(X), basis, 1e-4).solve(Z, SquaredCost())
    soft, twin = (
        soft_map(X, start, basis, 1e-4, Stopping(1e-12, 2000), variance=np.sum((X - adapted(Z)) ** 2) / len(X))
        for start in (Z, adapted)
    )
    # Within a cell the map is taken as linear.
    assert soft.history[0] == pytest.approx(twin.history[0], rel=1e-3)
    assert soft.history[-1] == pytest.approx(twin.history[-1], rel=1e-6)


def test_goes_on_with_another_penalty():
    X, t = make_arc(200, angle=4.0, noise=0.1, random_state=0)
    basis = LatentBasis(LINE, Gaussian(0.4), (9,))
    large = soft_map(X, t[:, None] / 2 - 1, basis, 1e-2, Stopping(1e-5, 100))
    small, again = (
        soft_map(X, start, basis, 1e-3, Stopping(1e-5, 100), variance=large.density.variance)
        for start in (large, large.map)
    )
    np.testing.assert_allclose(small.history, again.history, rtol=1e-9)
    assert np.all(np.diff(small.history) <= 0)


def test_leaps_come_farther_with_as_many_steps():
    X, t = make_arc(200, angle=4.0, noise=0.1, random_state=0)
    basis = LatentBasis(LINE, Gaussian(0.4), (9,))
    start = fit_manifold(X, t[:, None] / 2 - 1, basis, 1e-4).map
    steps = soft_map(X, start, basis, 1e-4, Stopping(0.0, 60))
    leaps = soft_map(X, start, basis, 1e-4, Stopping(0.0, 20), accelerated=True)  # of up to three steps each
    assert np.all(np.diff(leaps.history) <= 0)
    assert leaps.history[-1] < steps.history[-1] - 1e-4


def test_callback_sees_the_maps_and_ends_the_fit():
    X, t = make_arc(100, angle=3.0, noise=0.1, random_state=0)
    basis = LatentBasis(LINE, Gaussian(0.5), (6,))
    start = fit_manifold(X, 2 * t[:, None] / 3 - 1, basis, 1e-3).map
    seen = []

    def callback(n_iter, fit):
        seen.append(fit)
        return n_iter == 2

    end = soft_fit(X, start, basis, 1e-3, Stopping(0.0, 50), callback)
    assert end.status == "interrupted"
    assert [fit.n_iter for fit in seen] == [1, 2]
    np.testing.assert_array_equal(end.map.coefficients, seen[-1].map.coefficients)
    np.testing.assert_allclose(end.objective, seen[-1].objective)


def soft_arc(noise):
    X, t = make_arc(400, angle=4.0, noise=noise, random_state=0)
    basis = LatentBasis(LINE, Gaussian(0.5), (7,))
    start = fit_manifold(X, t[:, None] / 2 - 1, basis, 1e-3).map
    return X, soft_fit(X, start, basis, 1e-4, Stopping(1e-5, 200))


def test_hard_end_is_nearer_to_new_rows():
    X, soft = soft_arc(0.1)
    told = []
    end = hard_end(X, soft, lambda n_iter, fit: told.append((n_iter, fit.objective)))
    assert end.objective < soft.objective
    assert (end.history, end.n_iter, end.status) == (soft.history, soft.n_iter, soft.status)
    assert [n_iter - soft.n_iter for n_iter, _ in told] == [1, 2, 3, 4]
    assert np.all(np.diff([soft.objective, *(objective for _, objective in told)]) < 0)
    new = Rows(make_arc(5000, angle=4.0, noise=0.1, random_state=1)[0])
    assert project(new, end.map).costs.mean() < 0.99 * project(new, soft.map).costs.mean()
    assert distance_to_arc(end.map) < 0.05


def test_hard_end_may_be_interrupted():
    X, soft = soft_arc(0.1)
    end = hard_end(X, soft, lambda n_iter, fit: True)
    assert end.status == "interrupted"
    assert end.history == soft.history


@pytest.mark.parametrize(("noise", "least", "most"), [(0.03, 0.0, 0.1), (0.4, 0.1, 1.0)])
def test_share_that_a_hard_end_moves(noise, least, most):
    X, soft = soft_arc(noise)
    end = hard_end(X, soft)
    share = share_moved(soft.map, end.map, noise**2)
    _, squares = Polyline(end.map(np.linspace(-1, 1, 5001)[:, None])).project(soft.map(LINE.cells[0]))
    np.testing.assert_allclose(share, np.sqrt(squares.mean()) / noise, rtol=1e-4)
    assert least <= share <= most
    assert share_moved(soft.map, soft.map, noise**2) < 1e-5


@pytest.mark.parametrize("annealing", [0, 2])
def test_soft_fits_start_by_em_from_given_coordinates(monkeypatch, annealing):
    X, t = make_arc(300, angle=4.0, noise=0.2, random_state=0)
    monkeypatch.setattr("mercer.manifolds.principal.training.fit_path", None)  # no hard fit is made
    options = {"width": 0.5, "penalty": 1e-3, "assignment": "soft", "annealing": annealing}
    soft = PrincipalManifold(1, init=t[:, None] / 2 - 1, **options).fit(X)
    assert (soft.init_, soft.assignment_, soft.penalty_) == ("given", "soft", pytest.approx(1e-3))
    assert distance_to_arc(soft.inverse_transform) < 0.08
