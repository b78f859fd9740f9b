"""Machines for many rows: cells at medians, an exact machine in each, and smooth borders."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.arrays import Array
from mercer.kernels import Kernel
from mercer.losses import EpsilonInsensitive, Hinge, Laplace, Quantile
from mercer.machines.bands import QuantileBand, folds_to_fit
from mercer.machines.base import KernelMachine, default_kernel, scaled_weights
from mercer.machines.calibration import Calibration, coupled
from mercer.machines.cell import Cell, CellCertificates, decision_of_shares, machine_of_rows
from mercer.machines.cell_tree import CellTree
from mercer.machines.classifier import N_FOLDS
from mercer.machines.learned import check_metric, learned_metric, unit_of_weights
from mercer.machines.regressor import regression_targets
from mercer.machines.ridge import KernelRidge
from mercer.machines.samples import checked_weights
from mercer.parameters import check_callback, check_count, is_number
from mercer.running import Status, raise_if_interrupted, unless_interrupted, with_progress

# With fewer rows in a cell there is nothing to gain, and halves might be too small for a band.
_LEAST_ROWS = 20
_MOST_OVERLAP = 0.5


def _has(name: str) -> Callable[[Any], bool]:
    """Whether the machine has a method, or an error that says why not."""

    def check(cells: CellMachine) -> bool:
        getattr(cells._machine(), name)
        return True

    return check


def _has_score(cells: CellMachine) -> bool:
    return is_classifier(cells) or is_regressor(cells)


class CellMachine(MetaEstimatorMixin, BaseEstimator):
    """A machine for very many rows: it is fitted exactly in cells of rows that are near each other.

    Rows are split at medians until cells are small enough. Cells overlap, and at their borders the weights of their
    functions change smoothly, so that predictions are continuous.

    Parameters
    ----------
    machine : estimator, optional
        A regressor or classifier of Mercer, or a `QuantileBand`; by default ``KernelRidge(metric="learned")``. Its
        metric is learned once, from 12,000 rows at most, and shared by all cells; and so is its default kernel.
    max_rows : int
        Most rows of a cell, with those of its borders; 20 or more.
    overlap : float
        Fraction of the rows on either side of a split that belong to the border, from 0 (predictions jump) to 0.5.
    verbose : bool
        Whether to show a progress bar.
    callback : callable, optional
        Called as ``callback(n_fitted, n_cells)`` after each cell; if it returns True, the fit ends there.

    Attributes
    ----------
    cells_ : list of Cell
        The machine of each cell, in the columns of the metric if there is one.
    rows_ : list of array
        Positions of the training rows of each cell.
    tree_ : CellTree
        The splits.
    gap_, status_, n_iter_
        The largest relative gap, "optimal" if all cells are, and the number of iterations in all cells.
    kernel_, metric_
        Shared by all cells; the metric only if there is one.
    classes_, calibration_, loss_
        Those of classifiers.

    Notes
    -----
    Splits are along the principal direction, in the columns of the metric. One split takes (1 + overlap) / 2 of the
    rows to either side: n rows come into about (n / max_rows)^(1 + 1.44 overlap) cells. Rows of which no direction
    parts a quarter, since most are equal, stay in one cell.

    Time: that of the machine for `max_rows` rows, times the number of cells. Memory: what the machine takes for one
    cell, one copy of the rows in the columns of the metric, and of all cells the support vectors with three numbers for
    each row: at most ``n_cells * max_rows * (n_columns + 3)`` numbers.

    Where n <= max_rows this is the machine itself. C, losses and weights that differ by sample are those of the rows in
    each cell. In a cell without rows of a class the decision value for this class is -1, or the logarithm of the odds
    by the rule of succession for losses with probabilities; and so are those of a cell of one class. Other losses get
    their probabilities from sigmoids that all cells share. The ν of a `NuSupportVectorClassifier` must suit the rarest
    class of every cell.

    After Ctrl-C, or if the callback returns True, cells that were not fitted have the mean of their targets, or the
    fractions of their classes. Before the first cell is fitted, and for bands, `KeyboardInterrupt` is raised.

    References
    ----------
    [Thomann2017]_, with weights in place of hard borders.

    Examples
    --------
    >>> from mercer import CellMachine, KernelRidge
    >>> from mercer.datasets import make_sinc
    >>> X, y = make_sinc(500, noise=0.1, random_state=0)
    >>> model = CellMachine(KernelRidge(), max_rows=200).fit(X, y)
    >>> model.tree_.n_cells, model.status_, model.score(X, y) > 0.8
    (4, 'optimal', True)
    >>> model.certificate(X, y).holds(1e-6)
    True
    """

    # A metric is refined on 3000 rows at most, and a quarter of those that it is given.
    _rows_of_metric: ClassVar[int] = 12_000

    def __init__(
        self,
        machine: Any = None,
        *,
        max_rows: int = 10_000,
        overlap: float = 0.1,
        verbose: bool = False,
        callback: Any = None,
    ):
        self.machine = machine
        self.max_rows = max_rows
        self.overlap = overlap
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Split the rows, and fit a machine in each cell."""
        machine = self._checked()
        for name in ("cells_", "metric_", "calibration_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        X = self._rows(X, reset=True)
        targets, columns = self._targets(machine, X, y)
        weight = checked_weights(self, sample_weight, len(X))
        used = np.flatnonzero(weight)
        Z = self._in_metric(machine, X[used], columns[used])
        template = self._template(machine, Z, targets[used], columns[used], weight[used])
        self.tree_ = CellTree.build(Z, self.max_rows, self.overlap)
        self.rows_ = [used[part.rows] for part in self.tree_.parts(Z)]
        self._store(self._fitted_cells(template, Z, used, targets, weight))
        if is_classifier(machine):
            self.calibration_ = self._calibration(X[used], targets[used], weight[used])
        return self

    @available_if(_has("predict"))
    def predict(self, X: Any) -> Array:
        """Values of the fitted function, or labels."""
        values = self._function(X)
        if not is_classifier(self):
            return values
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else np.argmax(values, axis=1)]

    @available_if(_has("predict_interval"))
    def predict_interval(self, X: Any) -> Array:
        """Lower and upper end of the band, an array of shape (n, 2)."""
        return self._function(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Values of the fitted function: positive for the second class, or one column for each class."""
        return self._function(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, one column for each."""
        return np.exp(self.predict_log_proba(X))

    @available_if(_has("predict_proba"))
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities."""
        check_is_fitted(self, "cells_")
        if self.loss_.has_probability:
            return coupled(self.loss_.log_odds(self._function(X)))
        if self.calibration_ is None:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False, or if the fit was interrupted; "
                "set probability=True and fit again."
            )
        return self.calibration_.log_probabilities(self._function(X))

    @available_if(_has_score)
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Fraction of right labels, or R²."""
        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def certificate(self, X: Any, y: Any, sample_weight: Any = None) -> CellCertificates:
        """Values, gaps and feasibility in all cells, computed anew: see `KernelMachine.certificate`.

        Parameters
        ----------
        X, y, sample_weight : array
            The training set.
        """
        check_is_fitted(self, "cells_")
        X = self._rows(X, reset=False)
        weight = checked_weights(self, sample_weight, len(X))
        targets = self._known_targets(X, y)
        used = np.flatnonzero(weight)
        if not np.array_equal(np.unique(np.concatenate(self.rows_)), used):
            raise ValueError(
                f"X, y and sample_weight of certificate must be the training set of CellMachine, got {len(used)} rows "
                "with a weight; give what fit was given."
            )
        Z = self._columns(X)
        cells = zip(self.cells_, self.rows_, strict=True)
        return CellCertificates([cell.certificates(Z[rows], targets[rows], weight[rows]) for cell, rows in cells])

    @property
    def support_(self) -> Array:
        """Positions of the training rows that are support vectors in a cell."""
        check_is_fitted(self, "cells_")
        cells = zip(self.cells_, self.rows_, strict=True)
        return np.unique(np.concatenate([rows[cell.support] for cell, rows in cells]))

    def _machine(self) -> Any:
        return KernelRidge(metric="learned") if self.machine is None else self.machine

    def _checked(self) -> Any:
        """The machine, after all parameters were checked."""
        machine, owner = self._machine(), type(self).__name__
        takes = isinstance(machine, KernelMachine) and (is_classifier(machine) or is_regressor(machine))
        if not takes and not isinstance(machine, QuantileBand):
            raise TypeError(
                f"machine of {owner} must be a regressor or classifier of Mercer, or a QuantileBand, got {machine!r}; "
                "take KernelRidge() or another."
            )
        kernel = machine.kernel
        is_plain = isinstance(kernel, Kernel) and kernel.takes_vectors and not kernel.pairwise
        if kernel is not None and not is_plain:
            raise ValueError(
                f"kernel of the machine of {owner} must take rows of numbers, which can be split, got {kernel!r}; fit "
                "the machine itself, or choose another kernel."
            )
        check_count(self.max_rows, "max_rows", owner, least=_LEAST_ROWS)
        if not is_number(self.overlap) or not 0 <= self.overlap <= _MOST_OVERLAP:
            raise ValueError(
                f"overlap of {owner} must be a number from 0 to {_MOST_OVERLAP}, got {self.overlap!r}; it is the share "
                "of rows that belong to a border."
            )
        check_callback(self.callback, owner, "the numbers of cells that are fitted and of all")
        check_metric(machine)
        return machine

    def _rows(self, X: Any, *, reset: bool) -> Array:
        missing = "allow-nan" if self._machine().metric is not None else True
        least = 2 if reset else 1
        return np.asarray(
            validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=missing, ensure_min_samples=least)
        )

    def _targets(self, machine: Any, X: Array, y: Any) -> tuple[Array, Array]:
        """Numbers, or positions of the classes; and the columns that a metric is learned from."""
        if not is_classifier(machine):
            targets = regression_targets(y, X)
            return targets, targets.reshape(len(targets), -1)
        twin = copy(machine)
        codes = twin._class_codes(X, y)
        self.classes_ = twin.classes_
        self.loss_ = Hinge() if getattr(machine, "loss", None) is None else machine.loss
        return codes, np.where(codes[:, None] == np.array(twin._positives), 1.0, -1.0)

    def _known_targets(self, X: Array, y: Any) -> Array:
        if not is_classifier(self):
            return regression_targets(y, X)
        labels = np.asarray(y).ravel()
        codes = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        if len(labels) != len(X) or not np.array_equal(self.classes_[codes], labels):
            raise ValueError(
                f"y of certificate must hold one of the classes {self.classes_.tolist()} for each row; give what fit "
                "was given."
            )
        return codes

    def _in_metric(self, machine: Any, X: Array, columns: Array) -> Array:
        """The rows in the columns of the metric, which is learned from some of them."""
        if machine.metric is not None:
            some = np.arange(len(X))
            if len(X) > self._rows_of_metric:
                some = np.sort(np.random.default_rng(0).choice(len(X), self._rows_of_metric, replace=False))
            self.metric_ = learned_metric(machine, X[some], [columns[some]])
            raise_if_interrupted(self.metric_.status_)
        return self._columns(X)

    def _columns(self, X: Array) -> Array:
        return self.metric_.transform(X) if hasattr(self, "metric_") else X

    def _template(self, machine: Any, Z: Array, targets: Array, columns: Array, weight: Array) -> Any:
        """What is copied for each cell: the machine in the columns of the metric, with the kernel of all cells."""
        parameters = machine.get_params(deep=False)
        changes: dict[str, Any] = {"metric": None}
        if machine.kernel is not None:
            self.kernel_ = clone(machine.kernel)
        elif machine.metric is None:
            self.kernel_ = default_kernel(Z)
        else:
            self.kernel_ = clone(self.metric_.kernel_)
            if "penalties" in parameters and machine.penalties is None:
                changes["penalties"] = self.metric_.penalty_
            if "C" in parameters:
                unit = self._unit(machine, columns)
                changes["C"] = scaled_weights(machine.C, unit * machine.C if is_number(machine.C) else unit)
        changes["kernel"] = self.kernel_
        if is_classifier(machine):
            twin = copy(machine)
            twin.classes_, twin.loss_ = self.classes_, self.loss_
            twin._check_probability(targets)
            changes["probability"] = False
            if "class_weight" in parameters and machine.class_weight is not None:
                changes["class_weight"] = dict(enumerate(twin._factors(targets, weight).tolist()))
        return copy(machine).set_params(**changes)

    def _unit(self, machine: Any, columns: Array) -> float:
        """What C is counted in: as in the machine itself, for all cells."""
        twin = copy(machine)
        twin.metric_ = self.metric_
        is_band = isinstance(machine, QuantileBand)
        if is_classifier(machine):
            loss = self.loss_
        elif is_band:
            loss = Quantile((1 + float(machine.coverage)) / 2)
        elif hasattr(machine, "loss"):
            loss = EpsilonInsensitive(0.1) if machine.loss is None else machine.loss
        else:
            loss = Laplace()  # whose tube is as wide as ν wants it
        return unit_of_weights(twin, loss, list(columns.T), for_band=is_band)

    def _fitted_cells(self, template: Any, Z: Array, used: Array, targets: Array, weight: Array) -> Iterator[Cell]:
        """The cells one after the other; those that there was no time for are constant."""
        stopped, n_cells = False, self.tree_.n_cells
        is_band = hasattr(template, "predict_interval")
        for k, rows in enumerate(with_progress(self.rows_, "Cells", shown=self.verbose)):
            y, w = targets[rows], weight[rows]
            if is_classifier(template):
                constant = decision_of_shares(y, len(self.classes_), odds=self.loss_.has_probability)
            else:
                constant = np.array([y.min(), y.max()]) if is_band else np.asarray(np.average(y, axis=0, weights=w))
            machine, ended = None, stopped
            if not stopped and not (is_classifier(template) and np.all(y == y[0])):
                classes = np.unique(y) if is_classifier(template) else None
                machine = machine_of_rows(template, len(weight), rows, classes)
                fit = partial(machine.fit, Z[np.searchsorted(used, rows)], y, w)
                machine = unless_interrupted(fit, lambda: None)
                ended = machine is None
                if ended and (not k or is_band):
                    raise_if_interrupted(Status.INTERRUPTED)
                stopped = ended or Status.INTERRUPTED in np.ravel(getattr(machine, "status_", Status.OPTIMAL))
            if not stopped and self.callback is not None:
                stopped = bool(self.callback(k + 1, n_cells)) and k + 1 < n_cells
                if stopped and is_band:
                    raise_if_interrupted(Status.INTERRUPTED)
            yield Cell(machine, constant, ended).without_callbacks()

    def _store(self, cells: Iterator[Cell]) -> None:
        """Fit the cells, and keep them with their story."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # there is one for all cells
            self.cells_ = list(cells)
        stories = [story for cell in self.cells_ for story in cell.stories]
        self.gap_ = float(max((gap for gap, _, _ in stories), default=0.0))
        self.n_iter_ = int(sum(n_iter for _, _, n_iter in stories))
        self.status_ = Status.of_all(status for _, status, _ in stories)
        if self.status_ == Status.INTERRUPTED:
            n_ended = sum(cell.ended for cell in self.cells_)
            message = f"was interrupted: {n_ended} of {len(self.cells_)} cells hold no more than a mean; fit again"
        elif self.status_ != Status.OPTIMAL:
            message = f"has cells that ended as {self.status_!r}; scale the columns and y, raise max_iter, or raise tol"
        else:
            return
        warnings.warn(f"CellMachine {message} (relative gap {self.gap_:.1e}).", ConvergenceWarning, stacklevel=3)

    def _calibration(self, X: Array, codes: Array, weight: Array) -> Calibration | None:
        """Sigmoids of the decision values of cells that are fitted without the rows they are asked for.

        Of many rows one of five folds is enough. A metric is learned anew: it would give the labels away.
        """
        machine = self._machine()
        if not machine.probability or self.loss_.has_probability:
            return None
        n_folds = min(N_FOLDS, int(np.bincount(codes).min()))
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=check_random_state(machine.random_state))
        kernel = self.kernel_ if machine.metric is None else machine.kernel
        plain = copy(machine).set_params(kernel=kernel, probability=False)
        values, seen = np.zeros((len(X), *self.cells_[0].constant.shape)), np.zeros(len(X), dtype=bool)
        interrupted = self.status_ == Status.INTERRUPTED
        n_used = folds_to_fit(len(X)) if n_folds == N_FOLDS else n_folds
        for rest, fold in list(folds.split(codes, codes))[:n_used]:
            if interrupted:
                break
            part = CellMachine(plain, max_rows=self.max_rows, overlap=self.overlap, verbose=self.verbose)
            part.set_params(callback=self.callback).fit(X[rest], codes[rest], weight[rest])
            values[fold], seen[fold] = part.decision_function(X[fold]), True
            interrupted = part.status_ == Status.INTERRUPTED
        if interrupted:
            warnings.warn(
                "CellMachine was interrupted before its probabilities were fitted; fit again.",
                ConvergenceWarning,
                stacklevel=3,
            )
            return None
        return Calibration.fit(values[seen], codes[seen], weight[seen], n_used)

    def _function(self, X: Any) -> Array:
        """The functions of the cells, each with its weights."""
        check_is_fitted(self, "cells_")
        Z = self._columns(self._rows(X, reset=False))
        shape = self.cells_[0].constant.shape
        total = np.zeros((len(Z), *shape))
        for part in self.tree_.parts(Z):
            if len(part.rows):
                weights = part.weights.reshape(-1, *(1 for _ in shape))
                total[part.rows] += weights * self.cells_[part.cell].values(Z[part.rows])
        return total

    def __sklearn_tags__(self) -> Any:
        tags, machine = super().__sklearn_tags__(), get_tags(self._machine())
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags", "input_tags"):
            setattr(tags, name, getattr(machine, name))
        tags.input_tags.sparse = False
        return tags
