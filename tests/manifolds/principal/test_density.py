import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mercer.kernels import Gaussian
from mercer.manifolds import Cells, LatentBasis, LatentSpace, ManifoldDensity, Rows


def some_map(q, d):
    basis = LatentBasis(LatentSpace(("interval",) * q), Gaussian(0.7), (3,) * q)
    return basis.map_of(0.3 * np.random.default_rng(q).normal(size=(basis.n_features + 1, d)))


def slow_log_density(x, f, variance):
    """With full covariances of the entries that are known."""
    points, side = f.basis.space.cells
    F, T = f.with_tangents(points)
    known = ~np.isnan(x)
    parts = [
        multivariate_normal(mean[known], variance * np.eye(known.sum()) + side**2 / 12 * J[:, known].T @ J[:, known])
        for mean, J in zip(F, T, strict=True)
    ]
    return np.log(np.mean([part.pdf(x[known]) for part in parts]))


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("missing", [False, True])
def test_equals_full_covariances(q, missing):
    f = some_map(q, 4)
    X = f(np.random.default_rng(1).uniform(-1, 1, size=(5, q))) + 0.1 * np.random.default_rng(2).normal(size=(5, 4))
    if missing:
        X[0, 1] = X[2, 3] = X[2, 0] = np.nan
    values = ManifoldDensity(Cells.of(f), 0.03).log_density(Rows(X))
    np.testing.assert_allclose(values, [slow_log_density(x, f, 0.03) for x in X], rtol=1e-10)


def test_integrates_to_one():
    grid = np.linspace(-6, 6, 1201)
    line = ManifoldDensity(Cells.of(some_map(1, 1)), 0.05)
    np.testing.assert_allclose(np.trapezoid(np.exp(line.log_density(Rows(grid[:, None]))), grid), 1, rtol=1e-8)
    sides = grid[::8]
    plane = np.stack(np.meshgrid(sides, sides, indexing="ij"), axis=-1).reshape(-1, 2)
    for q in (1, 2):
        density = ManifoldDensity(Cells.of(some_map(q, 2)), 0.05)
        mass = np.exp(density.log_density(Rows(plane))).sum() * (sides[1] - sides[0]) ** 2
        np.testing.assert_allclose(mass, 1, rtol=1e-6)


@pytest.mark.parametrize("missing", [False, True])
def test_noise_is_a_maximum_of_the_likelihood(missing):
    f = some_map(1, 3)
    X = f(np.random.default_rng(3).uniform(-1, 1, size=(400, 1))) + 0.2 * np.random.default_rng(4).normal(size=(400, 3))
    if missing:
        X[::3, 1] = np.nan
    rows = Rows(X)
    density = ManifoldDensity.of(rows, f)
    assert density.variance == pytest.approx(0.04, rel=0.15)
    best = density.log_density(rows).mean()
    for factor in (0.9, 1.1):
        assert ManifoldDensity(density.cells, factor * density.variance).log_density(rows).mean() < best


