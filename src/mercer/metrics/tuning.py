"""The numbers of the search for a metric."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """Numbers that `benchmarks/tables.py` set.

    Attributes
    ----------
    least_ridge, largest_ridge : float
        Bounds of the ridge. Scale and ridge can go to zero together, since exp(-r) is then 1 - r and the constant is
        free: below the least one accuracy gains nothing, and conjugate gradients take very long.
    least_log_weight, largest_log_weight : float
        Bounds of the logarithms of weights of standardised columns.
    least_log_share, largest_log_share : float
        Bounds of the logarithms of fractions of columns.
    prior_of_shares : float
        Strength of the prior of shares in units of that of weights.
    alike_columns, flat_ridge : float
        Where shares are learned, their sum at the start is that of so many columns at most, with this ridge.
    clear_majority : float
        Standard errors by which more than half of the rows must be predicted better where the likelihood chooses.
    promising : float
        Sums over sets of columns, learned on few rows, are learned on more if their error is not larger than the best
        one times this.
    tol : float
        L-BFGS ends where a step lowers the objective per row by less than this.
    start_rows, few_rows : int
        Rows on which a grid of scales and ridges is tried, and on which weights are learned first.
    scales, ridges : tuple of float
        The grid; scales in units of the median distance.
    largest_scale : float
        Largest median distance of a scale that is learned for all columns: beyond it all rows look different.
    isotropic_steps, first_steps, more_steps, refining_steps : int
        Most steps of L-BFGS: for scale and ridge; for weights on few rows, on the rows of the choice, on all.
    refine_rows, refined_share : tuple of int, int
        Rows of the last steps: at least and at most, and which part of all rows in between.
    least_held_out, largest_held_out : int
        Rows outside the subsample that are enough to choose by, and the most that are predicted.
    least_distinct : int
        With fewer distinct rows nothing is compared: one scale for all columns.
    many_targets : float
        Fraction of distinct targets above which equal rows with equal targets are copies.
    mostly_distinct : float
        Fraction of distinct rows below which equal rows may be parted.
    clear_gain, clear_gain_of_classes : float
        Standard errors by which a candidate must be better than equal weights: more for classes, where weights seldom
        help and few rows make candidates look different.
    nothing_found : float
        Errors of this share, or more, say that nothing was found.
    n_folds : int
        Folds where there are fewer rows.
    fold_rows : int
        Most rows of a fold that weights are learned on.
    n_turns : int
        How often the columns are rotated.
    least_gain : float
        Share by which a rotation must lower the error to be kept.
    unclear : float
        Ridges whose log-likelihood is less by no more than this are as likely as the best, where nothing was found; so
        are metrics that are learned on all rows.
    most_columns : int
        With more columns diagonal metrics use those with the largest marginal relevance.
    n_bins : int
        Bins of the marginal relevance.
    """

    least_ridge: float = 1e-5
    largest_ridge: float = 1e2
    least_log_weight: float = -14.0
    largest_log_weight: float = 5.0
    least_log_share: float = -12.0
    largest_log_share: float = 7.0
    prior_of_shares: float = 0.25
    alike_columns: float = 8.0
    flat_ridge: float = 1e-2
    clear_majority: float = 2.0
    promising: float = 1.3
    tol: float = 2e-5
    start_rows: int = 300
    few_rows: int = 500
    scales: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0, 3.0, 6.0)
    ridges: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0, 10.0)
    largest_scale: float = 10.0
    isotropic_steps: int = 12
    first_steps: int = 40
    more_steps: int = 15
    refining_steps: int = 12
    refine_rows: tuple[int, int] = (2000, 3000)
    refined_share: int = 4
    least_held_out: int = 300
    largest_held_out: int = 2000
    least_distinct: int = 12
    many_targets: float = 0.5
    mostly_distinct: float = 0.5
    clear_gain: float = 1.0
    clear_gain_of_classes: float = 2.0
    nothing_found: float = 0.99
    n_folds: int = 4
    fold_rows: int = 600
    n_turns: int = 2
    least_gain: float = 0.03
    unclear: float = 2.0
    most_columns: int = 200
    n_bins: int = 10


TUNING = Tuning()
