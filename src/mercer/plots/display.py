"""What all displays share: they are drawn on axes that are given or new, and remember them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from mercer.plots.style import new_or_given, new_or_given_pair, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Display:
    """A picture of something that was computed before; `plot` draws it.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.
    """

    figure_: Any
    ax_: Any

    def _on(self, ax: Axes | None) -> Axes:
        """The axes to draw on, which are kept."""
        self.ax_ = new_or_given(ax)
        self.figure_ = self.ax_.figure
        return self.ax_


class PlainDisplay(Display, ABC):
    """A display that is drawn in one way."""

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw, on new axes if none are given.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.

        Returns
        -------
        Display
            The display itself.
        """
        self._draw(self._on(ax))
        return self

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw on these axes."""


class SpaceDisplay(PlainDisplay):
    """A display in three dimensions, on axes with projection="3d"."""

    def _on(self, ax: Any) -> Any:
        if ax is None:
            ax = pyplot().figure(figsize=(6.4, 5.6), layout="constrained").add_subplot(projection="3d")
        elif getattr(ax, "name", None) != "3d":
            raise ValueError(
                f"ax of {type(self).__name__} must have projection='3d', got {ax!r}; make it with "
                "figure.add_subplot(projection='3d')."
            )
        self.ax_, self.figure_ = ax, ax.figure
        return ax


class PairDisplay(Display, ABC):
    """A display on two axes side by side.

    Attributes
    ----------
    figure_, axes_
        The matplotlib figure and the pair of axes last drawn on.
    """

    axes_: tuple[Axes, Axes]

    def plot(self, ax: Any = None) -> Self:
        """Draw, on new axes if none are given.

        Parameters
        ----------
        ax : Axes or pair of Axes, optional
            Where to draw: a pair, or one to be divided.

        Returns
        -------
        PairDisplay
            The display itself.
        """
        self.axes_ = new_or_given_pair(ax)
        self.figure_ = self.axes_[0].figure
        self._draw(self.axes_)
        return self

    @abstractmethod
    def _draw(self, axes: tuple[Axes, Axes]) -> None:
        """Draw on these axes."""
