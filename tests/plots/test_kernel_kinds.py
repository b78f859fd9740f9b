import numpy as np
import pytest

from mercer import RelevantDimensions
from mercer.datasets import make_sinc
from mercer.kernels import Exponential, Gaussian, Linear, Polynomial
from mercer.plots import KernelKindsDisplay

FAMILY = [Gaussian(0.3), Gaussian(1.0), Exponential(2.0), Exponential(4.0), Linear(), Polynomial(2), Polynomial(3)]


@pytest.fixture(scope="module")
def model():
    return RelevantDimensions(FAMILY).fit(*make_sinc(80, noise=0.2, random_state=0))


def test_a_curve_for_each_kind(model, labels):
    likelihood, noise = KernelKindsDisplay.from_estimator(model).axes_
    names = ["Gaussian", "Exponential", "Linear (best)", "Polynomial (best)", "chosen"]
    assert labels(likelihood) == labels(noise) == names
    gaussian, exponential, _, polynomial, chosen = likelihood.get_lines()
    np.testing.assert_array_equal(gaussian.get_xdata(), [0.3, 1.0])
    np.testing.assert_array_equal(exponential.get_xdata(), [0.5, 0.25])
    np.testing.assert_array_equal(gaussian.get_ydata(), model.table_["log_likelihood"][:2])
    assert polynomial.get_ydata()[0] == max(model.table_["log_likelihood"][5:])
    assert noise.get_lines()[3].get_ydata()[0] == min(model.table_["noise_level"][5:])
    assert chosen.get_xdata()[0] == 1 / model.kernel_.rate


def test_a_chosen_kernel_without_a_width_has_no_line(model, labels):
    display = KernelKindsDisplay(table=model.table_, chosen=Linear()).plot()
    assert "chosen" not in labels(display.axes_[0])


def test_bad_input_is_refused():
    with pytest.raises(TypeError, match="fit a RelevantDimensions"):
        KernelKindsDisplay.from_estimator("model")
