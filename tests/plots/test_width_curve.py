import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import DiffusionMap, LaplacianEigenmaps, SpectralClustering
from mercer.plots import WidthCurveDisplay

X = np.random.default_rng(0).uniform(size=(200, 2))


@pytest.mark.parametrize("model", [LaplacianEigenmaps(), DiffusionMap(), SpectralClustering(random_state=0)], ids=repr)
def test_slopes_and_chosen_width(model, labels):
    model.fit(X)
    display = WidthCurveDisplay.from_estimator(model)
    curve, chosen = display.ax_.get_lines()
    np.testing.assert_array_equal(curve.get_xydata(), np.column_stack(model.width_curve_))
    assert list(chosen.get_xdata()) == [model.width_, model.width_]
    assert model.width_ >= display.widths[np.argmax(display.slopes)]
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_ylim()[0] == 0
    highest = model.width_curve_.slopes.max()
    assert labels(display.ax_) == [f"slope, at most {highest:.2f}", f"chosen width {model.width_:.3g}"]


def test_curves_may_share_axes(labels):
    ax = plt.subplots()[1]
    WidthCurveDisplay(widths=np.array([0.1, 1.0]), slopes=np.array([1.0, 2.0]), width=1.0).plot(ax, name="plane")
    display = WidthCurveDisplay(widths=np.array([0.1, 1.0]), slopes=np.array([1.0, 0.5]), width=0.1)
    assert display.plot(ax, name="line", color="black").ax_ is ax
    assert labels(ax)[::2] == ["plane, at most 2.00", "line, at most 1.00"]
    assert ax.get_lines()[2].get_color() == "black"


@pytest.mark.parametrize(
    "model",
    [LaplacianEigenmaps(), LaplacianEigenmaps(width=0.2).fit(X), LaplacianEigenmaps, "map"],
    ids=["not_fitted", "given_width", "class", "string"],
)
def test_bad_input_is_refused(model):
    with pytest.raises(TypeError, match="with width_ and width_curve_, got .*fit it with width='auto' first"):
        WidthCurveDisplay.from_estimator(model)
