import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError

from mercer import SupportVectorClassifier
from mercer.machines import RejectingClassifier, RejectionCurve
from mercer.plots import RejectionDisplay

X, y = make_moons(200, noise=0.3, random_state=0)


def test_purity_against_efficiency(labels):
    model = RejectingClassifier(positive=1, efficiency=0.6).fit(X, y)
    display = RejectionDisplay.from_estimator(model)
    curve, everything, guide, point = display.ax_.get_lines()
    np.testing.assert_array_equal(curve.get_xdata(), model.curve_.efficiency)
    np.testing.assert_array_equal(curve.get_ydata(), model.curve_.purity)
    assert set(everything.get_ydata()) == {model.curve_.purity[-1]}
    assert (point.get_xdata()[0], point.get_ydata()[0]) == (model.rejection_.efficiency, model.rejection_.purity)
    assert guide.get_xdata()[0] == model.rejection_.efficiency
    assert labels(display.ax_)[0] == "all thresholds"
    assert labels(display.ax_)[1].startswith("nothing rejected: 50")
    assert labels(display.ax_)[2].startswith(f"threshold {model.rejection_.threshold:.3g}: ")
    assert display.ax_.get_xlabel() == "efficiency: share of class 1 that is accepted"


def test_accuracy_against_coverage():
    model = RejectingClassifier(coverage=0.6).fit(X, y)
    ax = plt.subplots()[1]
    display = RejectionDisplay.from_estimator(model, ax=ax)
    assert display.ax_ is ax
    np.testing.assert_array_equal(ax.get_lines()[0].get_xdata(), model.curve_.coverage)
    assert ax.get_ylabel() == "accuracy among the classified"
    # A good classifier leaves the lower half of the axis empty: it is not drawn.
    assert 0.3 < ax.get_ylim()[0] < model.curve_.purity.min() <= 1 < ax.get_ylim()[1]


def test_curves_of_several_classifiers_share_axes(labels):
    good = RejectionCurve.of_decisions(SupportVectorClassifier().fit(X, y).decision_function(X), y)
    bad = RejectionCurve.of_decisions(np.random.default_rng(0).normal(size=200), y)
    ax = RejectionDisplay.from_curve(bad).ax_
    floor = ax.get_ylim()[0]
    RejectionDisplay(curve=good).plot(ax, name="machine", color="black")
    assert labels(ax)[0] == "all thresholds"
    assert labels(ax)[2] == "machine"
    assert ax.get_ylim()[0] == floor


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (RejectingClassifier(), NotFittedError, "not fitted yet"),
        (
            SupportVectorClassifier().fit(X, y),
            TypeError,
            "must be an estimator with fit and accepts, got Support.*from_curve",
        ),
    ],
    ids=["not_fitted", "never_rejects"],
)
def test_bad_input_is_refused(model, error, message):
    with pytest.raises(error, match=message):
        RejectionDisplay.from_estimator(model)
