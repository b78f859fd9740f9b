"""RelevantDimensions: how many kernel principal components matter, and how noisy the labels are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length

from mercer.relevance.analysis import analyse, best_of, check_intercept, check_method, rank_for
from mercer.relevance.diagnosis import diagnose
from mercer.relevance.family import checked_rows, family_of, kernel_tags
from mercer.relevance.labels import Labels
from mercer.relevance.learning_curve import learning_curve
from mercer.running import with_progress


class RelevantDimensions(BaseEstimator):
    """What a kernel can know about some labels: the relevant dimension, the noise, and a verdict.

    Of the coefficients z_m = u_mᵀ y of the labels in the basis of kernel principal components only the leading ones
    hold information, and the others noise of one size. The cut between the two is the relevant dimension.

    Parameters
    ----------
    kernel : Kernel, list of Kernel or None
        One kernel; a family, of which the best is chosen; or None for Gaussians of the given widths. Positive definite.
    widths : "auto" or array
        Widths of the Gaussians where no kernel is given; by default 20 that the data suggest, see
        `mercer.kernels.widths_for`.
    method : {"two_component", "leave_one_out"}
        The dimension and the kernel with the highest likelihood of two Gaussians, one of the relevant coefficients and
        one of the noise; or with the least leave-one-out error of least squares on the leading components.
    task : {"auto", "regression", "classification"}
        Whether labels are numbers or classes. By default text, booleans and whole numbers of at most 20 distinct values
        are classes.
    rank : "auto", int or None
        The rank of incomplete Cholesky factors on which to work, or None for the whole spectrum. By default the whole
        spectrum up to 3000 rows, and then rank 1000.
    intercept : bool
        Whether constants are projected out of the kernel and the labels first: components are then those of the centred
        kernel, and the mean of the labels does not matter. By default it is part of the signal, as in the paper.
    verbose : bool
        Whether to show a progress bar over the kernels.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, or the best of the family.
    dimension_ : int
        Number of relevant components, at most half the number of samples; 0 if the spectrum is flat.
    noise_level_ : float
        Error of the denoised labels against the given ones: fraction of wrong classes, or squared error over that of
        the mean.
    log_likelihood_ : float
        Minus the negative log-likelihood -(d/n) log s1 - ((n-d)/n) log s2 of the two-component model at d =
        `dimension_`; with an intercept n is the number of samples less one.
    denoised_ : array of shape (n,)
        Labels without their noise: the projection of y, or the classes that it says.
    projection_ : array of shape (n,) or (n, n_classes)
        Σ_{m<=d} u_m u_mᵀ y, plus the mean if there is an intercept; for classes, of labels ±1.
    spectrum_ : array of shape (r,)
        Eigenvalues of K above rounding, descending; K is centred only if there is an intercept.
    coefficients_ : array of shape (r,) or (r, n_classes)
        z_m.
    tail_energy_ : float or array of shape (n_classes,)
        ||y||² - ||z||²: what lies outside of these r components and counts as noise; of y minus its mean if there is an
        intercept.
    table_ : dict of lists
        For each kernel of the family: "kernel", "width" (NaN where it has none), "dimension", "noise_level",
        "log_likelihood", "leave_one_out_error", "rank"; `pandas.DataFrame(table_)` shows it.
    best_ : int
        The row of `kernel_` in the table.
    diagnosis_ : Diagnosis
        Whether the problem is simple or complex, clean or noisy, and what helps; printed, it is a short report. Its
        `learning_curve` checks it by fits to subsamples.
    classes_ : array
        The names of the classes, for classification.

    Notes
    -----
    [Braun2008]_. More than two classes: one against the rest for each, with a common dimension, where the mean of their
    likelihoods (or errors) is best. Eigenvalues below 1e-13 of the largest are rounding noise, and so is the order of
    eigenvalues that agree to that: the spectrum is never cut there.

    There are no sample weights: the estimate counts coefficients of equally noisy samples, and weights would make both
    the eigenvectors and the size of the noise depend on them in ways that the theory does not cover.

    Cost for n rows: one eigendecomposition O(n³) for each kernel, less where K has a small numerical rank r, O(n² r);
    memory about 5 n² numbers. On factors of rank r, O(n r²) and 3 n r numbers.

    Examples
    --------
    >>> from mercer import RelevantDimensions
    >>> from mercer.datasets import make_sinc
    >>> X, y = make_sinc(200, noise=0.3, random_state=0)
    >>> model = RelevantDimensions().fit(X, y)
    >>> 4 <= model.dimension_ <= 12, bool(0.3 < model.noise_level_ < 0.7)
    (True, True)
    >>> model.diagnosis_.verdict
    'low-dimensional and noisy: more data of this kind will not help; better features or another kernel might'
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        widths: Any = "auto",
        method: str = "two_component",
        task: str = "auto",
        rank: Any = "auto",
        intercept: bool = False,
        verbose: bool = False,
    ):
        self.kernel = kernel
        self.widths = widths
        self.method = method
        self.task = task
        self.rank = rank
        self.intercept = intercept
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Estimate from rows X and labels y, which are numbers or classes."""
        owner = type(self).__name__
        check_method(owner, self.method)
        check_intercept(owner, self.intercept)
        X = checked_rows(self, X, reset=True)
        labels = Labels.read(owner, y, self.task)
        check_consistent_length(X, labels.y)
        rank = rank_for(owner, self.rank, len(labels))
        kernels = family_of(owner, self.kernel, self.widths, X)
        options: dict[str, Any] = {"method": self.method, "rank": rank, "constant": (self.intercept,)}
        family = list(
            with_progress(analyse(kernels, X, labels, **options), owner, total=len(kernels), shown=self.verbose)
        )
        best = best_of(family, self.method)
        found = family[best]
        single = labels.columns.shape[1] == 1
        self.kernel_ = found.kernel
        self.dimension_ = found.dimension
        self.noise_level_ = found.noise_level
        self.log_likelihood_ = -float(found.nll[found.dimension])
        decided = labels.decided(found.projection)
        self.denoised_ = decided if labels.classes is None else labels.classes[decided]
        self.projection_ = found.projection[:, 0] if single else found.projection
        self.spectrum_ = found.spectrum
        self.coefficients_ = found.coefficients[:, 0] if single else found.coefficients
        self.tail_energy_ = float(found.tail[0]) if single else found.tail
        self.best_ = best
        self.table_: dict[str, list[Any]] = {
            "kernel": kernels,
            "width": [_width(kernel) for kernel in kernels],
            "dimension": [a.dimension for a in family],
            "noise_level": [a.noise_level for a in family],
            "log_likelihood": [-float(a.nll[a.dimension]) for a in family],
            "leave_one_out_error": [a.leave_one_out for a in family],
            "rank": [len(a.spectrum) for a in family],
        }
        curve = learning_curve(found.kernel, X, labels, **options)
        self.diagnosis_ = diagnose(best, family, labels, curve, X, rank=rank)
        self.__dict__.pop("classes_", None)  # of an earlier fit
        if labels.classes is not None:
            self.classes_ = labels.classes
        return self

    def __sklearn_tags__(self) -> Any:
        return kernel_tags(super().__sklearn_tags__(), self.kernel)


def _width(kernel: Any) -> float:
    width = getattr(kernel, "width", np.nan)
    return float(width) if np.ndim(width) == 0 else np.nan
