"""What places on a map stand for: images decoded from a grid of latent points."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.plots.grids import Array, latent_grid, require
from mercer.plots.style import new_or_given

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, kw_only=True)
class DecodedGridDisplay:
    """Images at the places of the latent points that they are decoded from.

    Parameters
    ----------
    images : array of shape (m, n, height, width)
        The images: along the first latent coordinate from left to right, and along the second upwards; n is 1 for maps
        of one coordinate.
    names : pair of str
        The names of the coordinates.

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
    names: tuple[str, str] = ("coordinate 1", "coordinate 2")

    @classmethod
    def from_estimator(
        cls, estimator: Any, shape: tuple[int, int], *, n: int = 10, ax: Axes | None = None
    ) -> DecodedGridDisplay:
        """Decode a grid of latent points of a fitted map.

        Parameters
        ----------
        estimator : estimator
            Has an `embedding_` of one or two coordinates from -1 to 1, and `inverse_transform`.
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
        rows = np.asarray(estimator.inverse_transform(cells))
        if len(shape) != 2 or int(np.prod(shape)) != rows.shape[1]:
            raise ValueError(
                f"shape of {cls.__name__} must be the height and width of images of {rows.shape[1]} pixels, got "
                f"{shape!r}; their product is the number of columns."
            )
        return cls(images=rows.reshape(int(n), -1, *shape)).plot(ax)

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
        ax = self.ax_ = new_or_given(ax)
        self.figure_ = ax.figure
        m, n, height, width = self.images.shape
        # A white line between images; rows of the mosaic run downwards, the second coordinate upwards.
        mosaic = np.full((n, height + 1, m, width + 1), np.nan)
        mosaic[:, :height, :, :width] = self.images[:, ::-1].transpose(1, 2, 0, 3)
        mosaic = mosaic.reshape(n * (height + 1), m * (width + 1))[:-1, :-1]
        tall = 1.0 if n > 1 else (height / width) / m
        ax.imshow(mosaic, cmap=cmap, extent=(-1.0, 1.0, -tall, tall), interpolation="nearest", aspect="equal")
        if n == 1:
            ax.set_yticks([])
        else:
            ax.set_ylabel(self.names[1])
            ax.set_aspect(float(mosaic.shape[0] / mosaic.shape[1]))
        ax.set_xlabel(self.names[0])
        ax.spines[["left", "bottom"]].set_visible(False)
        return self
