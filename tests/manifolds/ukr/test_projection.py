import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.datasets import make_arc, make_s_sheet
from mercer.manifolds.ukr.projection import SurfaceProjector
from mercer.manifolds.ukr.surface import Surface
from mercer.manifolds.ukr.units import LatentUnits


def sheet(kernel, rows=None):
    X, Z = make_s_sheet(150, noise=0.02, random_state=0)
    Z = Z * [6.0, 2.0] / (1 if kernel == "gaussian" else 2.5)
    return Surface(Z, X if rows is None else rows(X), kernel, LatentUnits(np.full(2, np.inf)))


def ring():
    X, t = make_arc(120, noise=0.02, random_state=0)
    return Surface(t[:, None] * 10 / (2 * np.pi), X, "gaussian", LatentUnits(np.array([10.0])))


def cost(surface, y, z):
    R = y - surface(z[None]).F[0]
    return float(np.nansum(R**2))


def searched(surface, y, log_threshold):
    """SciPy's constrained minimum, from the best of many training points."""
    room = {"type": "ineq", "fun": lambda z: surface(z[None]).log_density[0] - log_threshold}
    at = surface(surface.Z)
    starts = np.argsort(np.nansum((y - at.F) ** 2, axis=1) + 1e6 * (at.log_density < log_threshold))[:4]
    found = [minimize(lambda z: cost(surface, y, z), surface.Z[s], constraints=[room], method="SLSQP") for s in starts]
    return min(f.fun for f in found if room["fun"](f.x) > -1e-6)


@pytest.mark.parametrize("surface", [sheet("gaussian"), sheet("quartic"), ring()], ids=["gaussian", "quartic", "ring"])
@pytest.mark.parametrize("quantile", [0.0, 0.2])
def test_equals_another_optimiser(surface, quantile):
    log_threshold = float(np.quantile(surface(surface.Z).log_density, quantile))
    Y = surface(surface.Z[:12]).F
    Y += 0.1 * np.random.default_rng(0).normal(size=Y.shape)
    Y[6:] *= 1.5  # some beyond the ends
    found = SurfaceProjector(surface, log_threshold, tol=1e-9, max_steps=200)(Y)
    at = surface(found.Z)
    assert np.all(at.log_density >= log_threshold - 1e-6)
    np.testing.assert_allclose(found.squares, np.sum((Y - at.F) ** 2, axis=1), rtol=1e-5, atol=1e-9)
    expected = np.array([searched(surface, y, log_threshold) for y in Y])
    assert np.all(found.squares <= expected * (1 + 2e-3) + 1e-7)


def test_missing_entries_do_not_count():
    rng = np.random.default_rng(0)
    surface = sheet("gaussian", lambda X: np.where(rng.random(X.shape) < 0.2, np.nan, X))
    log_threshold = float(surface(surface.Z).log_density.min())
    Y = surface(surface.Z[:10]).F + 0.05 * rng.normal(size=(10, 3))
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
    Y = surface(surface.Z).F + 0.1 * np.random.default_rng(0).normal(size=(150, 3))
    project = SurfaceProjector(surface, float(surface(surface.Z).log_density.min()))
    np.testing.assert_array_equal(project(Y).Z[40:60], project(Y[40:60]).Z)


def test_points_of_the_surface_stay():
    surface = ring()
    log_threshold = float(surface(surface.Z).log_density.min())
    at = surface(np.linspace(0, 10, 30, endpoint=False)[:, None])
    inside = at.log_density >= log_threshold
    assert inside.sum() > 25
    found = SurfaceProjector(surface, log_threshold, tol=1e-12)(at.F[inside])
    np.testing.assert_allclose(surface(found.Z).F, at.F[inside], atol=1e-3)


def test_more_starts_find_no_worse_points():
    surface = sheet("gaussian")
    Y = 1.5 * np.random.default_rng(0).normal(size=(300, 3))  # far from the sheet, whose ends are nearly as far
    log_threshold = float(surface(surface.Z).log_density.min())
    one, many = (SurfaceProjector(surface, log_threshold, n_starts=n)(Y).squares for n in (1, 6))
    assert np.all(many <= one)
    assert np.any(many < 0.95 * one)
