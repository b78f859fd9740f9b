"""Losses, and beside them the densities of the noise they are made for."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.losses import Loss
from mercer.plots.display import Display
from mercer.plots.style import DASHES, POINTS, color, legend_above_data, new_or_given, new_or_given_pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, kw_only=True)
class LossDisplay(Display):
    """Losses as functions of the residual, and beside them the noise densities exp(-c), normalised.

    The zone where a loss is zero is shaded. Losses without a noise density are drawn alone; the title says so.

    Parameters
    ----------
    losses : list of Loss
        The losses.
    residuals : array
        Where they are drawn, in increasing order.
    names : list of str
        What the legend calls them.

    Attributes
    ----------
    figure_
        The matplotlib figure last drawn on.
    ax_ : Axes or array of two
        The axes of the losses and of the densities; only the first if no loss has a density.

    Examples
    --------
    >>> from mercer.losses import EpsilonInsensitive, Huber
    >>> from mercer.plots import LossDisplay
    >>> display = LossDisplay.from_loss([EpsilonInsensitive(0.5), Huber(1.0)])
    >>> display.names
    ['EpsilonInsensitive(epsilon=0.5)', 'Huber(sigma=1.0)']
    >>> [ax.get_ylabel() for ax in display.ax_]
    ['loss', 'noise density']
    """

    losses: list[Loss]
    residuals: Array
    names: list[str]

    @classmethod
    def from_loss(
        cls,
        loss: Loss | Sequence[Loss],
        *,
        ax: Any = None,
        limits: tuple[float, float] | None = None,
        names: Sequence[str] | None = None,
    ) -> LossDisplay:
        """Draw a loss, or several in one picture.

        Parameters
        ----------
        loss : Loss or list of Loss
            What to draw.
        ax : Axes or pair of Axes, optional
            Where to draw; one Axes is halved. By default a new figure.
        limits : tuple of float, optional
            The smallest and the largest residual; by default 3 beyond the widest tube.
        names : list of str, optional
            What the legend calls the losses; by default class and parameters.

        Returns
        -------
        LossDisplay
            The display, drawn.
        """
        losses: list[Any] = list(loss) if isinstance(loss, list | tuple) else [loss]
        for one in losses:
            _check(cls.__name__, one)
        if not losses:
            raise ValueError(f"loss of {cls.__name__} must be a loss or several, got an empty list; give one.")
        names = [_short(one) for one in losses] if names is None else [str(name) for name in names]
        if len(names) != len(losses):
            raise ValueError(
                f"names of {cls.__name__} must be as many as the losses, {len(losses)}, got {len(names)}; name each."
            )
        return cls(losses=losses, residuals=_residuals(cls.__name__, losses, limits), names=list(names)).plot(ax)

    def plot(self, ax: Any = None) -> LossDisplay:
        """Draw, on new axes if none are given.

        Parameters
        ----------
        ax : Axes or pair of Axes, optional
            Where to draw; one Axes is halved.

        Returns
        -------
        LossDisplay
            The display itself.
        """
        without = [name for loss, name in zip(self.losses, self.names, strict=True) if not loss.has_noise_density]
        left: Axes
        if len(without) == len(self.losses):
            left, right = new_or_given(ax[0] if isinstance(ax, Sequence | np.ndarray) else ax), None
            self.ax_ = left
        else:
            left, right = new_or_given_pair(ax)
            self.ax_ = np.array([left, right], dtype=object)
        self.figure_ = left.figure
        self._draw(left, "loss", [loss.value(self.residuals) for loss in self.losses])
        if right is not None:
            densities = [loss.noise_density(self.residuals) if loss.has_noise_density else None for loss in self.losses]
            self._draw(right, "noise density", densities)
        if without:
            (right or left).set_title(_without_density(without, len(self.losses)), fontsize=10)
        self._draw_legends(left, right)
        return self

    def flat_zones(self) -> list[tuple[float, float] | None]:
        """Where each loss is zero, as far as it is drawn; None for those that are zero at a point only."""
        zeros = [self.residuals[loss.value(self.residuals) == 0.0] for loss in self.losses]
        return [(float(z[0]), float(z[-1])) if len(z) and z[-1] > z[0] else None for z in zeros]

    def _draw(self, ax: Axes, quantity: str, curves: list[Array | None]) -> None:
        for i, (curve, zone) in enumerate(zip(curves, self.flat_zones(), strict=True)):
            if curve is None:
                continue
            if zone is not None:
                ax.axvspan(*zone, color=color(i), alpha=0.12, lw=0, zorder=0)
            style = {"color": color(i), "ls": DASHES[i % len(DASHES)], "lw": 1.8}
            ax.plot(self.residuals, curve, label=self.names[i], zorder=2, **style)
        margins = [loss.classification for loss in self.losses]
        if all(margins):
            ax.set_xlabel("margin residual 1 - y f")
        else:
            ax.set_xlabel("residual y - f, or 1 - y f in classification" if any(margins) else "residual y - f")
        ax.set_ylabel(quantity)
        ax.margins(x=0)

    def _draw_legends(self, left: Axes, right: Axes | None) -> None:
        """The names on the left; what the shade means on the right, if there is shade, for there is room."""
        shaded = [i for i, zone in enumerate(self.flat_zones()) if zone is not None]
        on_right = right is not None and any(self.losses[i].has_noise_density for i in shaded)
        keys: list[Any] = []
        if shaded:
            shade = color(shaded[0]) if len(shaded) == 1 else POINTS
            holder = right if right is not None and on_right else left
            keys.append(holder.fill_between([], [], color=shade, alpha=0.25, lw=0, label="loss is zero"))
        if right is not None:
            legend_above_data(right, only=keys if on_right else [])
            right.set_ylim(bottom=0.0, auto=True)
        legend_above_data(left)


def _check(owner: str, loss: Any) -> None:
    if not isinstance(loss, Loss):
        raise TypeError(f"loss of {owner} must be a Loss or a list of them, got {loss!r}; take one of mercer.losses.")
    if any(np.ndim(width) for width in loss.insensitivity):
        raise ValueError(
            f"loss of {owner} must be one function, got {loss!r} with a width for each sample; draw a few of them."
        )


def _residuals(owner: str, losses: list[Loss], limits: tuple[float, float] | None) -> Array:
    """A fine grid that holds the edges of the tubes and the kink at zero."""
    edges = np.array([(-loss.insensitivity[0], loss.insensitivity[1]) for loss in losses], dtype=np.float64)
    low, high = (edges.min() - 3.0, edges.max() + 3.0) if limits is None else limits
    if not low < high:
        raise ValueError(f"limits of {owner} must be (low, high) with low < high, got {limits!r}; exchange them.")
    special = np.append(edges, 0.0)
    return np.union1d(np.linspace(low, high, 601), special[(special > low) & (special < high)])


def _without_density(names: list[str], n: int) -> str:
    """What the title says of losses that no noise goes with."""
    return f"no noise density for {', '.join(names)}" if len(names) < n or n == 1 else "no noise densities"


def _short(loss: Loss) -> str:
    """Class and parameters, without those keywords that are as they always are."""
    values = loss.get_params(deep=False)
    shown = [
        f"{name}={values[name]!r}"
        for name, parameter in inspect.signature(type(loss)).parameters.items()
        if parameter.kind is not parameter.KEYWORD_ONLY or values[name] != parameter.default
    ]
    return f"{type(loss).__name__}({', '.join(shown)})"
