"""The last exact product with the matrix, which the next one is mostly near to."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.kernels.gram import GramMatrix
from mercer.problems import KernelProgram

# Relative differences that are rounding; the share of rows with larger ones up to which a known product is updated
# (half of them cost as much as all, where both triangles of the matrix are served at once).
_SAME_MULTIPLE, _FEW_CHANGED = 4e-15, 0.3


class Products:
    """Products KB of a program, and of those that differ from it in their weights.

    The last one is remembered. For a B that is a multiple of the last one but for a few rows, as on a path over C, a
    product with these rows is enough.
    """

    def __init__(self, gram: GramMatrix, y: Array):
        self.gram, self.y = gram, y
        self._last: tuple[Array, Array] | None = None

    def times(self, B: Array) -> Array:
        """KB in double precision."""
        known = self._changed(B)
        if known is None:
            product = np.asarray(self.gram @ B)
        else:
            changed, near, of_near = known
            product = of_near + self.gram.columns(changed) @ (B - near)[changed] if len(changed) else of_near
        self._last = B.copy(), product.copy()
        return product

    def knows(self, B: Array) -> bool:
        """Whether `times` costs little for this B."""
        return self._changed(B) is not None

    def _changed(self, B: Array) -> tuple[Array, Array, Array] | None:
        """Rows in which B differs from a multiple of the last one, if these are few; the multiple; its product."""
        if self._last is None:
            return None
        last, product = self._last
        free = last != 0
        ratio = float(np.median(B[free] / last[free])) if free.any() else 1.0
        near = ratio * last
        changed = np.flatnonzero(~(np.abs(B - near) <= _SAME_MULTIPLE * np.abs(near)))  # so that NaN differs
        few = not len(changed) if self.gram.in_memory else len(changed) <= _FEW_CHANGED * len(last)
        return (changed, near, ratio * product) if few else None


def products_of(problem: KernelProgram) -> Products:
    """The products of a program, kept with its matrix: one memory for each of the targets that share the matrix."""
    kept: list[Products] = problem.kept.setdefault("products", [])
    for products in kept:
        if products.gram is problem.gram and products.y is problem.y:
            return products
    kept.append(Products(problem.gram, problem.y))
    return kept[-1]
