"""Prediction bands from two quantile machines that do not cross."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.losses import Quantile
from mercer.machines.learned import unit_of_weights
from mercer.machines.regressor import SupportVectorRegressor, regression_targets
from mercer.machines.samples import checked_weights
from mercer.running import raise_if_interrupted

_FOLDS, _MOST_CROSS_FITTED = 5, 2000


def folds_to_fit(n: int) -> int:
    """How many of five folds are fitted to calibrate a band of n samples: of many samples one is enough."""
    return _FOLDS if n <= _MOST_CROSS_FITTED else 1


class QuantileBand(BaseEstimator):
    """A band that holds a share `coverage` of the targets: two quantile machines, rearranged so that they never cross.

    Parameters
    ----------
    kernel, metric, C, regularizer, parametric, tol, callback
        As in `SupportVectorRegressor`. If the callback returns True, or after Ctrl-C, fit raises `KeyboardInterrupt`:
        ends that are not where they belong are no band. With a learned metric, what C is counted in takes all that the
        other rows do not tell of a row for noise. Less than 1 gives wider bands.
    coverage : float
        Fraction of the targets between the two curves; as many lie below as above.
    calibrate : bool
        Whether the band is to hold that fraction of new samples too, and not only of those that it is fitted to. It
        takes six times as long; with more than 2000 samples twice as long.
    random_state : int, RandomState or None
        Draws the folds of the calibration.

    Attributes
    ----------
    lower_, upper_ : SupportVectorRegressor
        The two machines.
    margin_ : float
        What calibration adds to the band on both sides (takes from it, if negative); 0 without it.
    metric_ : LearnedMetric
        The metric that both share, if there is one.
    n_crossings_ : int
        Training rows at which the machines themselves cross. If they are many, C is too large or the kernel too narrow.

    Notes
    -----
    Where the two functions cross they are exchanged. Such a rearrangement never moves a curve away from the true
    quantile [Chernozhukov2010]_.

    A quantile machine has its fraction of the samples that it was fitted to on either side, and bends towards those
    nearest to it: of new ones a band holds fewer. How far these are outside, or inside if negative, is seen in five
    folds; the margin is the quantile of that which conformal prediction takes [Romano2019]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_sinc
    >>> from mercer.kernels import Gaussian
    >>> from mercer.machines import QuantileBand
    >>> X, y = make_sinc(200, noise=0.1, random_state=0)
    >>> lower, upper = QuantileBand(coverage=0.8).fit(X, y).predict_interval(X).T
    >>> bool(np.all(lower <= upper)), bool(0.7 < np.mean((lower < y) & (y < upper)) < 0.9)
    (True, True)

    A kernel that is too narrow lets the machines run after single samples; calibration makes up for it:

    >>> X_new, y_new = make_sinc(1000, noise=0.1, random_state=1)
    >>> for calibrate in (False, True):
    ...     band = QuantileBand(Gaussian(0.1), coverage=0.8, C=100.0, calibrate=calibrate, random_state=0).fit(X, y)
    ...     lower, upper = band.predict_interval(X_new).T
    ...     print(bool(0.75 < np.mean((lower < y_new) & (y_new < upper)) < 0.85))
    False
    True
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        metric: Any = None,
        coverage: float = 0.9,
        C: Any = 1.0,
        regularizer: Any = "rkhs",
        parametric: Any = "constant",
        tol: float = 1e-3,
        calibrate: bool = False,
        callback: Any = None,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.metric = metric
        self.coverage = coverage
        self.C = C
        self.regularizer = regularizer
        self.parametric = parametric
        self.tol = tol
        self.calibrate = calibrate
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit both machines, and the margin if the band is to be calibrated."""
        if not isinstance(self.coverage, Real) or not 0 < float(self.coverage) < 1:
            raise ValueError(
                f"coverage of QuantileBand must be between 0 and 1, got {self.coverage!r}; it is the share of targets "
                "inside the band."
            )
        self.__dict__.pop("metric_", None)  # of an earlier fit
        targets = regression_targets(y, X)
        if targets.ndim > 1:
            raise ValueError(f"y of QuantileBand must be one column, got {np.shape(y)}; fit one band for each target.")
        weight = checked_weights(self, sample_weight, len(targets))
        n_in_use = np.count_nonzero(weight)
        if self.calibrate and n_in_use < _FOLDS:
            raise ValueError(
                f"X of QuantileBand must hold {_FOLDS} samples with a weight or more to be calibrated, got {n_in_use} "
                f"sample{'s' if n_in_use > 1 else ''}; give more, or calibrate=False."
            )
        lower, upper = self._machines(X, targets, weight)
        self.margin_: float = self._margin(X, targets, weight) if self.calibrate else 0.0
        self.lower_: SupportVectorRegressor = lower
        self.upper_: SupportVectorRegressor = upper
        for name in ("n_features_in_", "feature_names_in_", "metric_"):
            if hasattr(lower, name):
                setattr(self, name, getattr(lower, name))
        self.n_crossings_ = int(np.sum(lower.predict(X) > upper.predict(X)))
        return self

    def _machines(self, X: Any, y: Array, weight: Array) -> list[SupportVectorRegressor]:
        """Both machines, fitted to the samples that have a weight, in one metric."""
        names = ("metric", "C", "regularizer", "parametric", "tol", "callback")
        tail = (1 - float(self.coverage)) / 2
        machines = [
            SupportVectorRegressor(self.kernel, loss=Quantile(share), **{name: getattr(self, name) for name in names})
            for share in (tail, 1 - tail)
        ]
        if self.metric is not None:
            self._learn_metric(machines, X, y, weight)
        for machine in machines:
            raise_if_interrupted(machine.fit(X, y, weight).status_)
            machine.__dict__.pop("_known_metric", None)
            machine.__dict__.pop("_known_unit", None)
        return machines

    def _learn_metric(self, machines: list[SupportVectorRegressor], X: Any, y: Array, weight: Array) -> None:
        """Give the machines a metric, and the unit of their weights in it."""
        training = machines[0]._training(X, y, weight)
        raise_if_interrupted(machines[0].metric_.status_)
        unit = unit_of_weights(machines[0], training.loss, training.targets, for_band=True)  # the same for both losses
        for machine in machines:
            machine._known_metric, machine._known_unit = machines[0].metric_, unit

    def _margin(self, X: Any, y: Array, weight: Array) -> float:
        """How far `coverage` of the samples reach out of bands that are fitted without them."""
        rows, in_use = indexable(X)[0], np.flatnonzero(weight)
        folds = list(KFold(_FOLDS, shuffle=True, random_state=check_random_state(self.random_state)).split(in_use))
        left_out, outside = [], []
        for _, some in folds[: folds_to_fit(len(in_use))]:
            fold = in_use[some]
            # Samples without a weight are as good as left out, whatever kind of objects they are.
            others = weight.copy()
            others[fold] = 0.0
            low, high = _interval(self._machines(X, y, others), _safe_indexing(rows, fold)).T
            left_out.append(fold)
            outside.append(np.maximum(low - y[fold], y[fold] - high))
        sizes, weights = np.concatenate(outside), weight[np.concatenate(left_out)]
        order = np.argsort(sizes)
        ranks = np.cumsum(weights[order]) / weights.mean()
        enough = int(np.searchsorted(ranks, (len(ranks) + 1) * self.coverage))
        return float(sizes[order[min(enough, len(ranks) - 1)]])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = SupportVectorRegressor(self.kernel, metric=self.metric).__sklearn_tags__().input_tags
        return tags

    def predict_interval(self, X: Any) -> Array:
        """Lower and upper end of the band, an array of shape (n, 2).

        Where a negative margin would let them cross, both are their middle.
        """
        check_is_fitted(self, "lower_")
        interval = _interval([self.lower_, self.upper_], X)
        outwards: Array = np.maximum(self.margin_, -np.diff(interval, axis=1) / 2)
        return np.sort(interval + outwards * np.array([-1.0, 1.0]), axis=1)


def _interval(machines: list[SupportVectorRegressor], X: Any) -> Array:
    return np.sort(np.column_stack([machine.predict(X) for machine in machines]), axis=1)
