"""An encoder for any map: a function from rows to coordinates, learned from the coordinates of the training rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_array, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.arrays import Array
from mercer.components.pairs import kernel_for
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.gram.landmarks import indexable_rows
from mercer.machines import KernelRidge
from mercer.parameters import check_choice, check_count

# Widths that are tried without a kernel, as shares of the median distance, and the most rows that judge them.
_SHARES, _MOST_ROWS = (2.0, 1.0, 0.7, 0.5, 0.35, 0.25), 1000
# Penalties as shares of the mean of k(x, x): below them, regressions of an exact function end in rounding.
_PENALTIES = np.geomspace(1e-8, 1e2, 41)
_N_STEPS = 3


def _has_decoder(model: Any) -> bool:
    return bool(model.decoder == "learned" or hasattr(model.estimator, "inverse_transform") or model._takes_vectors)


class AmortizedMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A map with an encoder g(x): the coordinates of new rows at once, without a search for each of them.

    g is the kernel ridge regression of the coordinates of the training rows on the rows; a circle is learned as
    (cos πz, sin πz). Maps that know no new rows, as scikit-learn's TSNE and MDS, get `transform` by it; the search of
    a `PrincipalManifold` starts from g(x) and takes a few steps.

    Parameters
    ----------
    estimator : estimator
        The map, with `fit_transform`, or with `fit` and `embedding_`. A copy of it is fitted.
    kernel : Kernel, optional
        Of the encoder. By default a Gaussian whose width, from a quarter of the median distance to twice that, has
        the least leave-one-out error, on 1000 rows at most.
    steps : "auto" or int
        Gauss-Newton steps from g(x), for maps with a method ``refine(X, Z, n_steps=)``; "auto": 3 for these, none for
        others. A `PrincipalManifold` searches anew for the rows that are still far from it.
    decoder : {"auto", "learned"}
        What `inverse_transform` is. "auto": that of the map, or if it has none a kernel ridge regression of the rows
        on the coordinates; "learned": the regression.

    Attributes
    ----------
    estimator_ : estimator
        The fitted map.
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the training rows by the map.
    encoding_error_ : float
        Root mean square error of g at rows that are left out, in units of the coordinates (of cosines and sines for
        circles): leave-one-out up to 2000 distinct rows, held-out rows beyond.
    encoder_, decoder_ : KernelRidge
        The regressions; `decoder_` is None if the map has an `inverse_transform` of its own that is used.
    kernel_ : Kernel
        Of the encoder.
    n_steps_ : int
        Steps that `transform` takes.

    Notes
    -----
    `encoding_error_` says whether a map is a function of the rows: t-SNE tears neighbours apart, and no smooth g can
    follow. Time and memory of the fit: those of the map, and of `KernelRidge` for each width that is tried.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.manifold import MDS
    >>> from mercer import AmortizedMap
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) @ np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.5]])
    >>> model = AmortizedMap(MDS(2, n_init=1, init="classical_mds", random_state=0)).fit(X)
    >>> bool(np.abs(model.transform(X[:5]) - model.embedding_[:5]).max() < 0.1)
    True
    >>> bool(np.abs(model.inverse_transform(model.transform(X[:5])) - X[:5]).max() < 0.2)
    True
    """

    def __init__(self, estimator: Any, *, kernel: Any = None, steps: Any = "auto", decoder: str = "auto"):
        self.estimator = estimator
        self.kernel = kernel
        self.steps = steps
        self.decoder = decoder

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the map to the rows X, and the encoder to what it gives; y is ignored."""
        self._check_parameters()
        X = self._rows(X, reset=True)
        self.estimator_ = clone(self.estimator)
        Z = self.estimator_.fit_transform(X) if hasattr(self.estimator_, "fit_transform") else None
        Z = self.estimator_.fit(X).embedding_ if Z is None else Z
        self.embedding_ = check_array(Z, dtype=np.float64, input_name="embedding", ensure_min_samples=2)
        kinds = _coordinates_of(self.estimator_, self.embedding_.shape[1])
        self._is_circle = kinds == "circle"
        # Maps with intervals end there; others, as those of scikit-learn, go on.
        bounded = kinds == "interval"
        self._lowest = np.where(bounded, self.embedding_.min(axis=0), -np.inf)
        self._highest = np.where(bounded, self.embedding_.max(axis=0), np.inf)
        self._fit_encoder(X)
        self.n_steps_ = self._n_steps()
        learned = self.decoder == "learned" or not hasattr(self.estimator_, "inverse_transform")
        self.decoder_ = _regression(None, self._unrolled, X) if learned and self._takes_vectors else None
        return self

    def transform(self, X: Any) -> Array:
        """Coordinates of rows: those of the encoder, and for maps with `refine` after a few steps from there."""
        check_is_fitted(self, "encoder_")
        X = self._rows(X, reset=False)
        Z = self._rolled(np.asarray(self.encoder_.predict(X)).reshape(-1, self._unrolled.shape[1]))
        return np.asarray(self.estimator_.refine(X, Z, n_steps=self.n_steps_)) if self.n_steps_ else Z

    @available_if(_has_decoder)
    def inverse_transform(self, Z: Any) -> Array:
        """Rows at coordinates, by the map or by the learned decoder."""
        check_is_fitted(self, "encoder_")
        if self.decoder_ is None:
            return np.asarray(self.estimator_.inverse_transform(Z))
        Z = check_array(Z, dtype=np.float64, input_name="Z", estimator=self)
        if Z.shape[1] != self.embedding_.shape[1]:
            raise ValueError(
                f"Z of AmortizedMap must have {self.embedding_.shape[1]} columns, one for each coordinate, got "
                f"{Z.shape[1]}; give what transform returns."
            )
        return np.asarray(self.decoder_.predict(self._unroll(Z))).reshape(len(Z), -1)

    def _fit_encoder(self, X: Any) -> None:
        self._unrolled = self._unroll(self.embedding_)
        kernel = kernel_for(self.kernel, X)
        if self.kernel is None:
            rows: Any = slice(None)
            if len(X) > _MOST_ROWS:
                rows = np.sort(np.random.default_rng(0).choice(len(X), _MOST_ROWS, replace=False))
            kernels = [Gaussian(share * kernel.width) for share in _SHARES]
            kernel = min(kernels, key=lambda kernel: _error(_regression(kernel, X[rows], self._unrolled[rows])))
        self.encoder_ = _regression(kernel, X, self._unrolled)
        self.kernel_ = kernel
        self.encoding_error_ = _error(self.encoder_)

    def _rows(self, X: Any, *, reset: bool) -> Any:
        if not self._takes_vectors:
            return indexable_rows(X)
        return validate_data(self, X, dtype=np.float64, reset=reset, ensure_min_samples=2 if reset else 1)

    def _unroll(self, Z: Array) -> Array:
        """Coordinates as targets of a regression: cosine and sine of a circle."""
        circles = np.pi * Z[:, self._is_circle]
        return np.hstack([Z[:, ~self._is_circle], np.cos(circles), np.sin(circles)])

    def _rolled(self, targets: Array) -> Array:
        """Points of the latent space that such targets stand for, not beyond the training rows on intervals."""
        circles = self._is_circle
        n_lines = int((~circles).sum())
        lines, cosines, sines = np.split(targets, [n_lines, len(circles)], axis=1)
        Z = np.empty((len(targets), len(circles)))
        Z[:, ~circles] = lines
        angles = np.arctan2(sines, cosines) / np.pi
        Z[:, circles] = np.where(angles >= 1.0, -1.0, angles)
        return np.asarray(np.clip(Z, self._lowest, self._highest))

    def _n_steps(self) -> int:
        projects = hasattr(self.estimator_, "refine")
        if self.steps == "auto":
            return _N_STEPS if projects else 0
        if self.steps and not projects:
            raise TypeError(
                f"steps of AmortizedMap must be 0 or 'auto' for {type(self.estimator_).__name__}, which has no method "
                f"refine, got {self.steps!r}; only maps that project can move on from the encoder."
            )
        return int(self.steps)

    def _check_parameters(self) -> None:
        estimator, owner = self.estimator, type(self).__name__
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise TypeError(
                f"estimator of {owner} must be a map with fit_transform, or with fit and embedding_, got "
                f"{estimator!r}; give an object such as TSNE(2)."
            )
        if get_tags(estimator).input_tags.pairwise:
            raise TypeError(
                f"estimator of {owner} must take rows, got {estimator!r}, which takes a matrix of pairs; give it a "
                "metric or kernel on rows."
            )
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel of {owner} must be a Kernel or None, got {self.kernel!r}; wrap a function in "
                "mercer.kernels.FromFunction."
            )
        if not (isinstance(self.steps, str) and self.steps == "auto"):
            check_count(self.steps, "steps", owner, least=0)
        check_choice(self.decoder, ("auto", "learned"), "decoder", owner)
        if self.decoder == "learned" and not self._takes_vectors:
            raise TypeError(
                f'decoder of {owner} must be "auto" for kernels on objects, got {self.decoder!r}; no regression '
                "predicts objects."
            )

    @property
    def _takes_vectors(self) -> bool:
        return self.kernel is None or bool(self.kernel.takes_vectors)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


def _regression(kernel: Kernel | None, X: Any, targets: Array) -> KernelRidge:
    kernel = kernel_for(kernel, X)
    size = float(np.mean(kernel.diag(X)))
    return KernelRidge(kernel, penalties=(size if size > 0 else 1.0) * _PENALTIES).fit(X, targets)


def _coordinates_of(estimator: Any, k: int) -> Array:
    """For each coordinate "interval" or "circle", as maps with a latent space tell, or "line"."""
    kinds = getattr(estimator, "topology_", getattr(estimator, "topology", None))
    if kinds is None and hasattr(estimator, "closed"):
        kinds = "circle" if estimator.closed else "interval"
    return np.broadcast_to(np.asarray("line" if kinds is None else kinds), k)


def _error(regression: KernelRidge) -> float:
    """Root mean square error of the chosen penalty at rows that were left out."""
    if hasattr(regression, "leave_one_out_error_"):
        return float(np.min(regression.leave_one_out_error_))
    return float(np.nanmin(regression.validation_error_))
