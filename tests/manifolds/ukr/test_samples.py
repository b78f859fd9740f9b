import numpy as np
import pytest

from mercer.datasets import make_arc
from mercer.manifolds.ukr import samples
from mercer.manifolds.ukr.density_kernels import DENSITY_KERNELS, LatentDensity
from mercer.manifolds.ukr.samples import placed
from mercer.manifolds.ukr.units import LatentUnits

X, ANGLES = make_arc(300, noise=0.02, random_state=0)
SOME = np.arange(0, 300, 3)


def around(kernel="gaussian", rows=X, period=12.0):
    """All rows of a circle, from the true places of a third of them."""
    Z = ANGLES[SOME, None] * period / (2 * np.pi)
    density = LatentDensity(DENSITY_KERNELS[kernel], np.array([period]))
    return placed(rows, SOME, Z, density, LatentUnits(np.array([period])))


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_other_rows_come_to_their_places(kernel, missing):
    rng = np.random.default_rng(0)
    hidden = (rng.random(X.shape) < missing) & (np.arange(2) == rng.integers(2, size=(len(X), 1)))
    Z, units, finished = around(kernel, np.where(hidden, np.nan, X))
    assert finished
    assert units.periods[0] == pytest.approx(12.0 * 3 ** (1 / 5))
    angles = Z[:, 0] * 2 * np.pi / units.periods[0]
    np.testing.assert_allclose(angles[SOME], ANGLES[SOME], atol=1e-12)
    far = np.abs(np.exp(1j * angles) - np.exp(1j * ANGLES)) > 0.2
    assert far.sum() <= hidden.any(axis=1).sum()  # half of a row may be at two places of the circle


def test_an_interrupt_leaves_rows_at_the_nearest_of_the_sample(monkeypatch):
    def interrupt(self, Y):
        raise KeyboardInterrupt

    monkeypatch.setattr(samples.SurfaceProjector, "__call__", interrupt)
    Z, units, finished = around()
    assert not finished
    angles = Z[:, 0] * 2 * np.pi / units.periods[0]
    nearest = np.linalg.norm(X[:, None] - X[SOME], axis=2).argmin(axis=1)
    np.testing.assert_allclose(angles, ANGLES[SOME][nearest], atol=1e-12)
