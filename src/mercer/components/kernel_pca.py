"""Kernel principal component analysis."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.components.base import KernelFeatures, dtype_of
from mercer.components.dimension import N_SCREE, check_dimension, count_for
from mercer.components.preimages import (
    PREIMAGES,
    LearnedPreimages,
    distance_preimages,
    fixed_point_preimages,
    inner_products,
    learned_rows,
)
from mercer.components.removal import is_table
from mercer.components.spectrum import DENSE_ROWS, LanczosSpectrum, Spectrum, dense_spectrum, nystroem_spectrum
from mercer.kernels.gram import Gram
from mercer.running import Status

EIGEN_SOLVERS = ("auto", "dense", "lanczos", "nystroem")
# Components that are computed first if a fraction of the variance is wanted.
_FIRST_GUESS = 10
# Fraction of the largest eigenvalue below which a component is left out of pre-images.
_NEGLIGIBLE = 1e-10


class KernelPCA(KernelFeatures):
    """Directions of largest variance in the feature space of a kernel.

    Component m is f_m(x) = Σ_i u_mi k̃(x_i, x) / √λ_m, where K̃ u_m = λ_m u_m and k̃ is the kernel with some functions
    projected out: the constant (which centres the data in feature space), or all linear functions.

    Parameters
    ----------
    n_components : None, int, float or "auto"
        None: all whose eigenvalue is above rounding. A number: the first so many. Between 0 and 1: as many as explain
        this fraction of the variance. "auto": those before the elbow of the first 100 eigenvalues, where the profile
        likelihood of two groups of eigenvalues is largest [Zhu2006]_.
    kernel : Kernel, optional
        By default a Gaussian whose width is the median distance of the data. A conditionally positive kernel has its
        polynomials removed, too. A kernel without any promise (order None) may be indefinite: its components are
        ordered by the absolute value of their eigenvalues, and those of negative ones have negative squared length.
    remove : "constant", "linear" or None
        What is projected out of the feature space. "linear": the components are uncorrelated with all columns of X, and
        show what linear principal components cannot.
    eigen_solver : {"auto", "dense", "lanczos", "nystroem"}
        "dense": the whole matrix, O(n³). "lanczos": a few products with the matrix, which is not formed. "nystroem":
        from landmarks, approximate, for positive definite kernels. "auto": "nystroem" if `n_landmarks` is given;
        "dense" for up to 2000 rows or if components are many as against the rows; "lanczos" otherwise.
    n_landmarks : int, optional
        Number of landmarks of "nystroem"; by default 10 for each component, and 300 at least.
    preimage : {"auto", "fixed_point", "distance", "ridge"}
        How `inverse_transform` goes back, see there.
    fit_inverse_transform : bool
        Whether `fit` learns the maps that "auto" and "ridge" go back by. By default each call of `inverse_transform`
        learns them anew, at the cost of a dense eigenproblem of 2000 rows at most: a fitted model never changes.
    tol : float
        Relative error of eigenvalues that "lanczos" stops at; eigenvectors are then good to about its root.
    max_iter : int
        Most products of "lanczos".
    warm_start : bool
        Start "lanczos" from the vectors of the last fit, if there are as many rows.
    verbose : bool
        Whether to show a progress bar for each product with the Gram matrix.
    random_state : int, RandomState or None
        Chooses landmarks, and the columns that "lanczos" starts from.

    Attributes
    ----------
    eigenvalues_ : array of shape (n_components_,)
        λ_m, of K̃; those of the covariance in feature space are λ_m / n.
    eigenvectors_ : array of shape (n, n_components_)
        u_m, of unit length, with their largest entry positive.
    embedding_ : array of shape (n, n_components_)
        Scores of the training rows, √|λ_m| u_m.
    eigenvalue_error_ : array of shape (n_components_,)
        Bounds of the distance to an exact eigenvalue: rounding for "dense", estimated from the residual for "lanczos";
        for "nystroem" the trace of what the landmarks miss, by which the exact λ_m are larger at most.
    explained_variance_ratio_ : array of shape (n_components_,)
        |λ_m| as a fraction of their sum; for "nystroem" a lower bound of it. NaN for "lanczos" if negative eigenvalues
        cannot be ruled out (a given matrix, or a kernel of order None), since their sum is then not the trace.
    n_components_, kernel_ : int, Kernel
        What was used.
    eigen_solver_, status_, n_iter_, history_
        Solver, how it ended, number of products (1 for solvers that do not iterate), and relative error after each.
    rows_, dual_coef_ : rows, array of shape (len(rows_), n_components_)
        Training rows (or landmarks; of a given matrix their positions), and the coefficients of their kernel functions.

    Notes
    -----
    Eigenvalues below n · 2.2e-16 times the norm of K (1.2e-7 for a given matrix in single precision) are rounding and
    never used. Memory: "dense" two n x n matrices,
    "lanczos" about 14 n (2 n_components + 16) numbers, "nystroem" 3 n · n_landmarks numbers. [Smola1998]_, section 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import Gaussian
    >>> t = np.random.default_rng(0).uniform(0, 2 * np.pi, 200)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> pca = KernelPCA(4, kernel=Gaussian(1.0)).fit(X)
    >>> pca.explained_variance_ratio_.round(2)
    array([0.43, 0.35, 0.1 , 0.09])
    >>> bool(np.abs(pca.inverse_transform(pca.transform(X)) - X).max() < 0.02)
    True
    """

    def __init__(
        self,
        n_components: Any = None,
        *,
        kernel: Any = None,
        remove: str | None = "constant",
        eigen_solver: str = "auto",
        n_landmarks: int | None = None,
        preimage: str = "auto",
        fit_inverse_transform: bool = False,
        tol: float = 1e-8,
        max_iter: int = 50,
        warm_start: bool = False,
        verbose: bool = False,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.remove = remove
        self.eigen_solver = eigen_solver
        self.n_landmarks = n_landmarks
        self.preimage = preimage
        self.fit_inverse_transform = fit_inverse_transform
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of the rows X; y is ignored."""
        self._check_parameters()
        X, gram = self._prepare(X)
        if self.fit_inverse_transform and (self.kernel_.pairwise or not is_table(X)):
            raise ValueError(
                f"fit_inverse_transform of KernelPCA must be False for objects that are not vectors, got "
                f"{self.fit_inverse_transform!r}; there are no rows to go back to."
            )
        self.eigen_solver_ = self._chosen_solver(gram.shape[0])
        spectrum = getattr(self, f"_{self.eigen_solver_}")(X, gram)
        self._store(X, spectrum)
        if self.fit_inverse_transform:
            self._learned = self._learned_preimages(noisy=self._of_distance)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the components and return the scores of the training rows, those that `transform` gives."""
        return self.fit(X).embedding_.astype(dtype_of(self._rows(X, reset=False)))

    def inverse_transform(self, Z: Any) -> Array:
        """Rows whose images are close to the points with these scores in feature space.

        For a linear kernel "auto" gives the exact pre-image, which is that of linear PCA. Otherwise there is none in
        general. "ridge": a kernel ridge regression of the training rows on their scores [Bakir2004]_, for any kernel on
        vectors, learned on 2000 rows at most.
        "fixed_point": the row whose image is nearest, by the iteration of [Mika1999]_, damped, from the nearest
        training row. "distance": from the distances to the ten nearest training rows [Kwok2004]_. These two need a
        positive definite function of the distance.

        "ridge" is by far the best for scores of rows like those of the training, but scores of noisy rows are unlike
        any in training. "auto" takes the row of "ridge" if its own scores are as near to the given ones as those of
        training rows that were left out, and else that of a second map, learned on scores of training rows to which
        noise was added. For kernels that are not a function of the distance it is "ridge".

        Removed linear functions cannot be known from the scores: they are set to their mean.

        Parameters
        ----------
        Z : array of shape (n, n_components_)
            Scores.
        """
        check_is_fitted(self, "dual_coef_")
        Z = check_array(Z, dtype=[np.float64, np.float32], input_name="Z", estimator=self)
        if Z.shape[1] != self.n_components_:
            raise ValueError(
                f"Z of KernelPCA must have {self.n_components_} columns, one for each component, got {Z.shape[1]}; "
                "give what transform returns."
            )
        if self.kernel_.pairwise or not is_table(self.rows_):
            raise TypeError(f"{self.kernel_!r} was not given vectors, so that there are no rows to go back to.")
        if self.preimage == "auto" and self.kernel_.linear:
            X = (self._mean_coef + Z @ self.dual_coef_.T) @ self._dense_rows()
        elif self.preimage in ("auto", "ridge"):
            learned = getattr(self, "_learned", None) or self._learned_preimages()
            for_noise = self.preimage == "auto" and self._of_distance
            X = learned(Z, self._features) if for_noise else learned.plain(Z)
        elif self._of_distance:
            X = self._searched_preimages(Z, self.preimage)
        else:
            raise ValueError(
                f"preimage of KernelPCA must be 'ridge' for {self.kernel_!r}, got {self.preimage!r}; the others need a "
                "positive definite function of the distance."
            )
        return X.astype(Z.dtype, copy=False)

    @property
    def _of_distance(self) -> bool:
        return self.kernel_.stationary and self.kernel_.order == 0

    def _learned_preimages(self, *, noisy: bool = False) -> LearnedPreimages:
        """The maps of "auto" and "ridge", that for noisy rows only if it is asked for."""
        rows = self._dense_rows()
        some = learned_rows(len(rows))
        scores = self._features(_safe_indexing(self.rows_, some))
        if not np.ptp(scores, axis=0).any():
            raise ValueError(
                f"n_landmarks of KernelPCA must give two rows or more that differ for preimage={self.preimage!r}, "
                f"got {len(some)} alike; raise n_landmarks."
            )
        return LearnedPreimages(scores, rows[some], self._features if noisy else None)

    def _searched_preimages(self, Z: Array, method: str) -> Array:
        """Rows by a method that needs the points in feature space."""
        # Components that hardly move the point would only bring the rounding errors of their scores.
        used = np.abs(self.eigenvalues_) > _NEGLIGIBLE * np.abs(self.eigenvalues_[0])
        scores = np.where(used, Z * np.sign(self.eigenvalues_), 0.0)
        points = np.column_stack([np.ones(len(Z)), scores])
        rows, basis = self._dense_rows(), np.vstack([self._mean_coef, self.dual_coef_.T])
        inner = points @ inner_products(self.kernel_, rows, basis)
        if method == "distance":
            return distance_preimages(self.kernel_, rows, points @ basis, inner)
        return fixed_point_preimages(self.kernel_, rows, points @ basis, rows[np.argmax(inner, axis=1)])

    def _dense_rows(self) -> Array:
        return self.rows_.toarray() if sparse.issparse(self.rows_) else np.asarray(self.rows_)

    def reconstruction_error(self, X: Any) -> Array:
        """Squared distances in feature space of the rows of X from their projections on the components.

        k̃(x, x) - Σ_m f_m(x)²: what the components do not explain. For an indefinite kernel it may be negative.
        """
        check_is_fitted(self, "dual_coef_")
        X = self._rows(X, reset=False)
        if self.kernel_.pairwise:
            raise TypeError(f"{self.kernel_!r} does not know k(x, x) of new objects, which the error needs.")
        both = self._against_rows(X, np.hstack([self.dual_coef_, self._removed_coef]))
        k = self.n_components_
        q = self._removed(X)
        scores = both[:, :k] - q @ self._offset
        own = self.kernel_.diag(X) - np.einsum("ij,ij->i", q, 2 * both[:, k:] - q @ self._removed_gram)
        return np.asarray(own - scores**2 @ np.sign(self.eigenvalues_))

    # Parameters ------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_dimension("KernelPCA", self.n_components)
        for name, choices in (("eigen_solver", EIGEN_SOLVERS), ("preimage", PREIMAGES)):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} of KernelPCA must be one of {choices}, got {getattr(self, name)!r}; choose one of them."
                )
        if self.n_components is None and self.eigen_solver == "lanczos":
            raise ValueError(
                "n_components of KernelPCA must be a number, a share of the variance or 'auto' for "
                "eigen_solver='lanczos', got None; use 'dense' for all components."
            )
        self._check_tol()
        self._count("max_iter")
        if self.n_landmarks is not None:
            self._count("n_landmarks")
            if self.eigen_solver not in ("auto", "nystroem"):
                raise ValueError(
                    f"n_landmarks of KernelPCA must be None for eigen_solver={self.eigen_solver!r}, got "
                    f"{self.n_landmarks!r}; only 'nystroem' has landmarks."
                )
            if isinstance(self.n_components, Integral) and self.n_landmarks < int(self.n_components):
                raise ValueError(
                    f"n_landmarks of KernelPCA must be at least n_components={self.n_components}, got "
                    f"{self.n_landmarks!r}; a landmark gives one component at most."
                )

    def _chosen_solver(self, n: int) -> str:
        solver = self.eigen_solver
        if solver == "auto":
            first = {"auto": N_SCREE, None: n}.get(self.n_components, self.n_components)
            few = first <= n / 20 and (first >= 1 or self._definite)
            exact = "lanczos" if n > DENSE_ROWS and few else "dense"
            solver = exact if self.n_landmarks is None else "nystroem"
        if solver == "nystroem" and self.kernel_.order != 0:
            raise ValueError(
                f"kernel of KernelPCA must be positive definite (order 0) for eigen_solver='nystroem', got "
                f"{self.kernel_!r}; use 'lanczos'."
            )
        if solver == "lanczos" and self._is_share and not self._definite:
            raise ValueError(
                f"n_components of KernelPCA must be a number for eigen_solver='lanczos' and {self.kernel_!r}, got "
                f"{self.n_components!r}; the variance is known from the trace of positive kernels only, use 'dense'."
            )
        return solver

    @property
    def _is_share(self) -> bool:
        return self._n_first is None and self.n_components is not None

    @property
    def _n_first(self) -> int | None:
        """How many eigenvalues to compute, if that is known in advance."""
        if isinstance(self.n_components, Integral):
            return int(self.n_components)
        return N_SCREE if self.n_components == "auto" else None

    # Solvers ---------------------------------------------------------------------------------------------------------

    def _dense(self, X: Any, gram: Gram) -> Spectrum:
        return dense_spectrum(gram, self._removed, self._n_first, definite=self._definite)

    def _lanczos(self, X: Any, gram: Gram) -> Spectrum:
        n = gram.shape[0] - self._removed.Q.shape[1]
        block = getattr(self, "_block", None) if self.warm_start else None
        solver = LanczosSpectrum(gram, self._removed, block, definite=self._definite, random_state=self.random_state)
        k = min(self._n_first or _FIRST_GUESS, n)
        while True:
            spectrum = solver.leading(k, tol=self.tol, max_iter=self.max_iter)
            if self.warm_start:
                self._block = solver.block
            enough = count_for(self.n_components, spectrum.pairs.values, spectrum.total) is not None
            if enough or len(spectrum.pairs.values) < k or spectrum.pairs.status != Status.OPTIMAL:
                return spectrum
            k = min(2 * k, n)
            if self.eigen_solver == "auto" and k > n / 8:  # a share that takes so many is found sooner at once
                self.eigen_solver_ = "dense"
                return self._dense(X, gram)

    def _nystroem(self, X: Any, gram: Gram) -> Spectrum:
        m = max(300, 10 * (self._n_first or 0)) if self.n_landmarks is None else self.n_landmarks
        return nystroem_spectrum(gram, X, self._removed, self._n_first, min(m, gram.shape[0]), self.random_state)

    def _store(self, X: Any, spectrum: Spectrum) -> None:
        """Keep as many components as are wanted, and what new rows need."""
        self._refuse_nothing(len(spectrum.pairs.values))
        wanted = count_for(self.n_components, spectrum.pairs.values, spectrum.total)
        k = wanted or len(spectrum.pairs.values)
        pairs = spectrum.pairs.where(slice(k))
        self.n_components_ = k
        self.eigenvalues_ = pairs.values
        self.eigenvectors_ = pairs.vectors
        self.embedding_ = pairs.products * np.sign(pairs.values) / np.sqrt(np.abs(pairs.values))
        self.eigenvalue_error_ = pairs.errors
        self.explained_variance_ratio_ = np.abs(pairs.values) / spectrum.total
        self.status_, self.n_iter_, self.history_ = pairs.status, max(1, pairs.n_iter), pairs.history
        self._keep_rows(X, spectrum.positions)
        self.dual_coef_ = np.ascontiguousarray(spectrum.coef[:, :k])
        self._offset = spectrum.offset[:, :k]
        self._removed_coef = spectrum.removed_coef
        self._removed_gram = spectrum.removed_gram
        self._mean_coef = spectrum.mean_coef
        for name in ("_learned", *(() if self.warm_start else ("_block",))):
            self.__dict__.pop(name, None)  # of an earlier fit
        self._warn(spectrum.total, reached=wanted is not None)

    def _warn(self, total: float, *, reached: bool) -> None:
        self._warn_of_fewer(self.n_components_)
        if not reached and self.eigen_solver_ == "nystroem":
            warnings.warn(
                f"The {len(self.rows_)} landmarks of KernelPCA explain only {self.explained_variance_ratio_.sum():.3g} "
                f"of the variance, not the share {self.n_components} asked for; raise n_landmarks.",
                UserWarning,
                stacklevel=4,
            )
        n = len(self.eigenvectors_) - self._removed.Q.shape[1]
        if n > 2 and np.abs(self.eigenvalues_[0]) < (1 + 1e-6) * total / n:
            warnings.warn(
                f"The spectrum of {self.kernel_!r} is flat: all rows look different, and any directions would do as "
                "components; widen the kernel or scale the columns.",
                UserWarning,
                stacklevel=4,
            )
        if self.status_ != Status.OPTIMAL:
            how = "was interrupted" if self.status_ == Status.INTERRUPTED else f"ended after {self.n_iter_} products"
            warnings.warn(
                f"KernelPCA {how} with a relative error of {self.history_[-1]:.1e}, tol {self.tol:.1e}; set "
                "warm_start=True and call fit again to go on, or raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
