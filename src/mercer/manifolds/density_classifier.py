"""A classifier by the densities of the classes, for few coordinates: those of a map."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.arrays import Array
from mercer.manifolds.ukr.scaling import likelihood_width
from mercer.parameters import check_choice, check_positive

_PRIORS = ("equal", "frequencies")
_WIDTHS = ("auto", "likelihood")
# Rows at most that others are asked to classify, and widths that are tried, in distances of nearest neighbours.
_SAMPLE, _WIDTH_GRID = 1000, np.geomspace(0.5, 100.0, 24)
# Numbers in the largest temporary array.
_BLOCK = 2**22


class DensityClassifier(ClassifierMixin, BaseEstimator):
    """The class whose rows are densest: argmax_c P(c) p(x | c), with kernel densities of one width.

    p(x | c) = 1/n_c Σ_{i in class c} N(x; x_i, width² I).

    Parameters
    ----------
    width : float, "auto" or "likelihood"
        Of the Gaussian kernel. "auto": the geometric mean of those with which the other rows put the fewest rows into a
        wrong class, or more by no more than the standard error. "likelihood": the one at which rows are most likely by
        the density of the other rows, of whatever class, as in the paper; see `likelihood_width`. In the latent space
        of an `UnsupervisedKernelRegression` whose coordinates are intervals, 1 is its own kernel.
    prior : {"equal", "frequencies"}
        P(c): the same for all classes, or as in the training rows.

    Attributes
    ----------
    width_ : float
        The width.
    classes_ : array
        The labels.

    Notes
    -----
    The kernel density classifier of [Meinicke2005]_, table 3. Densities need many rows in more than a few coordinates:
    this is a classifier for maps. Mean test errors over ten generated sets (moons, blobs, rings, spirals, a
    checkerboard, islands) of 100 / 300 / 1000 rows are 14.0 / 11.2 / 10.2 % with "auto", 16.2 / 11.5 / 10.3 % with
    "likelihood": `benchmarks/ukr_defaults.py widths`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import DensityClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> DensityClassifier().fit(X, y).score(X, y) > 0.98
    True
    """

    def __init__(self, *, width: Any = "auto", prior: str = "equal"):
        self.width = width
        self.prior = prior

    def fit(self, X: Any, y: Any) -> Self:
        """Store the rows of X by their classes y, and find the width."""
        check_choice(self.prior, _PRIORS, "prior", type(self).__name__)
        rule = self.width if isinstance(self.width, str) and self.width in _WIDTHS else None
        if rule is None:
            check_positive(self.width, "width", type(self).__name__, "or take 'auto' or 'likelihood'")
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        self._rows = [X[labels == c] for c in range(len(self.classes_))]
        if rule == "auto":
            self.width_ = self._cross_validated_width(X, labels)
        else:
            self.width_ = likelihood_width(X) if rule == "likelihood" else float(self.width)
        return self

    def _cross_validated_width(self, X: Array, labels: Array) -> float:
        """The geometric mean of the widths with which about the fewest rows get a wrong class from the other rows."""
        some = np.arange(0, len(X), max(1, len(X) // _SAMPLE))
        squares = euclidean_distances(X[some], X, squared=True)
        squares[np.arange(len(some)), some] = np.inf
        nearest = squares.min(axis=1)
        if not np.any(nearest > 0):
            return 1.0
        by_class = [squares[:, labels == c] for c in range(len(self._rows))]
        counts = np.array([len(rows) for rows in self._rows]) - (labels[some][:, None] == np.arange(len(self._rows)))
        offsets = -np.log(np.maximum(counts, 1)) if self.prior == "equal" else 0.0
        widths = np.sqrt(np.median(nearest[nearest > 0])) * _WIDTH_GRID
        wrong = []
        for width in widths:
            with np.errstate(divide="ignore"):  # a class of one row has none left
                scores = np.column_stack([logsumexp(-0.5 / width**2 * part, axis=1) for part in by_class])
            wrong.append(np.mean((scores + offsets).argmax(axis=1) != labels[some]))
        least = max(min(wrong), 1.0 / len(some))
        good = np.array(wrong) <= min(wrong) + np.sqrt(least * (1.0 - least) / len(some))
        return float(np.exp(np.log(widths[good]).mean()))

    def _log_joint(self, X: Any) -> Array:
        """The logarithm of P(c) p(x | c), up to a constant."""
        check_is_fitted(self, "width_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores = np.empty((len(X), len(self._rows)))
        total = sum(map(len, self._rows))
        step = max(1, _BLOCK // total)
        for c, rows in enumerate(self._rows):
            offset = -np.log(len(rows)) if self.prior == "equal" else -np.log(total)
            for start in range(0, len(X), step):
                part = slice(start, start + step)
                squares = euclidean_distances(X[part] / self.width_, rows / self.width_, squared=True)
                scores[part, c] = logsumexp(-0.5 * squares, axis=1) + offset
        return scores

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        best = self._log_joint(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, P(c | x)."""
        return np.asarray(softmax(self._log_joint(X), axis=1))
