"""The span of support vectors: what leaving a sample out changes, as long as the others stay where they are."""

from __future__ import annotations

import numpy as np
from scipy.linalg import pinv
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf, dtrtri

from mercer.arrays import Array
from mercer.capacity.fitted import Signed
from mercer.threads import single_threaded_blas

# Samples whose residual is computed at a time.
_BLOCK = 512
# Shares of the unit vectors below which a sample has no substitute among the others for its parametric part.
_ALONE = 1e-9


def span_residuals(signed: Signed) -> Array:
    """Residuals r_i + A_i S_i² of each sample under the function that is fitted without it.

    S_i² = min ||φ_i - Σ_j β_j φ_j||² + Σ_j E_j β_j² over β of the other free samples j with Σ_j β_j Φ_j = Φ_i, E the
    curvatures of the conjugate. It is one Newton step: exact if the same samples are free, and at the same bounds,
    without i. Coefficients of parametric columns that no other free sample determines stay as they are.
    """
    residuals = signed.r.copy()
    free, bounded = signed.free, signed.bounded
    if len(free):
        system = _FreeSystem(signed, free)
        residuals[bounded] += signed.A[bounded] * system.squared_spans(bounded)
        residuals[free] += signed.A[free] * system.own_squared_spans()
    else:
        residuals[bounded] += signed.A[bounded] * signed.diagonal(bounded)
    return residuals


class _FreeSystem:
    """The free samples F, with P the projection onto the complement of their columns Φ.

    N = P (K + E) P + c Φ Φ⁺ is positive definite, also for conditionally positive kernels, and its inverse is that of
    the saddle-point matrix [[K + E, Φ], [Φᵀ, 0]] plus Φ Φ⁺ / c.
    """

    def __init__(self, signed: Signed, free: Array):
        self._signed, self._free = signed, free
        Phi = signed.columns[free]
        self._dual_columns = pinv(Phi).T  # H with Φᵀ H = 1 as far as it can be
        K = signed.block(free, free)
        K[np.diag_indices(len(free))] += signed.curve[free] + signed.raised
        self._curved = K @ self._dual_columns
        self._Phi, self._scale = Phi, signed.size
        corner = self._dual_columns.T @ self._curved
        N = K
        for left, right in ((self._curved, Phi), (Phi, self._curved)):
            N -= left @ right.T
        N += Phi @ corner @ Phi.T + self._scale * (self._dual_columns @ Phi.T)
        self._corner = corner
        with single_threaded_blas:
            self._L, failed = dpotrf(N, lower=1, clean=1, overwrite_a=0)
        if failed:
            raise ValueError(
                "The kernel matrix of the free samples must be positive definite for their span, got one that is not; "
                "take method='refit'."
            )

    def squared_spans(self, rows: Array) -> Array:
        """S² of samples that are not free."""
        spans = np.empty(len(rows))
        for start in range(0, len(rows), _BLOCK):
            part = slice(start, start + _BLOCK)
            spans[part] = self._squared_spans(rows[part])
        return spans

    def own_squared_spans(self) -> Array:
        """S² of the free samples, each with respect to the others."""
        inverse = dtrtri(self._L, lower=1)[0]
        share = np.sum(self._dual_columns * self._Phi, axis=1)  # diagonal of the projection onto the columns
        diagonal = np.einsum("ij,ij->j", inverse, inverse) - share / self._scale
        alone = share > 1.0 - _ALONE
        curve = self._signed.curve[self._free] + self._signed.raised
        spans = 1.0 / np.where(alone, 1.0, diagonal) - curve
        for k in np.flatnonzero(alone):
            spans[k] = self._without(int(k))
        return np.maximum(spans, 0.0)

    def _squared_spans(self, rows: Array) -> Array:
        signed, Phi_i = self._signed, self._signed.columns[rows]
        k = signed.block(self._free, rows)
        distance = signed.diagonal(rows) - 2.0 * np.einsum("ij,ij->j", self._dual_columns @ Phi_i.T, k)
        distance += np.einsum("ij,jk,ik->i", Phi_i, self._corner, Phi_i)
        g = k - self._curved @ Phi_i.T
        g -= self._Phi @ (self._dual_columns.T @ g)
        z = dtrsm(1.0, self._L, g, lower=1)
        return np.maximum(distance - np.einsum("ij,ij->j", z, z), 0.0)

    def _without(self, k: int) -> float:
        """S² of a free sample which alone determines a parametric coefficient: that one stays."""
        others = np.delete(self._free, k)
        row = self._free[[k]]
        if not len(others):
            return float(self._signed.diagonal(row)[0])
        return float(_FreeSystem(self._signed, others).squared_spans(row)[0])
