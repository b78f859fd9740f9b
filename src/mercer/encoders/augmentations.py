"""Changes of a row that do not matter: what makes two views of the same row."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from mercer.arrays import Array
from mercer.parameters import check_count, check_positive, is_number


class Augmentation(Protocol):
    """Views of rows.

    Attributes
    ----------
    complete : bool
        Whether the views are all that there are, with equal chances; else they are a sample.
    """

    complete: bool

    def prepare(self, X: Any) -> Augmentation:
        """Check the parameters, and look at the rows where that is needed."""

    def views(self, X: Any, n_views: int, rng: np.random.RandomState) -> Iterator[Any]:
        """Changed copies of the rows; n_views of them, unless they are complete."""


class Jitter(BaseEstimator):
    """Gaussian noise on all columns.

    Parameters
    ----------
    noise : float
        Its standard deviation, as a share of that of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.encoders import Jitter
    >>> X = np.array([[0.0, 5.0], [2.0, 5.0]])
    >>> Jitter(0.1).prepare(X).scales_
    array([0.1, 0. ])
    """

    complete = False

    def __init__(self, noise: float = 0.1):
        self.noise = noise

    def prepare(self, X: Array) -> Jitter:
        """Measure the columns."""
        check_positive(self.noise, "noise", "Jitter", "give a share of the standard deviation of a column")
        self.scales_ = self.noise * np.std(X, axis=0)
        return self

    def views(self, X: Array, n_views: int, rng: np.random.RandomState) -> Iterator[Array]:
        """Noisy copies."""
        return (X + self.scales_ * rng.normal(size=X.shape) for _ in range(n_views))


class Mask(BaseEstimator):
    """Entries that are replaced by the mean of their column.

    Parameters
    ----------
    share : float
        Chance of an entry to be replaced, between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.encoders import Mask
    >>> X = np.array([[0.0, 5.0], [2.0, 7.0]])
    >>> mask = Mask(0.5).prepare(X)
    >>> (view,) = mask.views(X, 1, np.random.RandomState(0))
    >>> view
    array([[0., 5.],
           [2., 7.]])
    """

    complete = False

    def __init__(self, share: float = 0.2):
        self.share = share

    def prepare(self, X: Array) -> Mask:
        """Take the means of the columns."""
        if not is_number(self.share) or not 0 < self.share < 1:
            raise ValueError(f"share of Mask must be between 0 and 1, got {self.share!r}; give a chance.")
        self.means_ = np.mean(X, axis=0)
        return self

    def views(self, X: Array, n_views: int, rng: np.random.RandomState) -> Iterator[Array]:
        """Copies with masked entries."""
        return (np.where(rng.uniform(size=X.shape) < self.share, self.means_, X) for _ in range(n_views))


class Shift(BaseEstimator):
    """Images that are shifted by whole pixels, in all directions; pixels at the border are repeated.

    The (2 pixels + 1)² views are all that there are: nothing is drawn.

    Parameters
    ----------
    shape : tuple of int
        Height and width of an image; a row holds its pixels row after row.
    pixels : int
        Largest shift.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.encoders import Shift
    >>> X = np.array([[1.0, 2.0, 3.0]])
    >>> views = list(Shift((1, 3)).prepare(X).views(X, 0, None))
    >>> len(views), views[5]
    (9, array([[1., 1., 2.]]))
    """

    complete = True

    def __init__(self, shape: Any, pixels: int = 1):
        self.shape = shape
        self.pixels = pixels

    def prepare(self, X: Array) -> Shift:
        """Check that rows are images of this shape."""
        check_count(self.pixels, "pixels", "Shift")
        shape = self.shape if isinstance(self.shape, tuple | list) else ()
        whole = len(shape) == 2 and all(isinstance(side, Integral) and int(side) > 0 for side in shape)
        if not whole or shape[0] * shape[1] != X.shape[1]:
            raise ValueError(
                f"shape of Shift must be a height and a width with the product {X.shape[1]}, the number of columns, "
                f"got {self.shape!r}; rows are pixels, row after row."
            )
        return self

    def views(self, X: Array, n_views: int, rng: Any) -> Iterator[Array]:
        """All shifted copies."""
        height, width = self.shape
        by = self.pixels
        padded = np.pad(X.reshape(-1, height, width), ((0, 0), (by, by), (by, by)), mode="edge")
        shifts = product(range(2 * by, -1, -1), repeat=2)
        return (padded[:, down : down + height, right : right + width].reshape(X.shape) for down, right in shifts)
