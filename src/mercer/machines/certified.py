"""The certificate of a fitted machine, from its public attributes alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array
from mercer.machines.hard import with_level
from mercer.machines.training import Task, Training
from mercer.problems import Certificate, KernelProgram


@dataclass(frozen=True)
class FittedProgram:
    """The program of one target of a fitted machine, and its stored solution.

    Attributes
    ----------
    program : KernelProgram
        Of the rows that have a weight.
    rows : array of int
        Their positions in the training set.
    B, d : array
        The dual point, and the coefficients of the columns.
    gram_B : array
        The matrix of the program times B.
    certificate : Certificate
        Of the stored function.
    """

    program: KernelProgram
    rows: Array
    B: Array
    d: Array
    gram_B: Array
    certificate: Certificate

    @property
    def fitted(self) -> Array:
        """Values of the function at the rows."""
        return np.asarray(self.gram_B + self.program.columns @ self.d)


def _fitted(task: Task, rows: Array, program: KernelProgram, coef: Array, d: Array, B: Array) -> FittedProgram:
    """A program with its stored solution; the values of the kernel part are computed once."""
    if program.gram.is_zero:
        certificate = task.certificate(program, coef, d, B)
        return FittedProgram(program, rows, B, np.concatenate([coef, d]), np.zeros(len(B)), certificate)
    values = task.matrix.operator @ coef
    certificate = task.certificate(program, coef, d, B, values)
    is_own = np.array_equal(coef, B) and program.exact_gram is None
    return FittedProgram(program, rows, B, d, values if is_own else program.times_gram(B), certificate)


class Certified:
    """`certificate`, for machines."""

    support_: Array
    dual_coef_: Array
    parametric_coef_: Array
    dual_point_: Array
    parametric: Any

    def certificate(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate | list[Certificate]:
        """Values, gap and feasibility of the fitted function, computed anew from what is public.

        The primal value is that of the function with the coefficients `dual_coef_` of the rows `support_` of X, and
        `parametric_coef_`; the dual value is that of `dual_point_`. Nothing else of the fit is used, so that the
        certificate can be checked by anybody, also after `reduce`.

        Parameters
        ----------
        X, y, sample_weight : array
            The training set.

        Returns
        -------
        Certificate or list of Certificate
            One for each target or machine of a classifier, if there are several.

        Examples
        --------
        >>> from mercer import SupportVectorRegressor
        >>> from mercer.datasets import make_sinc
        >>> X, y = make_sinc(100, noise=0.1, random_state=0)
        >>> machine = SupportVectorRegressor(tol=1e-6).fit(X, y)
        >>> certificate = machine.certificate(X, y)
        >>> certificate.holds(1e-6), certificate.dual <= certificate.primal
        (True, True)
        >>> machine.reduce(0.1).certificate(X, y).holds(1e-6)
        False
        """
        certificates = [part.certificate for part in self.programs(X, y, sample_weight)]
        return certificates[0] if self.dual_point_.ndim == 1 else certificates

    def programs(self, X: Any, y: Any = None, sample_weight: Any = None) -> list[FittedProgram]:
        """The convex program of each target, rebuilt from the training set, with the solution that is stored.

        The kernel, the metric and the weights are those of the fit. Whether the rows are those of the fit is up to the
        certificate: only the shapes are checked.

        Parameters
        ----------
        X, y, sample_weight : array
            The training set.

        Returns
        -------
        list of FittedProgram
            One for each target or machine of a classifier.

        Examples
        --------
        >>> from mercer import SupportVectorRegressor
        >>> from mercer.datasets import make_sinc
        >>> X, y = make_sinc(100, noise=0.1, random_state=0)
        >>> machine = SupportVectorRegressor(tol=1e-6).fit(X, y)
        >>> (part,) = machine.programs(X, y)
        >>> bool(abs(part.program.fitted(part.B, part.d) - machine.predict(X)).max() < 1e-6)
        True
        """
        check_is_fitted(self, "dual_coef_")
        self._rows(X, reset=False)  # type: ignore[attr-defined]
        twin = self._twin()
        training = self._weighed(twin._training(X, y, sample_weight))
        points = self.dual_point_.reshape(len(self.dual_point_), -1)
        known = np.isin(self.support_, training.used).all()
        if points.shape != (len(training.used), len(training.targets)) or not known:
            raise ValueError(
                f"X, y and sample_weight of certificate must be the training set of {type(self).__name__}, got "
                f"{len(training.used)} rows with a weight and {len(training.targets)} targets, not {len(points)} and "
                f"{points.shape[1]}; give what fit was given."
            )
        task: Task = twin._task(training)
        stored, parametric = self._solution(points.shape[1])
        if len(parametric) + (task.programs[0].gram.is_zero) * len(points) != task.programs[0].columns.shape[1]:
            raise ValueError(
                f"Parameters of {type(self).__name__} must be those of the fit for its certificate, got "
                f"{self.parametric!r} as the parametric part, which has other columns; set it back, or fit again."
            )
        coef = np.zeros(points.shape)
        coef[np.searchsorted(training.used, self.support_)] = stored
        parts = zip(task.programs, coef.T, parametric.T, points.T, strict=True)
        return [_fitted(task, training.used, *part) for part in parts]

    def _twin(self) -> Any:
        """A machine that is not fitted, with the kernel and the metric that were used."""
        twin = clone(self).set_params(kernel=self.kernel_, warm_start=False)  # type: ignore[attr-defined]
        twin._known_metric, twin._known_unit = getattr(self, "metric_", None), getattr(self, "C_unit_", None)
        return twin

    def _weighed(self, training: Training) -> Training:
        """The training set with the weights that were used."""
        return with_level(training, getattr(self, "C_", np.inf))

    def _solution(self, n_programs: int) -> tuple[Array, Array]:
        """Coefficients of the kernel functions and of the columns that solve the programs, a column for each."""
        coef, parametric = self.dual_coef_, self.parametric_coef_
        return coef.reshape(len(self.support_), n_programs), parametric.reshape(len(parametric), n_programs)
