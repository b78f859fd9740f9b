"""Kernel feature analysis: projection pursuit in feature space, with features of few kernel functions."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer.arrays import Array
from mercer.components.base import KernelFeatures
from mercer.components.contrasts import Contrast, as_contrast, variance
from mercer.components.spectrum import DENSE_ROWS, LanczosSpectrum, dense_spectrum
from mercer.kernels.gram import Gram
from mercer.running import Iterates, Status, Step, Stopping, raise_if_interrupted, run

CONSTRAINTS = ("l1", "rkhs")
# Principal components within which directions of unit length are sought.
_SUBSPACE = 100
# Power of the precision, 4e-10 in double: fraction of the longest function's squared length below which "l1" stops.
_SHORTEST = 0.6
# What L-BFGS-B says when it has used up its steps; a line search that finds nothing better ends at the optimum.
_OUT_OF_STEPS = 1


class KernelFeatureAnalysis(KernelFeatures):
    """Directions in feature space along which the data look most interesting, one after the other.

    The direction v = Σ_i α_i Φ(x_i) maximises a contrast of the values ⟨v, Φ(x_j)⟩, the removed functions being
    projected out, under Σ_i |α_i| = 1 or ||v|| = 1; then the feature space is deflated to what is orthogonal to v.

    Parameters
    ----------
    n_components : int
        How many features.
    kernel : Kernel, optional
        A positive definite kernel; by default a Gaussian whose width is the median distance of the data.
    constraint : {"l1", "rkhs"}
        "l1": the variance is convex in α, so that it is largest at a vertex, a single kernel function: a greedy
        selection of rows. All functions are taken at unit length in what is left of the feature space, so that their
        variance is the exact decrease of the variance that remains. Other contrasts are compared at the vertices, too.
        Feature m needs m kernel evaluations at a new row. "rkhs": unit length, which for the variance is kernel PCA;
        for other contrasts a local search within the leading 100 principal components, from the best of them. Features
        need all n kernel evaluations.
    contrast : {"variance", "kurtosis", "negentropy"} or callable
        What is interesting. A callable takes values of shape (n, m), one column for each direction, of mean zero if the
        constant is removed, and returns m numbers.
    remove : "constant", "linear" or None
        What is projected out of the values, as in `KernelPCA`; it costs no kernel evaluations.
    n_candidates : int, optional
        "l1": number of rows, drawn at random, that may be selected; by default at most 1000.
    tol : float
        "rkhs": relative improvement of the contrast, and relative error of the principal components, to stop at.
    max_iter : int
        "rkhs": most steps of the search for each direction, and most products with the Gram matrix for the principal
        components.
    verbose : bool
        Whether to show a progress bar.
    random_state : int, RandomState or None
        Draws the candidates.

    Attributes
    ----------
    contrast_ : array of shape (n_components_,)
        Contrast of each feature.
    explained_variance_ : array of shape (n_components_,)
        Variance of each feature. Directions are orthonormal to 1e-4 or better, so that variances add up: "l1" ends
        when no function has more than 4e-10 of the largest squared length left.
    rows_, dual_coef_ : rows, array of shape (len(rows_), n_components_)
        Rows whose kernel functions are used, and their coefficients.
    selected_ : array of int
        Positions of these rows in the training set.
    status_ : str
        "interrupted" after Ctrl-C: the features found until then are kept. "max_iter" if a search ended too early. Else
        "optimal".
    n_iter_ : int
        Number of selections ("l1"), or of evaluations of the contrast with its gradient in all searches ("rkhs").
    n_components_, kernel_ : int, Kernel
        What was used.

    Notes
    -----
    "l1" costs n · n_candidates kernel evaluations and numbers of memory, and O(n · n_candidates) operations for each
    feature. [Smola1998]_, section 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelFeatureAnalysis
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> features = KernelFeatureAnalysis(5).fit(X)
    >>> len(features.rows_), features.transform(X).shape
    (5, (300, 5))
    """

    status_: Status

    def __init__(
        self,
        n_components: int = 10,
        *,
        kernel: Any = None,
        constraint: str = "l1",
        contrast: Any = "variance",
        remove: str | None = "constant",
        n_candidates: int | None = None,
        tol: float = 1e-8,
        max_iter: int = 200,
        verbose: bool = False,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.constraint = constraint
        self.contrast = contrast
        self.remove = remove
        self.n_candidates = n_candidates
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the features of the rows X; y is ignored."""
        k = self._count("n_components")
        contrast = as_contrast("KernelFeatureAnalysis", self.contrast)
        if self.constraint not in CONSTRAINTS:
            raise ValueError(
                f"constraint of KernelFeatureAnalysis must be one of {CONSTRAINTS}, got {self.constraint!r}; choose "
                "'l1' for features of few kernel functions."
            )
        n_candidates = 1000 if self.n_candidates is None else self._count("n_candidates")
        self._check_tol()
        self._count("max_iter")
        X, gram = self._prepare(X)
        if self.kernel_.order != 0:
            raise ValueError(
                f"kernel of KernelFeatureAnalysis must be positive definite (order 0), got {self.kernel_!r}; "
                "directions have no length otherwise."
            )
        if self.constraint == "l1":
            self._select(X, gram, k, contrast, n_candidates)
        else:
            self._pursue(X, gram, k, contrast)
        self.n_components_ = self.dual_coef_.shape[1]
        if self.status_ == Status.OPTIMAL:
            self._warn_of_fewer(self.n_components_)
        else:
            interrupted = self.status_ == Status.INTERRUPTED
            how = "was interrupted" if interrupted else f"did not converge in {self.max_iter} steps"
            warnings.warn(
                f"KernelFeatureAnalysis {how} and keeps the {self.n_components_} features found until then; fit again, "
                "or raise max_iter or tol, for better ones.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _select(self, X: Any, gram: Gram, k: int, contrast: Contrast, n_candidates: int) -> None:
        """Greedy selection of kernel functions, each made orthogonal to those before."""
        n, removed = gram.shape[0], self._removed
        rng = check_random_state(self.random_state)
        candidates = np.arange(n) if n <= n_candidates else np.sort(rng.choice(n, n_candidates, replace=False))
        F = gram.block(slice(None), candidates).astype(np.float64, copy=False)
        C = F[candidates]
        F = removed.project_out(F)
        length2 = np.diagonal(C).copy()  # squared lengths of what is left of each function
        largest, precision = float(length2.max()), float(np.finfo(gram.dtype).eps)
        self._refuse_negative(length2, np.sqrt(precision) * np.abs(length2).max(), "a squared length of")
        # Of a shorter rest too few digits are left to make it orthogonal to the others.
        floor = precision**_SHORTEST * largest
        found: list[tuple[int, float, Array]] = []

        def selected() -> Iterates[int]:
            nonlocal length2
            while True:
                yield self._found(len(found), limit)
                values = self._contrasts_at_unit_length(F, length2, floor, contrast)
                best = int(np.argmax(values))
                if values[best] == -np.inf:
                    return Status.OPTIMAL
                scale = np.sqrt(length2[best])
                products = C[best] / scale  # with the new direction
                _deflate(F, F[:, best] / scale, products)
                _deflate(C, C[:, best] / scale, products)
                length2 = np.diagonal(C).copy()
                length2[[best, *(b for b, _, _ in found)]] = 0.0
                self._refuse_negative(length2, np.sqrt(precision) * largest, "a squared length of")
                found.append((best, float(values[best]), products))

        limit = min(k, len(candidates))
        self._run(selected(), "Kernel functions", limit)
        self._refuse_nothing(len(found))
        chosen = [best for best, _, _ in found]
        self.selected_ = candidates[chosen]
        self._keep_rows(X, self.selected_)
        # Gram-Schmidt in feature space: the values are K_ns R⁻ᵀ with K_ss = R Rᵀ.
        R = np.tril(np.array([products[chosen] for _, _, products in found]).T)
        self.dual_coef_ = solve_triangular(R, np.eye(len(R)), lower=True).T
        values = gram.block(slice(None), self.selected_) @ self.dual_coef_
        self._offset = removed.Q.T @ values
        self.n_iter_ = len(found)
        self.contrast_ = np.array([value for _, value, _ in found])
        self.explained_variance_ = np.mean(removed.project_out(values) ** 2, axis=0)

    def _contrasts_at_unit_length(self, F: Array, length2: Array, floor: float, contrast: Contrast) -> Array:
        """Contrast of each function, which is -∞ for those that are rounding errors."""
        alive = length2 > floor
        values = np.full(len(length2), -np.inf)
        if isinstance(self.contrast, str):
            # Homogeneous of degree two, so that no copy of F needs to be scaled.
            np.divide(contrast(F), length2, out=values, where=alive)
            return np.where(values > floor, values, -np.inf)
        alive &= variance(F) > floor * length2
        if alive.any():
            values[alive] = contrast(F[:, alive] / np.sqrt(length2[alive]))
        return values

    def _refuse_negative(self, values: Array, rounding: float, what: str) -> None:
        if values.min(initial=0.0) < -rounding:
            raise ValueError(
                f"{self.kernel_!r} must be positive definite on X for directions to have a length, got {what} "
                f"{values.min():.1e}; mend the matrix or choose another kernel."
            )

    def _pursue(self, X: Any, gram: Gram, k: int, contrast: Contrast) -> None:
        """Directions of unit length within the leading principal components."""
        n = gram.shape[0]
        m = min(max(_SUBSPACE, k), n - self._removed.Q.shape[1])
        if n <= DENSE_ROWS:
            basis = dense_spectrum(gram, self._removed, m if self._definite else None, definite=self._definite)
        else:
            solver = LanczosSpectrum(gram, self._removed, None, definite=self._definite, random_state=self.random_state)
            basis = solver.leading(m, tol=self.tol, max_iter=self.max_iter)
        values = basis.pairs.values
        self._refuse_nothing(len(values))
        precision = float(np.finfo(gram.dtype).eps)
        self._refuse_negative(values, np.sqrt(precision) * np.abs(values).max(), "an eigenvalue of")
        kept = np.flatnonzero(values > 0)[:m]
        scores = basis.pairs.vectors[:, kept] * np.sqrt(values[kept])
        free = np.eye(scores.shape[1])
        found: list[tuple[Array, float]] = []
        limit = min(k, scores.shape[1])
        status, self.n_iter_ = basis.pairs.status, 0

        def pursued() -> Iterates[int]:
            nonlocal free, status
            while True:
                yield self._found(len(found), limit)
                direction, value, search = _best_direction(scores @ free, contrast, self.tol, self.max_iter)
                found.append((free @ direction, value))
                self.n_iter_ += search.nfev
                if search.status == _OUT_OF_STEPS and status == Status.OPTIMAL:
                    status = Status.MAX_ITER
                # What is left: the complement of the direction in the free subspace.
                free = free @ np.linalg.qr(direction[:, None], mode="complete")[0][:, 1:]

        self._run(pursued(), "Directions", limit)
        if self.status_ == Status.OPTIMAL:
            self.status_ = status
        rotation = np.column_stack([direction for direction, _ in found])
        self.selected_ = np.arange(n)
        self._keep_rows(X, self.selected_)
        self.dual_coef_ = basis.coef[:, kept] @ rotation
        self._offset = basis.offset[:, kept] @ rotation
        self.contrast_ = np.array([value for _, value in found])
        self.explained_variance_ = np.mean((scores @ rotation) ** 2, axis=0)

    def _run(self, iterates: Iterates[int], name: str, limit: int) -> None:
        """Find features until there are enough; Ctrl-C leaves those that were found, if there are some."""
        end = run(iterates, Stopping(max_iter=limit, verbose=self.verbose), name, shows="")
        self.status_ = end.status
        if not end.n_iter:
            raise_if_interrupted(end.status)

    @staticmethod
    def _found(n: int, limit: int) -> Step[int]:
        return Step(n, -float(n), Status.OPTIMAL if n == limit else None)


def _deflate(F: Array, left: Array, right: Array) -> None:
    """F - left rightᵀ in place, without a matrix in between."""
    for start in range(0, len(F), 256):
        rows = slice(start, start + 256)
        F[rows] -= left[rows, None] * right


def _best_direction(S: Array, contrast: Contrast, tol: float, max_iter: int) -> tuple[Array, float, Any]:
    """Unit vector b with a large contrast of S b: the best of the axes, improved by a quasi-Newton search.

    Returns its contrast and how the search went, too.
    """
    values = contrast(S)
    start = np.eye(S.shape[1])[int(np.argmax(values))]
    scale = max(abs(float(values.max())), np.finfo(np.float64).tiny)
    h = 1e-5

    def loss(b: Array) -> tuple[float, Array]:
        """The contrast of b / |b|, and its gradient by differences: one call takes all of them as columns."""
        b = b / np.linalg.norm(b)
        nudged = np.hstack([b[:, None], b[:, None] + h * np.eye(len(b)), b[:, None] - h * np.eye(len(b))])
        found = -contrast(S @ (nudged / np.linalg.norm(nudged, axis=0))) / scale
        return float(found[0]), (found[1 : len(b) + 1] - found[len(b) + 1 :]) / (2 * h)

    # A gradient g is worth an improvement of about g².
    options = {"maxiter": max_iter, "ftol": tol, "gtol": np.sqrt(tol)}
    result = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    b = result.x / np.linalg.norm(result.x)
    b *= np.sign(b[np.argmax(np.abs(b))])
    reached = float(contrast((S @ b)[:, None])[0])
    if reached < values.max():
        b, reached = start, float(values.max())
    return b, reached, result
