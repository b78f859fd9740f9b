"""Critics that tell pairs that belong together from others: one concave program, and its certificate."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.components.pairs import PairEstimator, rows_for
from mercer.information.bounds import Bound, donsker_varadhan, infonce, nwj
from mercer.kernels.gram import LowRank, feature_map
from mercer.parameters import check_choice, check_count, is_number
from mercer.running import Run, Status, Step, Stopping, unless_interrupted
from mercer.threads import single_threaded_blas

BOUNDS = {"infonce": infonce, "nwj": nwj, "donsker_varadhan": donsker_varadhan}
# Penalties that "auto" tries, from large to small; it stops after some that are no better.
_PENALTIES, _PATIENCE = np.logspace(0, -7, 15), 3
# Share of the rows on which "auto" judges.
_HELD_OUT = 0.25


class KernelCritic(PairEstimator):
    """A lower bound of the mutual information of X and Y, from a critic t(x, y) = φ(x)ᵀ Θ ψ(y).

    φ and ψ are kernel features and the constant. For such critics InfoNCE, NWJ and Donsker-Varadhan are concave in Θ:
    max over Θ of bound(Θ) - λ/2 ||Θ||² has one solution, whatever the start, and a fit proves how near it is:
    best - value <= ||∇||² / (2 λ).

    Parameters
    ----------
    kernels : Kernel, pair of Kernels, or None
        For X and Y; None: a Gaussian whose width is the median distance.
    rank : int
        Most features of each side, see `mercer.kernels.gram.feature_map`.
    penalty : "auto" or float
        λ, for features of mean squared length 1. "auto": the one with the largest bound, less its standard error,
        on a quarter of the rows, which are then used as well.
    objective : {"infonce", "nwj", "donsker_varadhan"}
        The bound.
    batch_size : int
        Number N of pairs that are compared with each other; of fewer rows all. InfoNCE never exceeds log N.
    tol : float
        The fit ends when the certificate is below this number of nats.
    max_iter : int
        Most iterations of L-BFGS.
    warm_start : bool
        Whether to start from the last Θ, if the features have the same numbers.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as ``callback(iteration, minus the penalised bound)``; if it returns True, the fit ends there.
    random_state : int, RandomState or None
        Draws landmarks, and which pairs are compared.

    Attributes
    ----------
    coef_ : array of shape (n_features_left + 1, n_features_right + 1)
        Θ; the constants are last.
    penalty_ : float
        λ that was used.
    validation_ : float
        The bound, less its standard error, by which the penalty was chosen; NaN if it was given.
    gap_ : float
        The certificate: the penalised bound on the training rows is at most this far below the best, in nats.
    objective_ : float
        The penalised bound on the training rows. It is too good: see `bound`.
    kernels_ : pair of Kernels
        What was used.
    status_, n_iter_, history_
        How the fit ended, number of iterations, and minus the penalised bound after each.

    Notes
    -----
    The bound of rows that the critic has seen says nothing: fit on one part of the rows, and call `bound` on the other.
    Cost O(n r (r + N)) for each iteration, r features a side; memory n (N + 2 r) numbers. [Oord2018]_, [Poole2019]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelCritic
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(1000, 1))
    >>> y = 0.8 * x + 0.6 * rng.normal(size=(1000, 1))
    >>> bound = KernelCritic(rank=10, random_state=0).fit(x[:500], y[:500]).bound(x[500:], y[500:])
    >>> 0.3 < bound.value < 0.51, round(bound.ceiling, 2)
    (True, 4.16)
    """

    coef_: Array

    def __init__(
        self,
        kernels: Any = None,
        *,
        rank: int = 50,
        penalty: Any = "auto",
        objective: str = "infonce",
        batch_size: int = 64,
        tol: float = 1e-4,
        max_iter: int = 1000,
        warm_start: bool = False,
        verbose: bool = False,
        callback: Callable[[int, float], object] | None = None,
        random_state: Any = None,
    ):
        self.kernels = kernels
        self.rank = rank
        self.penalty = penalty
        self.objective = objective
        self.batch_size = batch_size
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Find the critic of pairs of rows of X and of y (Y), which may be a table or one column."""
        stopping = self._checked()
        X, Y = self._pairs(X, y, reset=True)
        rng = check_random_state(self.random_state)
        sides = zip(self.kernels_, (X, Y), strict=True)
        self._features = tuple(_Features.of(feature_map(kernel, rows, self.rank, rng), rows) for kernel, rows in sides)
        F, G = (side(rows) for side, rows in zip(self._features, (X, Y), strict=True))
        order = rng.permutation(len(F))
        F, G = F[order], G[order]
        start = np.zeros((F.shape[1], G.shape[1]))
        if self.warm_start and getattr(self, "coef_", start[:0]).shape == start.shape:
            start = self.coef_
        interrupted, self.validation_ = False, float("nan")
        if self.penalty == "auto":
            quiet = replace(stopping, callback=None, verbose=False)
            self.penalty_, self.validation_, interrupted = self._chosen_penalty(F, G, quiet)
        else:
            self.penalty_ = float(self.penalty)
        if interrupted:
            stopping = replace(stopping, max_iter=1)
        program = _Program.of(self.objective, F, G, self.batch_size, self.penalty_)
        run = maximised(program, start, stopping, self.tol)
        self.coef_, self.gap_, self.objective_ = run.state, program.gap(run.state), -run.value
        self.status_, self.n_iter_, self.history_ = run.status, run.n_iter, run.history
        if interrupted:
            self.status_ = Status.INTERRUPTED
            return self
        run.warn_unless_converged(type(self).__name__)
        return self

    def values(self, X: Any, Y: Any) -> Array:
        """The critic t(x_i, y_j) for all rows of X with all rows of Y."""
        check_is_fitted(self, "coef_")
        X, Y = self._left(X, reset=False), self._right(Y)
        return np.asarray(self._features[0](X) @ self.coef_ @ self._features[1](Y).T)

    def bound(self, X: Any, Y: Any, *, batch_size: int | None = None) -> Bound:
        """The bound on pairs of rows that the critic has not seen, in batches of `batch_size` or another number.

        Rows are shuffled; those that do not fill a batch are left out, and with fewer rows than a batch there is one of
        all rows, with its lower ceiling. A value within 1 of the ceiling gives a warning: the information may be much
        larger.
        """
        check_is_fitted(self, "coef_")
        X, Y = self._pairs(X, Y, reset=False, least=1 if self.objective == "infonce" else 2)
        F, G = (side(rows) for side, rows in zip(self._features, (X, Y), strict=True))
        order = np.random.default_rng(0).permutation(len(F))
        size = self.batch_size if batch_size is None else check_count(batch_size, "batch_size", "bound", least=2)
        t = _critic(*_batches(F[order], G[order], size), self.coef_)
        found = BOUNDS[self.objective](t)
        if found.near_ceiling and found.ceiling > 1.0:
            warnings.warn(
                f"The bound, {found.value:.2f}, is near its ceiling, {found.ceiling:.2f}: X and Y may share much more; "
                "raise batch_size of KernelCritic, or give more rows.",
                UserWarning,
                stacklevel=2,
            )
        return found

    def score(self, X: Any, y: Any) -> float:
        """The value of `bound`, for a search among parameters."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return self.bound(X, y).value

    def _right(self, Y: Any) -> Any:
        return rows_for(self.kernels_[1], Y, "Y")

    def _checked(self) -> Stopping:
        owner = type(self).__name__
        check_choice(self.objective, tuple(BOUNDS), "objective", owner)
        check_count(self.rank, "rank", owner)
        check_count(self.batch_size, "batch_size", owner, least=2)
        if not (isinstance(self.penalty, str) and self.penalty == "auto") and not (
            is_number(self.penalty) and self.penalty > 0
        ):
            raise ValueError(f'penalty of {owner} must be "auto" or a number > 0, got {self.penalty!r}; try 1e-3.')
        return replace(Stopping.of(self), tol=-1.0)

    def _chosen_penalty(self, F: Array, G: Array, stopping: Stopping) -> tuple[float, float, bool]:
        """The penalty with the largest bound on held-out rows, from a path of warm starts.

        And that bound, and whether the path was cut short.
        """
        n_held_out = max(2, int(_HELD_OUT * len(F)))
        train, test = slice(n_held_out, None), slice(n_held_out)
        if len(F) - n_held_out < 2:
            return float(_PENALTIES[0]), float("nan"), False
        held_out = _batches(F[test], G[test], self.batch_size)
        theta, values, interrupted = np.zeros((F.shape[1], G.shape[1])), [], False
        for penalty in _PENALTIES:
            program = _Program.of(self.objective, F[train], G[train], self.batch_size, float(penalty))
            run = maximised(program, theta, stopping, max(self.tol, 1e-3))
            theta = unless_interrupted(lambda run=run: run.state, lambda theta=theta: theta)  # type: ignore[misc]
            found = BOUNDS[self.objective](_critic(*held_out, theta))
            values.append(np.nan_to_num(found.value - found.standard_error, nan=found.value))
            interrupted = run.status == Status.INTERRUPTED
            if interrupted or len(values) - 1 - int(np.argmax(values)) >= _PATIENCE:
                break
        return float(_PENALTIES[int(np.argmax(values))]), float(max(values)), interrupted


class _Features(NamedTuple):
    """Centred kernel features of mean squared length 1, and the constant."""

    low_rank: LowRank
    mean: Array
    scale: float

    @classmethod
    def of(cls, low_rank: LowRank, rows: Any) -> _Features:
        F = low_rank.features(rows)
        mean = F.mean(axis=0)
        scale = float(np.sqrt(((F - mean) ** 2).sum() / len(F)))
        return cls(low_rank, mean, scale if scale > 1e-12 * np.sqrt((F**2).sum() / len(F)) else 1.0)

    def __call__(self, rows: Any) -> Array:
        F = (self.low_rank.features(rows) - self.mean) / self.scale
        return np.hstack([F, np.ones((len(F), 1))])


def _batches(F: Array, G: Array, batch_size: int) -> tuple[Array, Array]:
    """Features of pairs as arrays of shape (n_batches, N, n_features); rows that fill no batch are left out."""
    N = min(batch_size, len(F))
    n_batches = len(F) // N
    F, G = (A[: n_batches * N].reshape(n_batches, N, A.shape[1]) for A in (F, G))
    return F, G


def _critic(F: Array, G: Array, theta: Array) -> Array:
    return np.asarray((F @ theta) @ G.transpose(0, 2, 1))


class _Program(NamedTuple):
    """max over Θ of bound(Θ) - λ/2 ||Θ||², with its gradient."""

    slopes: Callable[[Array], tuple[float, Array]]
    F: Array
    G: Array
    penalty: float

    @classmethod
    def of(cls, objective: str, F: Array, G: Array, batch_size: int, penalty: float) -> _Program:
        return cls(_SLOPES[objective], *_batches(F, G, batch_size), penalty)

    def value(self, theta: Array) -> tuple[float, Array]:
        """The penalised bound and its gradient."""
        value, slopes = self.slopes(_critic(self.F, self.G, theta))
        gradient = np.tensordot(self.F, slopes @ self.G, axes=((0, 1), (0, 1))) - self.penalty * theta
        return value - self.penalty / 2 * float(np.sum(theta**2)), gradient

    def gap(self, theta: Array) -> float:
        """How far the value is below the largest, at most."""
        return float(np.sum(self.value(theta)[1] ** 2) / (2 * self.penalty))


def _infonce_slopes(t: Array) -> tuple[float, Array]:
    """The bound, and its derivative by the values of the critic."""
    n_batches, n, _ = t.shape
    positive = np.eye(n)
    value = np.mean(np.diagonal(t, axis1=1, axis2=2) - logsumexp(t, axis=2)) + np.log(n)
    return float(value), (positive - softmax(t, axis=2)) / (n_batches * n)


def _nwj_slopes(t: Array) -> tuple[float, Array]:
    n_batches, n, _ = t.shape
    positive = np.eye(n)
    # A step that is much too long must be seen as such, and not overflow.
    products = np.exp(np.minimum(t - 1.0, 300.0)) * (1.0 - positive) / (n_batches * n * (n - 1))
    value = np.mean(np.diagonal(t, axis1=1, axis2=2)) - products.sum()
    return float(value), positive / (n_batches * n) - products


def _donsker_varadhan_slopes(t: Array) -> tuple[float, Array]:
    n_batches, n, _ = t.shape
    positive = np.eye(n)
    others = np.where(positive > 0, -np.inf, t)
    log_sum = logsumexp(others)
    value = np.mean(np.diagonal(t, axis1=1, axis2=2)) - log_sum + np.log(n_batches * n * (n - 1))
    return float(value), positive / (n_batches * n) - np.exp(others - log_sum)


_SLOPES = {"infonce": _infonce_slopes, "nwj": _nwj_slopes, "donsker_varadhan": _donsker_varadhan_slopes}


def maximised(program: _Program, start: Array, stopping: Stopping, tol: float) -> Run[Array]:
    """L-BFGS from a start until the certificate is below tol."""
    shape = start.shape
    last: tuple[Array, float, Array] | None = None

    def minus(flat: Array) -> tuple[float, Array]:
        _, value, gradient = evaluated(flat)
        return -value, -gradient.ravel()

    def evaluated(flat: Array) -> tuple[Array, float, Array]:
        nonlocal last
        if last is None or not np.array_equal(flat, last[0]):
            last = flat.copy(), *program.value(flat.reshape(shape))
        return last

    def seen(flat: Array) -> bool:
        theta, value, gradient = evaluated(flat)
        near = np.sum(gradient**2) <= 2 * program.penalty * tol
        return run.see(Step(theta.reshape(shape), -value, Status.OPTIMAL if near else None))

    def note(flat: Array) -> None:
        if seen(flat):
            raise StopIteration

    # Products of batches are small: a second thread would cost more than it gives.
    with single_threaded_blas, Run[Array](stopping, "KernelCritic") as run:
        if not seen(start.ravel()):
            options = {"maxiter": 10 * min(stopping.max_iter, 10**6), "maxcor": 30, "ftol": 0.0, "gtol": 0.0}
            minimize(minus, start.ravel(), jac=True, method="L-BFGS-B", callback=note, options=options)
    return run
