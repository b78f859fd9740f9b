"""Information of Gaussian variables in closed form, in nats."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from mercer.arrays import Array
from mercer.parameters import check_count, check_covariance, check_positive

# Directions with a smaller share of the largest variance are rounding.
_ROUNDING = 1e-12


class Infomax(NamedTuple):
    """The orthonormal encoder of a Gaussian that keeps the most information, see `infomax`."""

    components: Array
    information: float


def gaussian_mutual_information(cov: Any, n_left: int) -> float:
    """Mutual information I(X; Y) = -1/2 Σ_j log(1 - ρ_j²) of jointly Gaussian X and Y.

    ρ_j are their canonical correlations, the singular values of Cov(X)^(-1/2) Cov(X, Y) Cov(Y)^(-1/2).

    Parameters
    ----------
    cov : array_like of shape (d, d)
        Covariance of the columns of X followed by those of Y. Directions without variance are left out.
    n_left : int
        Number of columns of X, from 1 to d - 1.

    Returns
    -------
    float
        Infinite if some direction of X determines one of Y.

    Examples
    --------
    >>> from mercer.information import gaussian_mutual_information
    >>> round(gaussian_mutual_information([[1.0, 0.8], [0.8, 1.0]], 1), 4)
    0.5108
    """
    cov = check_covariance(cov, "gaussian_mutual_information")
    if check_count(n_left, "n_left", "gaussian_mutual_information") >= len(cov):
        raise ValueError(
            f"n_left of gaussian_mutual_information must be less than the {len(cov)} columns of cov, got {n_left!r}; "
            "the other columns are those of Y."
        )
    scale = np.sqrt(np.diag(cov))
    scale[scale == 0] = 1.0
    cov = cov / scale / scale[:, None]  # information has no units
    left, right = _whitening(cov[:n_left, :n_left]), _whitening(cov[n_left:, n_left:])
    correlations = np.linalg.svd(left.T @ cov[:n_left, n_left:] @ right, compute_uv=False)
    if correlations.max(initial=0.0) > 1.0 - _ROUNDING:
        return float("inf")
    return float(-0.5 * np.sum(np.log1p(-(correlations**2))))


def infomax(cov: Any, n_components: int, *, noise_variance: float) -> Infomax:
    """The encoder W of a Gaussian X, with W Wᵀ = I, whose noisy code Z = W X + ν tells the most about X.

    I(X; Z) = 1/2 log det(I + W Cov(X) Wᵀ / s²), ν ~ N(0, s² I), is at most 1/2 Σ_{j <= k} log(1 + λ_j / s²), for the k
    leading eigenvalues λ_j of the covariance; their eigenvectors reach it: principal components.

    Parameters
    ----------
    cov : array_like of shape (d, d)
        Covariance of X.
    n_components : int
        Number k of rows of W, at most d.
    noise_variance : float
        Variance s² of the noise on each coordinate of the code. Without noise the information would be infinite.

    Returns
    -------
    Infomax
        `components`, W, the eigenvectors as rows; `information`, the largest I(X; Z).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import infomax
    >>> round(infomax(np.diag([4.0, 2.0, 1.0, 0.5]), 2, noise_variance=0.5).information, 6)
    1.903331
    """
    cov = check_covariance(cov, "infomax")
    if check_count(n_components, "n_components", "infomax") > len(cov):
        raise ValueError(
            f"n_components of infomax must be at most the {len(cov)} columns of cov, got {n_components!r}; ask "
            "for less."
        )
    s2 = check_positive(noise_variance, "noise_variance", "infomax", "without noise a code tells everything")
    values, vectors = np.linalg.eigh(cov)
    components = vectors[:, ::-1][:, :n_components].T
    largest = np.abs(components).argmax(axis=1)
    components = components * np.sign(components[np.arange(n_components), largest])[:, None]
    return Infomax(components, float(0.5 * np.sum(np.log1p(np.maximum(values[::-1][:n_components], 0.0) / s2))))


def conditional_entropy(cov: Any, encoder: Any) -> float:
    """Differential entropy H(X given Z) of a Gaussian X on the sets {x: W x = z} of equal codes Z = W X.

    It is (d - k)/2 log(2πe) + 1/2 log det of the covariance of X given Z in an orthonormal basis of the null space of
    W: the same for C W, with any invertible C. The least value, 1/2 Σ_{j > k} log(2πe λ_j), is that of the k leading
    principal components.

    Parameters
    ----------
    cov : array_like of shape (d, d)
        Covariance of X.
    encoder : array_like of shape (k, d)
        W, whose rows are linearly independent.

    Returns
    -------
    float
        Minus infinity if Z determines some direction of the null space of W; 0 for an invertible W.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import conditional_entropy
    >>> round(conditional_entropy(np.diag([4.0, 2.0, 1.0, 0.5]), np.eye(2, 4)), 6)
    2.491303
    """
    cov = check_covariance(cov, "conditional_entropy")
    W = check_array(encoder, dtype=np.float64, input_name="encoder")
    if W.shape[1] != len(cov):
        raise ValueError(
            f"encoder of conditional_entropy must have the {len(cov)} columns of cov, got {W.shape[1]}; it is W in WX."
        )
    _, values, rows = np.linalg.svd(W)
    k = len(W)
    if k > len(cov) or values[-1] <= _ROUNDING * values[0]:
        raise ValueError(
            f"encoder of conditional_entropy must have linearly independent rows, got {k} rows of rank "
            f"{np.sum(values > _ROUNDING * values[0])}; leave out those that follow from the others."
        )
    known, free = rows[:k], rows[k:]
    explained = _whitening(known @ cov @ known.T).T @ known @ cov @ free.T
    rest = np.linalg.eigvalsh(free @ cov @ free.T - explained.T @ explained)
    if rest.min(initial=np.inf) <= _ROUNDING * np.trace(cov):
        return float("-inf")
    return float(0.5 * np.sum(np.log(2.0 * np.pi * np.e * rest)))


def _whitening(cov: Array) -> Array:
    """A matrix T whose columns span the directions with variance, with Tᵀ cov T = I; rounding is left out."""
    values, vectors = np.linalg.eigh(cov)
    kept = values > _ROUNDING * max(values[-1], 0.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))
