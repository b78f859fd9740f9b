"""What places on a map stand for: images decoded from a grid of latent points."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.plots.display import Display
from mercer.plots.grids import images_of, latent_grid, latent_limits, require

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, kw_only=True)
class DecodedGridDisplay(Display):
    """Images at the places of the latent points that they are decoded from.

    Those of `UnsupervisedKernelRegression` are the paler the less dense rows are there, and left out outside of the
    domain of the surface.

    Parameters
    ----------
    images : array of shape (m, n, height, width) or (m, n, height, width, 3)
        The images: along the first latent coordinate from left to right, and along the second upwards; n is 1 for maps
        of one coordinate. Three channels are red, green and blue. NaN for those that are left out.
    shades : array of shape (m, n), optional
        From 0 for images as pale as their palest pixel to 1 for images as they are.
    limits : array of shape (2, 2)
        The ends of the coordinates.
    names : pair of str
        The names of the coordinates.
    ends : pair of float, optional
        The values with the first and the last colour, black and white for images in colour; by default the least and
        the largest value.

    Attributes
    ----------
    figure_, ax_
        The matplotlib figure and axes last drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mercer import GenerativeTopographicMap
    >>> from mercer.plots import DecodedGridDisplay
    >>> X, _ = load_digits(n_class=3, return_X_y=True)
    >>> gtm = GenerativeTopographicMap(2, n_grid=12, tol=1e-1).fit(X)
    >>> DecodedGridDisplay.from_estimator(gtm, (8, 8), n=6).images.shape
    (6, 6, 8, 8)
    """

    images: Array
    shades: Array | None = None
    limits: Array = field(default_factory=lambda: np.tile([-1.0, 1.0], (2, 1)))
    names: tuple[str, str] = ("coordinate 1", "coordinate 2")
    ends: tuple[float, float] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, shape: tuple[int, int], *, n: int = 10, ax: Axes | None = None
    ) -> DecodedGridDisplay:
        """Decode a grid of latent points of a fitted map.

        Parameters
        ----------
        estimator : estimator
            Has an `embedding_` of one or two coordinates, and `inverse_transform`.
        shape : pair of int
            Height and width of the images that the rows are.
        n : int
            Number of images along each coordinate.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        DecodedGridDisplay
            The display, drawn.
        """
        require(cls.__name__, estimator, ["embedding_", "inverse_transform"], "fit a map such as PrincipalManifold")
        if not isinstance(n, Integral) or isinstance(n, bool) or int(n) < 1:
            raise ValueError(f"n of {cls.__name__} must be a whole number >= 1, got {n!r}; 10 are usual.")
        cells = latent_grid(cls.__name__, estimator, int(n), centres=True, least=1)
        rows = images_of(estimator, cells)
        if len(shape) != 2 or int(np.prod(shape)) != rows.shape[1]:
            raise ValueError(
                f"shape of {cls.__name__} must be the height and width of images of {rows.shape[1]} pixels, got "
                f"{shape!r}; their product is the number of columns."
            )
        if not np.isfinite(rows).any():
            raise ValueError(
                f"n of {cls.__name__} must give a latent point or more in the domain of the surface, got {n!r}; take "
                "more, or fit with a smaller density_threshold."
            )
        shades = None
        if hasattr(estimator, "density_threshold_"):
            # Places where half of the rows are in sparser ones are shown in full.
            typical = np.median(estimator.density(estimator.embedding_))
            shades = np.minimum(estimator.density(cells) / typical, 1.0).reshape(int(n), -1)
        limits = np.vstack([latent_limits(estimator), [-1.0, 1.0]])[:2]
        return cls(images=rows.reshape(int(n), -1, *shape), shades=shades, limits=limits).plot(ax)

    def plot(self, ax: Axes | None = None, *, cmap: str = "Greys") -> DecodedGridDisplay:
        """Draw, on new axes if none are given.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.
        cmap : str
            Colour map of the images.

        Returns
        -------
        DecodedGridDisplay
            The display itself.
        """
        ax = self._on(ax)
        m, n, height, width = self.images.shape[:4]
        # A white line between images; rows of the mosaic run downwards, the second coordinate upwards.
        mosaic = np.full((n, height + 1, m, width + 1, *self.images.shape[4:]), np.nan)
        mosaic[:, :height, :, :width] = np.moveaxis(self._shaded()[:, ::-1], 0, 2)
        mosaic = mosaic.reshape(n * (height + 1), m * (width + 1), *self.images.shape[4:])[:-1, :-1]
        (left, right), (bottom, top) = self.limits
        # Pixels are squares, whatever the units of the coordinates.
        aspect = float(mosaic.shape[0] / mosaic.shape[1] * (right - left) / (top - bottom))
        low, high = self.ends or (np.nanmin(self.images), np.nanmax(self.images))
        if mosaic.ndim == 3:
            mosaic = _with_opacity((mosaic - low) / (high - low or 1.0))
        ax.imshow(
            mosaic, cmap=cmap, extent=(left, right, bottom, top), interpolation="nearest", aspect=aspect,
            vmin=low, vmax=high,
        )  # fmt: skip
        if n == 1:
            ax.set_yticks([])
        else:
            ax.set_ylabel(self.names[1])
        ax.set_xlabel(self.names[0])
        ax.spines[["left", "bottom"]].set_visible(False)
        return self

    def _shaded(self) -> Array:
        if self.shades is None:
            return self.images
        paper = np.nanmin(self.images)
        return np.asarray(
            paper + (self.images - paper) * self.shades.reshape(*self.shades.shape, *[1] * (self.images.ndim - 2))
        )


def _with_opacity(colours: Array) -> Array:
    """Colours from 0 to 1, and as a fourth channel 1 where they are known."""
    known = np.isfinite(colours).all(axis=-1, keepdims=True)
    return np.concatenate([np.where(known, np.clip(colours, 0.0, 1.0), 0.0), known], axis=-1)
