"""Are two variables independent? The Hilbert-Schmidt independence criterion and its tests."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import gamma
from sklearn.utils import check_random_state

from mercer.arrays import Array
from mercer.components.pairs import features_of_pairs
from mercer.parameters import check_choice, check_count

# Multiplications of all permutations that "auto" spends: some seconds.
_BUDGET = 3e11
# Share of the squared norm of a Gram matrix that is left out of permutations.
_LEFT_OUT = 1e-5
# Permutations are worked on in single precision; ties of the statistic are to count as such.
_TIE = 1e-5


class IndependenceTest(NamedTuple):
    """What a test of independence says, see `independence_test`."""

    statistic: float
    p_value: float
    method: str


def hsic(X: Any, Y: Any, *, kernels: Any = None, unbiased: bool = True, rank: int = 500) -> float:
    """Hilbert-Schmidt independence criterion: the squared norm of the covariance of φ(x) and ψ(y).

    0 in the population if and only if X and Y are independent, for kernels that see all differences, as Gaussian ones
    do. With K̃, L̃ the Gram matrices with zero diagonals it is estimated by
    [tr K̃L̃ + 1ᵀK̃1 1ᵀL̃1 / ((n-1)(n-2)) - 2/(n-2) 1ᵀK̃L̃1] / (n(n-3)), or, with bias, by tr(KHLH) / n².

    Parameters
    ----------
    X, Y : array_like
        Rows that belong together: tables, one column, or any objects that the kernels take.
    kernels : Kernel, pair of Kernels, or None
        For X and Y; None: a Gaussian whose width is the median distance.
    unbiased : bool
        Whether to give the estimate without bias, which may be negative.
    rank : int
        Most features of each kernel, see `mercer.kernels.gram.feature_map`. With `rank` rows or fewer nothing is lost.

    Notes
    -----
    Cost O(n rank²), memory 2 n · rank numbers; no matrix of n x n numbers. [Gretton2005]_, [Song2012]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import hsic
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> hsic(x, np.cos(2 * x)) > 0.01, abs(hsic(x, x[::-1])) < 0.001
    (True, True)
    """
    F, G = features_of_pairs(X, Y, kernels, rank=rank, owner="hsic", least=4 if unbiased else 2)
    n = len(F)
    if not unbiased:
        return _squared_norm(F - F.mean(axis=0), G - G.mean(axis=0)) / n**2
    k, ell = (F**2).sum(axis=1), (G**2).sum(axis=1)
    K1, L1 = F @ F.sum(axis=0) - k, G @ G.sum(axis=0) - ell
    traces = _squared_norm(F, G) - k @ ell
    means = K1.sum() * L1.sum() / ((n - 1) * (n - 2)) - 2.0 / (n - 2) * (K1 @ L1)
    return float((traces + means) / (n * (n - 3)))


def independence_test(
    X: Any,
    Y: Any,
    *,
    kernels: Any = None,
    method: str = "auto",
    n_permutations: int = 1000,
    rank: int = 500,
    random_state: Any = None,
) -> IndependenceTest:
    """Test whether X and Y are independent, by the Hilbert-Schmidt independence criterion.

    Parameters
    ----------
    X, Y : array_like
        Rows that belong together: tables, one column, or any objects that the kernels take. The pairs must be
        independent of each other: a test of time series needs other methods.
    kernels : Kernel, pair of Kernels, or None
        For X and Y; None: a Gaussian whose width is the median distance.
    method : {"auto", "permutation", "gamma"}
        "permutation": Y is permuted; the level is exact for any number of rows, and no p-value is below
        1 / (n_permutations + 1). "gamma": a gamma distribution with the mean and the variance over all permutations,
        which are known in closed form. "auto": "permutation" if that takes seconds, else "gamma".
    n_permutations : int
        Number of permutations.
    rank : int
        Most features of each kernel, see `hsic`.
    random_state : int, RandomState or None
        Draws permutations, and rows that become landmarks.

    Returns
    -------
    IndependenceTest
        `statistic`, tr(KHLH) / n²; `p_value`, the chance of such a statistic or a larger one for independent X and Y;
        `method` that was used.

    Notes
    -----
    One permutation costs O(n r s), for r and s features: as many as make all but 1e-5 of the squared
    norm of a Gram matrix. [Gretton2008]_; for the moments [KaziAoual1995]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import independence_test
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> independence_test(x, x**2 + 0.5 * rng.normal(size=200), random_state=0).p_value
    0.000999000999000999
    """
    check_choice(method, ("auto", "permutation", "gamma"), "method", "independence_test")
    n_permutations = check_count(n_permutations, "n_permutations", "independence_test")
    rng = check_random_state(random_state)
    F, G = features_of_pairs(X, Y, kernels, rank=rank, owner="independence_test", least=4, random_state=rng)
    F, G = F - F.mean(axis=0), G - G.mean(axis=0)
    statistic = _squared_norm(F, G) / len(F) ** 2
    if method != "gamma":
        leading = _leading(F), _leading(G)
        few = n_permutations * leading[0].size * leading[1].shape[1] <= _BUDGET
        if few or method == "permutation":
            return IndependenceTest(statistic, _permutation_p_value(*leading, n_permutations, rng), "permutation")
    return IndependenceTest(statistic, _gamma_p_value(F, G), "gamma")


def _squared_norm(F: Array, G: Array) -> float:
    """Squared Frobenius norm of FᵀG: the trace of FFᵀGGᵀ."""
    return float(np.sum((F.T @ G) ** 2))


def _leading(F: Array) -> Array:
    """F in its principal axes, without those that make less than 1e-5 of the squared norm of FFᵀ.

    Permutations are an exact test of whatever features they compare.
    """
    values, vectors = np.linalg.eigh(F.T @ F)
    below = np.cumsum(values**2) <= _LEFT_OUT * np.sum(values**2)
    return np.asarray(F @ vectors[:, ~below]) if values.size and values[-1] > 0 else F[:, :1]


def _permutation_p_value(F: Array, G: Array, n_permutations: int, rng: np.random.RandomState) -> float:
    F, G = _single_precision(F), _single_precision(G)
    observed = (1.0 - _TIE) * _squared_norm(F, G)
    as_large = sum(_squared_norm(F, G[rng.permutation(len(G))]) >= observed for _ in range(n_permutations))
    return float((1 + as_large) / (1 + n_permutations))


def _single_precision(F: Array) -> Array:
    """The features over their largest value: those of kernels with large or small values would leave the range."""
    return (F / max(float(np.abs(F).max(initial=0.0)), np.finfo(np.float64).tiny)).astype(np.float32)


def permutation_moments(F: Array, G: Array) -> tuple[float, float]:
    """Mean and variance of tr(K P L Pᵀ) over all permutations P, for centred K = FFᵀ and L = GGᵀ [KaziAoual1995]_."""
    n = len(F)

    def sums(A: Array) -> tuple[float, float, float]:
        squares = (A**2).sum(axis=1)
        return float(squares.sum()), _squared_norm(A, A), float(squares @ squares)

    parts = [sums(A) for A in (F, G)]
    mean = parts[0][0] * parts[1][0] / (n - 1)
    spectra = float(np.prod([(n - 1) * T2 - T**2 for T, T2, _ in parts]))
    diagonals = float(np.prod([n * (n + 1) * S2 - (n - 1) * (T**2 + 2 * T2) for T, T2, S2 in parts]))
    variance = 2 * spectra / ((n - 1) ** 2 * (n + 1) * (n - 2))
    variance += diagonals / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    return mean, max(variance, 0.0)


def _gamma_p_value(F: Array, G: Array) -> float:
    mean, variance = permutation_moments(F, G)
    if variance <= (1e-8 * mean) ** 2:
        return 1.0  # all permutations give the same
    return float(gamma.sf(_squared_norm(F, G), mean**2 / variance, scale=variance / mean))
