"""What the estimators on graphs share: the graph of the rows, its parts, and functions on it at new rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from mercer.arrays import Array
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
from mercer.parameters import check_choice, check_positive
from mercer.running import Status
from mercer.solvers.sparse_eigen import EIGEN_SOLVERS


class GraphEstimator(BaseEstimator):
    """Base of the estimators: parameters of the graph, the spectrum of its random walk, and its extension to new rows.

    A fit stores `graph_` (the weights), `part_of_` (the connected part of each row), `_functions` (eigenfunctions f at
    each row, scaled as the estimator wants them) and `_lift` (f / θ): Σ_j P(x, x_j) f_j / θ are the values at a new
    row.
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
    _functions: Array
    _lift: Array

    def _rows(self, X: Any, *, reset: bool) -> tuple[Any, Any]:
        """Rows in double precision, which nobody else can change if they are kept; and the type they were given in."""
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            reset=reset,
            ensure_min_samples=2 if reset else 1,
            copy=reset and not self._is_precomputed,
        )
        X = sparse.csr_array(X) if sparse.issparse(X) else X
        return X.astype(np.float64, copy=False), X.dtype

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.affinity, str) and self.affinity == "precomputed"

    def _new_affinity(self) -> Affinity:
        owner, affinity = type(self).__name__, self.affinity
        if isinstance(affinity, Kernel):
            return KernelAffinity(clone(affinity), owner=owner)
        if self._is_precomputed:
            return PrecomputedAffinity(owner=owner)
        if isinstance(affinity, str) and affinity == "radius":
            return RadiusAffinity(self.radius, owner=owner)
        if not isinstance(affinity, str) or affinity != "neighbors":
            raise ValueError(
                f"affinity of {owner} must be 'neighbors', 'radius', 'precomputed' or a Kernel, got {affinity!r}; "
                "choose one of these."
            )
        return NeighbourAffinity(self.n_neighbors, self.width, self.symmetric, self.neighbors, owner=owner)

    def _build(self, X: Any) -> None:
        """The graph of the rows, and its parts."""
        owner = type(self).__name__
        check_choice(self.disconnected, DISCONNECTED, "disconnected", owner)
        check_choice(self.eigen_solver, EIGEN_SOLVERS, "eigen_solver", owner)
        check_positive(self.tol, "tol", owner, "it bounds the residuals of eigenvectors")
        self._affinity = self._new_affinity()
        self.__dict__.pop("embedding_", None)  # a fit that is interrupted leaves no model
        self.graph_ = self._affinity.fit(X)
        self.part_of_ = parts_of(self.graph_)
        self.n_parts_ = int(self.part_of_.max()) + 1
        for name in ("neighbor_method", "n_neighbors", "width", "width_curve"):
            self.__dict__.pop(f"{name}_", None)  # of an earlier fit
            if name in self._affinity.about:
                setattr(self, f"{name}_", self._affinity.about[name])

    def _warn_of_parts(self, what: str) -> None:
        warnings.warn(
            f"The graph of {type(self).__name__} has {self.n_parts_} connected parts (part_of_), and {what}; raise "
            "n_neighbors, the radius or the width for a graph in one part.",
            UserWarning,
            stacklevel=4,
        )

    def _connect(self, X: Any, remedy: str) -> None:
        """Link the parts, with a warning."""
        if self._is_precomputed:
            raise ValueError(
                f"X of {type(self).__name__} must be the affinity of a graph in one part to be joined, got "
                f"{self.n_parts_} parts, and no rows to find the shortest links of; {remedy}."
            )
        self._warn_of_parts("they were joined by the shortest links")
        self.graph_ = connected(self.graph_, X, self.part_of_, self._link_weights)

    def _link_weights(self, distances: Array) -> Array:
        if isinstance(self._affinity, NeighbourAffinity):
            return self._affinity.link_weights(distances)
        return np.zeros_like(distances)

    def _spectrum(self, W: Any, k: int) -> WalkSpectrum:
        spectrum = walk_spectrum(W, k, method=self.eigen_solver, tol=self.tol)
        if spectrum.status != Status.OPTIMAL:
            warnings.warn(
                f"The eigenvectors of {type(self).__name__} have residuals up to {spectrum.residuals.max():.1e}, "
                f"tol {self.tol:.1e}; raise n_neighbors, or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return spectrum

    def _at_new_rows(self, X: Any) -> Array:
        """Functions on the graph at new rows: Σ_j P(x, x_j) f_j / θ; rows of the graph have their own values."""
        W, known = self._weights_of(X)
        total = np.asarray(W.sum(axis=1), dtype=np.float64)
        values = (W @ self._lift) / np.where(total > 0, total, np.nan)[:, None]
        values[known >= 0] = self._functions[known[known >= 0]]
        lost = np.isnan(values) & (known < 0)[:, None]
        if lost.any():
            self._warn_of_lost(lost, alone=(total <= 0) & (known < 0))
        return values

    def _weights_of(self, X: Any) -> tuple[Any, Array]:
        """Weights of new rows to those of the graph, and the rows of the graph that they are equal to, or -1."""
        return self._affinity.between(X)

    def _warn_of_lost(self, lost: Array, alone: Array) -> None:
        """Say why new rows get NaN."""
        unknown = np.isnan(self._lift).all(axis=0)
        outside = lost.all(axis=1) & ~alone & ~unknown.all()
        reasons = []
        if alone.any():
            reasons.append(f"{int(alone.sum())} have no neighbour in the graph")
        if outside.any():
            reasons.append(f"{int(outside.sum())} are nearest to connected parts that were not embedded")
        if unknown.any():
            columns = ", ".join(str(column) for column in np.flatnonzero(unknown))
            reasons.append(f"columns {columns} belong to θ = 0 and are known at the rows of the graph alone")
        warnings.warn(f"{type(self).__name__} gives NaN to new rows: {'; '.join(reasons)}.", UserWarning, stacklevel=4)

    @property
    def _takes_sparse(self) -> bool:
        """Whether the rows may be sparse: not in trees, and as the kernel says."""
        if isinstance(self.affinity, Kernel):
            return bool(self.affinity.takes_sparse)
        by_neighbours = isinstance(self.affinity, str) and self.affinity == "neighbors"
        return not (by_neighbours and self.neighbors == "tree")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.pairwise = tags.input_tags.positive_only = self._is_precomputed
        return tags
