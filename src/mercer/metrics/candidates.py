"""Metrics that are learned by likelihood: isotropic, one weight for each column, and rotated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.spatial.distance import pdist

from mercer.metrics.families import Family, slopes
from mercer.metrics.likelihood import ProfileLikelihood, regression
from mercer.metrics.tuning import TUNING

Array = NDArray[Any]
# Told the objective after each evaluation; it raises KeyboardInterrupt to end the search.
Watch = Callable[[float], None]


@dataclass(frozen=True)
class Candidate:
    """A metric a = x T with T = diag(exp(log_weights)) rotation, and the ridge that belongs to it.

    Attributes
    ----------
    family : Family
        The kernel.
    shape : str
        "isotropic", "diagonal" or "rotated".
    log_weights : array of shape (d,)
        Of standardised columns.
    ridge : float
        What is added to the diagonal of K.
    rotation : array of shape (d, d) or None
        A symmetric matrix; None is the unit matrix.
    value : float
        Negative log-likelihood per row.
    """

    family: Family
    shape: str
    log_weights: Array
    ridge: float
    rotation: Array | None = None
    value: float = np.inf

    @property
    def components(self) -> Array:
        """T."""
        weights = np.exp(self.log_weights)
        return np.diag(weights) if self.rotation is None else weights[:, None] * self.rotation

    def rows(self, X: Array) -> Array:
        """Standardised rows in the metric."""
        B = X * np.exp(self.log_weights)
        return B if self.rotation is None else B @ self.rotation


@dataclass(frozen=True)
class Learner:
    """Learns candidates on standardised rows.

    Attributes
    ----------
    groups : array of shape (d,)
        Which weight each column has.
    prior : float
        Of the logarithms of the weights.
    watch : callable
        Told of every evaluation.
    """

    groups: Array
    prior: float
    watch: Watch

    def start(self, family: Family, X: Array, Y: Array) -> Candidate:
        """The best of a grid of scales and ridges, by the likelihood of some rows."""
        return self._best_of(TUNING.scales, family, X, Y)

    def plain(self, family: Family, X: Array, Y: Array) -> Candidate:
        """The median distance as the length, where the likelihood of targets without structure knows no length."""
        return self._best_of((1.0,), family, X, Y)

    def _best_of(self, scales: tuple[float, ...], family: Family, X: Array, Y: Array) -> Candidate:
        few_X, few_Y = X[: TUNING.start_rows], Y[: TUNING.start_rows]
        unit = _median_distance(family, few_X)
        best = Candidate(family, "isotropic", np.zeros(X.shape[1]), 1.0)
        for scale in scales:
            log_weight = float(np.clip(np.log(scale / unit), TUNING.least_log_weight, TUNING.largest_log_weight))
            values = _values_of_ridges(family.kernel()(few_X * np.exp(log_weight)), few_Y, TUNING.ridges)
            place = int(np.argmin(values))
            self.watch(float(values[place]))
            if values[place] < best.value:
                weights = np.full(X.shape[1], log_weight)
                best = replace(best, log_weights=weights, ridge=TUNING.ridges[place], value=float(values[place]))
        return best

    def scaled(self, start: Candidate, X: Array, Y: Array, n_steps: int = TUNING.isotropic_steps) -> Candidate:
        """One factor of all weights, and the ridge."""
        rows, groups = X * np.exp(start.log_weights), np.zeros(X.shape[1], dtype=np.intp)
        rows_apart = _median_distance(start.family, start.rows(X))
        least, largest = TUNING.least_log_weight - start.log_weights.min(), np.log(TUNING.largest_scale / rows_apart)
        bounds = [(min(float(least), 0.0), max(float(largest), 0.0))]
        log_factor, ridge, value = self._descended(start, rows, Y, groups, np.zeros(1), bounds, n_steps)
        return replace(start, log_weights=start.log_weights + log_factor[groups], ridge=ridge, value=value)

    def weighted(self, start: Candidate, X: Array, Y: Array, n_steps: int) -> Candidate:
        """The weights of all columns or groups, and the ridge."""
        first = np.unique(self.groups, return_index=True)[1]
        bounds = [(TUNING.least_log_weight, TUNING.largest_log_weight)] * len(first)
        log_weights, ridge, value = self._descended(start, X, Y, self.groups, start.log_weights[first], bounds, n_steps)
        return replace(start, log_weights=log_weights[self.groups], ridge=ridge, value=value)

    def diagonal(self, start: Candidate, X: Array, Y: Array) -> Candidate:
        """One weight for each column or group: first on few rows, from there on all."""
        found, few = replace(start, shape="diagonal"), TUNING.few_rows
        if len(X) <= few:
            return self.weighted(found, X, Y, TUNING.first_steps)
        return self.weighted(self.weighted(found, X[:few], Y[:few], TUNING.first_steps), X, Y, TUNING.more_steps)

    def rotated(self, start: Candidate, X: Array, Y: Array) -> Candidate:
        """The rows stretched by the average outer product of gradients, with a new scale and ridge; twice."""
        found = start
        for _ in range(TUNING.n_turns):
            found = self.scaled(turned(found, X, Y), X, Y)
        return found

    def refined(self, start: Candidate, X: Array, Y: Array) -> Candidate:
        """Some steps more, usually on more rows."""
        improve = self.scaled if start.shape == "isotropic" else self.weighted
        return improve(start, X, Y, TUNING.refining_steps)

    def _descended(
        self, start: Candidate, X: Array, Y: Array, groups: Array, log_weights: Array, bounds: list[Any], n_steps: int
    ) -> tuple[Array, float, float]:
        """Steps of L-BFGS: the best weights that were seen, their ridge and objective."""
        likelihood = ProfileLikelihood(start.family, X, Y, groups, prior=self.prior, rotation=start.rotation)
        best_value, best = np.inf, np.append(log_weights, np.log(start.ridge))

        def objective(theta: Array) -> tuple[float, Array]:
            nonlocal best_value, best
            value, gradient = likelihood(theta)
            if value < best_value:
                best_value, best = value, theta.copy()
            self.watch(value)
            return value, gradient

        bounds = [*bounds, (np.log(TUNING.least_ridge), np.log(TUNING.largest_ridge))]
        options = {"maxiter": n_steps, "ftol": TUNING.tol}
        minimize(objective, best, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        ridge = max(float(np.exp(best[-1])), TUNING.least_ridge)  # and not less by rounding
        return best[:-1], ridge, float(best_value)


def turned(start: Candidate, X: Array, Y: Array) -> Candidate:
    """The metric stretched by M^(1/4), M the mean of ∇f ∇fᵀ at the rows, each without its own kernel function.

    M^(1/4) is M^(1/2) in the square of the distance, [Radhakrishnan2024]_; the spread of the rows stays as it is.
    """
    A = start.rows(X)
    fit = regression(start.family, A, Y, start.ridge)
    G = slopes(start.family, A, fit.coef).reshape(-1, A.shape[1])
    values, vectors = eigh(G.T @ G)
    root = (vectors * np.maximum(values, 0.0) ** 0.25) @ vectors.T
    rotation = root if start.rotation is None else start.rotation @ root
    stretched = replace(start, shape="rotated", rotation=rotation, value=np.inf)
    spread = float(np.linalg.norm(stretched.rows(X)))
    factor = float(np.linalg.norm(A)) / spread if spread > 0 else 1.0
    return replace(stretched, rotation=factor * rotation)


def _median_distance(family: Family, X: Array) -> float:
    """The median distance of the family between different rows, of which some are looked at."""
    distances = pdist(X[: TUNING.start_rows], "euclidean" if family.turns else "cityblock")
    positive = distances[distances > 0]
    return float(np.median(positive)) if positive.size else 1.0


def _values_of_ridges(K: Array, Y: Array, ridges: tuple[float, ...]) -> Array:
    """Negative log-likelihood per row for several ridges, from one eigendecomposition; the mean is projected out."""
    n = len(K)
    centred = K - K.mean(axis=0)
    centred -= centred.mean(axis=1)[:, None]
    values, vectors = eigh(centred)
    squares = (vectors[:, 1:].T @ (Y - Y.mean(axis=0))) ** 2
    raised = np.maximum(values[1:], 0.0) + np.asarray(ridges)[:, None]
    variance = np.maximum((squares / raised[..., None]).sum(axis=1) / n, 1e-12)
    return 0.5 * np.log(variance).mean(axis=1) + 0.5 * np.log(raised).sum(axis=1) / n
