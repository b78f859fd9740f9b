import numpy as np
import pytest

from mercer import SupportVectorRegressor
from mercer.datasets import make_sinc
from mercer.plots import PredictionDisplay


def test_predictions_bands_and_the_line_of_agreement(labels, drawn_clear_of_legend):
    truth, predicted = np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.0, 3.0])
    display = PredictionDisplay(
        truth=truth, predicted=predicted, interval=predicted[:, None] + [-1.0, 1.0], name="cost"
    )
    ax = display.plot().ax_
    assert labels(ax) == ["exact", "band", "held-out rows"]
    np.testing.assert_array_equal(ax.get_lines()[0].get_xydata(), [[0.0, 0.0], [3.0, 3.0]])
    bands, points = ax.collections
    np.testing.assert_array_equal(bands.get_segments()[2], [[2.0, 2.0], [2.0, 4.0]])
    np.testing.assert_array_equal(points.get_offsets(), np.column_stack([truth, predicted]))
    assert ax.get_xlabel() == "cost, as it is"
    assert drawn_clear_of_legend(ax)


def test_of_an_estimator():
    X, y = make_sinc(60, noise=0.1, random_state=0)
    model = SupportVectorRegressor().fit(X, y)
    display = PredictionDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(display.predicted, model.predict(X))
    with pytest.raises(TypeError, match="fit a regressor"):
        PredictionDisplay.from_estimator("model", X, y)
