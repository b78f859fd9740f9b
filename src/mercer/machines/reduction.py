"""Fewer kernel functions for a fitted machine, with the error that this makes."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.linalg import qr, solve_triangular

from mercer.arrays import Array
from mercer.kernels import Kernel
from mercer.kernels.gram import Gram
from mercer.kernels.gram.low_rank import GrowingRows


@dataclass(frozen=True)
class ReductionError:
    """What a reduction cost, for each target: numbers for one target, arrays for several.

    Attributes
    ----------
    relative : float or array
        ||f - f_reduced|| / ||f||, in the norm of the feature space.
    absolute : float or array
        ||f - f_reduced||.
    uniform : float or array
        Bound absolute · sup √k(x, x) on |f(x) - f_reduced(x)| at any x; infinite where k(x, x) depends on x.
    """

    relative: Any
    absolute: Any
    uniform: Any


@dataclass(frozen=True)
class Reduction:
    """A shorter expansion Σ_i coef_i k(x_chosen_i, .) of nearly the same function.

    Attributes
    ----------
    chosen : array of int
        Positions of the kernel functions that stay, in ascending order.
    coef : array of shape (n_chosen,) or (n_chosen, n_targets)
        Their coefficients.
    polynomial : array of shape (order,) or (order, n_targets)
        What to add to the coefficients of the polynomials that a conditionally positive kernel leaves unpenalised.
    error : ReductionError
        Computed from the two expansions.
    """

    chosen: Array
    coef: Array
    polynomial: Array
    error: ReductionError


def reduce_expansion(
    kernel: Kernel, X: Any, coef: Array, *, tol: float = 1e-2, max_functions: int | None = None
) -> Reduction:
    """Rewrite f = Σ_i coef_i k(x_i, .) with fewer of its kernel functions.

    Orthogonal matching pursuit: each step takes the kernel function with the largest correlation with f - f_reduced,
    and f_reduced is the projection of f onto the span of those taken: it equals f at the rows that stay. Several
    functions f share the kernel functions, and each reaches the tolerance.

    Parameters
    ----------
    kernel : Kernel
        A kernel of order 0, 1 or 2.
    X : array_like
        The rows x_i.
    coef : array of shape (n,) or (n, n_targets)
        Coefficients; orthogonal to the kernel's polynomials if it is only conditionally positive.
    tol : float
        Relative error ||f - f_reduced|| / ||f|| to reach.
    max_functions : int, optional
        Largest number of kernel functions.

    Returns
    -------
    Reduction
        Its error is computed from the result, and may exceed `tol` by rounding if tol is below about 1e-7.

    Notes
    -----
    Taking the kernel function that lowers the error most instead needs as many of them, but likes those that nearly
    depend on each other, with large coefficients of opposite signs.

    n · r evaluations of the kernel and O(n r²) operations for r functions, and two products with the Gram matrix, which
    is never formed; memory n · r numbers. With n functions, errors of order ε_n / √n are possible, ε_n being the
    entropy numbers of the kernel functions [Makovoz1996]_; [Smola1998]_, section 9.1.2.

    A conditionally positive kernel is replaced by the positive definite one of the functions that vanish at as many
    rows as there are polynomials: these rows stay, which keeps the coefficients orthogonal to the polynomials.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.machines import reduce_expansion
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> reduction = reduce_expansion(Gaussian(), X, np.sin(5 * X[:, 0]), tol=1e-3)
    >>> len(reduction.chosen) < 15, reduction.error.relative <= 1e-3
    (True, True)
    """
    if kernel.order is None:
        raise ValueError(
            f"kernel of reduce_expansion must be (conditionally) positive definite, got {kernel!r}; without a norm "
            "there is no error to speak of."
        )
    if not isinstance(tol, Real) or isinstance(tol, bool) or not 0 <= float(tol) < 1:
        raise ValueError(f"tol of reduce_expansion must be in [0, 1), got {tol!r}; give a share of the norm of f.")
    if getattr(X, "dtype", None) == np.float32:
        X = X.astype(np.float64)  # the error is a difference
    P = kernel.polynomial_part(X) if kernel.order and len(coef) else np.empty((len(coef), 0))
    if len(coef) <= P.shape[1] or np.linalg.matrix_rank(P) < P.shape[1]:  # nothing that could be left out
        nothing = np.zeros(coef.shape[1:])[()]
        polynomial = np.zeros((P.shape[1], *coef.shape[1:]))
        return Reduction(np.arange(len(coef)), coef, polynomial, ReductionError(nothing, nothing, nothing))
    functions = _AnchoredFunctions(kernel, X, P) if kernel.order else _Functions(kernel, X)
    least = functions.n_fixed + 1
    if max_functions is not None and (not isinstance(max_functions, Integral) or max_functions < least):
        raise ValueError(
            f"max_functions of reduce_expansion must be a whole number >= {least}, got {max_functions!r}; or None for "
            "no limit."
        )
    weights = coef.reshape(len(coef), -1).astype(np.float64)
    limit = len(coef) if max_functions is None else min(len(coef), int(max_functions) - functions.n_fixed)
    chosen, kept = functions.expanded(*_select(functions, weights, tol, limit))
    difference = weights.copy()
    difference[chosen] -= kept
    norm, absolute = functions.norms(weights), functions.norms(difference)
    relative = np.divide(absolute, norm, out=np.zeros_like(norm), where=norm > 0)
    bounded = kernel.translation_invariant and not kernel.order
    uniform = absolute * np.sqrt(functions.diagonal[0]) if bounded else np.where(difference.any(axis=0), np.inf, 0.0)
    polynomial = functions.polynomial(difference)
    if coef.ndim == 1:
        kept, polynomial = kept[:, 0], polynomial[:, 0]
        relative, absolute, uniform = float(relative[0]), float(absolute[0]), float(uniform[0])
    return Reduction(chosen, kept, polynomial, ReductionError(relative, absolute, uniform))


def _select(functions: _Functions, weights: Array, tol: float, limit: int) -> tuple[Array, Array]:
    """Positions of at most `limit` functions, and coefficients of the projections of all f onto their span.

    Orthonormal functions e_1, e_2, ... of that span are grown by the pivoted Cholesky factorisation: `basis` holds the
    values e_s(x_i), `left` the squared distance of each kernel function from the span, `residual` the values at x_i of
    what is left of every f, which is also its inner product with k(x_i, .).
    """
    residual = functions.times(weights)
    squared = np.maximum(np.einsum("ij,ij->j", weights, residual), 0.0)
    n, n_targets = residual.shape
    basis, coordinates, chosen = GrowingRows(n, limit), np.empty((limit, n_targets)), list[int]()
    left = functions.diagonal.copy()
    floor = n * np.finfo(np.float64).eps * float(left.max())  # less is rounding noise
    missing = squared.copy()
    scale = np.divide(1.0, left, out=np.zeros(n), where=left > 0)
    while len(chosen) < limit:
        late = missing > tol**2 * squared
        correlation = np.sum(residual[:, late] ** 2 / squared[late], axis=1) * scale
        pivot = int(np.argmax(np.where(left > floor, correlation, 0.0)))
        if not late.any() or left[pivot] <= floor:
            break
        root = np.sqrt(left[pivot])
        values = (functions.column(pivot) - basis.filled[:, pivot] @ basis.filled) / root
        values[chosen] = 0.0
        coordinates[len(chosen)] = residual[pivot] / root
        residual -= np.outer(values, residual[pivot] / root)
        missing -= coordinates[len(chosen)] ** 2
        left -= values**2
        basis.append(values)
        chosen.append(pivot)
        left[chosen] = 0.0
    if len(chosen) == n:
        return np.arange(n), weights
    corner = basis.filled[:, chosen]  # upper triangular
    return np.array(chosen, dtype=np.intp), solve_triangular(corner, coordinates[: len(chosen)])


class _Functions:
    """The kernel functions k(x_i, .) as vectors of the feature space."""

    n_fixed = 0  # functions that stay in any case

    def __init__(self, kernel: Kernel, X: Any):
        self._gram = Gram(kernel, X)
        self.diagonal = self._gram.diagonal()

    def column(self, i: int) -> Array:
        """Inner products of one function with all."""
        return self._gram.block(slice(None), [i])[:, 0]

    def times(self, weights: Array) -> Array:
        """Inner products of the functions Σ_i weights_i k(x_i, .) with all k(x_i, .)."""
        return np.asarray(self._gram @ weights)

    def norms(self, weights: Array) -> Array:
        """Norms of the functions Σ_i weights_i k(x_i, .)."""
        return np.sqrt(np.maximum(np.einsum("ij,ij->j", weights, self.times(weights)), 0.0))

    def expanded(self, chosen: Array, coef: Array) -> tuple[Array, Array]:
        """An expansion in these functions as one in the kernel's, with ascending positions."""
        order = np.argsort(chosen)
        return chosen[order], coef[order]

    def polynomial(self, weights: Array) -> Array:
        """Coefficients of the polynomials in which Σ_i weights_i k(x_i, .) differs from that of these functions."""
        return np.empty((0, weights.shape[1]))


