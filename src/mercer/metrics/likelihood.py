"""The marginal likelihood of a kernel with a learned metric, and its exact gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from mercer.arrays import Array
from mercer.metrics.families import Family
from mercer.metrics.tuning import TUNING

# The least value of a quadratic form of the targets, which is zero where a constant explains them.
_LEAST = 1e-12


@dataclass(frozen=True)
class Regression:
    """Kernel ridge regression with an unpenalised constant, f(a) = offset + Σ_k coef_k k(a, a_k).

    Attributes
    ----------
    coef : array of shape (n, n_targets)
        C (y - offset), with C = (K + ridge)⁻¹.
    offset : array of shape (n_targets,)
        1ᵀCy / 1ᵀC1.
    variance : array of shape (n_targets,)
        (y - offset)ᵀ C (y - offset) / n, the variance of the targets in units of the kernel.
    """

    coef: Array
    offset: Array
    variance: Array


class ProfileLikelihood:
    """Negative log-likelihood per row of targets under a Gaussian process, as a function of weights and ridge.

    F = 1/2 mean_c log((y_c - μ_c)ᵀ C (y_c - μ_c) / n) + 1/(2n) log det(K + s) + prior/n Σ_g (log w_g - mean log w)²

    with the kernel matrix K of the rows x_j w_j (times a rotation R), C = (K + s)⁻¹, and the variance and the mean μ_c
    of each target at their best values. Several targets share one kernel. Fractions of columns, where the family has
    them, have a prior of twice its width.

    Parameters
    ----------
    family : Family
        What r is.
    X : array of shape (n, d)
        Standardised rows.
    Y : array of shape (n, n_targets)
        Standardised targets.
    groups : array of shape (d,)
        Which weight each column has: all zeros for an isotropic kernel.
    prior : float
        Weight of the prior, under which logarithms of weights differ by 1 / √(2 prior).
    rotation : array of shape (d, d), optional
        R.

    Notes
    -----
    With S = dF/dK = 1/2 (C/n - mean_c α_c α_cᵀ / (y_c - μ_c)ᵀα_c), α = C (y - μ), the derivatives are dF/ds = tr S and
    dF/dlog w_j = Σ_ik S_ik dK_ik/dlog w_j. Cost n³ + n² d: a Cholesky factor, an inverse, and two passes over
    pairs. Memory: two n x n matrices. [Rasmussen2006]_, section 5.4.
    """

    def __init__(
        self, family: Family, X: Array, Y: Array, groups: Array, *, prior: float = 0.0, rotation: Array | None = None
    ):
        self._X, self._Y, self._groups = X, Y, groups
        self._prior, self._rotation = prior, rotation
        self._pairs = family.pairs(len(X))
        self.n_groups = int(groups.max(initial=-1)) + 1

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """F and its gradient at theta, the logarithms of the weights, of the shares if any, and of the ridge."""
        ridge, logs = float(np.exp(theta[-1])), theta[:-1].reshape(-1, self.n_groups)
        weights, *shares = np.exp(logs)[:, self._groups]
        B = self._X * weights
        A = B if self._rotation is None else B @ self._rotation
        self._pairs.fill(A, *shares)
        value, C, alpha, of_ridge = _evaluated(self._pairs, self._Y, ridge)
        n = len(self._Y)
        turned = B if self._rotation is None else A @ self._rotation.T
        of_columns = self._pairs.gradient(B, turned, C, alpha, 0.5 / n)
        of_groups = [np.bincount(self._groups, row, self.n_groups) for row in np.atleast_2d(of_columns)]
        deviations = logs - logs.mean(axis=1, keepdims=True)
        priors = self._prior * np.array([[1.0], [TUNING.prior_of_shares]])[: len(logs)]
        value += float(np.sum(priors * deviations**2)) / n
        return value, np.append(of_groups + 2.0 / n * priors * deviations, of_ridge)


class ScaleLikelihood:
    """The same objective as a function of one factor of all weights, and of the ridge.

    Distances are computed once, so that an evaluation costs n³ + n², however many columns there are. All weights change
    together, and the prior is left out.

    Parameters
    ----------
    family : Family
        What r is.
    A : array of shape (n, d)
        Rows of a metric, by whose distances the factor is counted.
    Y : array of shape (n, n_targets)
        Standardised targets.
    """

    def __init__(self, family: Family, A: Array, Y: Array):
        self._Y, self._pairs = Y, family.pairs(len(A))
        self._pairs.fill(A)

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """F and its gradient at theta, the logarithms of the factor and of the ridge."""
        factor, ridge = (float(np.exp(value)) for value in theta)
        self._pairs.fill_scaled(factor)
        value, C, alpha, of_ridge = _evaluated(self._pairs, self._Y, ridge)
        return value, np.array([self._pairs.scale_gradient(factor, C, alpha, 0.5 / len(self._Y)), of_ridge])


def _evaluated(pairs: Any, Y: Array, ridge: float) -> tuple[float, Array, Array, float]:
    """F without its prior; C below its diagonal and alpha, of which S is made; and dF/dlog s.

    The kernel matrix of the pairs is overwritten.
    """
    K, (n, n_targets) = pairs.K, Y.shape
    np.fill_diagonal(K, 1.0 + ridge)
    factor = _checked(dpotrf(K.T, lower=0, clean=0, overwrite_a=1))  # below the diagonal of K
    regression = _regression(_checked(dpotrs(factor, np.column_stack([np.ones(n), Y]), lower=0)), Y)
    half_log_det = float(np.log(np.diagonal(factor)).sum())
    C = _checked(dpotri(factor, lower=0, overwrite_c=1)).T
    value = 0.5 * float(np.mean(np.log(regression.variance))) + half_log_det / n
    alpha = regression.coef / np.sqrt(2.0 * n * n_targets * regression.variance)
    of_ridge = ridge * (0.5 * float(np.trace(C)) / n - float(np.sum(alpha**2)))
    return value, C, alpha, of_ridge


def regression(family: Family, A: Array, Y: Array, ridge: float) -> Regression:
    """Kernel ridge regression on rows A of a metric."""
    pairs = family.pairs(len(A))
    pairs.fill(A)
    np.fill_diagonal(pairs.K, 1.0 + ridge)
    factor = _checked(dpotrf(pairs.K.T, lower=0, clean=0, overwrite_a=1))
    return _regression(_checked(dpotrs(factor, np.column_stack([np.ones(len(Y)), Y]), lower=0)), Y)


def left_out_residuals(family: Family, A: Array, coef: Array, ridge: float) -> Array:
    """Errors of predicting each row from all others, by the coefficients of their regression.

    They are coef_i / P_ii, with P = C - C11ᵀC / 1ᵀC1.
    """
    pairs = family.pairs(len(A))
    pairs.fill(A)
    np.fill_diagonal(pairs.K, 1.0 + ridge)
    factor = _checked(dpotrf(pairs.K.T, lower=0, clean=0, overwrite_a=1))
    of_constant = _checked(dpotrs(factor, np.ones(len(A)), lower=0))
    C = _checked(dpotri(factor, lower=0, overwrite_c=1))
    P = np.diagonal(C) - of_constant**2 / of_constant.sum()
    return np.asarray(coef / P[:, None])


def _regression(solution: Array, Y: Array) -> Regression:
    """From C1 and CY."""
    of_constant, of_targets = solution[:, :1], solution[:, 1:]
    offset = of_targets.sum(axis=0) / of_constant.sum()
    coef = of_targets - of_constant * offset
    variance = np.einsum("ij,ij->j", Y - offset, coef) / len(Y)
    return Regression(coef, offset, np.maximum(variance, _LEAST))


def _checked(result: tuple[Array, int]) -> Array:
    if result[1]:
        raise LinAlgError("The kernel matrix is not positive definite.")
    return result[0]
