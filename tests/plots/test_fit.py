import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVR

from mercer import KernelRidge, NuSupportVectorRegressor, QuantileBand, SupportVectorClassifier, SupportVectorRegressor
from mercer.datasets import make_sinc
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Huber, Logistic
from mercer.plots import FitDisplay

X, y = make_sinc(60, noise=0.1, random_state=3)
RNG = np.random.default_rng(0)
X2 = RNG.uniform(-1, 1, size=(80, 2))
Y2 = np.sin(3 * X2[:, 0]) * X2[:, 1] + 0.1 * RNG.normal(size=80)


def machine(**parameters):
    return SupportVectorRegressor(Gaussian(0.7), **{"C": 10.0, "tol": 1e-8, **parameters})


def rings(ax):
    (found,) = [c for c in ax.collections if str(c.get_label()).startswith("support vectors")]
    return np.asarray(found.get_offsets())


def test_curve_tube_and_rings(labels, drawn_clear_of_legend):
    model = machine().fit(X, y)
    display = FitDisplay.from_estimator(model, X, y)
    ax = display.ax_
    assert display.figure_ is ax.figure
    curve = ax.get_lines()[0]
    np.testing.assert_allclose(curve.get_ydata(), model.predict(curve.get_xdata()[:, None]))
    assert curve.get_xdata()[0] < X.min() < X.max() < curve.get_xdata()[-1]
    # Support vectors are those on the edge of the tube or outside it.
    on_or_outside = np.abs(y - model.predict(X)) > 0.1 - 1e-5
    np.testing.assert_allclose(rings(ax), np.column_stack([X[:, 0], y])[on_or_outside])
    assert labels(ax) == ["points", "fit", "tube ±0.1", f"support vectors ({on_or_outside.sum()} of 60)"]
    (tube,) = [c for c in ax.collections if c.get_label() == "tube ±0.1"]
    corners = tube.get_paths()[0].vertices
    assert corners[:, 1].max() == pytest.approx(display.values.max() + 0.1)
    assert corners[:, 1].min() == pytest.approx(display.values.min() - 0.1)
    assert drawn_clear_of_legend(ax)


def test_loose_tolerance_rings_nearly_the_same_points():
    tight = FitDisplay.from_estimator(machine().fit(X, y), X, y).support
    loose = FitDisplay.from_estimator(machine(tol=1e-3).fit(X, y), X, y).support
    assert len(np.setxor1d(tight, loose)) <= 4


def test_asymmetric_tube_and_tube_of_each_sample(labels):
    display = FitDisplay.from_estimator(machine(loss=EpsilonInsensitive((0.05, 0.2))).fit(X, y), X, y)
    assert "tube -0.05 to +0.2" in labels(display.ax_)
    widths = np.where(X[:, 0] > 0, 0.3, 0.05)
    model = machine(loss=EpsilonInsensitive(widths)).fit(X, y)
    display = FitDisplay.from_estimator(model, X, y)
    assert "tube of each point" in labels(display.ax_)
    (bars,) = [c for c in display.ax_.collections if c.get_label() == "tube of each point"]
    heights = [np.ptp(path.vertices[:, 1]) for path in bars.get_paths()]
    np.testing.assert_allclose(heights, 2 * widths)
    assert FitDisplay.from_estimator(model, X[:9], y[:9]).tube is None


def test_found_tube_is_that_of_the_machine():
    model = NuSupportVectorRegressor(Gaussian(0.7), C=10.0, tol=1e-8).fit(X, y)
    assert FitDisplay.from_estimator(model, X, y).tube == (model.epsilon_, model.epsilon_)


@pytest.mark.parametrize("model", [machine(loss=Huber(0.1)), KernelRidge()], ids=["huber", "ridge"])
def test_without_tube_and_without_rings_where_all_points_count(model, labels):
    display = FitDisplay.from_estimator(model.fit(X, y), X, y)
    assert display.tube is None
    assert len(display.support) == 60
    assert labels(display.ax_) == ["points", "fit"]


def test_points_that_were_not_fitted_are_not_ringed(labels):
    model = machine().fit(X, y)
    for rows in (X[::-1], X[:5], X + 0.01):
        display = FitDisplay.from_estimator(model, rows, y[: len(rows)])
        assert display.support is None
        assert labels(display.ax_) == ["points", "fit", "tube ±0.1"]


def test_several_machines_on_one_axes(labels, drawn_clear_of_legend):
    ax = plt.subplots()[1]
    FitDisplay.from_estimator(machine().fit(X, y), X, y, ax=ax, name="tube")
    other = FitDisplay.from_estimator(
        machine(loss=Huber(0.1)).fit(X, y), X, y + 5, ax=ax, name="Huber", color="k", points=False
    )
    assert other.ax_ is ax
    assert labels(ax)[-1] == "Huber"
    assert ax.get_lines()[-1].get_color() == "k"
    assert drawn_clear_of_legend(ax)


