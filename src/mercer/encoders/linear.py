"""The best linear decoder of a linear encoder, and the best encoder of a decoder; in turn they lead to PCA."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer.arrays import Array
from mercer.parameters import check_covariance

# Singular values with a smaller share of the largest are rounding.
_ROUNDING = 1e-12


def best_decoder(W: Any, cov: Any) -> Array:
    """The matrix M with the least E||x - M W x||², for centred x: the regression M = Σ Wᵀ (W Σ Wᵀ)⁻¹ of x on W x.

    It equals Wᵀ only if the rows of W are orthonormal and span an eigenspace of Σ.

    Parameters
    ----------
    W : array_like of shape (k, d)
        Encoder, z = W x. Rows may depend on each other, as may columns of x: directions without variance get no weight.
    cov : array_like of shape (d, d)
        Covariance Σ of x. With the second moments E[x xᵀ] instead, x need not be centred.

    Returns
    -------
    array of shape (d, k)

    Notes
    -----
    The pair is a reconstruction x̂ = μ + M W (x - μ). For k leading eigenvectors of Σ as rows of W, multiplied by any
    invertible matrix from the left, the error is the least for k codes: the sum of the other eigenvalues.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.encoders import best_decoder
    >>> cov, w = np.diag([4.0, 1.0]), np.array([[np.cos(np.pi / 6), np.sin(np.pi / 6)]])
    >>> A = np.eye(2) - best_decoder(w, cov) @ w
    >>> round(float(np.trace(A @ cov @ A.T)), 4)  # wᵀ instead leaves 1.75
    1.2308
    """
    cov = check_covariance(cov, "best_decoder")
    W = check_array(W, dtype=np.float64, input_name="W")
    if W.shape[1] != len(cov):
        raise ValueError(
            f"W of best_decoder must have the {len(cov)} columns of cov, got {W.shape[1]}; it is W in z = W x."
        )
    values, vectors = np.linalg.eigh(cov)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(root @ np.linalg.pinv(W @ root, rcond=_ROUNDING))


def best_encoder(M: Any) -> Array:
    """The matrix W for which z = W x has the least ||x - M z||² for every x: the pseudo-inverse (MᵀM)⁻¹ Mᵀ.

    No distribution enters. For orthonormal columns of M it is Mᵀ.

    Parameters
    ----------
    M : array_like of shape (d, k)
        Decoder, x̂ = M z. Where columns depend on each other, the shortest z is taken.

    Returns
    -------
    array of shape (k, d)

    Notes
    -----
    `best_encoder` and `best_decoder` in turn are alternating least squares: M W tends to the projection on the k
    leading eigenvectors of Σ, with error shares that fall by (λ_{k+1} / λ_k)² in each turn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.encoders import best_decoder, best_encoder
    >>> cov, M = np.diag([4.0, 2.0, 1.0, 0.5]), np.random.default_rng(0).normal(size=(4, 2))
    >>> for _ in range(60):
    ...     M = best_decoder(best_encoder(M), cov)
    >>> A = np.eye(4) - M @ best_encoder(M)
    >>> round(float(np.trace(A @ cov @ A.T)), 6)
    1.5
    """
    M = check_array(M, dtype=np.float64, input_name="M")
    return np.asarray(np.linalg.pinv(M, rcond=_ROUNDING))
