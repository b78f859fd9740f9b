"""Parameters of `UnsupervisedKernelRegression`: checks, and what "auto" stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.manifolds.latent.space import LatentSpace, latent_space
from mercer.manifolds.ukr.fitting import OPTIMIZERS, THRESHOLDS
from mercer.manifolds.ukr.objective import DENSITY_KERNELS
from mercer.manifolds.ukr.starts import FAST, MANIFOLD, NEIGHBOURS, candidate_names
from mercer.parameters import check_choice, check_count, check_positive, is_number

OWNER = "UnsupervisedKernelRegression"
OBJECTIVES = ("auto", "leave_one_out", "leave_neighbours_out")
_MAX_ITER = 500
# Of more rows than this the number within reach grows with a power of theirs, and so does the number that is left out.
_FEW_ROWS = 3000
# Surfaces of fewer rows are started from several graphs, which takes no longer, and finds more where rows are few.
_FAST_ROWS = 500


@dataclass(frozen=True)
class Settings:
    """Parameters in numbers.

    Attributes
    ----------
    space : LatentSpace
        Lines and circles.
    density_kernel : str
        Its name.
    n_excluded : int
        Neighbours that are left out beside each point; if `n_excluded_is_auto`, the most that may be.
    n_excluded_is_auto : bool
        Whether the rows tell how many.
    names : list of str
        Starts; empty if coordinates are given.
    optimizer : str
        One of `OPTIMIZERS`.
    thresholds : tuple of float
        Of the homotopy.
    max_iter : int
        Most iterations.
    fast : bool
        Whether starts are few, a soft manifold among them, and descents by lists of latent neighbours.
    """

    space: LatentSpace
    density_kernel: str
    n_excluded: int
    n_excluded_is_auto: bool
    names: list[str]
    optimizer: str
    thresholds: tuple[float, ...]
    max_iter: int
    fast: bool

    def n_excluded_of_part(self, n_part: int, n_rows: int) -> int:
        """How many neighbours to leave out of a part of the rows: the same share of those within reach.

        That is n_excluded (n_part / n_rows)^(4 / (q + 4)), from one to all but three rows of the part; where the rows
        tell, what it is for so many rows at most.
        """
        if n_part == n_rows or not self.n_excluded:
            return self.n_excluded
        q = self.space.n_dims
        if self.n_excluded_is_auto:
            return min(self.n_excluded, automatic_n_excluded(n_part, q))
        return int(np.clip(round(self.n_excluded * _within_reach(n_part / n_rows, q)), 1, n_part - 3))


def settings_of(parameters: dict[str, Any], n_rows: int) -> Settings:
    """Check the parameters that need no data but the number of rows, and replace those that are "auto"."""
    q = check_count(parameters["n_components"], "n_components", OWNER)
    space = latent_space(parameters["topology"], q, OWNER)
    density_kernel = check_choice(parameters["density_kernel"], DENSITY_KERNELS, "density_kernel", OWNER)
    check_choice(parameters["optimizer"], ("auto", *OPTIMIZERS), "optimizer", OWNER)
    max_iter = _MAX_ITER if parameters["max_iter"] is None else check_count(parameters["max_iter"], "max_iter", OWNER)
    check_positive(parameters["tol"], "tol", OWNER, "it is a share of the objective")
    if parameters["callback"] is not None and not callable(parameters["callback"]):
        raise TypeError(
            f"callback of {OWNER} must be callable or None, got {parameters['callback']!r}; give a function of the "
            "iteration and the fit."
        )
    _check_threshold(parameters["density_threshold"])
    n_excluded, optimizer = _n_excluded(parameters, n_rows, q), parameters["optimizer"]
    if optimizer == "auto":
        # Where neighbours change places the objective jumps, and a line search gets stuck.
        optimizer = "rprop" if n_excluded else "rprop+lbfgs"
    names, thresholds = _names(parameters["init"]), _thresholds(parameters["homotopy"])
    fast = _is_fast(parameters, n_rows) and density_kernel == "gaussian" and optimizer == "rprop" and not thresholds
    return Settings(
        space, density_kernel, n_excluded, n_excluded > 0 and isinstance(parameters["n_excluded"], str),
        list(FAST) if fast and is_auto(parameters["init"]) else names, optimizer, thresholds, max_iter, fast,
    )  # fmt: skip


def _is_fast(parameters: dict[str, Any], n_rows: int) -> bool:
    """Whether parameters leave the way open, and there are so many rows of numbers that it is the shorter one."""
    init, plain = parameters["init"], parameters["feature_kernel"] is None and parameters["max_iter"] is None
    manifold = isinstance(init, str) and init == MANIFOLD
    automatic = is_auto(init) and parameters["n_components"] == 2 and n_rows >= _FAST_ROWS
    return plain and (manifold or automatic)


def _n_excluded(parameters: dict[str, Any], n_rows: int, q: int) -> int:
    """The number of neighbours that are left out, 0 for leave-one-out."""
    objective, n_excluded = parameters["objective"], parameters["n_excluded"]
    check_choice(objective, OBJECTIVES, "objective", OWNER)
    automatic = is_auto(n_excluded)
    if not automatic:
        check_count(n_excluded, "n_excluded", OWNER)
        if objective == "leave_one_out":
            raise ValueError(
                f"n_excluded of {OWNER} must be 'auto' for objective='leave_one_out', got {n_excluded!r}; take "
                "'leave_neighbours_out'."
            )
        if n_excluded > n_rows - 3:
            raise ValueError(
                f"n_excluded of {OWNER} must leave two rows or more of {n_rows} to predict from, got {n_excluded!r}; "
                "leave out fewer."
            )
    if objective == "leave_one_out":
        return 0
    return automatic_n_excluded(n_rows, q) if automatic else int(n_excluded)


def automatic_n_excluded(n_rows: int, n_components: int) -> int:
    """One in 40 q² rows, five to twenty; fewer of less than fifty rows, and of many the share of those within reach."""
    few = min(n_rows, _FEW_ROWS)
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
