from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from scipy import sparse
from sklearn.base import BaseEstimator

from mercer import DiffusionMap, KernelRidge, LaplacianEigenmaps
from mercer.kernels import Gaussian
from mercer.plots import MapDisplay
from mercer.plots.maps import edges_of

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(150, 3))
THIRDS = np.floor(3 * X[:, 0]).astype(int)
MODEL = LaplacianEigenmaps(3).fit(X)


class GivenMap(BaseEstimator):
    """A map without a graph."""

    def fit(self, X):
        self.embedding_ = X
        return self


def scattered(ax):
    return [c.get_offsets() for c in ax.collections if not isinstance(c, LineCollection)]


def segments(ax):
    return [s for c in ax.collections if isinstance(c, LineCollection) for s in c.get_segments()]


def test_points_and_edges():
    ax = plt.subplots()[1]
    display = MapDisplay.from_estimator(MODEL, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    np.testing.assert_array_equal(scattered(ax)[0], MODEL.embedding_[:, :2])
    assert len(segments(ax)) == MODEL.graph_.nnz / 2
    i, j = display.edges[0]
    np.testing.assert_array_equal(segments(ax)[0], MODEL.embedding_[[i, j], :2])
    assert MODEL.graph_[i, j] > 0
    assert ax.get_aspect() == 1.0
    assert ax.get_legend() is None
    assert not segments(MapDisplay.from_estimator(MODEL, edges=False).ax_)


def test_labels_have_a_legend(labels, drawn_clear_of_legend):
    ax = MapDisplay.from_estimator(MODEL, np.array(["low", "middle", "high"])[THIRDS]).ax_
    assert labels(ax) == ["high", "low", "middle"]
    np.testing.assert_array_equal(scattered(ax)[1], MODEL.embedding_[THIRDS == 0, :2])
    assert drawn_clear_of_legend(ax)


@pytest.mark.parametrize("shape", [(1.0, 1.0), (1.0, 0.6), (1.0, 20.0), (20.0, 1.0), (1e-3, 1e-3)], ids=str)
@pytest.mark.parametrize("n_labels", [2, 30])
def test_legend_is_clear_of_maps_of_any_shape(shape, n_labels, drawn_clear_of_legend):
    """The equal scale of both axes is set when the picture is drawn: the legend must have its room even then."""
    points = RNG.uniform(-1, 1, size=(300, 2)) * shape
    ax = MapDisplay(points=points, y=np.arange(300) % n_labels).plot().ax_
    assert drawn_clear_of_legend(ax)
    across, up = np.diff(ax.transData.transform([(0, 0), (1, 1)]), axis=0)[0]
    assert across == pytest.approx(up, rel=5e-3)  # matplotlib leaves scales alone that differ by less
    assert all(ax.viewLim.contains(*point) for point in points)


def test_no_two_labels_look_alike():
    ax = MapDisplay(points=RNG.normal(size=(30, 2)), y=np.arange(30)).plot().ax_
    looks = {(tuple(c.get_facecolor()[0]), c.get_paths()[0].vertices.tobytes()) for c in ax.collections}
    assert len(looks) == 30


@pytest.mark.parametrize(
    "numbers", [X[:, 0], np.arange(150), np.arange(150.0)[:, None]], ids=["float", "int", "column"]
)
def test_numbers_have_a_colour_bar(numbers):
    display = MapDisplay.from_estimator(MODEL, numbers)
    values = display.ax_.collections[-1].get_array()
    np.testing.assert_array_equal(values, np.ravel(numbers))
    assert display.ax_.get_legend() is None
    assert display.figure_.axes[1].get_ylabel() == "y"


def test_name_of_a_series():
    display = MapDisplay.from_estimator(MODEL, pd.Series(X[:, 0], name="height"))
    assert display.figure_.axes[1].get_ylabel() == "height"


def test_rows_without_coordinates_are_counted_and_left_out(labels):
    rows = np.vstack([X, X[:30] + 10.0])
    with pytest.warns(UserWarning, match="2 connected parts"):
        model = DiffusionMap(disconnected="largest").fit(rows)
    ax = MapDisplay.from_estimator(model).ax_
    assert labels(ax) == ["rows", "not on the map (30 of 180)"]
    assert len(scattered(ax)[0]) == 150
    assert np.isfinite(segments(ax)).all()
    ax = MapDisplay.from_estimator(model, np.repeat([0, 1], [150, 30])).ax_
    assert labels(ax) == ["0", "1", "not on the map (30 of 180)"]
    ax = MapDisplay.from_estimator(model, np.arange(180.0)).ax_
    assert labels(ax) == ["not on the map (30 of 180)"]
    assert len(ax.collections[-1].get_array()) == 150


def test_edges_are_each_counted_once_and_not_drawn_if_too_many():
    W = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
    np.testing.assert_array_equal(edges_of(W), [[0, 2]])
    np.testing.assert_array_equal(edges_of(sparse.csr_array(W)), [[0, 2]])
    stored_zero = sparse.csr_array((np.zeros(2), ([0, 1], [1, 0])), shape=(3, 3))
    assert edges_of(stored_zero).shape == (0, 2)
    assert edges_of(np.ones((202, 202))).shape == (0, 2)
    assert len(edges_of(np.ones((200, 200)))) == 19_900


def test_maps_with_a_dense_graph_or_none():
    model = DiffusionMap(affinity=Gaussian(0.3)).fit(X[:40])
    assert len(segments(MapDisplay.from_estimator(model).ax_)) == 40 * 39 / 2
    ax = MapDisplay.from_estimator(GivenMap().fit(X)).ax_
    assert not segments(ax)
    np.testing.assert_array_equal(scattered(ax)[0], X[:, :2])


def test_size_of_the_points():
    sizes = [
        MapDisplay(points=RNG.normal(size=(n, 2))).plot(size=size).ax_.collections[0].get_sizes()[0]
        for n, size in ((100, None), (2_000, None), (20_000, None), (100, 5.0))
    ]
    assert sizes == [22.0, 10.0, 3.0, 5.0]


@pytest.mark.parametrize(
    ("draw", "error", "message"),
    [
        (lambda: MapDisplay.from_estimator(LaplacianEigenmaps()), TypeError, "fit a map such as LaplacianEigenmaps"),
        (
            lambda: MapDisplay.from_estimator(KernelRidge().fit(X, THIRDS)),
            TypeError,
            "MapDisplay must be an estimator with emb",
        ),
        (lambda: MapDisplay.from_estimator(SimpleNamespace), TypeError, "estimator of MapDisplay must be"),
        (
            lambda: MapDisplay.from_estimator(LaplacianEigenmaps(1).fit(X)),
            ValueError,
            "two coordinates or more.*150, 1",
        ),
        (lambda: MapDisplay.from_estimator(MODEL, THIRDS[:5]), ValueError, "inconsistent numbers of samples"),
        (lambda: MapDisplay.from_estimator(MODEL, X), ValueError, "y of MapDisplay must have one column, got shape"),
        (lambda: MapDisplay.from_estimator(MODEL, np.full(150, np.nan)), ValueError, "y contains NaN"),
        (
            lambda: MapDisplay.from_estimator(MODEL, np.arange(150).astype(str)),
            ValueError,
            "y of MapDisplay must have at most 30 labels, got 150; join some",
        ),
    ],
)
def test_bad_input_is_refused(draw, error, message):
    with pytest.raises(error, match=message):
        draw()
