"""Displays of maps whose domain is where latent points are dense: `UnsupervisedKernelRegression`."""

import copy

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import QuadMesh
from matplotlib.contour import QuadContourSet

from mercer import DensityClassifier, UnsupervisedKernelRegression
from mercer.plots import CurveDisplay, DecodedGridDisplay, HistoryDisplay, LatentMapDisplay, SurfaceDisplay

RNG = np.random.default_rng(0)
T = RNG.uniform(-1, 1, size=(150, 2))
SHEET = np.column_stack([T, T[:, 0] * T[:, 1], T[:, 0] ** 2]) + 0.02 * RNG.normal(size=(150, 4))
GROUPS = np.where(T[:, 0] > 0.4, "right", np.where(T[:, 0] > -0.4, "middle", "left"))
MAP = UnsupervisedKernelRegression(2, init="pca", tol=1e-2).fit(SHEET)
CLASSES = DensityClassifier(width=1.0).fit(MAP.embedding_, GROUPS)
# Two arcs with a gap between them.
ARCS = np.sort(np.r_[RNG.uniform(0, 1, 60), RNG.uniform(2, 3, 60)])
ARCS = np.column_stack([np.cos(ARCS), np.sin(ARCS)]) + 0.02 * RNG.normal(size=(120, 2))
CURVE = UnsupervisedKernelRegression(1, init="isomap-8", tol=1e-2, density_threshold=0.1).fit(ARCS)


def lines_of(ax):
    """Vertices of the contour lines."""
    return [c.get_paths()[0].vertices for c in ax.collections if isinstance(c, QuadContourSet)]


def test_latent_map_with_density_and_edge_of_the_domain(labels):
    display = LatentMapDisplay.from_estimator(MAP)
    low, high = MAP.embedding_.min(axis=0), MAP.embedding_.max(axis=0)
    np.testing.assert_allclose(display.limits.T, [low - 0.1 * (high - low), high + 0.1 * (high - low)])
    sides = np.diff(display.limits, axis=1)[:, 0] / 160
    cell = display.limits[:, 0] + [3.5, 20.5] * sides
    assert display.density[3, 20] == pytest.approx(MAP.density(cell[None])[0])
    (mesh,) = (c for c in display.ax_.collections if isinstance(c, QuadMesh))
    np.testing.assert_array_equal(mesh.get_array(), display.density.T)
    (edge,) = lines_of(display.ax_)
    np.testing.assert_allclose(MAP.density(edge), MAP.density_threshold_, rtol=0.05)
    assert labels(display.ax_) == ["edge of the domain", "rows"]
    assert [ax.get_ylabel() for ax in display.figure_.axes] == ["coordinate 2", "density of the latent points"]


def test_class_borders_on_the_latent_plane(labels, drawn_clear_of_legend):
    display = LatentMapDisplay.from_estimator(MAP, GROUPS, X=SHEET + 0.01, classifier=CLASSES)
    _, *borders = lines_of(display.ax_)
    assert len(borders) == 3
    for code, border in enumerate(borders):
        probabilities = CLASSES.predict_proba(border)
        others = np.delete(probabilities, code, axis=1).max(axis=1)
        np.testing.assert_allclose(probabilities[:, code], others, atol=0.05)
        assert (MAP.density(border) > 0.9 * MAP.density_threshold_).all()
    assert labels(display.ax_) == ["edge of the domain", "class borders", "left", "middle", "right"]
    assert drawn_clear_of_legend(display.ax_)


def test_two_classes_have_one_border():
    two = DensityClassifier(width=1.0).fit(MAP.embedding_, T[:, 0] > 0)
    assert len(lines_of(LatentMapDisplay.from_estimator(MAP, classifier=two).ax_)) == 2


def test_borders_need_no_density():
    display = LatentMapDisplay(points=T, probabilities=np.stack([np.eye(4), 1 - np.eye(4)], axis=-1)).plot()
    assert len(lines_of(display.ax_)) == 1