def test_samples_have_the_moments_of_the_density():
    f = some_map(2, 3)
    density = ManifoldDensity(Cells.of(f), 0.01)
    X = density.sample(40000, np.random.RandomState(0))
    F = f(np.random.default_rng(0).uniform(-1, 1, size=(40000, 2)))
    np.testing.assert_allclose(X.mean(axis=0), F.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(np.cov(X.T), np.cov(F.T) + 0.01 * np.eye(3), atol=0.02)


def test_far_from_zero():
    f = some_map(1, 2)
    moved = f.basis.map_of(f.coefficients + np.eye(len(f.coefficients))[:, -1:] * 1e6)
    X = f(np.linspace(-1, 1, 20)[:, None]) + 0.01
    near = ManifoldDensity(Cells.of(f), 1e-4).log_density(Rows(X))
    np.testing.assert_allclose(ManifoldDensity(Cells.of(moved), 1e-4).log_density(Rows(X + 1e6)), near, atol=1e-3)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_sums_equal_those_of_all_pairs_of_rows_and_cells(q):
    f, s2 = some_map(q, 4), 0.03
    X = f(np.random.default_rng(1).uniform(-1, 1, size=(300, q))) + 0.2 * np.random.default_rng(2).normal(size=(300, 4))
    density = ManifoldDensity(Cells.of(f), s2)
    sums, F, U = density.sums(Rows(X)), density.cells.F + density.cells.centre, density.cells.U
    moments, totals = np.zeros((len(F), 1 + q, 1 + q)), np.zeros((len(F), 1 + q, 4))
    precisions = [np.linalg.inv(s2 * np.eye(q) + U[:, g] @ U[:, g].T) for g in range(len(F))]
    covariances = [s2 * np.eye(4) + U[:, g].T @ U[:, g] for g in range(len(F))]
    log_p = np.column_stack(
        [multivariate_normal(F[g], covariances[g]).logpdf(X) - np.log(len(F)) for g in range(len(F))]
    )
    R = np.exp(log_p - np.logaddexp.reduce(log_p, axis=1)[:, None])
    for g in range(len(F)):
        e = np.column_stack([np.ones(len(X)), (X - F[g]) @ U[:, g].T @ precisions[g]])
        moments[g] = e.T @ (R[:, [g]] * e)
        moments[g, 1:, 1:] += R[:, g].sum() * s2 * precisions[g]
        totals[g] = e.T @ (R[:, [g]] * X)
    np.testing.assert_allclose(sums.moments, moments, atol=1e-9)
    np.testing.assert_allclose(sums.totals, totals, atol=1e-9)
    np.testing.assert_allclose(sums.log_likelihood, np.logaddexp.reduce(log_p, axis=1).sum(), rtol=1e-10)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_fills_entries_by_their_expectation(q):
    f, s2 = some_map(q, 3), 0.05
    density = ManifoldDensity(Cells.of(f), s2)
    x = np.array([0.2, -0.1, np.nan])
    values = np.linspace(-4, 4, 2001)
    p = np.exp(density.log_density(Rows(np.column_stack([np.full((2001, 2), x[:2]), values]))))
    np.testing.assert_allclose(density.filled(Rows(x[None]))[0], [0.2, -0.1, np.average(values, weights=p)], rtol=1e-6)
    np.testing.assert_array_equal(density.filled(Rows(np.ones((2, 3)))), np.ones((2, 3)))


def test_missing_entries_have_deviations_and_draws():
    from mercer import PrincipalManifold
    from mercer.datasets import make_arc

    X, _ = make_arc(1500, angle=4.0, noise=0.1, random_state=0)
    curve, X = PrincipalManifold(1, random_state=0).fit(X[::3]), np.delete(X, np.s_[::3], axis=0)
    holes = X.copy()
    holes[::2, 0] = holes[1::2, 1] = np.nan
    holes[::10] = X[::10]
    missing = np.isnan(holes)
    filled, std = curve.impute(holes, return_std=True)
    np.testing.assert_array_equal(filled, curve.impute(holes))
    np.testing.assert_array_equal(std[~missing], 0)
    np.testing.assert_allclose(filled[~missing], X[~missing], atol=1e-12)
    assert np.std(((filled - X) / np.where(missing, std, 1))[missing]) == pytest.approx(1, abs=0.1)
    draws = curve.impute(holes, n_draws=200, random_state=0)
    assert draws.shape == (200, 1000, 2)
    np.testing.assert_array_equal(draws, curve.impute(holes, n_draws=200, random_state=0))
    np.testing.assert_allclose(draws[:, ~missing], np.broadcast_to(X[~missing], (200, 1100)), atol=1e-12)
    error = (draws.mean(axis=0) - filled)[missing] / (std[missing] / np.sqrt(200))
    assert np.std(error) == pytest.approx(1, abs=0.15)
    np.testing.assert_allclose(np.median(draws.std(axis=0)[missing] / std[missing]), 1, atol=0.05)
    for options, message in (
        ({"n_draws": 0}, "n_draws of PrincipalManifold must be a whole number >= 1, got 0"),
        ({"n_draws": 2, "return_std": True}, "return_std of PrincipalManifold must be False if there are draws, got"),
    ):
        with pytest.raises(ValueError, match=message):
            curve.impute(holes, **options)
