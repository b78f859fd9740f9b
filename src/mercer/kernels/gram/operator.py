"""A Gram matrix that is never formed: products, rows and blocks on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse.linalg import LinearOperator

from mercer.arrays import Array
from mercer.kernels.base import Kernel, Sides, finite_diagonal
from mercer.kernels.gram.matrix import FormedMatrix, GramMatrix
from mercer.kernels.positions import positions
from mercer.kernels.tiles import TILE, Tile, dense_gram, take, upper_triangle
from mercer.running import with_progress
from mercer.threads import run_threaded, threads_for

# Number of tiles along a side that balances the threads; and by how much tiles that are not formed may be longer than
# usual ones, which saves calls of Python (threads make those one at a time).
_MANY_TILES, _LARGEST = 16, 4
# Products with smaller matrices take negligible time, formed or not.
_MANY_VALUES = 2**22


class Gram(LinearOperator, GramMatrix):
    """The Gram matrix of a kernel on X (against Y) as a linear operator that evaluates tiles when they are needed.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X, Y : array_like
        Rows and columns; Y = None means X, and the matrix is symmetric.
    memory : int
        Bytes that intermediate results may take: row blocks, and sums of the threads in products.
    verbose : bool
        Whether products show a progress bar.

    Notes
    -----
    ``gram @ V`` works for vectors and for several right-hand sides at once, and so do SciPy's iterative solvers.
    Of a symmetric matrix only the upper half is evaluated; blocks K[i, j] with V[i] = V[j] = 0 are skipped. The last
    digits of a product may differ from call to call, since each thread sums the tiles that it happens to get. Memory:
    copies of X and Y (two if many rows of V are zero), the result, and `memory`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.gram import Gram
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> gram, v = Gram(Gaussian(), X), np.ones(1000)
    >>> np.allclose(gram @ v, Gaussian()(X) @ v)
    True
    """

    in_memory = False

    def __init__(self, kernel: Kernel, X: Any, Y: Any = None, *, memory: int = 2**28, verbose: bool = False):
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernel of Gram must be a Kernel, got {kernel!r}; wrap a function in FromFunction.")
        self.kernel = kernel
        self.memory = int(memory)
        self.verbose = verbose
        self.symmetric = Y is None
        self._sides: Sides = kernel._prepare(X, Y)
        super().__init__(np.dtype(self._sides.dtype), self._sides.shape)

    def toarray(self, dtype: DTypeLike | None = None) -> Array:
        """The whole matrix, in the precision of the rows or in another one."""
        sides = self._sides if dtype is None else self._sides._replace(dtype=dtype)
        return dense_gram(self.kernel, sides, symmetric=self.symmetric)

    def for_products(self, memory: int) -> GramMatrix:
        """What to take for many products: the whole matrix, if `memory` bytes hold it and each would evaluate it anew.

        Gaussians of few columns stay operators: to evaluate them takes no longer than to fetch them from memory. The
        matrix is in double precision, as the products with an operator are.
        """
        sides, n_values, one = self._sides, self.shape[0] * self.shape[1], np.empty((self.shape[1], 1))
        if not _MANY_VALUES <= n_values <= memory // 8 or not self.kernel._forms_tiles(sides.left, sides.right, one):
            return self
        return FormedMatrix(self.toarray(np.float64))

    def diagonal(self) -> Array:
        """Diagonal of a symmetric Gram matrix."""
        if not self.symmetric:
            raise ValueError("diagonal of Gram exists only for a symmetric matrix; leave Y out.")
        return finite_diagonal(self.kernel, self._sides)

    def block(self, rows: Any, columns: Any = slice(None)) -> Array:
        """The matrix of some rows and columns, each given as a slice, positions, or a mask."""
        rows, columns = self._index(rows, 0), self._index(columns, 1)
        left, right = take(self._sides.left, rows), take(self._sides.right, columns)
        shape = (_length(rows, self.shape[0]), _length(columns, self.shape[1]))
        return dense_gram(self.kernel, Sides(left, right, shape, self.dtype), symmetric=False)

    def columns(self, chosen: Any) -> Gram:
        """All rows and some columns, given as a slice, positions, or a mask, as another operator."""
        chosen = self._index(chosen, 1)
        part = copy(self)
        part.symmetric, part.shape = False, (self.shape[0], _length(chosen, self.shape[1]))
        part._sides = Sides(self._sides.left, take(self._sides.right, chosen), part.shape, self.dtype)
        return part

    def _index(self, index: Any, axis: int) -> Any:
        """A slice of step one as it is, so that no row is copied; else positions."""
        is_plain = isinstance(index, slice) and index.step in (None, 1)
        return index if is_plain else positions(index, self.shape[axis], ("rows", "columns")[axis])

    def row_blocks(self) -> Iterator[tuple[slice, Array]]:
        """All rows, in blocks that fit into half of `memory`: pairs of a slice and the values of its rows."""
        n_rows = self.memory // 2 // (self.dtype.itemsize * max(1, self.shape[1]))
        if n_rows < 1:
            needed = 2 * self.dtype.itemsize * self.shape[1]
            raise ValueError(f"memory of Gram must hold two rows, got {self.memory}; give {needed} bytes or more.")
        for start in range(0, self.shape[0], n_rows):
            rows = slice(start, min(start + n_rows, self.shape[0]))
            yield rows, self.block(rows)

    def _matmat(self, V: Array) -> Array:
        return self._product(V, transposed=False)

    def _rmatmat(self, V: Array) -> Array:
        return self._product(V, transposed=not self.symmetric)

    def _product(self, V: Array, *, transposed: bool) -> Array:
        V = np.ascontiguousarray(V, dtype=np.result_type(V, self.dtype, np.float32))
        n_threads = threads_for(self.shape[0] * self.shape[1])
        n_result = self.shape[1] if transposed else self.shape[0]
        sums = n_threads * n_result * V.shape[1] * V.dtype.itemsize
        if self.symmetric and sums <= self.memory:
            return self._symmetric_product(V, n_threads)
        return self._panel_product(V, n_result, n_threads, transposed)

    def _symmetric_product(self, V: Array, n_threads: int) -> Array:
        """Each tile above the diagonal serves twice; every thread has a sum of its own."""
        used = V.any(axis=1)
        n_used = int(np.count_nonzero(used))
        if len(V) - n_used < TILE:
            return self._leading_product(V, len(V), n_threads)
        # Rows of zeros come last: blocks between two of them are skipped.
        order, product = np.argsort(~used, kind="stable"), np.empty_like(V)
        product[order] = self._permuted(order)._leading_product(V[order], n_used, n_threads)
        return product

    def _permuted(self, order: Array) -> Gram:
        part = copy(self)
        part._sides = Sides(take(self._sides.left, order), take(self._sides.right, order), self.shape, self.dtype)
        return part

    def _leading_product(self, V: Array, n_used: int, n_threads: int) -> Array:
        """The product with a V of which only the first rows are not zero."""

        def add_tile(tile: Tile, total: Array) -> None:
            rows, columns = tile
            below = () if rows == columns else (V[rows], total[columns])
            self.kernel._add_products(*self._sides_of(tile), V[columns], total[rows], *below)

        side = self._side(V)
        n_tiles, n_panels = -(-self.shape[0] // side), -(-n_used // side)
        tiles = self._with_progress(
            (tile for tile in upper_triangle(self.shape[0], side) if tile[0].start < n_used),
            n_panels * n_tiles - n_panels * (n_panels - 1) // 2,
        )
        totals = run_threaded(add_tile, tiles, lambda: np.zeros((self.shape[0], V.shape[1]), V.dtype), n_threads)
        return sum(totals[1:], start=totals[0])

    def _panel_product(self, V: Array, n_result: int, n_threads: int, transposed: bool) -> Array:
        """Panels of the result are computed independently, straight into it."""
        result = np.zeros((n_result, V.shape[1]), V.dtype)
        n_inner = self.shape[0] if transposed else self.shape[1]
        side = TILE if transposed else self._side(V)

        def fill_panel(tile: Tile, _: None) -> None:
            panel = tile[0]
            for inner in _slices(n_inner, side):
                if transposed:
                    result[panel] += self.kernel._tile(*self._sides_of((inner, panel))).T @ V[inner]
                else:
                    self.kernel._add_products(*self._sides_of((panel, inner)), V[inner], result[panel])

        panels = self._with_progress(((panel, slice(None)) for panel in _slices(n_result, side)), -(-n_result // side))
        run_threaded(fill_panel, panels, lambda: None, n_threads)
        return result

    def _side(self, V: Array) -> int:
        """Rows and columns of the tiles of a product: more of them where no tile is formed and there are many tiles."""
        if self.kernel._forms_tiles(self._sides.left, self._sides.right, V):
            return TILE
        return TILE * min(max(min(self.shape) // (_MANY_TILES * TILE), 1), _LARGEST)

    def _sides_of(self, tile: Tile) -> tuple[Any, Any]:
        return take(self._sides.left, tile[0]), take(self._sides.right, tile[1])

    def _with_progress(self, tiles: Iterable[Tile], n_tiles: int) -> Iterable[Tile]:
        return with_progress(tiles, "Gram product", total=n_tiles, shown=self.verbose)


def _slices(n: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _length(index: Any, n: int) -> int:
    return len(range(*index.indices(n))) if isinstance(index, slice) else len(index)