def test_circles_are_drawn_from_end_to_end():
    angle = RNG.uniform(0, 2 * np.pi, 200)
    tube = np.column_stack([np.cos(angle), np.sin(angle), RNG.uniform(-1, 1, 200)])
    model = UnsupervisedKernelRegression(2, topology=("circle", "interval"), init="isomap-8", tol=1e-1).fit(tube)
    display = LatentMapDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.limits[0], [-1, 1])
    assert display.limits[1, 0] < model.embedding_[:, 1].min()


def test_decoded_images_are_shaded_by_density_and_left_out_outside_of_the_domain():
    display = DecodedGridDisplay.from_estimator(MAP, (2, 2), n=6)
    low, high = MAP.embedding_.min(axis=0), MAP.embedding_.max(axis=0)
    cells = low + (high - low) * (np.stack(np.meshgrid(range(6), range(6), indexing="ij"), axis=-1) + 0.5) / 6
    densities = MAP.density(cells.reshape(-1, 2)).reshape(6, 6)
    outside = densities < MAP.density_threshold_
    assert 0 < outside.sum() < 30
    np.testing.assert_array_equal(np.isnan(display.images).all(axis=(2, 3)), outside)
    np.testing.assert_allclose(display.images[2, 3].ravel(), MAP.inverse_transform(cells[2, 3:4])[0])
    expected = np.minimum(densities / np.median(MAP.density(MAP.embedding_)), 1.0)
    np.testing.assert_allclose(display.shades, expected)
    image = display.ax_.get_images()[0]
    paper = np.nanmin(display.images)
    shown = paper + (display.images[2, 3] - paper) * expected[2, 3]
    np.testing.assert_allclose(image.get_array()[6:8, 6:8], shown)  # third from the left, third from the top
    np.testing.assert_allclose(image.get_extent(), [low[0], high[0], low[1], high[1]])
    assert image.get_clim() == pytest.approx((paper, np.nanmax(display.images)))
    display.figure_.draw_without_rendering()
    across, up = np.diff(display.ax_.transData.transform([low, high]), axis=0)[0]
    assert across == pytest.approx(up)  # pixels are squares


def test_curves_have_gaps_where_the_density_is_low():
    display = CurveDisplay.from_estimator(CURVE, ARCS)
    Z = np.linspace(CURVE.embedding_.min(), CURVE.embedding_.max(), 4000)[:, None]
    inside = CURVE.density(Z) >= CURVE.density_threshold_
    assert 0 < inside.sum() < 4000
    np.testing.assert_allclose(display.curve[inside], CURVE.inverse_transform(Z[inside]))
    assert np.isnan(display.curve[~inside]).all()


def test_surfaces_have_holes_where_the_density_is_low():
    display = SurfaceDisplay.from_estimator(MAP, SHEET)
    assert 0 < np.isnan(display.surface).mean() < 1
    display.figure_.draw_without_rendering()


def test_history():
    display = HistoryDisplay.from_estimator(MAP)
    np.testing.assert_array_equal(display.ax_.get_lines()[0].get_ydata(), MAP.history_)


def test_bad_input_is_refused():
    with pytest.raises(TypeError, match="classifier of LatentMapDisplay must be an estimator with predict_proba"):
        LatentMapDisplay.from_estimator(MAP, classifier=MAP, ax=plt.subplots()[1])
    nowhere = copy.copy(MAP)
    nowhere.density_threshold_ = 1e9
    with pytest.raises(
        ValueError, match="n of DecodedGridDisplay must give a latent point or more in the domain.*got 3"
    ):
        DecodedGridDisplay.from_estimator(nowhere, (2, 2), n=3)
    with pytest.raises(ValueError, match="LatentMapDisplay must have two coordinates, got 1"):
        LatentMapDisplay.from_estimator(CURVE)
