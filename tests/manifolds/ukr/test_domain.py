import numpy as np
import pytest

from mercer.manifolds.ukr.density_kernels import DENSITY_KERNELS, LatentDensity
from mercer.manifolds.ukr.domain import count_pieces, density_threshold
from mercer.manifolds.ukr.tuning import DomainTuning
from mercer.manifolds.ukr.units import LatentUnits

RNG = np.random.default_rng(0)
LINES = LatentUnits(np.full(2, np.inf))


def pieces(Z, threshold, units=LINES, many=10_000, density_kernel="gaussian", periods=None):
    density = LatentDensity(DENSITY_KERNELS[density_kernel], periods)
    return count_pieces(density, units, Z, density(Z, Z), threshold, DomainTuning(many=many))


def test_thresholds():
    densities = RNG.random(50)
    assert density_threshold(densities, "minimum") == densities.min()
    assert density_threshold(densities, 0.1) == np.quantile(densities, 0.1)


@pytest.mark.parametrize("many", [10_000, 20])
def test_clusters_are_pieces_if_they_are_far_apart(many):
    clusters = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 40, axis=0)
    spread = 0.3 * RNG.normal(size=clusters.shape)
    for kernel in ("gaussian", "quartic"):
        assert pieces(20 * clusters + spread, 1e-4, many=many, density_kernel=kernel) == 3
        assert pieces(0.5 * clusters + spread, 1e-4, many=many, density_kernel=kernel) == 1
    assert pieces(20 * clusters + spread, 0.0, many=many) == 1


def test_a_lower_threshold_joins_pieces():
    Z = np.concatenate([RNG.normal(size=(60, 2)), RNG.normal(size=(60, 2)) + np.array([6.0, 0.0])])
    counts = [pieces(Z, threshold) for threshold in (0.02, 1e-3, 1e-9)]
    assert counts[0] == 2
    assert counts[-1] == 1
    assert pieces(Z, 1.0) == 0


def test_circles_have_no_ends():
    z = np.concatenate([np.linspace(0.2, 3, 30), np.linspace(7, 9.9, 30)])[:, None]
    ring = LatentUnits(np.array([10.0]))
    assert pieces(z, 0.01, ring, density_kernel="quartic", periods=ring.periods) == 1
    line = LatentUnits(np.array([np.inf]))
    assert pieces(z, 0.01, line, density_kernel="quartic") == 2
