"""Parameters of `UnsupervisedKernelRegression`: checks, and what "auto" stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.manifolds.latent.space import LatentSpace, latent_space
from mercer.manifolds.ukr.density_kernels import DensityKernel, density_kernel_of
from mercer.manifolds.ukr.fitting import OPTIMIZERS, THRESHOLDS, Callback
from mercer.manifolds.ukr.problem import LatentProblem
from mercer.manifolds.ukr.starts import FAST, MANIFOLD, NEIGHBOURS, candidate_names
from mercer.manifolds.ukr.targets import Targets
from mercer.manifolds.ukr.tuning import TUNING, Tuning
from mercer.manifolds.ukr.units import LatentUnits
from mercer.parameters import check_callback, check_choice, check_count, check_positive, is_number

OWNER = "UnsupervisedKernelRegression"
OBJECTIVES = ("auto", "leave_one_out", "leave_neighbours_out")


@dataclass(frozen=True)
class Settings:
    """Parameters that were checked, with "auto" replaced.

    Attributes
    ----------
    space : LatentSpace
        Lines and circles.
    density_kernel : DensityKernel
        K.
    n_rows : int
        Rows that make the surface.
    n_excluded : int
        Neighbours that are left out beside each point; if `n_excluded_is_auto`, the most that may be.
    n_excluded_is_auto : bool
        Whether the rows tell how many.
    init : str or array
        As it was given.
    names : list of str
        Starts; empty if coordinates are given.
    optimizer : str
        One of `OPTIMIZERS`.
    thresholds : tuple of float
        Of the homotopy.
    max_iter : int
        Most iterations.
    max_iter_is_auto : bool
        Whether that was left to be chosen.
    tol, verbose, callback, density_threshold, random_state
        As they were given.
    fast : bool
        Whether starts are few, a soft manifold among them, and descents by lists of latent neighbours.
    tuning : Tuning
        Numbers of the way.
    """

    space: LatentSpace
    density_kernel: DensityKernel
    n_rows: int
    n_excluded: int
    n_excluded_is_auto: bool
    init: Any
    names: list[str]
    optimizer: str
    thresholds: tuple[float, ...]
    max_iter: int
    max_iter_is_auto: bool
    tol: float
    verbose: bool
    callback: Callback | None
    density_threshold: Any
    random_state: Any
    fast: bool
    tuning: Tuning

    def n_excluded_of_part(self, n_part: int, n_rows: int) -> int:
        """How many neighbours to leave out of a part of the rows: the same share of those within reach.

        That is n_excluded (n_part / n_rows)^(4 / (q + 4)), from one to all but three rows of the part; where the rows
        tell, what it is for so many rows at most.
        """
        if n_part == n_rows or not self.n_excluded:
            return self.n_excluded
        q = self.space.n_dims
        if self.n_excluded_is_auto:
            return min(self.n_excluded, automatic_n_excluded(n_part, q, self.tuning))
        return int(np.clip(round(self.n_excluded * _within_reach(n_part / n_rows, q)), 1, n_part - 3))

    def problem(self, targets: Targets, units: LatentUnits, n_excluded: int) -> LatentProblem:
        """The problem in some units, with so many neighbours left out."""
        return LatentProblem(targets, self.density_kernel, n_excluded, units.periods if units.is_circle.any() else None)


def settings_of(estimator: Any, n_rows: int, tuning: Tuning = TUNING) -> Settings:
    """Check the parameters that need no data but the number of rows, and replace those that are "auto"."""
    q = check_count(estimator.n_components, "n_components", OWNER)
    space = latent_space(estimator.topology, q, OWNER)
    kernel = density_kernel_of(estimator.density_kernel, OWNER)
    if kernel.compact is None:
        raise ValueError(
            f"density_kernel of {OWNER} must be one that new rows can be projected with, got {kernel!r}; minimise a "
            "LatentProblem, or take 'gaussian'."
        )
    check_choice(estimator.optimizer, ("auto", *OPTIMIZERS), "optimizer", OWNER)
    max_iter = estimator.max_iter
    max_iter = tuning.max_iter if max_iter is None else check_count(max_iter, "max_iter", OWNER)
    check_positive(estimator.tol, "tol", OWNER, "it is a share of the objective")
    check_callback(estimator.callback, OWNER, "the iteration and the fit")
    _check_threshold(estimator.density_threshold)
    names, thresholds = _names(estimator.init), _thresholds(estimator.homotopy)
    left_out = _check_n_excluded(estimator.objective, estimator.n_excluded)
    optimizer = estimator.optimizer
    if optimizer == "auto":
        # Where neighbours change places the objective jumps, and a line search gets stuck.
        optimizer = "rprop" if left_out else "rprop+lbfgs"
    fast = kernel.has_lists and optimizer == "rprop" and not thresholds and _may_be_fast(estimator, n_rows, tuning)
    if fast and n_rows > tuning.most_regressed:
        n_rows = tuning.regressed
    return Settings(
        space=space, density_kernel=kernel, n_rows=n_rows,
        n_excluded=_n_excluded(estimator.n_excluded, n_rows, q, tuning) if left_out else 0,
        n_excluded_is_auto=left_out and is_auto(estimator.n_excluded), init=estimator.init,
        names=list(FAST) if fast and is_auto(estimator.init) else names, optimizer=optimizer, thresholds=thresholds,
        max_iter=max_iter, max_iter_is_auto=estimator.max_iter is None, tol=estimator.tol,
        verbose=bool(estimator.verbose), callback=estimator.callback, density_threshold=estimator.density_threshold,
        random_state=estimator.random_state, fast=fast, tuning=tuning,
    )  # fmt: skip


def _may_be_fast(estimator: Any, n_rows: int, tuning: Tuning) -> bool:
    """Whether parameters leave the way open, and there are so many rows of numbers that it is the shorter one."""
    init, plain = estimator.init, estimator.feature_kernel is None and estimator.max_iter is None
    manifold = isinstance(init, str) and init == MANIFOLD
    automatic = is_auto(init) and estimator.n_components == 2 and n_rows >= tuning.fast_rows
    return plain and (manifold or automatic)


def _check_n_excluded(objective: Any, n_excluded: Any) -> bool:
    """Whether neighbours are left out."""
    check_choice(objective, OBJECTIVES, "objective", OWNER)
    if not is_auto(n_excluded):
        check_count(n_excluded, "n_excluded", OWNER)
        if objective == "leave_one_out":
            raise ValueError(
                f"n_excluded of {OWNER} must be 'auto' for objective='leave_one_out', got {n_excluded!r}; take "
                "'leave_neighbours_out'."
            )
    return bool(objective != "leave_one_out")


def _n_excluded(n_excluded: Any, n_rows: int, q: int, tuning: Tuning) -> int:
    """The number of neighbours that are left out."""
    if is_auto(n_excluded):
        return automatic_n_excluded(n_rows, q, tuning)
    if n_excluded > n_rows - 3:
        raise ValueError(
            f"n_excluded of {OWNER} must leave two rows or more of {n_rows} to predict from, got {n_excluded!r}; "
            "leave out fewer."
        )
    return int(n_excluded)


def automatic_n_excluded(n_rows: int, n_components: int, tuning: Tuning = TUNING) -> int:
    """One in 40 q² rows, five to twenty; fewer of less than fifty rows, and of many the share of those within reach."""
    few = min(n_rows, tuning.few_rows)
    least = max(1, min(5, few // 10))
    return round(np.clip(few // (40 * n_components**2), least, 20) * _within_reach(n_rows / few, n_components))


def _within_reach(factor: float, n_components: int) -> float:
    """By which factor the rows within reach grow with the number of all rows.

    The width of the kernel falls with N^(-1 / (q + 4)), so that its volume holds a share of N^(-q / (q + 4)) of them.
    """
    return float(factor ** (4 / (n_components + 4)))


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to be chosen."""
    return isinstance(value, str) and value == "auto"


