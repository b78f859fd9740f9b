import numpy as np

from mercer.manifolds.ukr.units import LatentUnits

UNITS = LatentUnits(np.array([np.inf, 6.0]))
Z = np.random.default_rng(0).uniform(-20, 20, size=(50, 2))


def test_both_ways():
    outside = UNITS.outside(Z)
    assert np.all((outside[:, 1] >= -1) & (outside[:, 1] < 1))
    np.testing.assert_array_equal(outside[:, 0], Z[:, 0])
    back = UNITS.inside(outside)
    np.testing.assert_allclose(UNITS.unrolled(back), UNITS.unrolled(Z), atol=1e-12)
    assert UNITS.outside([[0.0, -1e-17]])[0, 1] < 1


def test_short_ways_around():
    ways = UNITS.shortest(Z)
    assert np.abs(ways[:, 1]).max() <= 3
    np.testing.assert_allclose(UNITS.unrolled(ways), UNITS.unrolled(Z), atol=1e-12)


def test_circles_have_their_circumference_and_unit_speed():
    U = UNITS.unrolled(Z)
    np.testing.assert_allclose(np.hypot(U[:, 1], U[:, 2]), 6 / (2 * np.pi))
    gradient = np.random.default_rng(1).normal(size=U.shape)
    for a in range(2):
        h = 1e-6 * np.eye(2)[a]
        tangents = (UNITS.unrolled(Z + h) - UNITS.unrolled(Z - h)) / 2e-6
        np.testing.assert_allclose(np.linalg.norm(tangents, axis=1), 1.0)
        np.testing.assert_allclose(UNITS.along(Z, gradient)[:, a], np.sum(gradient * tangents, axis=1), atol=1e-8)
