"""The other two forms of risk minimisation: the norm is given, or the empirical risk is."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.base import clone

from mercer.machines.base import KernelMachine
from mercer.parameters import is_number

# Factors between the weights that look for the root, the largest and least of them, and how close log C is found.
_FACTOR, _MOST, _CLOSE = 10.0, 1e8, 1e-6


def constrained_machine(
    machine: Any, X: Any, y: Any, *, norm: float | None = None, risk: float | None = None, sample_weight: Any = None
) -> Any:
    """The machine with the least empirical risk whose norm is at most `norm`, or that with the least norm and `risk`.

    min R_emp[f] subject to ‖f‖ <= norm (1.28), or min ‖f‖ subject to R_emp[f] <= risk (1.30): that of
    1/2 ‖f‖² + C Σ c(r_i) for one C, which is found by a root search, since the norm rises and the risk falls with C.

    Parameters
    ----------
    machine : kernel machine
        A `SupportVectorRegressor` or `SupportVectorClassifier` with one number as C, which is replaced; with one target
        or two classes. It is not changed.
    X, y, sample_weight : array
        Training set.
    norm, risk : float
        One of the two.

    Returns
    -------
    kernel machine
        Fitted. If the constraint does not matter, that with a very large weight (norm) or a very small one (risk).

    Raises
    ------
    ValueError
        If no machine has so small a risk.

    Notes
    -----
    [Smola1998]_, section 1.2.4.

    Examples
    --------
    >>> from mercer import SupportVectorRegressor
    >>> from mercer.capacity import constrained_machine
    >>> from mercer.datasets import make_sinc
    >>> X, y = make_sinc(100, noise=0.1, random_state=0)
    >>> machine = constrained_machine(SupportVectorRegressor(), X, y, norm=0.5)
    >>> round(machine.norm_, 3)
    0.5
    >>> again = constrained_machine(SupportVectorRegressor(), X, y, risk=machine.empirical_risk_)
    >>> abs(again.norm_ - 0.5) < 1e-3
    True
    """
    owner = "constrained_machine"
    if (norm is None) == (risk is None):
        raise ValueError(f"norm or risk of {owner} must be given, and not both, got {norm!r} and {risk!r}.")
    name, wanted = ("norm", norm) if risk is None else ("risk", risk)
    if not is_number(wanted) or not float(wanted) > 0:  # type: ignore[arg-type]
        raise ValueError(f"{name} of {owner} must be a number > 0, got {wanted!r}; look at {name}s of a path.")
    if not isinstance(machine, KernelMachine) or not is_number(machine.get_params(deep=False).get("C")):
        raise ValueError(
            f"machine of {owner} must be a kernel machine whose C is one number, got {machine!r}; take a "
            "SupportVectorRegressor or SupportVectorClassifier."
        )
    search = _Search(machine, X, y, sample_weight, name, float(wanted))  # type: ignore[arg-type]
    return search.found()


class _Search:
    """The root of log(norm(C) / norm) or log(risk / risk(C)), which rise with log C."""

    def __init__(self, machine: Any, X: Any, y: Any, sample_weight: Any, name: str, wanted: float):
        self._machine, self._arguments = clone(machine), (X, y, sample_weight)
        self._name, self._wanted = name, wanted
        self._fitted: dict[float, Any] = {}

    def excess(self, log_C: float) -> float:
        """Positive if the norm is larger, or the risk smaller, than what is wanted."""
        if log_C not in self._fitted:
            self._fitted[log_C] = clone(self._machine).set_params(C=float(np.exp(log_C))).fit(*self._arguments)
        machine = self._fitted[log_C]
        value = machine.norm_ if self._name == "norm" else machine.empirical_risk_
        if np.ndim(value):
            raise ValueError(
                "y of constrained_machine must be one target or two classes, got several machines; fit one for each."
            )
        least = np.finfo(np.float64).tiny
        ratio = np.log(max(value, least) / self._wanted)
        return float(ratio if self._name == "norm" else -ratio)

    def found(self) -> Any:
        """The machine at the root, or at the end of the search."""
        low = high = 0.0
        step, most = np.log(_FACTOR), np.log(_MOST)
        while self.excess(high) < 0 and high < most:
            low, high = high, high + step
        while self.excess(low) > 0 and low > -most:
            low, high = low - step, low
        if self.excess(high) < 0:  # the constraint does not matter, or cannot be met
            if self._name == "risk":
                reached = self._fitted[high].empirical_risk_
                raise ValueError(
                    f"risk of constrained_machine must be one that is reached, got {self._wanted!r}, and "
                    f"{reached:.3g} with C = {np.exp(high):.3g}; raise it, or narrow the kernel."
                )
            return self._fitted[high]
        if self.excess(low) > 0:
            return self._fitted[low]
        root = low if self.excess(low) == 0 else brentq(self.excess, low, high, xtol=_CLOSE)
        self.excess(root)
        return self._fitted[root]
