"""What the coefficients of a machine tell of its leave-one-out error at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.capacity.fitted import Signed, fitted_programs
from mercer.kernels.gram import GramMatrix
from mercer.losses import Loss

# Rows of the kernel matrix that are looked at together.
_BLOCK = 512


def xi_alpha(machine: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Share of the rows with 2 α_i R² + ξ_i >= 1: no less than the leave-one-out error of a hinge machine.

    α_i = |B_i|, ξ_i = max(0, 1 - y_i f(x_i)), and R² is the largest k(x, x) - k(x, x') between rows.

    Parameters
    ----------
    machine : kernel machine
        A fitted classifier with the hinge loss, the regularizer "rkhs" and a positive definite kernel; with several
        classes a row counts if any machine of one class against the rest counts it.
    X, y, sample_weight : array
        What it was fitted on.

    Notes
    -----
    [Joachims2000]_: costs one pass over the kernel. Close to the leave-one-out error only where the α are small.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import SupportVectorClassifier
    >>> from mercer.capacity import leave_one_out, xi_alpha
    >>> X, y = make_moons(100, noise=0.3, random_state=0)
    >>> machine = SupportVectorClassifier().fit(X, y)
    >>> xi_alpha(machine, X, y) >= leave_one_out(machine, X, y, method="path").error
    True
    """
    owner = "xi_alpha"
    parts = fitted_programs(machine, X, y, sample_weight, owner)
    program = parts[0].program
    if not is_hinge(program.loss) or program.gram.is_zero or program.budget is not None or np.any(program.target):
        raise ValueError(
            f"machine of {owner} must be a classifier with the hinge loss, got {machine!r}; take "
            "mercer.capacity.leave_one_out."
        )
    if program.conditional:
        raise ValueError(
            f"kernel of {owner} must be positive definite, got {machine.kernel_!r}; take mercer.capacity.leave_one_out."
        )
    squared_radius = largest_half_distance(program.gram)
    counted = np.zeros(len(program.y), dtype=bool)
    for part in parts:
        signed = Signed.of(part)
        counted |= 2.0 * np.abs(signed.A) * squared_radius + np.maximum(signed.r, 0.0) >= 1.0
    return float(np.mean(counted))


def is_hinge(loss: Loss) -> bool:
    """Whether a loss is max(0, r) of the margin residual."""
    return loss.classification and loss.piecewise_linear and tuple(loss.dual_interval) == (0.0, 1.0)


def largest_half_distance(gram: GramMatrix) -> float:
    """The largest k(x, x) - k(x, x') between rows."""
    diagonal, n = np.asarray(gram.diagonal()), gram.shape[0]
    blocks = [slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK)]
    return max(float(np.max(diagonal[rows] - gram.block(rows).min(axis=1))) for rows in blocks)
