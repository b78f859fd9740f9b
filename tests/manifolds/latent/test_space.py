import numpy as np
import pytest

from mercer.manifolds import LatentSpace
from mercer.manifolds.latent.space import latent_space


def test_wraps_circles_and_clips_intervals():
    space = LatentSpace(("interval", "circle"))
    Z = np.array([[1.5, 1.5], [-3.0, -1.25], [0.25, 1.0], [0.0, -1e-20 - 1.0]])
    np.testing.assert_allclose(space.inside(Z), [[1.0, -0.5], [-1.0, 0.75], [0.25, -1.0], [0.0, -1.0]])
    np.testing.assert_array_equal(space.outside(Z), [True, True, False, False])
    assert np.all(space.inside(np.array([[0.0, np.nextafter(-1.0, -2.0)]]))[:, 1] < 1.0)


def test_grid_and_its_neighbours():
    space = LatentSpace(("interval", "circle"))
    grid, neighbours = space.grid((3, 4)), space.neighbours((3, 4))
    assert grid.shape == (12, 2)
    assert set(grid[:, 1]) == {-1.0, -0.5, 0.0, 0.5}
    for g, others in enumerate(neighbours):
        for a, other in enumerate(others):
            if other < 0:
                assert abs(grid[g, 0]) == 1.0
                assert a < 2
            else:
                step = np.abs(space.inside(grid[g] - grid[other]))
                np.testing.assert_allclose(np.sort(step), [0.0, 0.5 if a >= 2 else 1.0])


def test_places_in_cells():
    space = LatentSpace(("interval", "circle"))
    Z = np.vstack([np.random.default_rng(0).uniform(-1, 1, size=(50, 2)), [[1.0, -1.0], [-1.0, 0.999]]])
    g, places = space.in_cells(Z)
    centres, side = space.cells
    np.testing.assert_array_equal(g, np.abs(Z[:, None] - centres).max(axis=2).argmin(axis=1))
    np.testing.assert_allclose(centres[g] + places * side / np.sqrt(12), Z)
    assert np.abs(places).max() <= np.sqrt(3) + 1e-12


def test_sides_keep_the_spacing():
    space = LatentSpace(("interval", "circle"))
    for spacing in (0.11, 0.35, 0.5, 5.0):
        sides = space.sides_for(np.full(2, spacing))
        assert 2 / (sides[0] - 1) <= max(spacing, 2.0) + 1e-9
        assert 2 / sides[1] <= max(spacing, 2 / 3) + 1e-9
    assert space.sides_for(np.array([0.5, 0.5])) == (5, 4)
    assert space.refined((5, 4)) == (9, 8)
    coarse, fine = space.grid((5, 4)), space.grid((9, 8))
    assert {tuple(point) for point in coarse} <= {tuple(point) for point in fine}


def test_names_of_spaces():
    assert latent_space("circle", 2, "Owner").topology == ("circle", "circle")
    assert latent_space(["interval", "circle"], 2, "Owner").topology == ("interval", "circle")
    for wrong in ("sphere", ("interval",), 3, ("circle", None)):
        with pytest.raises(ValueError, match="topology of Owner must be 'interval', 'circle' or a tuple of 2"):
            latent_space(wrong, 2, "Owner")
