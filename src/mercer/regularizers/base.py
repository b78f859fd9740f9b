"""How a regularizer enters the convex program of a kernel machine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer.arrays import Array
from mercer.kernels.gram import GramMatrix, as_gram_matrix
from mercer.regularizers.maps import MapPenalty


@dataclass(frozen=True)
class Penalty:
    """A penalty in normal form: the fit is h + columns @ d and costs 1/2 hᵀ gram⁺ h + Σ_j bounds_j |d_j|.

    Attributes
    ----------
    gram : GramMatrix
        Matrix of the quadratic part. An array becomes a `FormedMatrix`; None, if there is none (then h = 0), a
        `NoMatrix`.
    columns : array of shape (n_samples, n_columns)
        Functions that enter linearly, at the training rows.
    bounds : array of shape (n_columns,)
        Weight of the absolute value of their coefficients; 0 for those that are unpenalised. In the dual program they
        are the bounds |columnsᵀ B| <= bounds.
    expand : callable
        From the dual variables B and the coefficients d to those of the kernel functions and of the parametric part.
    rewrites : bool
        Whether the coefficients of the kernel functions are computed anew, so that rounding may make another function
        of them; else they are B, or entries of d.
    """

    gram: GramMatrix
    columns: Array
    bounds: Array
    expand: Callable[[Array, Array], tuple[Array, Array]]
    rewrites: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "gram", as_gram_matrix(self.gram, len(self.columns)))


class Regularizer(BaseEstimator, ABC):
    """A penalty of f = Σ_i a_i k(x_i, .) + Σ_j b_j φ_j.

    Attributes
    ----------
    needs_positive_kernel : bool
        Whether the program is convex only for a (conditionally) positive definite kernel.
    needs_matrix : bool
        Whether the Gram matrix must be in memory; else it may be an operator or a low-rank factor.
    """

    needs_positive_kernel: bool = True
    needs_matrix: bool = False

    def restricted_to(self, samples: Array) -> Regularizer:
        """The regularizer for some of the samples, by their positions; itself if it has no entries for each."""
        return self

    def for_maps(self) -> MapPenalty:
        """The penalty of maps, whose values are vectors, that goes by this name."""
        raise TypeError(f"{self!r} is no penalty of maps; choose 'rkhs', 'l1', 'group_l1', 'l2', 'length'.")

    @abstractmethod
    def penalty(self, gram: Any, parametric: Array) -> Penalty:
        """The normal form, from the Gram matrix and the parametric columns at the training rows."""

    @abstractmethod
    def value(self, gram: Any, coefficients: Array, parametric_coefficients: Array) -> float:
        """The penalty of the function with these coefficients."""


def penalty_of_norm(gram: Any, columns: Array, bounds: Array) -> Penalty:
    """The penalty 1/2 hᵀ gram⁺ h beside columns with some bounds."""
    matrix = as_gram_matrix(gram, len(columns))
    return Penalty(matrix, columns, bounds, lambda B, d: (matrix.coefficients(B), d), matrix.factor is not None)


def need_matrix(regularizer: Regularizer, gram: Any) -> Array:
    """A Gram matrix in full, which penalties on coefficients need."""
    matrix = as_gram_matrix(gram, 0).formed
    if matrix is None:
        raise ValueError(
            f"{regularizer!r} needs the whole Gram matrix, got a low-rank factor; choose 'rkhs' or 'mixed' instead."
        )
    return matrix


def unpenalised(columns: Array) -> Array:
    """Bounds of unpenalised columns: zero."""
    return np.zeros(columns.shape[1])
