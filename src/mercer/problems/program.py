"""The convex program of a kernel machine as data, with values that trust no solver."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.blas import single_threaded_numpy
from mercer.losses import Loss

if TYPE_CHECKING:
    from mercer.regularizers import Penalty

Array = NDArray[Any]

# Relative differences that are rounding; the share of rows with larger ones up to which a known product is updated
# (half of them cost as much as all, where both triangles of the matrix are served at once).
_ROUNDING, _FEW_CHANGED = 4e-15, 0.3


@dataclass(frozen=True)
class Certificate:
    """How good a solution is, computed from the program and the solution alone.

    Attributes
    ----------
    primal, dual : float
        Values of the primal and the dual program. The optimum lies between them if the dual solution is feasible.
    gap : float
        primal - dual.
    relative_gap : float
        gap / (|primal| + 1).
    infeasibility : float
        Largest violation of a dual constraint, relative to its size.
    """

    primal: float
    dual: float
    infeasibility: float

    @property
    def gap(self) -> float:
        """Difference of the primal and the dual value."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """Gap in units of the primal value, or of one if that is small."""
        return self.gap / (abs(self.primal) + 1.0)

    def holds(self, tol: float) -> bool:
        """Whether the solution is optimal and feasible to a relative tolerance."""
        return bool(self.relative_gap <= tol and self.infeasibility <= max(tol, 1e-9))


@dataclass(frozen=True)
class KernelProgram:
    """min over h, d of 1/2 hᵀ gram⁺ h + Σ_j bounds_j |d_j| + targetᵀd + Σ_i C_i c(sign_i (y_i - h_i - (columns d)_i)).

    Its dual, with h = gram B and A = sign B, is

    max  -1/2 Bᵀ gram B + yᵀB - Σ_i C_i c*(A_i / C_i)   subject to   |columnsᵀ B - target| <= bounds, c*(A_i / C_i) < ∞.

    Attributes
    ----------
    gram : array, LowRank, Gram or None
        Positive semi-definite on the B with columnsᵀB = 0.
    columns, bounds : array
        See `Penalty`.
    y, sign : array of shape (n,)
        Targets; sign is y for classification losses, where the loss takes 1 - y f, and 1 else.
    loss : Loss
        c.
    C_below, C_above : array of shape (n,)
        Weights of negative and of positive residuals.

    conditional : bool
        Whether gram is positive semi-definite only on the B that are orthogonal to the unpenalised columns.
    budget : float, optional
        If given, the loss is that of residuals beyond a tube, c(max(0, |r| - ε)), whose width ε >= 0 is found at the
        price budget · ε; in the dual program Σ|B_i| <= budget. With the absolute loss this is the ν-machine.
    exact_gram : linear operator, optional
        The matrix that a low-rank gram approximates, for the certificate alone.
    target : array of shape (n_columns,), or 0
        What columnsᵀB has to be. It is not zero where other dual variables, which are not part of this program, are
        held fixed.
    kept : dict
        What solvers made of the matrix, under their names: programs with the same matrix may share it.

    Notes
    -----
    [Smola1998]_, eq. (2.9)-(2.10) in the signed variables B = α - α*, for any convex loss.
    """

    gram: Any
    columns: Array
    bounds: Array
    y: Array
    sign: Array
    loss: Loss
    C_below: Array
    C_above: Array
    conditional: bool = False
    budget: float | None = None
    exact_gram: Any = None
    target: Array | float = 0.0
    kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _last: list[tuple[Array, Array]] = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def build(
        cls,
        penalty: Penalty,
        y: Array,
        loss: Loss,
        C: Any,
        *,
        conditional: bool = False,
        budget: float | None = None,
        exact_gram: Any = None,
        kept: dict[str, Any] | None = None,
    ) -> KernelProgram:
        """The program of a penalty, targets, a loss, and weights: one, one per sample, or a pair (below, above)."""
        n = len(y)
        sign = y if loss.classification else np.ones(n)
        below, above = C if isinstance(C, tuple) else (C, C)
        C_below, C_above = (np.broadcast_to(np.asarray(side, dtype=np.float64), n) for side in (below, above))
        if np.any(C_below != C_above) and np.any(loss.value(np.zeros(n)) != 0):
            raise ValueError(
                f"C must be the same below and above for {loss!r}, which is not zero at r = 0; give one C per sample."
            )
        return cls(
            penalty.gram,
            penalty.columns,
            penalty.bounds,
            y,
            sign,
            loss,
            C_below,
            C_above,
            conditional,
            budget,
            exact_gram,
            kept={} if kept is None else kept,
        )

    @property
    def is_absolute(self) -> bool:
        """Whether the loss is |r|."""
        low, high = self.loss.dual_interval
        flat = any(np.any(np.asarray(width) > 0) for width in self.loss.insensitivity)
        return bool(self.loss.piecewise_linear and not flat and np.all(np.equal(low, -1)) and np.all(np.equal(high, 1)))

    @property
    def in_memory(self) -> bool:
        """Whether the matrix, or its low-rank factor, is an array; else it is an operator that is never formed."""
        return self.gram is None or isinstance(self.gram, np.ndarray) or hasattr(self.gram, "factor")

    @property
    def reach(self) -> float:
        """How far one sample can move the function where it lies, C k(x, x), in units of the largest target."""
        weight = float(np.median(np.maximum(self.C_below, self.C_above)))
        return weight * float(np.median(self.gram.diagonal())) / (float(np.abs(self.y).max()) or np.inf)

    def fitted(self, B: Array, d: Array) -> Array:
        """Values of the function at the training rows."""
        return self.times_gram(B) + self.columns @ d

    def values(self, B: Array, d: Array, gram_B: Array | None = None) -> tuple[float, float]:
        """Values of the primal and the dual program, with one product by the Gram matrix (none if it is given)."""
        gram_B = self.times_gram(B) if gram_B is None else gram_B
        return self.primal(B, d, gram_B), self.dual(B, gram_B)

    def primal(self, B: Array, d: Array, gram_B: Array | None = None) -> float:
        """Value of the primal program."""
        gram_B = self.times_gram(B) if gram_B is None else gram_B
        r = self._residuals(gram_B, d)
        value = 0.5 * B @ gram_B + self.bounds @ np.abs(d) + np.sum(self.target * d)
        beyond, width = self._beyond_tube(r)
        return float(value + (self.budget or 0.0) * width + np.sum(self._weights(r) * self.loss.value(beyond)))

    def tube(self, B: Array, d: Array) -> float:
        """Width ε of the tube that is best for this function, if there is a budget for it."""
        r = self._residuals(self.times_gram(B), d)
        return self._best_tube(np.abs(r), self._weights(r))

    def _beyond_tube(self, r: Array) -> tuple[Array, float]:
        """What residuals have beyond the best tube, with their sign, and its width: all of them without a budget."""
        if self.budget is None:
            return r, 0.0
        width = self._best_tube(np.abs(r), self._weights(r))
        return np.sign(r) * np.maximum(np.abs(r) - width, 0.0), width

    def _best_tube(self, distance: Array, C: Array) -> float:
        """The smallest width beyond which lie errors of a total weight of at most the budget."""
        order = np.argsort(-distance)
        beyond = np.cumsum(C[order])
        n_outside = int(np.searchsorted(beyond, self.budget or 0.0, side="right"))
        return float(distance[order[n_outside]]) if n_outside < len(order) else 0.0

    def dual(self, B: Array, gram_B: Array | None = None) -> float:
        """Value of the dual program at a B in its box; rounding at the edge is forgiven."""
        gram_B = self.times_gram(B) if gram_B is None else gram_B
        return float(self.y @ B - 0.5 * B @ gram_B - np.sum(self._conjugates(self.sign * B)))

    def gap_shares(self, B: Array, d: Array, gram_B: Array) -> Array:
        """C c(r) + C c*(A / C) - A r >= 0 of each sample, zero where A is a slope of its loss.

        Without prices of columns they add up to the gap, if columnsᵀB = target and the budget, if any, is used up.
        """
        r, A = self._residuals(gram_B, d), self.sign * B
        beyond, width = self._beyond_tube(r)
        return np.asarray(self._weights(r) * self.loss.value(beyond) + self._conjugates(A) + width * np.abs(A) - A * r)

    def wanted(self, d: Array, gram_B: Array) -> Array:
        """The B that these residuals ask for, sign C c'(r): at the solution B is it, or another slope of the loss."""
        r = self._residuals(gram_B, d)
        return np.asarray(self.sign * self._weights(r) * self.loss.derivative(self._beyond_tube(r)[0]))

    def _residuals(self, gram_B: Array, d: Array) -> Array:
        return np.asarray(self.sign * (self.y - gram_B - self.columns @ d))

    def _weights(self, r: Array) -> Array:
        return np.where(r >= 0, self.C_above, self.C_below)

    def _conjugates(self, A: Array) -> Array:
        """C c*(A / C); rounding at the edge of the box is forgiven."""
        C = self._weights(A)
        low, high = self.loss.dual_interval
        ratio = A / C
        inside = np.clip(ratio, low, high)
        ratio = np.where(np.abs(ratio - inside) <= 1e-12, inside, ratio)
        return np.asarray(C * self.loss.conjugate(ratio))

    def box(self) -> tuple[Array, Array]:
        """Lower and upper bounds of A = sign B."""
        low, high = self.loss.dual_interval
        return self.C_below * low, self.C_above * high

    def certificate(self, result: Any) -> Certificate:
        """Values, gap and feasibility of `result.B`, `result.d`, recomputed from the program.

        The function found with a low-rank matrix L Lᵀ is an honest candidate for the exact program: it takes the values
        L LᵀB and has the squared norm BᵀL LᵀB, so that its primal value is exact. The dual value must be lowered by
        1/2 Bᵀ(K - L Lᵀ)B, which costs one product with `exact_gram`; without it the bound by the trace error is taken.
        """
        B, d = np.asarray(result.B, dtype=np.float64), np.asarray(result.d, dtype=np.float64)
        with single_threaded_numpy:  # threads that go on spinning would take the cores from the next fit of a path
            return self._certificate(B, d)

    def _certificate(self, B: Array, d: Array) -> Certificate:
        low, high = self.box()
        A = self.sign * B
        outside = np.maximum(np.maximum(low - A, A - high), 0.0)
        infeasibility = max(
            float(np.max(outside / np.maximum(self.C_below, self.C_above), initial=0.0)),
            self.column_violation(B),
            0.0 if self.budget is None else max(0.0, float(np.abs(B).sum()) / self.budget - 1.0),
        )
        inside = self.sign * np.clip(A, low, high)
        return Certificate(self.primal(B, d), self.dual(inside) - self._shortfall(inside), infeasibility)

    def balance(self, B: Array) -> Array:
        """columnsᵀB - target."""
        return np.asarray(self.columns.T @ B - self.target)

    def column_violation(self, B: Array) -> float:
        """Violation of |balance| <= bounds, relative to the terms of these sums (of a millionth of C at least)."""
        size = np.abs(B) + 1e-6 * np.maximum(self.C_below, self.C_above)
        excess = np.maximum(np.abs(self.balance(B)) - self.bounds, 0.0)
        scale = np.abs(self.columns).T @ size + self.bounds + np.abs(self.target)
        return float(np.max(excess / np.maximum(scale, np.finfo(np.float64).tiny), initial=0.0))

    def _shortfall(self, B: Array) -> float:
        """What a low-rank matrix hides of the quadratic form."""
        if self.exact_gram is not None:
            return 0.5 * max(0.0, float(B @ (self.exact_gram @ B) - B @ self.times_gram(B)))
        return 0.5 * float(getattr(self.gram, "trace_error", 0.0)) * float(B @ B)

    def times_gram(self, B: Array) -> Array:
        """Values of the kernel part of the function at the training rows.

        The last product is remembered: for a B that differs from the last one in few rows, a product with these is
        enough.
        """
        changed = self._changed(B)
        if changed is None:
            nothing = self.gram is None or not np.any(B)
            product = np.zeros(np.shape(B)) if nothing else np.asarray(self.gram @ B)
        else:
            last, product = self._last[0]
            product = product.copy()
            if len(changed):
                product += self.gram.columns(changed) @ (B - last)[changed]
        self._last[:] = [(np.array(B), product.copy())]
        return product

    def knows_product(self, B: Array) -> bool:
        """Whether `times_gram` costs little for this B."""
        return self._changed(B) is not None

    def _changed(self, B: Array) -> Array | None:
        """Rows in which B differs from the last one by more than rounding, if these are few or can be left out."""
        if not self._last or self._last[0][0].shape != np.shape(B):
            return None
        last = self._last[0][0]
        differs = ~(np.abs(B - last) <= _ROUNDING * np.abs(last))  # so that NaN differs
        changed = np.flatnonzero(differs.reshape(len(last), -1).any(axis=1))
        few = len(changed) <= _FEW_CHANGED * len(last) if hasattr(self.gram, "columns") else not len(changed)
        return changed if few else None

    def with_weights(self, C: tuple[Array, Array], budget: float | None = None) -> KernelProgram:
        """The same program with other weights (below, above), and with what is known of its matrix."""
        program = replace(self, C_below=C[0], C_above=C[1], budget=budget)
        ratio = np.concatenate([C[0] / self.C_below, C[1] / self.C_above])
        scale = ratio[0] if np.all(ratio == ratio[0]) else 1.0
        program._last[:] = [(scale * B, scale * product) for B, product in self._last]
        return program
