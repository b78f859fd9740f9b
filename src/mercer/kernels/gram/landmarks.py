"""Which rows should stand for all the others."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from mercer.arrays import Array
from mercer.kernels.base import Kernel
from mercer.kernels.gram.operator import Gram


def choose_landmarks(
    kernel: Kernel, X: Any, n_landmarks: int, *, method: str = "leverage", random_state: Any = None
) -> Array:
    """Choose rows of X that represent all of them in the feature space of the kernel.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : array_like
        The rows.
    n_landmarks : int
        How many, at most the number of rows.
    method : {"random", "kmeans++", "leverage"}
        "random": uniformly. "kmeans++": one after the other, with a probability proportional to the squared distance
        in feature space from those chosen before (not scikit-learn's, which works on vectors only); n · m evaluations.
        "leverage": with a probability proportional to ridge leverage scores, estimated from a uniform sample of 2m rows
        [Alaoui2015]_; 2 n · m evaluations and O(n m²) operations.
    random_state : int, Generator, RandomState or None
        Source of chance.

    Returns
    -------
    array of int
        Distinct positions.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.gram import choose_landmarks
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> landmarks = choose_landmarks(Gaussian(), X, 2, method="kmeans++", random_state=0)
    >>> sorted(int(X[i][0]) for i in landmarks)
    [0, 5]
    """
    return landmarks_of(Gram(kernel, indexable_rows(X)), n_landmarks, method=method, random_state=random_state)


def landmarks_of(gram: Gram, n_landmarks: int, *, method: str, random_state: Any) -> Array:
    """`choose_landmarks` for rows that are prepared."""
    n = gram.shape[0]
    if not isinstance(n_landmarks, Integral) or not 1 <= n_landmarks <= n:
        raise ValueError(
            f"n_landmarks must be a whole number from 1 to the {n} rows, got {n_landmarks!r}; ask for such."
        )
    choosers = {"random": _random, "kmeans++": _kmeans_plus_plus, "leverage": _leverage}
    if method not in choosers:
        raise ValueError(f"method of choose_landmarks must be one of {sorted(choosers)}, got {method!r}.")
    return choosers[method](gram, n_landmarks, _generator(random_state))


def indexable_rows(X: Any) -> Any:
    """Rows in a form from which some can be taken: sparse formats that cannot are brought to CSR."""
    return sparse.csr_array(X) if sparse.issparse(X) else X


def _generator(random_state: Any) -> np.random.Generator:
    """A Generator from anything that scikit-learn takes as random_state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


def _random(gram: Gram, n_landmarks: int, rng: np.random.Generator) -> Array:
    return rng.choice(gram.shape[0], n_landmarks, replace=False)


def _kmeans_plus_plus(gram: Gram, n_landmarks: int, rng: np.random.Generator) -> Array:
    diagonal = gram.diagonal().astype(np.float64)
    nearest = np.full(len(diagonal), np.inf)
    chosen = [int(rng.integers(len(diagonal)))]
    while len(chosen) < n_landmarks:
        last = chosen[-1]
        distance = diagonal + diagonal[last] - 2 * gram.block(slice(None), np.array([last]))[:, 0]
        nearest = np.minimum(nearest, np.maximum(distance, 0.0))
        nearest[chosen] = 0.0
        chosen.append(_draw(nearest, chosen, rng))
    return np.array(chosen, dtype=np.intp)


def _draw(weights: Array, taken: list[int], rng: np.random.Generator) -> int:
    """A row with probability proportional to its weight; if all that are left coincide with others, any of them."""
    total = weights.sum()
    if total > 0:
        return int(rng.choice(len(weights), p=weights / total))
    return int(rng.choice(np.setdiff1d(np.arange(len(weights)), taken)))


def _leverage(gram: Gram, n_landmarks: int, rng: np.random.Generator) -> Array:
    """Sample by the ridge leverage scores diag(K (K + λI)⁻¹), estimated from a uniform pilot sample S of s rows.

    With K replaced by its Nyström approximation from S, the score of row i is
    (k_ii - k_iᵀ (K_SS + λ s/n I)⁻¹ k_i) / λ, at most 1. λ is such that about half of the landmarks' number of
    directions lies above it: the sum of the eigenvalues beyond m/2, divided by m/2.
    """
    n = gram.shape[0]
    pilot = rng.choice(n, min(n, 2 * n_landmarks), replace=False)
    values, vectors = np.linalg.eigh(gram.block(pilot, pilot).astype(np.float64))
    values = np.maximum(values, 0.0)
    half = max(1, n_landmarks // 2)
    ridge = max(values[:-half].sum() / half, 1e-12 * values[-1], np.finfo(np.float64).tiny)
    explained = np.zeros(n)
    for start in range(0, n, 10 * len(pilot)):
        rows = slice(start, min(start + 10 * len(pilot), n))
        explained[rows] = np.sum((gram.block(rows, pilot) @ vectors) ** 2 / (values + ridge), axis=1)
    scores = np.clip((gram.diagonal() - explained) / (ridge * n / len(pilot)), 1e-12, 1.0)
    # An exponential race samples without replacement, with probabilities proportional to the scores.
    return np.argsort(rng.exponential(size=n) / scores)[:n_landmarks]
