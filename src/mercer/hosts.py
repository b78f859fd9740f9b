"""The seam by which rows enter fits: sums over blocks of rows, functions of blocks, and samples of rows.

A fit that reads its rows through `reduce`, `map` and `sample` does not know where they are. `ArrayRows` holds them in
memory, or in a memory map.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays import Array
from mercer.threads import allowed_threads, run_threaded, single_threaded_blas

# Numbers in a block of rows: 2 MB in double precision, which stay in the cache (`benchmarks/ukr.py`).
_NUMBERS = 2**18


class Rows(Protocol):
    """Rows of one table, or of several with the same number of rows, in blocks.

    Functions take one block of each table, None for a table that is None, and then the small arguments. They must not
    write to blocks, and must not depend on the order of calls: blocks are worked on at the same time.
    """

    n_rows: int

    def reduce(self, function: Callable[..., Any], *small: Any, add: Callable[[Any, Any], Any] = ...) -> Any:
        """The sum of function(*blocks, *small) over all blocks, which are added in pairs in a fixed order."""

    def map(self, function: Callable[..., Any], *small: Any) -> Any:
        """What function(*blocks, *small) gives for each row: an array, or a tuple of arrays, in the order of rows."""

    def sample(self, n: int, random_state: Any = None) -> tuple[Any, ...]:
        """Positions of n rows without replacement, increasing, and these rows of each table; all if there are fewer."""


def added(a: Any, b: Any) -> Any:
    """The sum of two numbers or arrays, or of two tuples of them, part by part."""
    if not isinstance(a, tuple):
        return a + b
    parts = [added(x, y) for x, y in zip(a, b, strict=True)]
    return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)


class ArrayRows:
    """Rows of arrays in memory: NumPy's, memory maps that may be read-only, of any precision, or sparse ones.

    Parameters
    ----------
    *tables : array, sparse array or None
        Tables with the same number of rows. One that is None gives None for each block.
    height : int, optional
        Rows of a block. By default a block of the widest table has 2^18 numbers. Results do not depend on the number of
        threads; on the height they depend by rounding only.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.hosts import ArrayRows
    >>> rows = ArrayRows(np.arange(6.0).reshape(3, 2), height=2)
    >>> rows.reduce(lambda X, power: np.sum(X**power, axis=0), 2)
    array([20., 35.])
    >>> rows.map(lambda X: X[:, 0] - X[:, 1])
    array([-1., -1., -1.])
    >>> positions, X = rows.sample(2, random_state=0)
    >>> positions, X
    (array([1, 2]), array([[2., 3.],
           [4., 5.]]))
    """

    def __init__(self, *tables: Any, height: int | None = None):
        self._tables = tables
        lengths = {int(table.shape[0]) for table in tables if table is not None}
        if len(lengths) != 1:
            raise ValueError(
                f"tables of ArrayRows must have the same number of rows, got {sorted(lengths)}; give at least one "
                "table, and the others of the same rows."
            )
        (self.n_rows,) = lengths
        if height is None:
            widest = max(int(np.prod(table.shape[1:])) for table in tables if table is not None)
            height = max(1, _NUMBERS // max(1, widest))
        if height < 1:
            raise ValueError(f"height of ArrayRows must be at least 1, got {height!r}; it is a number of rows.")
        # Without rows there is one block, which is empty.
        self._blocks = [slice(start, start + height) for start in range(0, max(self.n_rows, 1), height)]

    def reduce(self, function: Callable[..., Any], *small: Any, add: Callable[[Any, Any], Any] = added) -> Any:
        """The sum of function(*blocks, *small) over all blocks.

        Neighbours are added first, then neighbouring pairs, and so on: the order is fixed, and few results are kept.
        """
        waiting: dict[tuple[int, int], tuple[Any]] = {}  # by level and number, what has not met its neighbour
        widths, lock = [len(self._blocks)], threading.Lock()
        while widths[-1] > 1:
            widths.append((widths[-1] + 1) // 2)

        def work(number: Any) -> None:
            value, level = function(*self._block(number), *small), 0
            while level < len(widths) - 1:
                if (number ^ 1) < widths[level]:
                    with lock:
                        other = waiting.pop((level, number ^ 1), None)
                        if other is None:
                            waiting[level, number] = (value,)
                            return
                    value = add(value, other[0]) if number % 2 == 0 else add(other[0], value)
                number, level = number // 2, level + 1
            waiting[level, 0] = (value,)

        self._run(work)
        return waiting[len(widths) - 1, 0][0]

    def map(self, function: Callable[..., Any], *small: Any) -> Any:
        """What function(*blocks, *small) gives for each row: an array, or a tuple of arrays, in the order of rows."""
        parts: list[Any] = [None] * len(self._blocks)

        def work(number: Any) -> None:
            parts[number] = function(*self._block(number), *small)

        self._run(work)
        if isinstance(parts[0], tuple):
            return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return np.concatenate(parts)

    def sample(self, n: int, random_state: Any = None) -> tuple[Any, ...]:
        """Positions of n rows without replacement, increasing, and these rows of each table; all if there are fewer."""
        if n < self.n_rows:
            positions = np.sort(check_random_state(random_state).choice(self.n_rows, n, replace=False))
        else:
            positions = np.arange(self.n_rows)
        return positions, *(None if table is None else table[positions] for table in self._tables)

    def _block(self, number: int) -> list[Any]:
        return [None if table is None else table[self._blocks[number]] for table in self._tables]

    def _run(self, work: Callable[[Any], None]) -> None:
        n_threads = min(allowed_threads(), len(self._blocks))
        with single_threaded_blas:  # also on one thread: sums do not depend on how many there are
            run_threaded(lambda number, _: work(number), range(len(self._blocks)), lambda: None, n_threads)


def column_means(rows: Rows) -> Array:
    """Means of the columns of one table in double precision, over the entries that are not NaN; NaN where all are.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.hosts import ArrayRows, column_means
    >>> column_means(ArrayRows(np.array([[1.0, np.nan], [3.0, 5.0]])))
    array([2., 5.])
    """
    totals, counts = rows.reduce(_known_sums)
    return np.asarray(np.divide(totals, counts, out=np.full(len(totals), np.nan), where=counts > 0))


def largest_deviation(rows: Rows, centre: Array) -> float:
    """The largest absolute difference of an entry from the centre of its column, but for entries that are NaN."""
    return float(rows.reduce(_deviation, centre, add=np.fmax))


def _known_sums(X: Array) -> tuple[Any, Any]:
    missing = np.isnan(X)
    return np.sum(np.where(missing, 0.0, X), axis=0, dtype=np.float64), np.sum(~missing, axis=0)


def _deviation(X: Array, centre: Array) -> Any:
    return np.fmax.reduce(np.abs(X - centre), axis=None, initial=0.0)
