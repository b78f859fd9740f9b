"""Entropy numbers of kernels, how they come about, and what they depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mercer.arrays import Array
from mercer.capacity import (
    Spectrum,
    ball_entropy_number,
    best_period,
    entropy_number,
    log_covering,
    periodic_spectrum,
    water_filling,
)
from mercer.plots.display import PairDisplay, PlainDisplay
from mercer.plots.style import COLORS, DASHES, INK, POINTS, legend_above_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mercer.kernels import Kernel

_LN2 = float(np.log(2))
_MOST_BARS = 300


@dataclass(eq=False, kw_only=True)
class EntropyNumberDisplay(PlainDisplay):
    """Radii at which n balls cover a kernel class, over log2 n, by several bounds and in several dimensions.

    Parameters
    ----------
    spectra : dict of str to Spectrum
        By name.
    norm : float
        Λ, the norm of the functions.
    n_samples : int
        Number of points for the bound that knows nothing of the kernel.
    bits : array
        Values of log2 n.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import EntropyNumberDisplay
    >>> EntropyNumberDisplay.from_kernel(Gaussian(1.0), 2 * np.pi).ax_.get_xlabel()
    'log2 n'
    """

    spectra: dict[str, Spectrum]
    norm: float
    n_samples: int
    bits: Array

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        period: float,
        *,
        n_dims: Sequence[int] = (1, 2, 3),
        norm: float = 1.0,
        n_samples: int = 1000,
        most_bits: float = 400.0,
        ax: Axes | None = None,
    ) -> EntropyNumberDisplay:
        """Draw the bounds of a kernel with this period.

        Parameters
        ----------
        kernel : Kernel
            With a spectrum.
        period : float
            v.
        n_dims : sequence of int
            Dimensions, one curve of each kind for each.
        norm, n_samples
            Of the class.
        most_bits : float
            Largest log2 n.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        EntropyNumberDisplay
            The display, drawn.
        """
        spectra = {f"d = {d}": periodic_spectrum(kernel, period, n_dims=d) for d in n_dims}
        bits = np.linspace(0.0, most_bits, 161)
        return cls(spectra=spectra, norm=norm, n_samples=n_samples, bits=bits).plot(ax)

    def _draw(self, ax: Axes) -> None:
        largest = max(float(np.exp(spectrum.log_trivial)) for spectrum in self.spectra.values())
        for i, (name, spectrum) in enumerate(self.spectra.items()):
            color = COLORS[i % len(COLORS)]
            water = [entropy_number(spectrum, b * _LN2, norm=self.norm) for b in self.bits]
            ax.plot(self.bits, water, color=color, lw=1.8, label=f"{name}: water filling")
            radii = self.norm * largest * np.geomspace(1.0, 1e-3, 60)
            needed = np.array([log_covering(spectrum, e, norm=self.norm, method="truncated") / _LN2 for e in radii])
            shown = needed <= self.bits[-1]
            ax.plot(needed[shown], radii[shown], color=color, lw=1.4, ls=DASHES[1], label=f"{name}: truncated")
        ball = [ball_entropy_number(b * _LN2, self.n_samples, norm=self.norm, radius=largest) for b in self.bits]
        ax.step(self.bits, ball, color=POINTS, lw=1.4, where="post", label=f"ball on {self.n_samples} points")
        ax.axhline(self.norm * largest, color=INK, lw=1.0, ls=DASHES[2], label="one ball")
        ax.set_yscale("log")
        ax.set_ylim(bottom=1e-2 * self.norm * largest, auto=True)
        ax.set_xlabel("log2 n")
        ax.set_ylabel("entropy number ε_n")
        legend_above_data(ax)


@dataclass(eq=False, kw_only=True)
class WaterFillingDisplay(PairDisplay):
    """Eigenvalues and the level to which n balls fill them: those above are coded, and why there are just j* of them.

    Parameters
    ----------
    spectrum : Spectrum
        Of a kernel.
    log_n : float
        Natural logarithm of the number of balls.

    Attributes
    ----------
    figure_, axes_
        The matplotlib figure and the pair of axes last drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import periodic_spectrum
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import WaterFillingDisplay
    >>> spectrum = periodic_spectrum(Gaussian(1.0), 2 * np.pi)
    >>> display = WaterFillingDisplay(spectrum=spectrum, log_n=20 * np.log(2)).plot()
    >>> display.axes_[1].get_ylabel()
    'scale a of the axis'
    """

    spectrum: Spectrum
    log_n: float

    def _draw(self, axes: tuple[Axes, Axes]) -> None:
        left, right = axes
        filled = water_filling(self.spectrum, self.log_n)
        level = float(np.exp(filled.log_level))
        # Smaller eigenvalues than these would not be seen; there may be very many of them.
        seen = int(np.count_nonzero(self.spectrum.log_values > filled.log_level - 6.0))
        counts = np.minimum(self.spectrum.counts[:seen], _MOST_BARS).astype(int)
        values = np.repeat(np.exp(self.spectrum.log_values[:seen]), counts)[:_MOST_BARS]
        index = np.arange(1, len(values) + 1)
        left.bar(index, np.minimum(values, level), color=COLORS[1], width=0.8, label="error that stays, D")
        above = np.maximum(values - level, 0.0)
        left.bar(index, above, bottom=np.minimum(values, level), color=COLORS[2], width=0.8, label="coded")
        left.axhline(level, color=INK, lw=1.2, ls=DASHES[1], label=f"level c = {level:.2g}")
        left.set_yscale("log")
        left.set_ylim(bottom=max(values.min(), 1e-3 * level), auto=True)
        left.set_xlabel("j")
        left.set_ylabel("eigenvalue λ_j")
        legend_above_data(left)
        right.step(index, np.maximum(np.sqrt(values / level), 1.0), where="mid", color=COLORS[0], lw=1.8)
        right.axvline(filled.n_axes + 0.5, color=INK, lw=1.2, ls=DASHES[1], label=f"j* = {filled.n_axes}")
        right.set_ylim(bottom=0.0, auto=True)
        right.set_xlabel("j")
        right.set_ylabel("scale a of the axis")
        legend_above_data(right)


@dataclass(eq=False, kw_only=True)
class PeriodDisplay(PlainDisplay):
    """The bound on an entropy number over the period of the kernel, and what of it comes from wrapping.

    Parameters
    ----------
    periods, bounds, wraps : array
        v, the whole bound, and S e(v).
    best : float
        The best period.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import PeriodDisplay
    >>> display = PeriodDisplay.from_kernel(Gaussian(1.0), 2.0, log_n=20 * np.log(2), coefficient_norm=10.0)
    >>> round(display.best, 2)
    5.59
    """

    periods: Array
    bounds: Array
    wraps: Array
    best: float

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        diameter: float,
        *,
        log_n: float,
        coefficient_norm: float,
        norm: float = 1.0,
        n_dims: int = 1,
        ax: Axes | None = None,
    ) -> PeriodDisplay:
        """Draw what `mercer.capacity.best_period` minimises; its parameters are explained there.

        Returns
        -------
        PeriodDisplay
            The display, drawn.
        """
        from mercer.capacity import wrap_error

        best = best_period(
            kernel, diameter, log_n=log_n, norm=norm, coefficient_norm=coefficient_norm, n_dims=n_dims
        ).period
        periods = np.geomspace(1.05 * diameter, max(3 * best, 2 * diameter), 60)
        errors = np.array([wrap_error(kernel, v, diameter, n_dims=n_dims) for v in periods])
        spectra = [periodic_spectrum(kernel, v, n_dims=n_dims) for v in periods]
        wraps = coefficient_norm * errors
        norms = np.sqrt(norm**2 + coefficient_norm * wraps)
        bounds = wraps + [entropy_number(s, log_n, norm=n) for s, n in zip(spectra, norms, strict=True)]
        return cls(periods=periods, bounds=bounds, wraps=wraps, best=best).plot(ax)

    def _draw(self, ax: Axes) -> None:
        ax.plot(self.periods, self.bounds, color=COLORS[1], lw=1.8, label="bound on ε_n")
        ax.plot(self.periods, self.wraps, color=COLORS[0], lw=1.4, ls=DASHES[1], label="of it from wrapping")
        ax.axvline(self.best, color=INK, lw=1.2, ls=DASHES[2], label=f"best period {self.best:.3g}")
        ax.set_ylim(0.0, 1.15 * float(np.median(self.bounds)))
        ax.set_xlabel("period v")
        ax.set_ylabel("entropy number")
        ax.legend(frameon=False, fontsize=9, loc="lower right")
