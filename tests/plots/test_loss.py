import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer.losses import EpsilonInsensitive, Hinge, Huber, Laplace, Logistic, Squared
from mercer.plots import LossDisplay
from tests.contracts.all_losses import LOSSES


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_loss_can_be_drawn(loss):
    if any(np.ndim(width) for width in loss.insensitivity):
        with pytest.raises(ValueError, match="must be one function, got .* with a width for each sample"):
            LossDisplay.from_loss(loss)
        return
    display = LossDisplay.from_loss(loss)
    axes = np.ravel(display.ax_)
    assert len(axes) == 1 + loss.has_noise_density
    np.testing.assert_array_equal(axes[0].get_lines()[0].get_ydata(), loss.value(display.residuals))
    if loss.has_noise_density:
        np.testing.assert_array_equal(axes[1].get_lines()[0].get_ydata(), loss.noise_density(display.residuals))
        assert not axes[0].get_title()


def test_flat_zone_is_shaded_on_both_sides(labels):
    display = LossDisplay.from_loss(EpsilonInsensitive((0.2, 1.0)))
    assert display.flat_zones() == [(-0.2, 1.0)]
    for ax in display.ax_:
        (zone,) = ax.patches
        np.testing.assert_allclose(zone.get_extents().transformed(ax.transData.inverted()).intervalx, (-0.2, 1.0))
    assert display.ax_[1].get_ylim()[0] == 0
    assert labels(display.ax_[0]) == ["EpsilonInsensitive(epsilon=(0.2, 1.0))"]
    assert labels(display.ax_[1]) == ["loss is zero"]


def test_no_shade_where_nothing_is_flat():
    display = LossDisplay.from_loss(Laplace())
    assert display.flat_zones() == [None]
    assert not display.ax_[0].patches
    assert display.ax_[1].get_legend() is None


def test_losses_without_density_are_drawn_alone(labels):
    display = LossDisplay.from_loss(Hinge())
    assert display.ax_.get_title() == "no noise density for Hinge()"
    assert display.ax_.get_xlabel() == "margin residual 1 - y f"
    assert display.flat_zones() == [(-3.0, 0.0)]
    assert labels(display.ax_) == ["Hinge()", "loss is zero"]
    assert LossDisplay.from_loss([Hinge(), Logistic()]).ax_.get_title() == "no noise densities"


def test_losses_with_and_without_density(labels):
    left, right = LossDisplay.from_loss([Hinge(), Squared()], names=["hinge", "squared"]).ax_
    assert len(left.get_lines()) == 2
    assert len(right.get_lines()) == 1
    assert right.get_title() == "no noise density for hinge"
    assert labels(left) == ["hinge", "squared", "loss is zero"]


def test_one_axes_is_halved_and_a_pair_is_used():
    figure, ax = plt.subplots()
    display = LossDisplay.from_loss([Huber(0.5), Squared()], ax=ax, limits=(-1, 2))
    assert display.figure_ is figure
    assert display.residuals[[0, -1]].tolist() == [-1, 2]
    left, right = (half.get_window_extent() for half in display.ax_)
    whole = ax.get_window_extent()
    assert whole.x0 <= left.x0 < left.x1 < right.x0 < right.x1 <= whole.x1 + 1
    pair = plt.subplots(1, 2)[1]
    assert list(display.plot(pair).ax_) == list(pair)
    assert LossDisplay.from_loss(Hinge(), ax=pair).ax_ is pair[0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"loss": "huber"}, TypeError, "loss of LossDisplay must be a Loss or a list of them, got 'huber'"),
        ({"loss": 3}, TypeError, "loss of LossDisplay must be a Loss or a list of them, got 3"),
        ({"loss": []}, ValueError, "got an empty list"),
        ({"loss": [Huber()], "names": []}, ValueError, "names of LossDisplay must be as many as the losses, 1, got 0"),
        ({"loss": Huber(), "limits": (1, -1)}, ValueError, "low < high"),
    ],
    ids=["string", "number", "empty", "names", "limits"],
)
def test_bad_input_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        LossDisplay.from_loss(**arguments)


def test_three_axes_are_refused():
    with pytest.raises(ValueError, match="ax must be None, one Axes or a pair of them, got 3"):
        LossDisplay.from_loss(Huber(), ax=plt.subplots(1, 3)[1])
