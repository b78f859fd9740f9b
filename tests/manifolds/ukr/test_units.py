import numpy as np

from mercer.manifolds.ukr.units import LatentUnits

UNITS = LatentUnits(np.array([np.inf, 6.0]))
Z = np.random.default_rng(0).uniform(-20, 20, size=(50, 2))


def test_both_ways():
    outside = UNITS.outside(Z)
    assert np.all((outside[:, 1] >= -1) & (outside[:, 1] < 1))
    np.testing.assert_array_equal(outside[:, 0], Z[:, 0])
    back = UNITS.inside(outside)
    np.testing.assert_allclose(UNITS.unrolled(back)[0], UNITS.unrolled(Z)[0], atol=1e-12)
    assert UNITS.outside([[0.0, -1e-17]])[0, 1] < 1


def test_short_ways_around():
    ways = UNITS.shortest(Z)
    assert np.abs(ways[:, 1]).max() <= 3
    np.testing.assert_allclose(UNITS.unrolled(ways)[0], UNITS.unrolled(Z)[0], atol=1e-12)


def test_circles_have_their_circumference_and_unit_speed():
    U, T = UNITS.unrolled(Z)
    np.testing.assert_allclose(np.hypot(U[:, 1], U[:, 2]), 6 / (2 * np.pi))
    for a in range(2):
        h = 1e-6 * np.eye(2)[a]
        expected = (UNITS.unrolled(Z + h)[0] - UNITS.unrolled(Z - h)[0]) / 2e-6
        np.testing.assert_allclose(T[:, a], expected, atol=1e-8)
