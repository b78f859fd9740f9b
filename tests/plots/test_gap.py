import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from mercer import QuantileBand, SupportVectorClassifier, SupportVectorRegressor
from mercer.datasets import make_sinc
from mercer.losses import Squared
from mercer.plots import GapDisplay

X, y = make_sinc(60, noise=0.1, random_state=0)


def test_gap_primal_dual_and_tolerance(labels):
    model = SupportVectorRegressor(tol=1e-8).fit(X, y)
    display = GapDisplay.from_estimator(model)
    gap, primal, dual, tolerance = (line.get_ydata() for line in display.ax_.get_lines())
    history = model.history_
    np.testing.assert_allclose(gap, [(h.primal - h.dual) / h.primal for h in history])
    assert len(gap) == model.n_iter_ + 1
    # Both bounds end in the gap, and the gap is never more than their sum.
    assert primal[-1] == pytest.approx(gap[-1])
    assert dual[-1] == pytest.approx(gap[-1])
    assert np.all(gap <= (primal + dual) * (1 + 1e-9))
    assert list(tolerance) == [1e-8, 1e-8]
    assert display.ax_.get_yscale() == "log"
    assert labels(display.ax_) == [
        "relative gap",
        "primal above last dual",
        "dual below last primal",
        "tolerance 1e-08",
    ]


def test_legend_is_above_the_curves():
    ax = GapDisplay.from_estimator(SupportVectorRegressor(tol=1e-8).fit(X, y)).ax_
    ax.figure.draw_without_rendering()
    highest = max(ax.transData.transform((0, line.get_ydata()[0]))[1] for line in ax.get_lines())
    assert ax.get_legend().get_window_extent().y0 > highest


def test_a_gap_of_zero_is_drawn_at_the_rounding_error(labels):
    display = GapDisplay.from_estimator(SupportVectorRegressor(loss=Squared()).fit(X, y))
    (gap,) = display.ax_.get_lines()[0].get_ydata()
    assert 2e-16 <= gap < 1e-12
    assert labels(display.ax_) == ["relative gap", "tolerance 1e-03"]


def test_several_programs(labels):
    targets = np.column_stack([y, -y])
    ax = GapDisplay.from_estimator(SupportVectorRegressor().fit(X, targets)).ax_
    assert labels(ax) == ["target 0", "target 1", "tolerance 1e-03"]
    rows, codes = make_blobs(60, centers=3, random_state=0)
    ax = GapDisplay.from_estimator(SupportVectorClassifier().fit(rows, codes)).ax_
    assert labels(ax)[:3] == ["class 0", "class 1", "class 2"]
    ax = plt.subplots()[1]
    display = GapDisplay.from_estimator(QuantileBand().fit(X, y), ax=ax)
    assert display.ax_ is ax
    assert labels(ax)[:2] == ["lower end", "upper end"]


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (SupportVectorRegressor(), NotFittedError, "not fitted yet"),
        (LinearRegression().fit(X, y), TypeError, "must have a history_, got LinearRegression.*directly has none"),
        (SupportVectorRegressor, TypeError, "estimator of GapDisplay must be an estimator with fit"),
        ("machine", TypeError, "estimator of GapDisplay must be an estimator with fit, got 'machine'"),
    ],
    ids=["not_fitted", "direct", "class", "string"],
)
def test_bad_input_is_refused(model, error, message):
    with pytest.raises(error, match=message):
        GapDisplay.from_estimator(model)