class _AnchoredFunctions(_Functions):
    """Functions of a conditionally positive kernel that vanish at a few anchors z_1, ..., z_q among the rows.

    With p_l the polynomial that is one at z_l and zero at the other anchors, these are the functions
    k(x_i, .) - Σ_l p_l(x_i) k(z_l, .) less the polynomial that has their values at the anchors.
    """

    def __init__(self, kernel: Kernel, X: Any, P: Array):
        self._gram = Gram(kernel, X)
        self.n_fixed = P.shape[1]
        self._anchors = qr(P.T, mode="r", pivoting=True)[1][: self.n_fixed]
        self._to_polynomials = np.linalg.inv(P[self._anchors])
        self._lagrange = P @ self._to_polynomials
        at_anchors = self._gram.block(slice(None), self._anchors).astype(np.float64)
        self._at_anchors = at_anchors - self._lagrange @ at_anchors[self._anchors]
        own = self._gram.diagonal() - np.einsum("ij,ij->i", self._lagrange, at_anchors)
        self.diagonal = np.maximum(own - np.einsum("ij,ij->i", self._lagrange, self._at_anchors), 0.0)
        self.diagonal[self._anchors] = 0.0

    def column(self, i: int) -> Array:
        column = super().column(i)
        return column - self._lagrange @ column[self._anchors] - self._at_anchors @ self._lagrange[i]

    def times(self, weights: Array) -> Array:
        product = super().times(self._with_anchors(weights))
        return product - self._lagrange @ product[self._anchors]

    def expanded(self, chosen: Array, coef: Array) -> tuple[Array, Array]:
        weights = np.zeros((len(self.diagonal), coef.shape[1]))
        weights[chosen] = coef
        positions = np.union1d(chosen, self._anchors)
        return positions, self._with_anchors(weights)[positions]

    def polynomial(self, weights: Array) -> Array:
        at_anchors = self._gram.block(self._anchors) @ weights
        return self._to_polynomials @ at_anchors

    def _with_anchors(self, weights: Array) -> Array:
        """Coefficients of the kernel's functions for those of these functions, orthogonal to the polynomials."""
        weights = weights.copy()
        weights[self._anchors] -= self._lagrange.T @ weights
        return weights
