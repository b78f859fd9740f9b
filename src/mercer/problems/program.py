"""The convex program of a kernel machine as data, with values that trust no solver."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels.gram import GramMatrix, as_gram_matrix
from mercer.losses import Loss
from mercer.losses.kinks import jump_of_conjugate
from mercer.problems.values import Certificate, Iterate
from mercer.rounding import EQUAL
from mercer.threads import single_threaded_numpy

if TYPE_CHECKING:
    from mercer.regularizers import Penalty


# Values of the norm below this fraction of 1/2 (Σ|B|)² k(x, x) are as good as zero.
_SMALL = 1e-6
# Rows whose entries bound the size of a matrix that is not positive.
_N_LOOKED_AT = 64
# Rounding of a residual, in units of its target, and how much smaller than what counts it is to be.
_EPS, _CLEARLY = float(np.finfo(np.float64).eps), 1e14


@dataclass(frozen=True)
class KernelProgram:
    """min over h, d of 1/2 hᵀ gram⁺ h + Σ_j bounds_j |d_j| + targetᵀd + Σ_i C_i c(sign_i (y_i - h_i - (columns d)_i)).

    Its dual, with h = gram B and A = sign B, is

    max  -1/2 Bᵀ gram B + yᵀB - Σ_i C_i c*(A_i / C_i)   subject to   |columnsᵀ B - target| <= bounds, c*(A_i / C_i) < ∞.

    Attributes
    ----------
    gram : GramMatrix
        Positive semi-definite on the B with columnsᵀB = 0. An array becomes a `FormedMatrix`, None a `NoMatrix`.
    columns, bounds : array
        See `Penalty`.
    y, sign : array of shape (n,)
        Targets, and the sign with which y - f is the residual of the loss: 1, but the label for margin losses. For
        these y is the label too, so that the residual is 1 - y f, or zero where a margin is found and not given.
    loss : Loss
        c.
    C_below, C_above : array of shape (n,)
        Weights of negative and of positive residuals.

    conditional : bool
        Whether gram is positive semi-definite only on the B that are orthogonal to the unpenalised columns.
    budget : float, optional
        If given, the loss is that of residuals beyond a tube, c(max(0, |r| - ε)), whose width ε >= 0 is found at the
        price budget · ε; in the dual program Σ|B_i| <= budget. With the absolute loss this is the ν-machine.
    exact_gram : GramMatrix, optional
        The matrix that a low-rank gram approximates, for the certificate alone.
    target : array of shape (n_columns,), or 0
        What columnsᵀB has to be. It is not zero where other dual variables, which are not part of this program, are
        held fixed, and where a margin or a threshold is found along with the function.
    scale : float
        Value with which gaps are compared at least: that of the program of which this one is a part. The value of a
        part may vanish where a target is not zero.
    kept : dict
        What solvers made of the matrix, under their names: programs with the same matrix may share it.

    Notes
    -----
    [Smola1998]_, eq. (2.9)-(2.10) in the signed variables B = α - α*, for any convex loss.
    """

    gram: GramMatrix
    columns: Array
    bounds: Array
    y: Array
    sign: Array
    loss: Loss
    C_below: Array
    C_above: Array
    conditional: bool = False
    budget: float | None = None
    exact_gram: GramMatrix | None = None
    target: Array | float = 0.0
    scale: float = 0.0
    kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gram", as_gram_matrix(self.gram, len(self.y)))

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
        jump = jump_of_conjugate(loss)
        if jump is not None:
            raise ValueError(
                f"loss {loss!r} must have one kink at most on each side of zero, got another one with the slope "
                f"{jump:.4g}; repeat the samples once for each kink, with an epsilon and a weight of its own."
            )
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
        return self.gram.in_memory

    @property
    def reach(self) -> float:
        """How far one sample can move the function where it lies, |B| k(x, x), in units of the largest target.

        |B| is what the loss asks for where the residual is the largest target and the width of the tube.
        """
        largest = float(np.abs(self.y).max())
        widest = max(float(np.max(width)) for width in self.loss.insensitivity)
        slope = np.abs(self.loss.derivative(np.full(len(self.y), largest + widest)))
        weight = float(np.median(np.maximum(self.C_below, self.C_above) * slope))
        return weight * float(np.median(self.diagonal)) / (largest or np.inf)

    @property
    def diagonal(self) -> Array:
        """k(x, x) of the rows."""
        return self.gram.diagonal()

    @cached_property
    def parametric_fit(self) -> Array:
        """Coefficients of the unpenalised columns alone, by least squares with the weights C; zero for the others."""
        d, root = np.zeros(self.columns.shape[1]), np.sqrt(self.relative_weights)
        free = self.bounds == 0
        Phi = root[:, None] * self.columns[:, free]
        for _ in range(2):  # the second time to the last digits
            d[free] += np.linalg.lstsq(Phi, root * (self.y - self.columns @ d), rcond=None)[0]
        return d

    @property
    def relative_weights(self) -> Array:
        """C of each sample, the larger one of its sides, in units of the largest of all."""
        C = np.maximum(self.C_below, self.C_above)
        return np.asarray(C / C.max())

    @cached_property
    def floor(self) -> float:
        """The least primal value that a gap is compared with.

        It is zero but for two kinds of programs. Targets that are a parametric function to rounding have the optimum
        zero: there, what rounding of the residuals costs counts as zero. Where ΣB is given, the value is that
        of the norm, 1/2 BᵀKB, which vanishes if no function is better than zero: a millionth of what it can be.
        """
        if self.scale:
            return self.scale
        if np.any(self.target):
            return _SMALL * 0.5 * float(np.abs(self.target).sum()) ** 2 * float(np.median(np.abs(self.diagonal)))
        nothing = np.zeros(len(self.y))
        value = abs(self.primal(nothing, self.parametric_fit, nothing))
        below, above = (np.asarray(width, dtype=np.float64) for width in self.loss.insensitivity)
        edge = np.where(above >= below, above, -below) * np.ones(len(self.y))
        size = np.maximum(np.abs(self.y), np.abs(self.columns @ self.parametric_fit))
        beyond = edge + np.where(edge >= 0, _EPS, -_EPS) * size
        cost = np.maximum(self.C_below, self.C_above) @ (self.loss.value(beyond) - self.loss.value(edge))
        return 0.0 if value > cost else _CLEARLY * float(cost)

    def fitted(self, B: Array, d: Array) -> Array:
        """Values of the function at the training rows."""
        return self.times_gram(B) + self.columns @ d

    def iterate(self, B: Array, d: Array, gram_B: Array | None = None) -> Iterate:
        """Values of both programs, with one product by the Gram matrix (none if it is given)."""
        gram_B = self.times_gram(B) if gram_B is None else gram_B
        return Iterate(self.primal(B, d, gram_B), self._dual(B, d, gram_B), self.floor)

    def primal(self, B: Array, d: Array, gram_B: Array | None = None) -> float:
        """Value of the primal program."""
        gram_B = self.times_gram(B) if gram_B is None else gram_B
        return self._primal(gram_B, 0.5 * float(B @ gram_B), d)

    @np.errstate(over="ignore", invalid="ignore")  # points that rounding has spoilt have values that are not finite
    def _primal(self, h: Array, price: float, d: Array) -> float:
        """Value of the primal program at h + columns @ d, whose part h costs `price`."""
        r = self.residuals(h, d)
        value = price + self.bounds @ np.abs(d) + np.sum(self.target * d)
        beyond, width = self._beyond_tube(r)
        return float(value + (self.budget or 0.0) * width + np.sum(self._weights(r) * self.loss.value(beyond)))

    @np.errstate(over="ignore", invalid="ignore")
    def risk(self, h: Array, d: Array) -> float:
        """Mean loss of h + columns @ d, Σ_i C_i c(r_i) / Σ_i C_i, where C_i is the larger one of the two sides."""
        r = self.residuals(h, d)
        costs = self._weights(r) * self.loss.value(self._beyond_tube(r)[0])
        return float(np.sum(costs) / np.sum(np.maximum(self.C_below, self.C_above)))

    def tube(self, B: Array, d: Array) -> float:
        """Width ε of the tube that is best for this function, if there is a budget for it."""
        r = self.residuals(self.times_gram(B), d)
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
        return self._dual(B, np.zeros(self.columns.shape[1]), gram_B)

    @np.errstate(over="ignore", invalid="ignore")
    def _dual(self, B: Array, d: Array, gram_B: Array) -> float:
        """Value of the dual program; with columnsᵀB = target what the unpenalised columns explain of y is taken off.

        Sums of y B would lose their digits where y is far from zero.
        """
        explained = np.where(self.bounds == 0, d, 0.0)
        value = (self.y - self.columns @ explained) @ B + np.sum(self.target * explained)
        return float(value - 0.5 * B @ gram_B - np.sum(self._conjugates(self.sign * B)))

    def gap_shares(self, B: Array, d: Array, gram_B: Array) -> Array:
        """C c(r) + C c*(A / C) - A r >= 0 of each sample, zero where A is a slope of its loss.

        Without prices of columns they add up to the gap, if columnsᵀB = target and the budget, if any, is used up.
        """
        r, A = self.residuals(gram_B, d), self.sign * B
        beyond, width = self._beyond_tube(r)
        return np.asarray(self._weights(r) * self.loss.value(beyond) + self._conjugates(A) + width * np.abs(A) - A * r)

    def wanted(self, d: Array, gram_B: Array) -> Array:
        """The B that these residuals ask for, sign C c'(r): at the solution B is it, or another slope of the loss."""
        return np.asarray(self.sign * self._slopes(self.residuals(gram_B, d)))

    def _slopes(self, r: Array) -> Array:
        """C c'(r), beyond the tube if there is a budget."""
        return np.asarray(self._weights(r) * self.loss.derivative(self._beyond_tube(r)[0]))

    def residuals(self, gram_B: Array, d: Array) -> Array:
        """What the loss is a function of, sign (y - f)."""
        return np.asarray(self.sign * (self.y - gram_B - self.columns @ d))

    def residuals_at(self, A: Array) -> Array:
        """Residuals at which the loss has the slope A / C: c*'(A / C)."""
        s, above = np.abs(A) / self._weights(A), A > 0
        return np.where(above, 1.0, -1.0) * np.where(
            above, self.loss.conjugate_slope(s, True), self.loss.conjugate_slope(s, False)
        )

    def _weights(self, r: Array) -> Array:
        return np.where(r >= 0, self.C_above, self.C_below)

    def _conjugates(self, A: Array) -> Array:
        """C c*(A / C); rounding at the edge of the box is forgiven."""
        C = self._weights(A)
        low, high = self.loss.dual_interval
        ratio = A / C
        inside = np.clip(ratio, low, high)
        ratio = np.where(np.abs(ratio - inside) <= EQUAL, inside, ratio)
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
            gram_B = self.times_gram(B)
            return self.certificate_of(gram_B, 0.5 * float(B @ gram_B), B, d, gram_B)

    def certificate_of(self, h: Array, price: float, B: Array, d: Array, gram_B: Array | None = None) -> Certificate:
        """The certificate of a function h + columns @ d whose part h costs `price`, with B as a point of the dual.

        Where columnsᵀB - target should vanish and does not, the dual value is the lesser one of those with and without
        it. It is lowered by what rounding may hide of the gap.
        """
        low, high = self.box()
        A = self.sign * B
        outside = np.maximum(np.maximum(low - A, A - high), 0.0)
        infeasibility = max(
            float(np.max(outside / np.maximum(self.C_below, self.C_above), initial=0.0)),
            self.column_violation(B, strict=True),
            0.0 if self.budget is None else max(0.0, float(np.abs(B).sum()) / self.budget - 1.0),
        )
        if gram_B is None or outside.any():
            B = self.sign * np.clip(A, low, high)
            gram_B = self.times_gram(B)
        unpriced = self.bounds == 0
        violated = float(self.balance(B)[unpriced] @ d[unpriced])
        dual = self._dual(B, d, gram_B) + min(violated, 0.0) - self._shortfall(B, gram_B) - self._rounding(h, B, d)
        return Certificate(self._primal(h, price, d), dual, self.floor, infeasibility, self.risk(h, d))

    def balance(self, B: Array) -> Array:
        """columnsᵀB - target."""
        return np.asarray(self.columns.T @ B - self.target)

    def column_violation(self, B: Array, *, strict: bool = False) -> float:
        """Violation of |balance| <= bounds, relative to the terms of these sums.

        Unless it is strict, they count as a millionth of the box at least: variables on their way need not be balanced
        as well as small ones at the end.
        """
        size = np.abs(B)
        if not strict:
            low, high = self.box()
            room = np.maximum(high, -low)
            size = size + 1e-6 * np.where(np.isfinite(room), room, size.max(initial=0.0))
        excess = np.maximum(np.abs(self.balance(B)) - self.bounds, 0.0)
        scale = np.abs(self.columns).T @ size + self.bounds + np.abs(self.target)
        return float(np.max(excess / np.maximum(scale, np.finfo(np.float64).tiny), initial=0.0))

    @np.errstate(over="ignore", invalid="ignore")
    def _rounding(self, h: Array, B: Array, d: Array) -> float:
        """What rounding of the function values changes in the gap, as independent errors of its terms.

        A sum Σ_j k(x_i, x_j) B_j has an error of about eps (Σ_j k(x_i, x_i) k(x_j, x_j) B_j²)^½. A share in the gap
        changes with it by the slope C c'(r) - A, which vanishes at the solution but at kinks.
        """
        sizes = np.sqrt(self.columns**2 @ d**2)
        if not self.gram.is_zero:
            root = self._root_of_size
            sizes = np.hypot(sizes, root * np.linalg.norm(root * B))
        r, A = self.residuals(h, d), self.sign * B
        errors = np.finfo(np.float64).eps * sizes
        slopes = [np.abs(self._slopes(s) - A) for s in (r - errors, r + errors)]
        return float(np.linalg.norm(np.maximum(*slopes) * errors))

    @cached_property
    def _root_of_size(self) -> Array | float:
        """Roots of k(x, x), which bound all entries of a positive matrix; else that of an entry among the largest."""
        if not self.conditional:
            return np.sqrt(np.abs(self.diagonal))
        some = np.unique(np.linspace(0, len(self.y) - 1, _N_LOOKED_AT).astype(np.intp))
        return float(np.sqrt(np.abs(self.gram.block(some, some)).max()))

    def _shortfall(self, B: Array, gram_B: Array) -> float:
        """What a low-rank matrix hides of the quadratic form."""
        if self.exact_gram is not None:
            return 0.5 * max(0.0, float(B @ (self.exact_gram @ B) - B @ gram_B))
        return 0.5 * self.gram.error * float(B @ B)

    def times_gram(self, B: Array) -> Array:
        """Values of the kernel part of the function at the training rows."""
        return np.asarray(self.gram @ B) if np.any(B) else np.zeros(np.shape(B))

    def with_weights(self, C: tuple[Array, Array], budget: float | None = None) -> KernelProgram:
        """The same program with other weights (below, above)."""
        return replace(self, C_below=C[0], C_above=C[1], budget=budget)
