import numpy as np
import pytest

from mercer.datasets import make_arc, make_s_sheet, make_spiral
from mercer.kernels import Exponential, Gaussian, ThinPlate
from mercer.manifolds import LatentBasis, LatentSpace, Length, best_start, fit_manifold, fit_path, start_coordinates
from mercer.quantizers import AbsoluteCost, HuberCost, SquaredCost

LINE, PLANE = LatentSpace(("interval",)), LatentSpace(("interval", "interval"))
COSTS = {"squared": SquaredCost(), "huber": HuberCost(0.05), "l1": AbsoluteCost()}


def curve_basis(regularizer):
    if regularizer == "length":
        return LatentBasis(LINE, Length(), (21,))
    return LatentBasis(LINE, Gaussian(0.4), (9,), whitened=regularizer == "rkhs")


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("regularizer", ["rkhs", "l2", "l1", "group_l1", "length"])
def test_objective_never_rises(cost, regularizer):
    X, _ = make_arc(150, angle=4.0, noise=0.1, random_state=0)
    X[::9, 1] = np.nan
    start = np.random.default_rng(0).uniform(-1, 1, size=(150, 1))
    fit = fit_manifold(X, start, curve_basis(regularizer), 1e-3, cost=COSTS[cost], regularizer=regularizer, max_iter=30)
    assert np.all(np.diff(fit.history) <= 1e-10)
    assert fit.history[-1] < 0.9 * fit.history[0]
    assert fit.objective == fit.history[-1]
    assert len(fit.history) == fit.n_iter + 1


def test_surfaces_and_other_kernels():
    X, Z = make_s_sheet(300, noise=0.05, random_state=0)
    for kernel, linear in ((Gaussian([0.4, 0.8]), False), (ThinPlate(), True), (Exponential(1.0), False)):
        basis = LatentBasis(PLANE, kernel, (6, 4), linear=linear)
        fit = fit_manifold(X, Z, basis, 1e-4, max_iter=20)
        assert np.all(np.diff(fit.history) <= 1e-10)
        assert fit.costs.mean() < 0.02 * X.var(axis=0).sum()


def test_numbers_of_nodes_hardly_matter():
    X, t = make_arc(300, angle=4.0, noise=0.05, random_state=0)
    errors = []
    for n in (10, 20, 40):
        basis = LatentBasis(LINE, Gaussian(0.6), (n,))
        errors.append(fit_manifold(X, t[:, None] / 2 - 1, basis, 1e-4, tol=1e-9).costs.mean())
    np.testing.assert_allclose(errors, errors[0], rtol=1e-4)


def test_warm_starts_and_paths():
    X, _ = make_spiral(200, random_state=0)
    basis = LatentBasis(LINE, Gaussian(0.2), (15,))
    start = start_coordinates(X, LINE, "isomap")
    cold = fit_manifold(X, start, basis, 1e-3, tol=1e-7)
    again = fit_manifold(X, cold, basis, 1e-3, tol=1e-7)
    assert again.history[0] <= cold.objective + 1e-10
    finer = fit_manifold(X, cold, LatentBasis(LINE, Gaussian(0.2), (30,)), 1e-3, tol=1e-7)
    assert finer.n_iter < cold.n_iter + 5
    others = fit_manifold(X[::2], cold.map, basis, 1e-3)
    assert len(others.Z) == 100
    path = fit_path(X, start, basis, [1e-1, 1e-2, 1e-3])
    assert [fit.penalty for fit in path] == [1e-1, 1e-2, 1e-3]
    assert path[0].costs.mean() > path[1].costs.mean() > path[2].costs.mean()


def test_interruption_leaves_a_usable_fit():
    X, _ = make_spiral(200, random_state=0)
    basis = LatentBasis(LINE, Gaussian(0.2), (15,))
    start = start_coordinates(X, LINE, "isomap")
    seen = []

    def stop(n_iter, fit):
        seen.append((n_iter, fit.objective))
        if n_iter == 3:
            raise KeyboardInterrupt

    fit = fit_manifold(X, start, basis, 1e-4, callback=stop)
    assert fit.status == "interrupted"
    assert fit.n_iter == 3
    assert [n for n, _ in seen] == [1, 2, 3]
    assert fit.objective <= seen[-1][1]
    assert fit_manifold(X, start, basis, 1e-4, callback=lambda n_iter, _: n_iter == 2).n_iter == 2
    assert fit_manifold(X, start, basis, 1e-4, max_iter=2).status == "max_iter"
    assert len(fit_path(X, start, basis, [1e-3, 1e-4], callback=stop)) == 1
    assert best_start(X, X, basis, 1e-4, callback=stop)[1].n_iter == 3


def test_shows_progress(capsys):
    X, t = make_arc(50, random_state=0)
    fit_manifold(X, t[:, None] / np.pi - 1, LatentBasis(LINE, Gaussian(0.5), (6,)), 1e-3, verbose=True, max_iter=3)
    assert "Principal manifold" in capsys.readouterr().err
