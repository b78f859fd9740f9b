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
    assert labels(ax) == ["expected", "rows there are", "held-out rows"]
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 0].max() == 2 * curve.n
    last = band[band[:, 0] == 2 * curve.n][:, 1]
    np.testing.assert_allclose([last.min(), last.max()], 100 * np.array(curve.forecast(2 * curve.n)))
    np.testing.assert_allclose(ax.containers[0].lines[0].get_ydata(), 100 * curve.errors.mean(axis=1))
    assert [curve.n, curve.n] in [list(line.get_xdata()) for line in ax.get_lines()]


def test_bad_input_is_refused():
    with pytest.raises(TypeError, match="fit a RelevantDimensions"):
        LearningCurveDisplay.from_estimator("model")
    without = RelevantDimensions().fit(*make_sinc(40, noise=0.2, random_state=0))
    without.diagnosis_ = SimpleNamespace(learning_curve=None)
    with pytest.raises(ValueError, match="must have a learning curve, got a diagnosis without"):
        LearningCurveDisplay.from_estimator(without)
