import numpy as np
import pytest

from mercer.manifolds.ukr import domain
from mercer.manifolds.ukr.domain import count_pieces, density_threshold
from mercer.manifolds.ukr.objective import LatentObjective
from mercer.manifolds.ukr.targets import data_targets
from mercer.manifolds.ukr.units import LatentUnits

RNG = np.random.default_rng(0)
LINES = LatentUnits(np.full(2, np.inf))


def pieces(Z, threshold, units=LINES, **options):
    objective = LatentObjective(data_targets(RNG.normal(size=(len(Z), 2))), **options)
    return count_pieces(objective, units, Z, objective.density(Z, Z), threshold)


def test_thresholds():
    densities = RNG.random(50)
    assert density_threshold(densities, "minimum") == densities.min()
    assert density_threshold(densities, 0.1) == np.quantile(densities, 0.1)


@pytest.mark.parametrize("many", [10_000, 20])
def test_clusters_are_pieces_if_they_are_far_apart(monkeypatch, many):
    monkeypatch.setattr(domain, "MANY", many)
    clusters = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 40, axis=0)
    spread = 0.3 * RNG.normal(size=clusters.shape)
    for kernel in ("gaussian", "quartic"):
        assert pieces(20 * clusters + spread, 1e-4, density_kernel=kernel) == 3
        assert pieces(0.5 * clusters + spread, 1e-4, density_kernel=kernel) == 1
    assert pieces(20 * clusters + spread, 0.0) == 1


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
