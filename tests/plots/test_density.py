import numpy as np
import pytest

from mercer import LaplacianEigenmaps, PrincipalManifold
from mercer.datasets import make_arc
from mercer.plots import CurveMagnificationDisplay, RowDensityDisplay

rng = np.random.default_rng(0)


def test_density_is_highest_where_rows_are():
    display = RowDensityDisplay(points=np.vstack([rng.normal(size=(300, 2)), [[5.0, 5.0]]])).plot()
    (mesh,) = display.ax_.collections
    values, corners = np.asarray(mesh.get_array()), mesh.get_coordinates()
    row, column = np.unravel_index(np.argmax(values), values.shape)
    assert np.linalg.norm(corners[row, column]) < 1.0
    assert mesh.get_cmap().name == "viridis"


def test_density_of_one_coordinate_is_a_histogram():
    display = RowDensityDisplay(points=rng.uniform(size=(200, 1))).plot()
    areas = [patch.get_width() * patch.get_height() for patch in display.ax_.patches]
    np.testing.assert_allclose(sum(areas), 1.0)


def test_density_of_rows_on_a_line():
    t = rng.uniform(size=100)
    (mesh,) = RowDensityDisplay(points=np.column_stack([t, t])).plot().ax_.collections
    assert np.sum(mesh.get_array()) == 100


def test_density_of_an_estimator_leaves_out_rows_that_are_not_embedded():
    X = np.vstack([rng.normal(size=(60, 2)), 100.0 + rng.normal(size=(20, 2))])
    with pytest.warns(UserWarning, match="parts"):
        model = LaplacianEigenmaps(1, n_neighbors=5, disconnected="largest").fit(X)
    assert RowDensityDisplay.from_estimator(model).points.shape == (60, 1)


def test_magnification_of_a_circle():
    X, _ = make_arc(200, noise=0.02, random_state=0)
    circle = PrincipalManifold(1, topology="circle", width=0.5, penalty=1e-4).fit(X)
    display = CurveMagnificationDisplay.from_estimator(circle)
    # Twice the coordinate is the whole of a circle of radius 1.
    np.testing.assert_allclose(display.lengths.mean(), np.pi, rtol=0.1)
    (line,) = display.ax_.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), display.lengths)
    assert display.ax_.get_ylim()[0] == 0


def test_bad_input_is_refused():
    with pytest.raises(TypeError, match="fit a map such as PrincipalManifold"):
        RowDensityDisplay.from_estimator("map")
    with pytest.raises(TypeError, match="with embedding_ and metric, got"):
        CurveMagnificationDisplay.from_estimator("map")
    plane = PrincipalManifold(2, width=0.5, penalty=1e-2).fit(rng.normal(size=(40, 3)))
    with pytest.raises(ValueError, match="must have one coordinate, got 2; draw a LatentMapDisplay"):
        CurveMagnificationDisplay.from_estimator(plane)
