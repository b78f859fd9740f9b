import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.datasets import make_arc, make_s_sheet
from mercer.manifolds.ukr.density_kernels import DENSITY_KERNELS, GaussianDensity, LatentDensity
from mercer.manifolds.ukr.projection import SurfaceProjector
from mercer.manifolds.ukr.surface import Surface
from mercer.manifolds.ukr.tuning import ProjectionTuning


def sheet(kernel, rows=None):
    X, Z = make_s_sheet(150, noise=0.02, random_state=0)
    Z = Z * [6.0, 2.0] / (1 if kernel == "gaussian" else 2.5)
    X = X if rows is None else rows(X)
    return Surface(LatentDensity(DENSITY_KERNELS[kernel]), Z, X)


def ring():
    X, t = make_arc(120, noise=0.02, random_state=0)
    density = LatentDensity(GaussianDensity(), np.array([10.0]))
    return Surface(density, t[:, None] * 10 / (2 * np.pi), X)


def cost(surface, y, z):
    R = y - surface.images(z[None])[0]
    return float(np.nansum(R**2))


def searched(surface, y, log_threshold):
    """SciPy's constrained minimum, from the best of many training points."""
    room = {"type": "ineq", "fun": lambda z: surface.log_density(z[None])[0] - log_threshold}
    outside = surface.log_density(surface.Z) < log_threshold
    starts = np.argsort(np.nansum((y - surface.images(surface.Z)) ** 2, axis=1) + 1e6 * outside)[:4]
    found = [minimize(lambda z: cost(surface, y, z), surface.Z[s], constraints=[room], method="SLSQP") for s in starts]
    return min(f.fun for f in found if room["fun"](f.x) > -1e-6)


@pytest.mark.parametrize("surface", [sheet("gaussian"), sheet("quartic"), ring()], ids=["gaussian", "quartic", "ring"])
@pytest.mark.parametrize("quantile", [0.0, 0.2])
@pytest.mark.parametrize("many", [10_000, 100])
def test_equals_another_optimiser(surface, quantile, many):
    log_threshold = float(np.quantile(surface.log_density(surface.Z), quantile))
    Y = surface.images(surface.Z[:12])
    Y += 0.1 * np.random.default_rng(0).normal(size=Y.shape)
    Y[6:] *= 1.5  # some beyond the ends
    tuning = ProjectionTuning(many=many)
    found = SurfaceProjector(surface, log_threshold, tol=1e-9, max_steps=200, tuning=tuning)(Y)
    assert np.all(surface.log_density(found.Z) >= log_threshold - 1e-6)
    squares = np.sum((Y - surface.images(found.Z)) ** 2, axis=1)
    np.testing.assert_allclose(found.squares, squares, rtol=1e-5, atol=1e-9)
    expected = np.array([searched(surface, y, log_threshold) for y in Y])
    assert np.all(found.squares <= expected * (1 + 2e-3) + 1e-7)


def test_missing_entries_do_not_count():
    rng = np.random.default_rng(0)
    surface = sheet("gaussian", lambda X: np.where(rng.random(X.shape) < 0.2, np.nan, X))
    log_threshold = float(surface.log_density(surface.Z).min())
    Y = surface.images(surface.Z[:10]) + 0.05 * rng.normal(size=(10, 3))
    Y[:, 1] = np.nan
    Y[5:, 1], Y[5:, 0] = 0.3, np.nan
    found = SurfaceProjector(surface, log_threshold, tol=1e-9, max_steps=200)(Y)
    np.testing.assert_allclose(
        found.squares, [cost(surface, y, z) for y, z in zip(Y, found.Z, strict=True)], rtol=1e-5, atol=1e-9
    )
    expected = np.array([searched(surface, y, log_threshold) for y in Y])
    assert np.all(found.squares <= expected * (1 + 2e-3) + 1e-6)


def test_rows_do_not_depend_on_each_other():
    surface = sheet("gaussian")
    Y = surface.images(surface.Z) + 0.1 * np.random.default_rng(0).normal(size=(150, 3))
    project = SurfaceProjector(surface, float(surface.log_density(surface.Z).min()))
    np.testing.assert_array_equal(project(Y).Z[40:60], project(Y[40:60]).Z)


def test_points_of_the_surface_stay():
    surface = ring()
    log_threshold = float(surface.log_density(surface.Z).min())
    Z = np.linspace(0, 10, 30, endpoint=False)[:, None]
    images = surface.images(Z[surface.log_density(Z) >= log_threshold])
    assert len(images) > 25
    found = SurfaceProjector(surface, log_threshold, tol=1e-12)(images)
    np.testing.assert_allclose(surface.images(found.Z), images, atol=1e-3)


def test_more_starts_find_no_worse_points():
    surface = sheet("gaussian")
    Y = 1.5 * np.random.default_rng(0).normal(size=(300, 3))  # far from the sheet, whose ends are nearly as far
    log_threshold = float(surface.log_density(surface.Z).min())
    one, many = (SurfaceProjector(surface, log_threshold, n_starts=n)(Y).squares for n in (1, 6))
    assert np.all(many <= one)
    assert np.any(many < 0.95 * one)
