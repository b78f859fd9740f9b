"""What holds for every display."""

from copy import deepcopy
from dataclasses import fields

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

from mercer.plots.display import PairDisplay
from tests.contracts.all_displays import DISPLAYS

every_display = pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: type(display).__name__)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def axes_of(display):
    return list(np.ravel(np.asarray(display.axes_ if isinstance(display, PairDisplay) else display.ax_, dtype=object)))


@every_display
def test_drawing_gives_the_display_and_keeps_figure_and_axes(display):
    assert display.plot() is display
    for ax in axes_of(display):
        assert isinstance(ax, Axes)
        assert ax.figure is display.figure_
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        assert ax.has_data()


@every_display
def test_given_axes_are_drawn_on(display):
    figure = plt.figure()
    is_surface = type(display).__name__ == "SurfaceDisplay"
    ax = figure.add_subplot(projection="3d") if is_surface else figure.add_subplot()
    display.plot(ax)
    assert display.figure_ is figure
    assert all(part is ax or part in ax.child_axes for part in axes_of(display))


@every_display
def test_drawing_changes_nothing_of_what_is_drawn_and_the_same_is_drawn_again(display):
    before = {field.name: deepcopy(getattr(display, field.name)) for field in fields(display)}
    first = [len(ax.get_children()) for ax in axes_of(display.plot())]
    assert [len(ax.get_children()) for ax in axes_of(display.plot())] == first
    for name, value in before.items():
        assert repr(getattr(display, name)) == repr(value)


@every_display
def test_pictures_can_be_written(display, tmp_path):
    display.plot().figure_.savefig(tmp_path / "picture.png", dpi=40)
    assert (tmp_path / "picture.png").stat().st_size > 500