def test_limits_set_by_hand_stay():
    ax = plt.subplots()[1]
    ax.set_ylim(-3, 3)
    FitDisplay.from_estimator(machine().fit(X, y), X, y, ax=ax)
    assert ax.get_ylim() == (-3, 3)


def test_plot_again_elsewhere():
    display = FitDisplay.from_estimator(machine().fit(X, y), X, y)
    first, ax = display.ax_, plt.subplots()[1]
    assert display.plot(ax) is display
    assert display.ax_ is ax is not first


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_tables_keep_their_names(frame):
    table = frame({"hour": X[:, 0]})
    target = pd.Series(y, name="load") if frame is pd.DataFrame else pl.Series("load", y)
    ax = FitDisplay.from_estimator(machine().fit(table, target), table, target).ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("hour", "load")


def test_surface(labels, drawn_clear_of_legend):
    model = NuSupportVectorRegressor(C=10.0, tol=1e-8).fit(X2, Y2)
    display = FitDisplay.from_estimator(model, X2, Y2, grid_resolution=40)
    assert display.values.shape == (40, 40)
    x1, x2 = display.grid
    assert display.values[3, 7] == pytest.approx(model.predict([[x1[7], x2[3]]])[0])
    assert 0 < len(rings(display.ax_)) < 80
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("x1", "x2")
    assert [ax.get_ylabel() for ax in display.figure_.axes[1:]] == ["y"]
    assert drawn_clear_of_legend(display.ax_)
    assert labels(display.ax_)[0] == "points"
    display.plot(points=False)


def test_constant_surface():
    model = DummyRegressor().fit(X2, np.full(80, 2.0))
    FitDisplay.from_estimator(model, X2, np.full(80, 2.0), grid_resolution=20).figure_.draw_without_rendering()


def test_regions_of_two_classes(labels, drawn_clear_of_legend):
    rows, codes = make_moons(120, noise=0.2, random_state=0)
    names = np.where(codes == 1, "moon", "sun")
    model = SupportVectorClassifier(C=10.0, tol=1e-8).fit(rows, names)
    display = FitDisplay.from_estimator(model, rows, names, grid_resolution=60)
    margin = np.where(codes == 0, 1, -1) * model.decision_function(rows)
    assert len(display.support) == np.sum(margin < 1 + 1e-5)
    assert labels(display.ax_) == ["moon", "sun", f"support vectors ({len(display.support)} of 120)", "margin f = ±1"]
    assert drawn_clear_of_legend(display.ax_)


def test_regions_of_several_classes(labels):
    rows, codes = make_blobs(90, centers=3, random_state=1)
    display = FitDisplay.from_estimator(SupportVectorClassifier().fit(rows, codes), rows, codes, grid_resolution=50)
    assert display.values.shape == (50, 50, 3)
    assert labels(display.ax_)[:3] == ["0", "1", "2"]
    display.plot(points=False)


def test_a_loss_that_is_never_zero_makes_every_point_count():
    rows, codes = make_moons(60, noise=0.2, random_state=0)
    model = SupportVectorClassifier(loss=Logistic()).fit(rows, codes)
    assert len(FitDisplay.from_estimator(model, rows, codes, grid_resolution=20).support) == 60


def test_estimators_of_scikit_learn_can_be_drawn():
    model = SVR(C=10.0, gamma=1.0).fit(X, y)
    np.testing.assert_array_equal(FitDisplay.from_estimator(model, X, y).support, model.support_)


@pytest.mark.parametrize(
    ("model", "rows", "targets", "error", "message"),
    [
        (machine(), X, y, NotFittedError, "not fitted yet"),
        (machine().fit(np.ones((60, 3)) * X, y), np.ones((60, 3)) * X, y, ValueError,
         "X of FitDisplay must have one column or two columns, got 3; "),
        (SupportVectorClassifier().fit(X, y > 0), X, y > 0, ValueError, "X of FitDisplay must have two columns, got 1"),
        (machine().fit(X, y), X, np.column_stack([y, y]), ValueError, "y of FitDisplay must have one column"),
        (machine().fit(X, y), X, y[:-1], ValueError, "inconsistent numbers of samples"),
        (SupportVectorClassifier().fit(X2, Y2 > 0), X2, np.full(80, "a"), ValueError,
         r"must hold classes that the estimator knows, \[False, True\], got \['a'\]"),
        (PCA(), X, y, TypeError, "estimator of FitDisplay must be a regressor or a classifier, got PCA"),
        (QuantileBand(), X, y, TypeError, "draw a prediction band with BandDisplay"),
        (RandomForestClassifier(), X2, Y2 > 0, TypeError, "must be an estimator with decision_function"),
    ],
    ids=["not_fitted", "columns", "classifier_columns", "targets", "lengths", "classes", "unknown", "band", "forest"],
)  # fmt: skip
def test_bad_input_is_refused(model, rows, targets, error, message):
    with pytest.raises(error, match=message):
        FitDisplay.from_estimator(model, rows, targets)
    assert not plt.get_fignums()
