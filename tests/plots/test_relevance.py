"""Displays of relevant dimensions."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from mercer import RelevantDimensions
from mercer.datasets import make_sinc
from mercer.kernels import Exponential, Gaussian, Linear
from mercer.plots import CoefficientDisplay, DenoisedDisplay, FamilyDisplay

X, y = make_sinc(120, noise=0.2, random_state=0)
MODEL = RelevantDimensions(widths=np.geomspace(0.1, 5, 6)).fit(X, y)
MOONS, SIDES = make_moons(200, noise=0.3, random_state=0)
IRIS = load_iris(return_X_y=True)


def test_coefficients_and_cut(labels):
    display = CoefficientDisplay.from_estimator(MODEL)
    ax, d = display.ax_, MODEL.dimension_
    relevant, noise = (c.get_offsets() for c in ax.collections[1:])
    np.testing.assert_allclose(relevant[:, 1], np.abs(MODEL.coefficients_[:d]))
    assert len(noise) == len(MODEL.spectrum_) - d
    assert ax.get_lines()[0].get_xdata()[0] == d + 0.5
    level = np.sqrt((y @ y - np.sum(MODEL.coefficients_[:d] ** 2)) / (120 - d))
    assert ax.get_lines()[1].get_ydata()[0] == pytest.approx(level)
    assert labels(ax) == [f"relevant ({d})", "noise", "cut", "noise level"]


def test_coefficients_of_many_classes_and_of_many_components():
    model = RelevantDimensions(Exponential(1.0)).fit(*IRIS)
    display = CoefficientDisplay.from_estimator(model)
    np.testing.assert_allclose(display.sizes, np.sqrt(np.mean(model.coefficients_**2, axis=1)))
    assert display.ax_.get_xscale() == "log"
    assert CoefficientDisplay.from_estimator(RelevantDimensions(Linear()).fit(X, y)).ax_.get_xscale() == "linear"


def test_family_over_widths(labels):
    display = FamilyDisplay.from_estimator(MODEL)
    left, right = display.axes_
    np.testing.assert_allclose(left.get_lines()[0].get_xydata()[:, 0], np.geomspace(0.1, 5, 6))
    np.testing.assert_allclose(left.get_lines()[0].get_ydata(), -np.array(MODEL.table_["log_likelihood"]))
    np.testing.assert_allclose(right.get_lines()[0].get_ydata(), MODEL.table_["leave_one_out_error"])
    assert right.get_ylabel() == "leave-one-out squared error"
    assert labels(left) == [f"chosen width {MODEL.kernel_.width:.3g}"]
    assert left.get_ylabel() == "negative log-likelihood"
    display = FamilyDisplay.from_estimator(MODEL, ("dimension", "noise_level"))
    np.testing.assert_array_equal(display.axes_[0].get_lines()[0].get_ydata(), MODEL.table_["dimension"])
    np.testing.assert_array_equal(display.axes_[1].get_lines()[0].get_ydata(), MODEL.table_["noise_level"])


def test_errors_off_the_scale_are_marked(labels):
    values = {"nll": np.arange(4.0), "leave_one_out_error": np.array([1e6, 1.0, 1.1, 1.2])}
    display = FamilyDisplay(positions=np.arange(1.0, 5.0), values=values, best=1).plot()
    right = display.axes_[1]
    assert labels(right) == ["off the scale", "chosen width 2"]
    np.testing.assert_allclose(right.collections[0].get_offsets(), [[1.0, 4 * 1.15]])
    assert right.get_lines()[0].get_ydata().max() < 5


def test_family_of_different_kernels(labels):
    model = RelevantDimensions([Linear(), Gaussian(1.0)]).fit(X, y)
    left = FamilyDisplay.from_estimator(model).axes_[0]
    np.testing.assert_array_equal(left.get_lines()[0].get_xdata(), [1, 2])
    assert labels(left) == ["chosen kernel 2"]
    assert left.get_xlabel() == "kernel, by its place in the list"


def test_denoised_numbers():
    ax = DenoisedDisplay.from_estimator(MODEL, y).ax_
    np.testing.assert_allclose(ax.collections[0].get_offsets(), np.column_stack([y, MODEL.denoised_]))


@pytest.mark.parametrize("data", [(MOONS, SIDES), IRIS, (MOONS, np.array(["left", "right"])[SIDES])])
def test_denoised_classes(data, labels):
    model = RelevantDimensions(Gaussian(1.0)).fit(*data)
    display = DenoisedDisplay.from_estimator(model, data[1])
    assert np.mean(display.denoised <= 0) == pytest.approx(model.noise_level_)
    ticks = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert ticks == [str(c) for c in model.classes_]
    assert labels(display.ax_)[0].startswith(f"contradict their label ({100 * model.noise_level_:.1f} %")


@pytest.mark.parametrize(
    ("draw", "error", "message"),
    [
        (lambda: CoefficientDisplay.from_estimator(Gaussian()), TypeError, "fit a RelevantDimensions first"),
        (lambda: FamilyDisplay.from_estimator(RelevantDimensions()), TypeError, "fit a RelevantDimensions first"),
        (
            lambda: FamilyDisplay.from_estimator(MODEL, ("nll", "r2")),
            ValueError,
            "quantities of FamilyDisplay must be two",
        ),
        (lambda: DenoisedDisplay.from_estimator(MODEL, y[:5]), ValueError, "inconsistent numbers of samples"),
    ],
)
def test_bad_input_is_refused(draw, error, message):
    with pytest.raises(error, match=message):
        draw()


def test_one_kernel_is_no_family():
    model = RelevantDimensions(Gaussian()).fit(X, y)
    with pytest.raises(ValueError, match="estimator of FamilyDisplay must have two kernels or more to compare"):
        FamilyDisplay.from_estimator(model)
