"""Rows as points of a Euclidean space: vectors of data, or coordinates in the feature space of a kernel."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.components import KernelPCA, fixed_point_preimages
from mercer.kernels import Kernel, Precomputed, distinct_rows
from mercer.manifolds.latent.starts import filled
from mercer.manifolds.ukr.targets import Targets, data_targets, feature_targets
from mercer.manifolds.ukr.tuning import TUNING

# Negative eigenvalues of a centred Gram matrix that are rounding, as a share of the largest.
_ROUNDING = 1e-8


class TrainingRows(Protocol):
    """Training rows, and what new rows are beside them.

    Attributes
    ----------
    points : array of shape (N, d)
        Their coordinates; NaN where an entry is missing.
    targets : Targets
        What is regressed on the latent points.
    part_is_like_all : bool
        Whether a surface through a part of them is one of the same space, that the others may be projected on.
    has_columns : bool
        Whether coordinates are columns of a table, each with noise of its own.
    """

    points: Array
    part_is_like_all: bool
    has_columns: bool

    @property
    def targets(self) -> Targets:
        """What is regressed on the latent points."""

    def part(self, some: Array) -> tuple[Array, Targets, Targets]:
        """Some of the points, without missing entries, their targets, and targets of less cost that are much the same.

        Starts are found from the points, scaled roughly by the last, and chosen by the targets themselves.
        """

    def new(self, X: Any) -> tuple[Array, Array]:
        """Coordinates of new rows, and their squared distances from the space that the training rows span."""

    def known(self, X: Any) -> Array:
        """The position of an equal training row for each row, or -1."""


class DataRows:
    """Rows of numbers, which are points as they are.

    Parameters
    ----------
    X : array of shape (N, d)
        Rows; NaN where an entry is missing.
    """

    part_is_like_all = True
    has_columns = True

    def __init__(self, X: Array):
        self.points = X

    @cached_property
    def targets(self) -> Targets:
        """What is regressed on the latent points."""
        return data_targets(self.points)

    def part(self, some: Array) -> tuple[Array, Targets, Targets]:
        """Some of the points, without missing entries, and their targets."""
        targets = self.targets if len(some) == len(self.points) else data_targets(self.points[some])
        return filled(self.points[some]), targets, targets

    def new(self, X: Array) -> tuple[Array, Array]:
        """The rows, none of which are outside of the space."""
        return X, np.zeros(len(X))

    def known(self, X: Array) -> Array:
        """The position of an equal training row for each row, or -1."""
        return _equal_rows(self.points, X)


class FeatureRows:
    """Objects with a kernel: coordinates are kernel principal components, as many as there are.

    Distances between objects are then those in feature space, and so are those of their means.

    Parameters
    ----------
    kernel : Kernel
        Positive definite, or conditionally so of order 1.
    X : objects
        That the kernel takes; of a given Gram matrix the matrix.
    owner : str
        The class that complains.
    """

    part_is_like_all = False
    has_columns = False

    def __init__(self, kernel: Kernel, X: Any, owner: str):
        self.kernel, self.objects = kernel, X
        self.gram = np.asarray(kernel(X), dtype=np.float64)
        centred = self.gram - self.gram.mean(axis=0)
        if not np.abs(centred - centred.mean(axis=1, keepdims=True)).max() > 1e-12 * np.abs(self.gram).max():
            raise ValueError(
                f"X of {owner} must have rows that differ in the feature space of {kernel!r}, got {len(self.gram)} "
                "that all look alike; choose another kernel."
            )
        with warnings.catch_warnings():  # of flat spectra: all components are used
            warnings.simplefilter("ignore", UserWarning)
            self._components = KernelPCA(kernel=Precomputed()).fit(self.gram)
        values = self._components.eigenvalues_
        if values.min() < -_ROUNDING * values.max():
            raise ValueError(
                f"feature_kernel of {owner} must be positive definite, or conditionally so of order 1, got {kernel!r} "
                f"with an eigenvalue {values.min():.2g} beside {values.max():.2g}; choose another kernel."
            )
        self.points, self.targets = self._components.embedding_, feature_targets(self.gram)

    def part(self, some: Array) -> tuple[Array, Targets, Targets]:
        """Leading components of some of the points, their targets in feature space, and these components as targets."""
        leading = np.ascontiguousarray(self.points[some, : TUNING.leading])
        whole = len(some) == len(self.points)
        targets = self.targets if whole else feature_targets(self.gram[np.ix_(some, some)])
        return leading, targets, targets if self.points.shape[1] <= TUNING.leading else data_targets(leading)

    def against(self, X: Any) -> Array:
        """Values of the kernel between rows and training rows."""
        return np.asarray(self.kernel(X, self.objects), dtype=np.float64)

    def new(self, X: Any) -> tuple[Array, Array]:
        """Kernel principal components of new rows, and what these leave of them: 0 if k(x, x) is not known."""
        values = self.against(X)
        points = np.asarray(self._components.transform(values))
        if self.kernel.pairwise:
            return points, np.zeros(len(points))
        own = np.asarray(self.kernel.diag(X)) - 2 * values.mean(axis=1) + self.gram.mean()
        return points, np.maximum(own - np.sum(points**2, axis=1), 0.0)

    def known(self, X: Any) -> Array:
        """The position of an equal training row for each row, or -1."""
        return _equal_rows(self.objects, X)

    def preimages(self, weights: Any) -> Array:
        """Vectors whose images are nearest to weighted means of images, or weighted means of vectors."""
        kernel = self.kernel
        if kernel.pairwise or not kernel.takes_vectors:
            raise TypeError(f"{kernel!r} was not given vectors, so that there are no rows to go back to.")
        weights = weights.toarray() if sparse.issparse(weights) else weights
        means = np.asarray(weights @ self.objects)
        if kernel.stationary and kernel.order == 0:
            means = fixed_point_preimages(kernel, self.objects, weights, means)
        return means


def count_of(X: Any) -> int:
    """Number of rows of an array, or of other objects."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def some_of(X: Any, positions: Array) -> Any:
    """Rows at some positions."""
    return X[positions] if hasattr(X, "shape") else [X[i] for i in positions]


def _equal_rows(rows: Any, X: Any) -> Array:
    arrays = all(isinstance(part, np.ndarray) and part.ndim == 2 for part in (rows, X))
    both = np.vstack([rows, X]) if arrays else [*rows, *X]
    first, group = distinct_rows(both)
    position = first[group[len(rows) :]]
    return np.where(position < len(rows), position, -1)
