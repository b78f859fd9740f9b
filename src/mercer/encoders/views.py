"""Views of rows, and the moments of their features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from mercer.arrays import Array
from mercer.components.moments import Moments, sum_of
from mercer.kernels import Kernel, expected_features, expected_products
from mercer.kernels.gram import LowRank

# Rows whose views are held at a time.
_BLOCK = 1024


class ViewMoments(NamedTuple):
    """Moments of all views, and of two views of the same row."""

    views: Moments
    pairs: Moments

    def __add__(self, other: Any) -> ViewMoments:
        return ViewMoments(self.views + other.views, self.pairs + other.pairs)

    def __sub__(self, other: ViewMoments) -> ViewMoments:
        return ViewMoments(self.views - other.views, self.pairs - other.pairs)

    def loss(self, coef: Array) -> float:
        """The spectral contrastive loss of the coordinates coefᵀφ(x), up to their means."""
        second = coef.T @ self.views.covariance @ coef
        return float(-2 * np.sum(coef * (self.pairs.covariance @ coef)) + np.sum(second**2))


class Source:
    """Where views of rows come from."""

    complete = False

    def blocks(self, positions: Array) -> Iterator[Iterator[Any]]:
        """Views of some rows, for each block of them."""
        raise NotImplementedError

    def moments(self, low_rank: LowRank, positions: Array) -> ViewMoments:
        """Sums over rows at some positions, each with weight 1 whatever its number of views."""
        parts = []
        for views in self.blocks(positions):
            features = [low_rank.features(view) for view in views]
            n_views, sums = len(features), np.sum(features, axis=0)
            products = sum_of([F.T @ F for F in features]) / n_views
            between = sums.T @ sums / n_views**2
            if not self.complete:  # a view that was drawn is no partner of itself
                between = (n_views * between - products) / (n_views - 1)
            n, total = len(sums), sums.sum(axis=0) / n_views
            parts.append(ViewMoments(Moments(n, total, products), Moments(n, total, between)))
        return sum_of(parts)


class GivenViews(Source):
    """Tables with one view of each row."""

    def __init__(self, views: list[Any], *, complete: bool):
        if len(views) < 2:
            raise ValueError(
                f"augment of ContrastiveFeatures must hold two views or more, got {len(views)}; one view "
                "has no partner."
            )
        self.views, self.complete = views, complete

    def blocks(self, positions: Array) -> Iterator[Iterator[Any]]:
        """Views of some rows, for each block of them."""
        for block in _blocks(positions):
            yield (_safe_indexing(view, block) for view in self.views)


class DrawnViews(Source):
    """Views that are made of each block of rows."""

    def __init__(
        self,
        X: Any,
        views: Callable[[Any, int, np.random.RandomState], Iterator[Any]],
        n_views: int,
        rng: np.random.RandomState,
        *,
        complete: bool,
    ):
        self.X, self.views, self.n_views, self.rng, self.complete = X, views, n_views, rng, complete

    def blocks(self, positions: Array) -> Iterator[Iterator[Any]]:
        """Views of some rows, for each block of them."""
        for block in _blocks(positions):
            yield self.views(_safe_indexing(self.X, block), self.n_views, self.rng)


class ExactJitter(Source):
    """Gaussian noise under a Gaussian kernel: expected values over all views."""

    def __init__(self, X: Array, kernel: Kernel, noise: Array):
        self.X, self.kernel, self.noise = X, kernel, noise

    def moments(self, low_rank: LowRank, positions: Array) -> ViewMoments:
        """Expected values, as sums over rows."""
        rows, W = low_rank.landmark_rows, low_rank.whitening

        def features(at: Array) -> Array:
            return expected_features(self.kernel, self.X[at], rows, self.noise) @ W

        pairs = Moments.of(features, positions)
        products = [expected_products(self.kernel, self.X[block], rows, self.noise) for block in _blocks(positions)]
        return ViewMoments(Moments(pairs.n, pairs.total, W.T @ sum_of(products) @ W), pairs)


def _blocks(positions: Array) -> Iterator[Array]:
    return (positions[start : start + _BLOCK] for start in range(0, len(positions), _BLOCK))
