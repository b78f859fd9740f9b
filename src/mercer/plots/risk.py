"""What can be said of the error of machines: a table as bars, criteria along a path, and the curve of norm and risk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.plots.display import PlainDisplay
from mercer.plots.style import COLORS, DASHES, INK, POINTS, color, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mercer.capacity import RiskBounds, RiskPath

# Where the names of criteria are drawn that are methods of leave-one-out.
_NAMES = {"span": "leave-one-out (span)", "path": "leave-one-out (exact)", "refit": "leave-one-out (refits)"}


@dataclass(eq=False, kw_only=True)
class RiskBoundsDisplay(PlainDisplay):
    """All statements on the error of a machine as bars: grey where vacuous, with a line at the best constant.

    Parameters
    ----------
    bounds : RiskBounds
        The table.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import SupportVectorClassifier
    >>> from mercer.capacity import risk_bounds
    >>> from mercer.plots import RiskBoundsDisplay
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> bounds = risk_bounds(SupportVectorClassifier().fit(X, y), X, y)
    >>> RiskBoundsDisplay.from_bounds(bounds).ax_.get_xlabel()
    'share of wrong rows'
    """

    bounds: RiskBounds

    @classmethod
    def from_bounds(cls, bounds: RiskBounds, *, ax: Axes | None = None) -> RiskBoundsDisplay:
        """Draw a table of `mercer.capacity.risk_bounds`.

        Parameters
        ----------
        bounds : RiskBounds
            The table.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        RiskBoundsDisplay
            The display, drawn.
        """
        return cls(bounds=bounds).plot(ax)

    def _draw(self, ax: Axes) -> None:
        statements = self.bounds.bounds[::-1]
        for place, bound in enumerate(statements):
            shade = POINTS if bound.vacuous else COLORS[1 if bound.kind == "estimate" else 0]
            ax.barh(place, bound.value, height=0.62, color=shade, alpha=0.45 if bound.vacuous else 1.0)
            words = f" {bound.value:.3g}" + (", vacuous" if bound.vacuous else "")
            ax.text(bound.value, place, words, va="center", fontsize=8, color=INK)
        ax.axvline(self.bounds.constant, color=INK, lw=1.2, ls=(0, (4, 2)), label="best constant")
        for kind, shade in (("estimate", COLORS[1]), ("guarantee", COLORS[0])):
            ax.barh(0, 0.0, color=shade, label=kind)
        ax.set_yticks(range(len(statements)), [bound.name for bound in statements])
        ax.set_xlim(0.0, 1.25 * max(self.bounds.constant, *(bound.value for bound in statements)))
        ax.set_ylim(-0.6, len(statements) + 0.2)
        ax.set_xlabel(self.bounds.unit)
        ax.legend(frameon=False, fontsize=8, ncols=3, loc="upper left", borderaxespad=0.0)


@dataclass(eq=False, kw_only=True)
class RiskPathDisplay(PlainDisplay):
    """Criteria of machines along a path: figure 7.5 of [Smola1998]_ with real curves.

    Parameters
    ----------
    path : RiskPath
        Criteria of machines, as of `structural_risk_path`.
    x : array
        A number for each machine, such as C.
    x_name : str
        What it is.
    others : dict of str to array
        More curves, such as the error on test rows.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Notes
    -----
    Vacuous values are drawn thin. A line marks the machine that the first criterion chooses.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import SupportVectorClassifier
    >>> from mercer.capacity import structural_risk_path
    >>> from mercer.plots import RiskPathDisplay
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> Cs = [0.01, 0.1, 1.0, 10.0]
    >>> path = structural_risk_path(SupportVectorClassifier().regularization_path(X, y, Cs), X, y)
    >>> RiskPathDisplay.from_path(path, Cs).ax_.get_xlabel()
    'C'
    """

    path: RiskPath
    x: Any
    x_name: str = "C"
    others: Mapping[str, ArrayLike] = field(default_factory=dict)

    @classmethod
    def from_path(
        cls,
        path: RiskPath,
        x: ArrayLike,
        *,
        x_name: str = "C",
        others: Mapping[str, ArrayLike] | None = None,
        ax: Axes | None = None,
    ) -> RiskPathDisplay:
        """Draw the criteria of a path.

        Parameters
        ----------
        path : RiskPath
            Criteria.
        x : array
            A number for each machine.
        x_name : str
            What it is.
        others : dict, optional
            More curves.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        RiskPathDisplay
            The display, drawn.
        """
        places = np.asarray(x, dtype=np.float64)
        if places.shape != path.norms.shape or not np.all(places > 0):
            raise ValueError(
                f"x of RiskPathDisplay must be a positive number for each of {len(path.norms)} machines, got {x!r}; "
                "give the C of the path."
            )
        return cls(path=path, x=places, x_name=x_name, others=others or {}).plot(ax)

    def _draw(self, ax: Axes) -> None:
        order = np.argsort(self.x)
        curves = {_NAMES.get(name, name): values for name, values in self.path.criteria.items()}
        vacuous = {_NAMES.get(name, name): values for name, values in self.path.vacuous.items()}
        curves |= {name: np.asarray(values, dtype=np.float64) for name, values in self.others.items()}
        for i, (name, values) in enumerate(curves.items()):
            dash = DASHES[(i // len(COLORS)) % len(DASHES)]
            says_something = np.where(vacuous.get(name, np.zeros(len(values), dtype=bool)), np.nan, values)
            ax.plot(self.x[order], values[order], color=color(i), lw=0.8, ls=dash, alpha=0.6)
            ax.plot(self.x[order], says_something[order], color=color(i), lw=2.0, ls=dash, label=name)
        if any(np.any(values) for values in vacuous.values()):
            ax.plot([], [], color=POINTS, lw=0.8, label="thin: vacuous")
        ax.axvline(self.x[self.path.best], ymax=0.8, color=INK, lw=1.0, ls=(0, (4, 2)), label="chosen")
        ax.set_xscale("log")
        ax.set_ylim(bottom=0.0, auto=True)
        ax.set_xlabel(self.x_name)
        ax.set_ylabel("error")
        legend_above_data(ax)


@dataclass(eq=False, kw_only=True)
class NormRiskDisplay(PlainDisplay):
    """Empirical risk over Q = ‖f‖²/2 along a regularization path, figure 1.2 of [Smola1998]_: the L-curve.

    Given Q and the least risk (1.28), or given the risk and the least Q (1.30), or given the slope -1/(C n), which is
    the usual form: each picks a point of the same curve.

    Parameters
    ----------
    norms, risks : array
        Of the machines of a path.
    chosen : int or None
        The machine whose point is marked, with its Q, its risk and its slope.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from mercer import SupportVectorRegressor
    >>> from mercer.datasets import make_sinc
    >>> from mercer.plots import NormRiskDisplay
    >>> X, y = make_sinc(80, noise=0.1, random_state=0)
    >>> machines = SupportVectorRegressor().regularization_path(X, y, [0.1, 1.0, 9.0])
    >>> NormRiskDisplay.from_machines(machines, chosen=1).ax_.get_ylabel()
    'empirical risk'
    """

    norms: Any
    risks: Any
    chosen: int | None = None

    @classmethod
    def from_machines(cls, machines: Any, *, chosen: int | None = None, ax: Axes | None = None) -> NormRiskDisplay:
        """Draw the curve of fitted machines with one target each.

        Parameters
        ----------
        machines : list of machines
            Such as those of `regularization_path`.
        chosen : int, optional
            Which one is marked.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        NormRiskDisplay
            The display, drawn.
        """
        norms = np.array([np.linalg.norm(machine.norm_) for machine in machines])
        risks = np.array([np.mean(machine.empirical_risk_) for machine in machines])
        if len(norms) < 2:
            raise ValueError(
                f"machines of {cls.__name__} must be two or more, got {len(norms)}; give a regularization_path."
            )
        return cls(norms=norms, risks=risks, chosen=chosen).plot(ax)

    def _draw(self, ax: Axes) -> None:
        order = np.argsort(self.norms)
        Q, R = 0.5 * self.norms[order] ** 2, np.asarray(self.risks)[order]
        ax.plot(Q, R, color=COLORS[1], lw=1.8, marker="o", ms=3.5, label="least risk for each norm")
        at = 0
        if self.chosen is not None:
            at = int(np.flatnonzero(order == self.chosen)[0])
            ax.plot([Q[at], Q[at], 0.0], [0.0, R[at], R[at]], color=INK, lw=1.0, ls=(0, (4, 2)), label="Q or R given")
            slope = np.gradient(R, Q)[at]
            ends = np.array([0.2, 2.5]) * Q[at]
            ax.plot(ends, R[at] + slope * (ends - Q[at]), color=COLORS[0], lw=1.4, label="slope given")
            ax.set_ylim(0.0, min(4.0 * R[at], 1.05 * R.max()))
        ax.set_xlim(0.0, 5.0 * Q[at] if self.chosen is not None else None)
        ax.set_xlabel("Q = ½ ‖f‖²")
        ax.set_ylabel("empirical risk")
        legend_above_data(ax)
