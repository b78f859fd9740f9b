from types import SimpleNamespace

import numpy as np
import pytest

from mercer import RelevantDimensions
from mercer.datasets import make_sinc
from mercer.plots import LearningCurveDisplay


def test_errors_and_what_to_expect(labels):
    model = RelevantDimensions().fit(*make_sinc(100, noise=0.2, random_state=0))
    curve = model.diagnosis_.learning_curve
    ax = LearningCurveDisplay.from_estimator(model).ax_
    assert labels(ax) == ["expected", "held-out rows", "rows there are"]
    expected, there_are = ax.get_lines()
    assert expected.get_xdata()[-1] == 2 * curve.n
    assert expected.get_ydata()[-1] == 100 * curve.expected(2 * curve.n)
    assert there_are.get_xdata()[0] == curve.n
    np.testing.assert_allclose(ax.collections[0].get_offsets()[:, 1], 100 * curve.errors.ravel())


def test_bad_input_is_refused():
    with pytest.raises(TypeError, match="fit a RelevantDimensions"):
        LearningCurveDisplay.from_estimator("model")
    without = RelevantDimensions().fit(*make_sinc(40, noise=0.2, random_state=0))
    without.diagnosis_ = SimpleNamespace(learning_curve=None)
    with pytest.raises(ValueError, match="must have a learning curve, got a diagnosis without"):
        LearningCurveDisplay.from_estimator(without)
