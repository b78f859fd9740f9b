"""What the estimators on graphs share: the graph of the rows, its parts, and functions on it at new rows."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.graphs.affinity import (
    Affinity,
    KernelAffinity,
    NeighbourAffinity,
    PrecomputedAffinity,
    RadiusAffinity,
)
from mercer.graphs.laplacian import WalkSpectrum, walk_spectrum
from mercer.graphs.parts import DISCONNECTED, connected, parts_of
from mercer.kernels import Kernel

Array = NDArray[Any]


class GraphEstimator(BaseEstimator):
    """Base of the estimators: parameters of the graph, the spectrum of its random walk, and its extension to new rows.

    A fit stores `graph_` (the weights), `part_of_` (the connected part of each row) and `_lift` (ψ / θ at each row), so
    that ψ(x) = Σ_j P(x, x_j) ψ_j / θ gives an eigenfunction at a new row.
    """

    affinity: Any
    n_neighbors: Any
    width: Any
    radius: Any
    symmetric: str
    neighbors: str
    disconnected: str
    eigen_solver: str
    tol: float

    def _rows(self, X: Any, *, reset: bool) -> Any:
        fewest = 2 if reset else 1
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset, ensure_min_samples=fewest)

    def _new_affinity(self) -> Affinity:
        owner, affinity = type(self).__name__, self.affinity
        if isinstance(affinity, Kernel):
            return KernelAffinity(clone(affinity))
        if affinity == "precomputed":
            return PrecomputedAffinity()
        if affinity == "radius":
            if not _is_number(self.radius) or not self.radius > 0:
                raise ValueError(f"radius of {owner} must be a number > 0, got {self.radius!r}; give a distance.")
            return RadiusAffinity(self.radius, self.neighbors)
        if affinity != "neighbors":
            raise ValueError(
                f"affinity of {owner} must be 'neighbors', 'radius', 'precomputed' or a Kernel, got {affinity!r}; "
                "choose one of these."
            )
        self._count("n_neighbors")
        known = self.width is None or (isinstance(self.width, str) and self.width in ("auto", "local"))
        if not known and not (_is_number(self.width) and self.width > 0):
            raise ValueError(
                f"width of {owner} must be None, 'auto', 'local' or a number > 0, got {self.width!r}; None gives equal "
                "weights to all neighbours."
            )
        return NeighbourAffinity(self.n_neighbors, self.width, self.symmetric, self.neighbors)

    def _build(self, X: Any) -> None:
        """The graph of the rows, connected if that is wanted."""
        if self.disconnected not in DISCONNECTED:
            raise ValueError(
                f"disconnected of {type(self).__name__} must be one of {DISCONNECTED}, got {self.disconnected!r}; it "
                "says what to do with a graph in several parts."
            )
        self._affinity = self._new_affinity()
        self.graph_ = self._affinity.fit(X)
        self.part_of_ = parts_of(self.graph_)
        self.n_parts_ = int(self.part_of_.max()) + 1
        for name, value in self._affinity.about.items():
            setattr(self, f"{name}_", value)

    def _join(self, X: Any) -> None:
        """Say that there are several parts, and link them if that is wanted."""
        if self.n_parts_ == 1:
            return
        sizes = np.bincount(self.part_of_)
        what = {
            "connect": "they were joined by the shortest links",
            "largest": f"only the largest, of {sizes[0]} rows, was embedded: the others are NaN",
            "each": "each was embedded on its own: rows of different parts cannot be compared",
        }[self.disconnected]
        warnings.warn(
            f"The graph of {type(self).__name__} has {self.n_parts_} connected parts (part_of_), and {what}; raise "
            "n_neighbors or the width for a graph in one part.",
            UserWarning,
            stacklevel=4,
        )
        if self.disconnected == "connect":
            if self.affinity == "precomputed":
                raise ValueError(
                    f"disconnected of {type(self).__name__} must be 'largest' or 'each' for a precomputed affinity in "
                    f"{self.n_parts_} parts, got 'connect'; without rows there are no shortest links."
                )
            self.graph_ = connected(self.graph_, X, self.part_of_, self._link_weights)

    def _link_weights(self, distances: Array) -> Array:
        width = getattr(self, "width_", self.width)
        if self.affinity != "neighbors" or not _is_number(width):
            return np.ones_like(distances)
        return np.exp(-0.5 * (distances / width) ** 2)

    def _spectrum(self, W: Any, k: int) -> WalkSpectrum:
        n = W.shape[0]
        if k > n:
            raise ValueError(
                f"{type(self).__name__} must find at most {n} eigenvectors of a graph of {n} rows, got {k}; ask for "
                "fewer, or give more rows."
            )
        spectrum = walk_spectrum(W, k, method=self.eigen_solver, tol=self.tol)
        if spectrum.status != "optimal":
            warnings.warn(
                f"The eigenvectors of {type(self).__name__} have residuals up to "
                f"{spectrum.residuals.max(initial=0):.1e}, tol {self.tol:.1e}; raise n_neighbors, or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return spectrum

    def _at_new_rows(self, X: Any, weight: Array | None = None) -> Array:
        """Eigenfunctions at new rows: Σ_j P(x, x_j) ψ_j / θ; `weight` divides the weights of each row of the graph."""
        check_is_fitted(self, "graph_")
        X = self._rows(X, reset=False)
        W = self._affinity.between(X)
        if weight is not None:
            W = W @ sparse.diags_array(1.0 / weight) if sparse.issparse(W) else W / weight
        total = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
        if np.any(total <= 0):
            warnings.warn(
                f"{int(np.sum(total <= 0))} rows have no neighbour in the graph of {type(self).__name__}: their "
                "features are NaN.",
                UserWarning,
                stacklevel=3,
            )
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.asarray(W @ self._lift) / total[:, None]
        if not self._affinity.consistent:
            known = self._affinity.same_as(X)  # type: ignore[attr-defined]
            values[known >= 0] = self._functions[known[known >= 0]]
        return values

    def _count(self, parameter: str) -> int:
        value = getattr(self, parameter)
        if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
            raise ValueError(
                f"{parameter} of {type(self).__name__} must be a whole number >= 1, got {value!r}; ask for 1 or more."
            )
        return int(value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.affinity, str) and self.affinity == "precomputed"
        return tags


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))
