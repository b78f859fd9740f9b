"""Metrics that are learned by likelihood: isotropic, one weight for each column, and rotated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.spatial.distance import pdist

from mercer.arrays import Array
from mercer.metrics.columns import most_relevant
from mercer.metrics.families import Family
from mercer.metrics.likelihood import ProfileLikelihood, ScaleLikelihood, regression
from mercer.metrics.tuning import TUNING

# Told the objective after each evaluation (`Run.note`).
Watch = Callable[[float], None]
# The objective and its gradient at logarithms of weights, followed by that of the ridge.
Likelihood = Callable[[Array], tuple[float, Array]]


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
        Of standardised columns; -inf for those that are left out.
    ridge : float
        What is added to the diagonal of K.
    rotation : array of shape (k, k) or None
        A matrix over the k columns that are used; None is the unit matrix.
    value : float
        Negative log-likelihood per row.
    log_shares : array of shape (d,) or None
        Logarithms of the fractions of the columns, where the family has them.
    """

    family: Family
    shape: str
    log_weights: Array
    ridge: float
    rotation: Array | None = None
    value: float = np.inf
    log_shares: Array | None = None

    @property
    def unit(self) -> Family:
        """The family with the fractions of the columns that are used: its kernel is that of `rows`."""
        return self.family if self.log_shares is None else self.family.at(np.exp(self.log_shares[self.used]))

    @property
    def used(self) -> Array:
        """Which columns are not left out."""
        return np.isfinite(self.log_weights)

    @property
    def components(self) -> Array:
        """T, of shape (d, k)."""
        T = np.diag(np.exp(self.log_weights))[:, self.used]
        return T if self.rotation is None else T @ self.rotation

    def rows(self, X: Array) -> Array:
        """Standardised rows in the metric."""
        used = self.used
        B = (X if used.all() else X[:, used]) * np.exp(self.log_weights[used])
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

    def selected(self, X: Array, Y: Array) -> Array:
        """Which columns diagonal metrics use: all, or of very many those that tell most of the targets by themselves.

        Whoever judges such a metric must select its columns without the rows that judge.
        """
        return most_relevant(X, Y, self.groups)

    def start(self, family: Family, X: Array, Y: Array, used: Array | None = None) -> Candidate:
        """The best of a grid of scales and ridges for some rows, by the likelihood; all columns by default."""
        best = Candidate(family, "isotropic", np.zeros(X.shape[1]), 1.0)
        for candidate, values in self._tried(TUNING.scales, family, X, Y, used):
            place = int(np.argmin(values))
            self.watch(float(values[place]))
            if values[place] < best.value:
                best = replace(candidate, ridge=TUNING.ridges[place], value=float(values[place]))
        return best

    def flat(self, family: Family, used: Array) -> Candidate:
        """Widths of one standard deviation and equal shares, from which those of each column are learned."""
        log_weights = np.where(used, 0.0, -np.inf)
        return Candidate(family, "diagonal", log_weights, TUNING.flat_ridge, log_shares=_equal_shares(used))

    def plain(self, family: Family, X: Array, Y: Array) -> Candidate:
        """The median distance as the length, where the likelihood of targets without structure knows no length.

        The ridge is the largest that is not clearly less likely than the best: if all rows are about equally far from
        each other the likelihood does not tell noise from a function of single rows.
        """
        ((candidate, values),) = self._tried((1.0,), family, X, Y, None)
        n = min(len(X), TUNING.start_rows)
        place = int(np.flatnonzero(values <= values.min() + TUNING.unclear / n)[-1])
        self.watch(float(values[place]))
        return replace(candidate, ridge=TUNING.ridges[place], value=float(values[place]))

    def _tried(
        self, scales: tuple[float, ...], family: Family, X: Array, Y: Array, used: Array | None
    ) -> Iterator[tuple[Candidate, Array]]:
        """Equal weights for each scale, and the values of all ridges, on some rows."""
        few_X, few_Y = X[: TUNING.start_rows], Y[: TUNING.start_rows]
        used = np.ones(X.shape[1], dtype=bool) if used is None else used
        unit = _median_distance(family, few_X[:, used])
        for scale in scales:
            log_weight = float(np.clip(np.log(scale / unit), TUNING.least_log_weight, TUNING.largest_log_weight))
            candidate = Candidate(family, "isotropic", np.where(used, log_weight, -np.inf), 1.0)
            if family.has_shares:
                candidate = replace(candidate, log_shares=_equal_shares(used))
            yield candidate, _values_of_ridges(candidate.unit.kernel()(candidate.rows(few_X)), few_Y, TUNING.ridges)

    def scaled(self, start: Candidate, X: Array, Y: Array, n_steps: int = TUNING.isotropic_steps) -> Candidate:
        """One factor of all weights, and the ridge; where columns have shares, equal ones too."""
        if start.family.has_shares:
            return replace(self, groups=np.zeros_like(self.groups)).weighted(start, X, Y, n_steps)
        A = start.rows(X)
        least = TUNING.least_log_weight - start.log_weights[start.used].min()
        largest = np.log(TUNING.largest_scale / _median_distance(start.family, A))
        bounds = [(min(float(least), 0.0), max(float(largest), 0.0))]
        likelihood = ScaleLikelihood(start.family, A, Y)
        log_factor, ridge, value = self._descended(likelihood, np.zeros(1), start.ridge, bounds, n_steps)
        return replace(start, log_weights=start.log_weights + log_factor, ridge=ridge, value=value)

    def weighted(self, start: Candidate, X: Array, Y: Array, n_steps: int) -> Candidate:
        """The weights of all columns or groups that are used, their shares if any, and the ridge."""
        used = start.used
        _, first, groups = np.unique(self.groups[used], return_index=True, return_inverse=True)
        logs = [start.log_weights] if start.log_shares is None else [start.log_weights, start.log_shares]
        bounds = [(TUNING.least_log_weight, TUNING.largest_log_weight)] * len(first)
        if start.log_shares is not None:
            bounds += [(TUNING.least_log_share, TUNING.largest_log_share)] * len(first)
        likelihood = ProfileLikelihood(
            start.family, X[:, used], Y, groups, prior=self.prior, rotation=start.rotation
        )  # fmt: skip
        theta = np.concatenate([values[used][first] for values in logs])
        found, ridge, value = self._descended(likelihood, theta, start.ridge, bounds, n_steps)
        learned = [values.copy() for values in logs]
        for values, new in zip(learned, found.reshape(len(logs), -1), strict=True):
            values[used] = new[groups]
        return replace(
            start, log_weights=learned[0], log_shares=learned[1] if learned[1:] else None, ridge=ridge, value=value
        )

    def diagonal(self, start: Candidate, X: Array, Y: Array, used: Array) -> Candidate:
        """One weight for each column or group that is used: first on few rows, from there on all."""
        if not used.all():  # the scale and the ridge of all columns say nothing of these
            start = self.scaled(self.start(start.family, X, Y, used), X, Y)
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
        self, likelihood: Likelihood, log_weights: Array, ridge: float, bounds: list[Any], n_steps: int
    ) -> tuple[Array, float, float]:
        """Steps of L-BFGS: the best weights that were seen, their ridge and objective."""
        best_value, best = np.inf, np.append(log_weights, np.log(ridge))

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
    fit = regression(start.unit, A, Y, start.ridge)
    G = start.unit.slopes(A, fit.coef).reshape(-1, A.shape[1])
    values, vectors = eigh(G.T @ G)
    root = (vectors * np.maximum(values, 0.0) ** 0.25) @ vectors.T
    rotation = root if start.rotation is None else start.rotation @ root
    stretched = replace(start, shape="rotated", rotation=rotation, value=np.inf)
    spread = float(np.linalg.norm(stretched.rows(X)))
    factor = float(np.linalg.norm(A)) / spread if spread > 0 else 1.0
    return replace(stretched, rotation=factor * rotation)


def _equal_shares(used: Array) -> Array:
    """Logarithms of shares to start from: with many columns smaller ones, else all rows look different."""
    return np.full(len(used), min(0.0, np.log(TUNING.alike_columns / used.sum())))


def _median_distance(family: Family, X: Array) -> float:
    """The median distance of the family between different rows, of which some are examined; in a column if shared."""
    distances = pdist(X[: TUNING.start_rows], "euclidean" if family.turns else "cityblock")
    positive = distances[distances > 0]
    median = float(np.median(positive)) if positive.size else 1.0
    return median / X.shape[1] if family.has_shares else median


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
