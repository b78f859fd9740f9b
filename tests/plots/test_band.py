import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from mercer import QuantileBand, SupportVectorRegressor
from mercer.datasets import make_sinc
from mercer.kernels import Gaussian
from mercer.plots import BandDisplay

X, y = make_sinc(120, noise=0.1, random_state=0)
BAND = QuantileBand(Gaussian(0.7), coverage=0.8).fit(X, y)


def test_band_and_points(labels, drawn_clear_of_legend):
    display = BandDisplay.from_estimator(BAND, X, y)
    ax = display.ax_
    lower, upper = BAND.predict_interval(display.grid[:, None]).T
    for line, edge in zip(ax.get_lines(), (lower, upper), strict=True):
        np.testing.assert_allclose(line.get_ydata(), edge)
    inside, outside = (c.get_offsets() for c in ax.collections[1:])
    assert len(inside) + len(outside) == 120
    assert len(inside) == display.inside.sum()
    low, high = BAND.predict_interval(X).T
    assert np.all(display.inside[(y > low) & (y < high)])
    assert labels(ax) == ["band for 80 %", f"inside ({100 * len(inside) / 120:.1f} % of 120)", "outside"]
    assert drawn_clear_of_legend(ax)


def test_new_points_and_names():
    table = pd.DataFrame({"hour": X[:, 0]})
    band = QuantileBand(coverage=0.8).fit(table, y)
    other, target = make_sinc(50, noise=0.1, random_state=1)
    display = BandDisplay.from_estimator(band, pd.DataFrame({"hour": other[:, 0]}), target)
    assert len(display.inside) == 50
    assert display.ax_.get_xlabel() == "hour"


@pytest.mark.parametrize(
    ("model", "rows", "error", "message"),
    [
        (QuantileBand(), X, NotFittedError, "not fitted yet"),
        (BAND, np.hstack([X, X]), ValueError, "X of BandDisplay must have one column, got 2"),
        (SupportVectorRegressor().fit(X, y), X, TypeError, "or draw with FitDisplay"),
    ],
    ids=["not_fitted", "columns", "no_band"],
)
def test_bad_input_is_refused(model, rows, error, message):
    with pytest.raises(error, match=message):
        BandDisplay.from_estimator(model, rows, y)
