import numpy as np
import pytest

from mercer.manifolds.ukr.objective import LatentObjective
from mercer.manifolds.ukr.surface import Surface
from mercer.manifolds.ukr.targets import data_targets
from mercer.manifolds.ukr.units import LatentUnits

RNG = np.random.default_rng(0)
Z = RNG.uniform(-1.5, 1.5, size=(40, 2))
Y = RNG.normal(size=(40, 3)) + 5.0
NEW = RNG.uniform(-1, 1, size=(15, 2))
HOLES = np.where(RNG.random(Y.shape) < 0.3, np.nan, Y)


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
@pytest.mark.parametrize("periods", [[np.inf, np.inf], [np.inf, 4.0]])
def test_equals_weighted_means(kernel, periods):
    periods = np.array(periods)
    objective = LatentObjective(data_targets(Y), kernel, periods=periods)
    at = Surface(Z, Y, kernel, LatentUnits(periods))(NEW)
    np.testing.assert_allclose(at.F, objective.weights(NEW, Z).T @ Y, rtol=1e-10)
    density = objective.density(NEW, Z) * objective.kernel_integral(2)
    np.testing.assert_allclose(np.exp(at.log_density), density, rtol=1e-10)


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
@pytest.mark.parametrize("periods", [[np.inf, np.inf], [3.0, 4.0]])
@pytest.mark.parametrize("rows", [Y, HOLES])
def test_slopes_by_differences(kernel, periods, rows):
    surface = Surface(Z, rows, kernel, LatentUnits(np.array(periods)))
    at, h = surface(NEW), 1e-5
    for a in range(2):
        up, down = surface(NEW + h * np.eye(2)[a]), surface(NEW - h * np.eye(2)[a])
        np.testing.assert_allclose(at.tangents[:, a], (up.F - down.F) / (2 * h), atol=1e-6)
        slopes = (up.log_density - down.log_density) / (2 * h)
        np.testing.assert_allclose(at.density_slopes[:, a], slopes, atol=1e-6)


def test_missing_entries_leave_out_their_rows():
    lines = LatentUnits(np.full(2, np.inf))
    at = Surface(Z, HOLES, "gaussian", lines)(NEW)
    for c in range(3):
        known = ~np.isnan(HOLES[:, c])
        expected = Surface(Z[known], Y[known][:, [c]], "gaussian", lines)(NEW)
        np.testing.assert_allclose(at.F[:, c], expected.F[:, 0], rtol=1e-10)
        np.testing.assert_allclose(at.tangents[:, :, c], expected.tangents[:, :, 0], atol=1e-10)


def test_far_away_it_is_the_nearest_row():
    for kernel in ("gaussian", "quartic"):
        at = Surface(Z, Y, kernel, LatentUnits(np.full(2, np.inf)))(np.array([[1000.0, 0.0]]))
        np.testing.assert_allclose(at.F[0], Y[np.argmax(Z[:, 0])], rtol=1e-3)
        assert np.isfinite(at.tangents).all()
        assert at.log_density[0] < -100