def _names(init: Any) -> list[str]:
    if not isinstance(init, str):
        return []
    names = candidate_names(init)
    if not names:
        raise ValueError(
            f"init of {OWNER} must be 'auto', one of {(*NEIGHBOURS, MANIFOLD)}, a graph and its neighbours like "
            f"'lle-12', or coordinates of the rows, got {init!r}; choose one of them."
        )
    return names


def _thresholds(value: Any) -> tuple[float, ...]:
    if isinstance(value, bool | np.bool_):
        return THRESHOLDS if value else ()
    valid = isinstance(value, tuple | list | np.ndarray) and all(is_number(eta) and 0 < eta < 1 for eta in value)
    if not valid or np.any(np.diff(value) >= 0):
        raise ValueError(
            f"homotopy of {OWNER} must be True, False or falling numbers between 0 and 1, got {value!r}; these are "
            "densities as shares of the largest."
        )
    return tuple(float(eta) for eta in value)


def _check_threshold(rule: Any) -> None:
    if not (isinstance(rule, str) and rule == "minimum") and not (is_number(rule) and 0 <= rule < 1):
        raise ValueError(
            f"density_threshold of {OWNER} must be 'minimum' or a number from 0 to 1, got {rule!r}; a number is the "
            "share of training rows that may be less dense."
        )
