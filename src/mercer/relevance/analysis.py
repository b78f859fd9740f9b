"""The relevant dimension for each kernel of a family, and the kernel that separates signal from noise best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from mercer.arrays import Array
from mercer.kernels import Kernel
from mercer.kernels.gram import Gram, gram_family, incomplete_cholesky
from mercer.relevance.eigenbasis import Eigenbasis
from mercer.relevance.estimates import leave_one_out_error, leave_one_out_errors, two_component_nll
from mercer.relevance.labels import Labels
from mercer.running import raise_if_interrupted
from mercer.threads import allowed_threads, run_threaded, single_threaded_numpy

METHODS = ("two_component", "leave_one_out")
# Up to so many rows "auto" takes the whole spectrum; then a factor of this rank.
_MOST_EXACT_ROWS, _AUTO_RANK = 3000, 1000
# Up to so many rows several kernels are examined together.
_MOST_ROWS_TOGETHER = 1500


@dataclass(frozen=True)
class Analysis:
    """What one kernel sees in some labels.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    spectrum, coefficients, tail : array
        Eigenvalues above rounding, the coefficients z of the labels (r, n_targets), and the energy outside.
    nll : array
        Of the two-component model, for d = 0, 1, ...; of what remains where constant functions were projected out.
    whole_nll : float
        The same at d̂, with the constant as one of the relevant components: comparable to that of a kernel without it.
    dimension : int
        d̂; 0 if the spectrum is so flat that it can be cut nowhere.
    leave_one_out : float
        Mean squared leave-one-out error at d̂.
    projection : array of shape (n, n_targets)
        Σ_{m<=d̂} u_m u_mᵀ Y.
    noise_level : float
        Error of the projection against the labels.
    support, coef, intercept : array
        The function Σ_i coef_i k(x_i, .) + intercept over the rows at `support` whose values on the rows are the
        projection.
    has_constant : bool
        Whether constant functions were projected out first: the dimension is that of what remains.
    """

    kernel: Kernel
    spectrum: Array
    coefficients: Array
    tail: Array
    nll: Array
    whole_nll: float
    dimension: int
    leave_one_out: float
    projection: Array
    noise_level: float
    support: Array
    coef: Array
    intercept: Array
    has_constant: bool

    @property
    def is_flat(self) -> bool:
        """Whether the eigenvalues hardly differ: all rows look equally different."""
        n, r = len(self.projection), len(self.spectrum)
        whole = r >= n - self.has_constant
        return not self.dimension or (whole and bool(self.spectrum[n // 2] > 0.9 * self.spectrum[0]))

    @property
    def is_rank_one(self) -> bool:
        """Whether the kernel knows constants only: all rows look alike."""
        return len(self.spectrum) + self.has_constant <= 1

    def predict(self, X: Any, support_rows: Any) -> Array:
        """Values of the function at new rows, one column for each target."""
        if self.kernel.pairwise:
            return np.asarray(X)[:, self.support] @ self.coef + self.intercept
        return np.asarray(Gram(self.kernel, X, support_rows) @ self.coef) + self.intercept


def analyse(
    kernels: list[Kernel],
    X: Any,
    labels: Labels,
    *,
    method: str = "two_component",
    rank: int | None = None,
    dimension: int | None = None,
    constant: Sequence[bool] = (False,),
) -> Iterator[Analysis]:
    """Analyses for each kernel: with the whole spectrum, or on low-rank factors; at d̂, or at a given dimension.

    `constant` says whether constant functions are projected out first; with both answers there are two for a kernel.
    """
    Y = labels.columns
    if rank is None:
        matrices = zip(kernels, gram_family(kernels, X, reuse_buffer=True), strict=True)
        options: dict[str, Any] = {"method": method, "dimension": dimension, "constant": constant}
        if len(Y) <= _MOST_ROWS_TOGETHER and len(kernels) > 1:
            yield from _analysed_together(matrices, labels, options)
            return
        for kernel, K in matrices:
            with single_threaded_numpy:  # the eigenvectors are SciPy's work
                found = list(_analysed(kernel, K, labels, **options))
            yield from found
        return
    for kernel in kernels:
        low_rank = incomplete_cholesky(kernel, X, rank=rank, tol=1e-13)
        raise_if_interrupted(low_rank.status)
        for has_constant in constant:
            basis = Eigenbasis.of_low_rank(low_rank, Y, constant=has_constant)
            d, vectors, cv = _cut(basis, Y, method, dimension)
            inner = low_rank.factor.T @ (vectors @ (basis.coefficients[:d] / basis.values[:d, None]))
            coef, mean = low_rank.whitening @ inner, low_rank.factor.mean(axis=0) @ inner
            yield _analysis(basis, kernel, labels, vectors, cv, low_rank.landmarks, coef, mean)


def _analysed_together(
    matrices: Iterable[tuple[Kernel, Array]], labels: Labels, options: dict[str, Any]
) -> Iterator[Analysis]:
    """Several kernels at the same time, one on each core: of small matrices threads of BLAS make little."""
    found: dict[int, list[Analysis]] = {}

    def work(item: Any, _: None) -> None:
        position, kernel, K = item
        found[position] = list(_analysed(kernel, K, labels, **options))

    items: Any = ((position, kernel, K.copy()) for position, (kernel, K) in enumerate(matrices))
    run_threaded(work, items, lambda: None, allowed_threads())
    for position in sorted(found):
        yield from found[position]


def _analysed(
    kernel: Kernel, K: Array, labels: Labels, *, method: str, dimension: int | None, constant: Sequence[bool]
) -> Iterator[Analysis]:
    """With the whole spectrum of K, which is overwritten."""
    Y = labels.columns
    means = K.mean(axis=0) if any(constant) else np.zeros(len(K))
    for basis in Eigenbasis.of_gram(kernel, K, Y, constant):
        d, vectors, cv = _cut(basis, Y, method, dimension)
        coef = vectors @ (basis.coefficients[:d] / basis.values[:d, None])
        yield _analysis(basis, kernel, labels, vectors, cv, np.arange(len(Y)), coef, means @ coef)


def best_of(analyses: list[Analysis], method: str) -> int:
    """Position of the kernel with the highest likelihood, or the least leave-one-out error."""
    if method == "leave_one_out":
        return int(np.argmin([a.leave_one_out for a in analyses]))
    mixed = len({a.has_constant for a in analyses}) > 1
    return int(np.argmin([a.whole_nll if mixed else a.nll[a.dimension] for a in analyses]))


def rank_for(owner: str, rank: Any, n: int) -> int | None:
    """The rank of the factor to work on; None for the whole spectrum."""
    if isinstance(rank, str) and rank == "auto":
        return None if n <= _MOST_EXACT_ROWS else _AUTO_RANK
    if rank is None:
        return None
    if not isinstance(rank, Integral) or isinstance(rank, bool) or rank < 1:
        raise ValueError(
            f"rank of {owner} must be a whole number >= 1, None or 'auto', got {rank!r}; None takes the whole spectrum."
        )
    return int(rank)


def check_method(owner: str, method: Any) -> None:
    """Refuse a method that does not exist."""
    if method not in METHODS:
        raise ValueError(f"method of {owner} must be one of {METHODS}, got {method!r}; choose one of them.")


def check_intercept(owner: str, intercept: Any, choices: str = "True or False") -> None:
    """Refuse anything but a decision."""
    if not isinstance(intercept, bool | np.bool_):
        raise ValueError(
            f"intercept of {owner} must be {choices}, got {intercept!r}; True adds an unpenalised constant."
        )


def take_rows(X: Any, rows: Array, kernel: Kernel, columns: Array | None = None) -> Any:
    """Some rows; of a precomputed matrix, their values against the rows at `columns`."""
    X = _safe_indexing(X, rows)
    return X[:, rows if columns is None else columns] if kernel.pairwise else X


def _cut(basis: Eigenbasis, Y: Array, method: str, dimension: int | None) -> tuple[int, Array, float]:
    """The dimension, its eigenvectors, and the leave-one-out error there."""
    cuts = basis.cuts(len(Y))
    if dimension is not None:
        d = min(dimension, len(basis.values), len(Y) - (1 if basis.means is None else 2))
    elif not cuts.size:
        d = 0
    elif method == "leave_one_out":
        vectors = basis.vectors(int(cuts[-1]))
        cv = leave_one_out_errors(_with_constant(basis, vectors), Y)[0 if basis.means is None else 1 :]
        d = int(cuts[np.argmin(cv[cuts])])
        return d, vectors[:, :d], float(cv[d])
    else:
        d = int(cuts[np.argmin(_nll(basis, len(Y))[cuts])])
    vectors = basis.vectors(d)
    return d, vectors, leave_one_out_error(_with_constant(basis, vectors), Y)


def _nll(basis: Eigenbasis, n: int) -> Array:
    """For each number of components; without the constant, so that the mean of the labels does not matter."""
    return two_component_nll(basis.coefficients, basis.tail, n if basis.means is None else n - 1)


def _whole_nll(basis: Eigenbasis, n: int, d: int) -> float:
    """At d components; the constant, if there is one, comes before them all."""
    if basis.means is None:
        return float(_nll(basis, n)[d])
    return float(two_component_nll(np.vstack([np.sqrt(n) * basis.means, basis.coefficients]), basis.tail, n)[1 + d])


def _with_constant(basis: Eigenbasis, vectors: Array) -> Array:
    """The components, after the constant if there is one."""
    n = len(vectors)
    return vectors if basis.means is None else np.column_stack([np.full(n, n**-0.5), vectors])


def _analysis(
    basis: Eigenbasis,
    kernel: Kernel,
    labels: Labels,
    vectors: Array,
    cv: float,
    support: Array,
    coef: Array,
    mean_value: Array,
) -> Analysis:
    d = vectors.shape[1]
    projection = vectors @ basis.coefficients[:d]
    intercept = np.zeros(projection.shape[1])
    if basis.means is not None:
        projection, intercept = projection + basis.means, basis.means - mean_value
    return Analysis(
        kernel, basis.values, basis.coefficients, basis.tail,
        _nll(basis, len(labels)), _whole_nll(basis, len(labels), d), d, cv,
        projection, labels.error(projection), support, coef, intercept, basis.means is not None,
    )  # fmt: skip
