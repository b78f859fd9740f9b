"""Optimisation of all latent points: RPROP, L-BFGS, or one after the other, and homotopy before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from tqdm import tqdm

from mercer.kernels.blas import allowed_threads, single_threaded_blas
from mercer.manifolds.ukr.lists import ListObjective
from mercer.manifolds.ukr.objective import LatentObjective
from mercer.solvers import rprop

Array = NDArray[Any]
Status = Literal["optimal", "max_iter", "interrupted"]

OPTIMIZERS = ("rprop", "lbfgs", "rprop+lbfgs")
# Iterations of RPROP before L-BFGS takes over, and of each step of a homotopy.
_BEFORE, _HOMOTOPY_STEPS = 100, 100
# Iterations over which the gain is measured that ends a descent.
_WINDOW = 20
# A homotopy starts from points so close to each other: all densities are nearly those of one point.
_TOTAL_VARIANCE = 0.01
# Density thresholds of [Meinicke2005]_, section 4.3.
THRESHOLDS = (0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005)


@dataclass(frozen=True)
class LatentFit:
    """Latent points that were optimised.

    Attributes
    ----------
    Z : array of shape (N, q)
        The best points that were seen.
    objective : float
        The objective there.
    history : list of float
        The best objective so far, at the start and after each iteration: it never rises.
    n_iter : int
        Number of iterations.
    status : {"optimal", "max_iter", "interrupted"}
        How it ended.
    """

    Z: Array
    objective: float
    history: list[float]
    n_iter: int
    status: Status


Callback = Callable[[int, LatentFit], Any]


def fit_latent(
    objective: LatentObjective | ListObjective,
    start: Array,
    *,
    optimizer: str = "lbfgs",
    max_iter: int = 500,
    tol: float = 1e-4,
    verbose: bool = False,
    callback: Callback | None = None,
) -> LatentFit:
    """Minimise an objective over all latent points.

    Parameters
    ----------
    objective : LatentObjective or ListObjective
        What is minimised.
    start : array of shape (N, q)
        Where to start, in widths of the kernel.
    optimizer : {"rprop", "lbfgs", "rprop+lbfgs"}
        "rprop+lbfgs": a hundred iterations of RPROP (half of `max_iter` at most), then L-BFGS. With a density kernel
        that ends, no step of RPROP leaves a point without neighbours, and L-BFGS keeps the best points where none is.
    max_iter : int
        Most iterations.
    tol : float
        The fit ends when twenty iterations gain less than this share of the objective.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as callback(n_iter, fit) after each iteration; ends the fit if it returns True. So does Ctrl-C, with the
        best points so far.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds.ukr.fitting import fit_latent
    >>> from mercer.manifolds.ukr.objective import LatentObjective
    >>> from mercer.manifolds.ukr.targets import data_targets
    >>> t = np.linspace(0, 3, 60)
    >>> objective = LatentObjective(data_targets(np.column_stack([np.cos(t), np.sin(t)])))
    >>> fit = fit_latent(objective, 5 * np.cos(t)[:, None])
    >>> bool(fit.objective < 0.1 * fit.history[0])
    True
    """
    watch = _Watch(objective, start, tol, callback)
    before = {"rprop": max_iter, "lbfgs": 0, "rprop+lbfgs": min(_BEFORE, max_iter // 2)}[optimizer]
    with tqdm(total=max_iter, desc="Unsupervised kernel regression", disable=not verbose) as watch.progress:
        if before:
            watch.run_rprop(before)
        if watch.status != "interrupted" and before < max_iter:
            watch.run_lbfgs(max_iter - watch.n_iter)
    return watch.fit()


def homotopy(
    objective: LatentObjective, start: Array, thresholds: Sequence[float] = THRESHOLDS, *, verbose: bool = False
) -> LatentFit:
    """Points that unfold step by step: minima under constraints on their density, that are relaxed one by one.

    The start is shrunk to a total variance of 0.01; then for each threshold η a hundred iterations of RPROP among
    points whose density is p(z_i) >= η K(0) [Meinicke2005]_, step 4 of section 2.3.

    Parameters
    ----------
    objective : LatentObjective
        What is minimised.
    start : array of shape (N, q)
        Principal components, as a rule.
    thresholds : sequence of float
        η, falling, between 0 and 1.
    verbose : bool
        Whether to show a progress bar.

    Returns
    -------
    LatentFit
        Where to go on from; Ctrl-C ends it with the best points so far.
    """
    total = float(np.sum(np.var(start, axis=0)))
    Z = start * np.sqrt(_TOTAL_VARIANCE / total) if total > _TOTAL_VARIANCE else start
    history = [objective.value(Z)]
    peak = 1.0 / objective.kernel_integral(Z.shape[1])
    for eta in tqdm(thresholds, desc="Homotopy", disable=not verbose):

        def dense(points: Array, least: float = eta * peak) -> Array:
            return objective.density(points, points) >= least

        result = rprop(objective.value_and_gradient, Z, max_iter=_HOMOTOPY_STEPS, admissible=dense)
        Z, history = result.x, history + result.history[1:]
        if result.status == "interrupted":
            return LatentFit(Z, history[-1], history, len(history) - 1, "interrupted")
    return LatentFit(Z, history[-1], history, len(history) - 1, "max_iter")


class _Watch:
    """Counts iterations of one optimiser after the other, keeps the best points, and tells when to stop."""

    def __init__(self, objective: LatentObjective | ListObjective, start: Array, tol: float, callback: Callback | None):
        self._objective, self._tol, self._callback = objective, tol, callback
        self._may_isolate = objective.density_kernel == "quartic"
        self._Z = np.array(start, dtype=np.float64)
        self._history = [objective.value(self._Z)]
        # Points that are isolated from the start must not keep all others where they are.
        self._alone = objective.isolated(self._Z)
        self._first = 0
        self.status: Status = "max_iter"
        self.progress: Any = None

    @property
    def n_iter(self) -> int:
        return len(self._history) - 1

    def fit(self) -> LatentFit:
        return LatentFit(self._Z, self._history[-1], list(self._history), self.n_iter, self.status)

    def _is_last(self, Z: Array, value: float) -> bool:
        """Take note of another iteration; whether it was the last."""
        best = self._history[-1]
        if value < best and (not self._may_isolate or self._reached(Z).all()):
            self._Z, best = np.array(Z), float(value)
        self._history.append(best)
        self.progress.update()
        self.progress.set_postfix(value=f"{best:.6g}")
        if self._callback is not None and self._callback(self.n_iter, self.fit()):
            self.status = "interrupted"
        elif self.n_iter - self._first > _WINDOW and self._history[-1 - _WINDOW] - best <= self._tol * best:
            self.status = "optimal"
        return self.status != "max_iter"

    def run_rprop(self, n_steps: int) -> None:
        result = rprop(
            self._objective.value_and_gradient,
            self._Z,
            max_iter=n_steps,
            admissible=self._reached if self._may_isolate else None,
            callback=lambda _, Z, value: self._is_last(Z, value),
        )
        if result.status == "interrupted" and self.status == "max_iter":
            self.status = "interrupted"  # by Ctrl-C

    def _reached(self, Z: Array) -> Array:
        """Which points have neighbours, or had none; with the gradient, which is asked for next and is then known."""
        self._objective.value_and_gradient(Z)
        return ~self._objective.isolated(Z) | self._alone

    def run_lbfgs(self, n_steps: int) -> None:
        self.status, self._first = "max_iter", self.n_iter
        shape, scale = self._Z.shape, 1.0 / max(self._history[-1], np.finfo(np.float64).tiny)

        n_threads = allowed_threads()

        def function(flat: Array) -> tuple[float, Array]:
            value, gradient = self._objective.value_and_gradient(flat.reshape(shape), n_threads)
            return value * scale, gradient.ravel() * scale

        def noted(intermediate_result: Any) -> None:
            if self._is_last(intermediate_result.x.reshape(shape), intermediate_result.fun / scale):
                raise StopIteration

        try:
            with single_threaded_blas:  # small products of SciPy's, between gradients, wait longer for threads
                minimize(
                    function, self._Z.ravel(), jac=True, method="L-BFGS-B", callback=noted,
                    options={"maxiter": n_steps, "maxfun": 20 * n_steps, "ftol": 0.0, "gtol": 0.0, "maxcor": 20},
                )  # fmt: skip
        except KeyboardInterrupt:
            self.status = "interrupted"
        if self.status == "max_iter" and self.n_iter - self._first < n_steps:
            self.status = "optimal"  # no step along the gradient lowers the value any more
