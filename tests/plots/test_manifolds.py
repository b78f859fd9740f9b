"""Displays of curves, surfaces, latent maps, decoded images and histories."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, QuadMesh
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA

from mercer import GenerativeTopographicMap, PrincipalCurve, SupportVectorRegressor, VectorQuantizer
from mercer.plots import CurveDisplay, DecodedGridDisplay, HistoryDisplay, LatentMapDisplay, SurfaceDisplay

RNG = np.random.default_rng(0)
T = RNG.uniform(-1, 1, size=(150, 2))
ARC = np.column_stack([T[:, 0], T[:, 0] ** 2]) + 0.05 * RNG.normal(size=(150, 2))
SHEET = np.column_stack([T, T[:, 0] * T[:, 1], T[:, 0] ** 2]) + 0.02 * RNG.normal(size=(150, 4))
CURVE = PrincipalCurve().fit(ARC)
MAP = GenerativeTopographicMap(2, n_grid=12, tol=1e-2).fit(SHEET)


class PlaneMap(BaseEstimator):
    """A linear map on [-1, 1]², which magnifies all places alike, and has no metric unless asked."""

    def fit(self, X):
        self.scale_ = np.abs(X[:, :2]).max(axis=0)
        self.embedding_ = self.transform(X)
        return self

    def transform(self, X):
        return np.asarray(X)[:, :2] / self.scale_

    def inverse_transform(self, Z):
        return np.column_stack([np.asarray(Z) * self.scale_, np.zeros((len(Z), 2))])


class MeasuredMap(PlaneMap):
    def metric(self, Z):
        return np.broadcast_to(np.diag(self.scale_**2), (len(Z), 2, 2))


def test_curve_with_projections(labels, drawn_clear_of_legend):
    ax = plt.subplots()[1]
    display = CurveDisplay.from_estimator(CURVE, ARC, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    (lines,) = (c for c in ax.collections if isinstance(c, LineCollection))
    np.testing.assert_allclose(lines.get_segments()[3], [ARC[3], CURVE.inverse_transform(CURVE.transform(ARC[3:4]))[0]])
    np.testing.assert_allclose(ax.get_lines()[0].get_xydata()[[0, -1]], CURVE.vertices_[[0, -1]])
    assert labels(ax) == ["rows", "projections", "curve"]
    assert drawn_clear_of_legend(ax)
    across, up = np.diff(ax.transData.transform([(0, 0), (1, 1)]), axis=0)[0]
    assert across == pytest.approx(up, rel=5e-3)  # right angles look right
    display.plot(projections=False)
    assert labels(display.ax_) == ["rows", "curve"]


def test_closed_curves_close_and_columns_are_chosen_and_named():
    angle = RNG.uniform(0, 2 * np.pi, 200)
    frame = pd.DataFrame({"a": np.cos(angle), "b": 0.1 * RNG.normal(size=200), "c": np.sin(angle)})
    display = CurveDisplay.from_estimator(PrincipalCurve(closed=True).fit(frame), frame, columns=(2, 0))
    np.testing.assert_allclose(display.curve[0], display.curve[-1], atol=1e-9)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("c", "a")
    np.testing.assert_array_equal(display.rows, frame[["c", "a"]])


def test_rows_with_gaps_are_left_out_of_a_curve():
    gtm = GenerativeTopographicMap(1, tol=1e-2).fit(ARC)
    rows = ARC.copy()
    rows[0, 1] = np.nan
    display = CurveDisplay.from_estimator(gtm, rows)
    (lines,) = (c for c in display.ax_.collections if isinstance(c, LineCollection))
    assert len(lines.get_segments()) == 149


def test_surface():
    display = SurfaceDisplay.from_estimator(MAP, SHEET, columns=(0, 1, 3))
    assert display.ax_.name == "3d"
    np.testing.assert_allclose(display.surface[0, -1], MAP.inverse_transform([[-1.0, 1.0]])[0, [0, 1, 3]])
    assert display.ax_.get_zlabel() == "x4"
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["rows", "surface"]
    ax = plt.figure().add_subplot(projection="3d")
    assert display.plot(ax).ax_ is ax


def test_latent_map_with_magnification(labels):
    groups = np.where(T[:, 0] > 0, "right", "left")
    display = LatentMapDisplay.from_estimator(MAP, groups)
    cell = np.array([[-1 + 7 / 80, -1 + 41 / 80]])  # the middle of cell (3, 20)
    assert display.magnification[3, 20] == pytest.approx(np.sqrt(np.linalg.det(MAP.metric(cell)[0])))
    (mesh,) = (c for c in display.ax_.collections if isinstance(c, QuadMesh))
    expected = np.log2(display.magnification / np.median(display.magnification))
    np.testing.assert_allclose(mesh.get_array(), np.maximum(expected, np.log2(1e-3)).T)
    assert labels(display.ax_) == ["left", "right"]
    assert display.figure_.axes[1].get_ylabel() == "magnification, relative to the median"


def test_equal_magnification_and_none():
    measured = LatentMapDisplay.from_estimator(MeasuredMap().fit(SHEET), T[:, 0])
    np.testing.assert_allclose(measured.magnification, np.prod(np.abs(SHEET[:, :2]).max(axis=0)))
    plain = LatentMapDisplay.from_estimator(PlaneMap().fit(SHEET))
    assert plain.magnification is None
    assert not any(isinstance(c, QuadMesh) for c in plain.ax_.collections)


def test_latent_map_of_new_rows():
    display = LatentMapDisplay.from_estimator(MAP, pd.Series(np.arange(5.0), name="time"), X=SHEET[:5] + 0.1)
    np.testing.assert_allclose(display.points, MAP.transform(SHEET[:5] + 0.1))
    assert "time" in [ax.get_ylabel() for ax in display.figure_.axes]


def test_decoded_grid():
    display = DecodedGridDisplay.from_estimator(MAP, (2, 2), n=5)
    assert display.images.shape == (5, 5, 2, 2)
    np.testing.assert_allclose(display.images[0, 4].ravel(), MAP.inverse_transform([[-0.8, 0.8]])[0])
    mosaic = display.ax_.get_images()[0].get_array()
    np.testing.assert_allclose(mosaic[:2, :2], display.images[0, 4])  # low first coordinate: left; high second: top
    np.testing.assert_allclose(mosaic[-2:, -2:], display.images[4, 0])
    assert mosaic.mask[2].all()  # the line between images
    assert display.ax_.get_images()[0].get_extent() == [-1, 1, -1, 1]


def test_decoded_row_of_a_curve():
    display = DecodedGridDisplay.from_estimator(CURVE, (1, 2), n=4)
    assert display.images.shape == (4, 1, 1, 2)
    assert display.ax_.get_yticks().size == 0


def test_histories(labels):
    display = HistoryDisplay.from_estimators({"curve": CURVE, "map": MAP}, value_name="error")
    first, second = display.ax_.get_lines()
    np.testing.assert_array_equal(first.get_ydata(), CURVE.history_)
    np.testing.assert_array_equal(second.get_ydata(), MAP.history_)
    assert labels(display.ax_) == ["curve", "map"]
    assert display.ax_.get_ylabel() == "error"
    assert HistoryDisplay.from_estimator(MAP).ax_.get_yscale() == "linear"
    codes = VectorQuantizer(8, cost="l1", random_state=0).fit(ARC)
    codes.history_ = [100.0, 1.0, 0.5]
    assert HistoryDisplay.from_estimator(codes).ax_.get_yscale() == "log"


@pytest.mark.parametrize(
    ("draw", "error", "message"),
    [
        (lambda: CurveDisplay.from_estimator(VectorQuantizer, ARC), TypeError, "estimator of CurveDisplay must be an"),
        (
            lambda: CurveDisplay.from_estimator(MAP, SHEET),
            ValueError,
            "must have one coordinate, got 2; draw a Surface",
        ),
        (
            lambda: CurveDisplay.from_estimator(CURVE, ARC, columns=(0, 2)),
            ValueError,
            "columns of CurveDisplay must be 2",
        ),
        (lambda: SurfaceDisplay.from_estimator(PCA(2).fit(SHEET), SHEET), TypeError, "estimator with embedding_ and"),
        (lambda: SurfaceDisplay.from_estimator(MAP, SHEET, columns=(0, 1)), ValueError, "must be 3 positions below 4"),
        (
            lambda: SurfaceDisplay.from_estimator(CURVE, SHEET),
            ValueError,
            "SurfaceDisplay must have two coordinates, got 1",
        ),
        (
            lambda: SurfaceDisplay.from_estimator(MAP, SHEET, ax=plt.subplots()[1]),
            ValueError,
            "ax of SurfaceDisplay must have projection='3d', got",
        ),
        (lambda: LatentMapDisplay.from_estimator(CURVE), ValueError, "must have two coordinates, got 1"),
        (
            lambda: LatentMapDisplay.from_estimator(MAP, T[:5, 0]),
            ValueError,
            "y of LatentMapDisplay must have 150 entries",
        ),
        (
            lambda: DecodedGridDisplay.from_estimator(MAP, (3, 2)),
            ValueError,
            "the height and width of images of 4 pixels",
        ),
        (lambda: DecodedGridDisplay.from_estimator(MAP, (2, 2), n=0), ValueError, "n of DecodedGridDisplay must be a"),
        (
            lambda: HistoryDisplay.from_estimator(SupportVectorRegressor().fit(ARC[:, :1], ARC[:, 1])),
            TypeError,
            "must have a history_ of numbers, got SupportVectorRegressor.*GapDisplay",
        ),
        (lambda: HistoryDisplay.from_estimator(PCA().fit(ARC)), TypeError, "must have a history_ of numbers"),
    ],
)
def test_bad_input_is_refused(draw, error, message):
    with pytest.raises(error, match=message):
        draw()


def test_images_in_colour_are_drawn_in_colour():
    images = np.random.default_rng(0).uniform(0, 200, size=(3, 2, 4, 5, 3))
    images[1, 1] = np.nan
    display = DecodedGridDisplay(images=images, ends=(0.0, 255.0)).plot()
    mosaic = display.ax_.images[0].get_array()
    assert mosaic.shape == (2 * 5 - 1, 3 * 6 - 1, 4)
    # The second coordinate runs upwards; lines between images and what is left out are transparent.
    np.testing.assert_allclose(mosaic[5:9, :5, :3], images[0, 0] / 255)
    np.testing.assert_array_equal(mosaic[:4, 6:11, 3], 0.0)
    np.testing.assert_array_equal(mosaic[4, :, 3], 0.0)


def test_ends_of_greys_can_be_given():
    images = np.full((2, 2, 3, 3), 100.0)
    assert DecodedGridDisplay(images=images, ends=(0.0, 255.0)).plot().ax_.images[0].get_clim() == (0.0, 255.0)
