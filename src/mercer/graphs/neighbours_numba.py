"""Compiled parts of the search for neighbours: the smallest values of tiles, and distances to what was found."""

import numpy as np
from numba import float32, float64, int64, njit, void

from mercer.compiled_numba import PLAIN, compiled, read_only

# Values of a row that are examined together: a power of two, since the compiler wants them one by one.
TOGETHER = 8
_ROWS = read_only(float64, 2)


@njit(inline="always", **PLAIN)
def _lower(a, b):  # type: ignore[no-untyped-def]
    return a if a < b else b


@compiled(void(read_only(float32, 2), int64, float32[:, ::1], int64[:, ::1]), **PLAIN)
def keep_smallest(tile, start, values, indices):  # type: ignore[no-untyped-def]
    """Insert the values of each row of a tile, whose first column is number `start`, into the smallest ones so far.

    The number of columns is a multiple of TOGETHER. Few values are among the smallest: most are passed over eight at a
    time, by their least one.
    """
    n_rows, n_columns = tile.shape
    n_kept, w = values.shape[1], n_columns // TOGETHER
    least = np.empty(w, dtype=np.float32)
    for i in range(n_rows):
        row, kept, at = tile[i], values[i], indices[i]
        a, b, c, d = row[:w], row[w : 2 * w], row[2 * w : 3 * w], row[3 * w : 4 * w]
        e, f, g, h = row[4 * w : 5 * w], row[5 * w : 6 * w], row[6 * w : 7 * w], row[7 * w :]
        for j in range(w):
            first = _lower(_lower(a[j], b[j]), _lower(c[j], d[j]))
            least[j] = _lower(first, _lower(_lower(e[j], f[j]), _lower(g[j], h[j])))
        for j in range(w):
            if least[j] < kept[n_kept - 1]:
                for column in range(j, n_columns, w):
                    value = row[column]
                    if value < kept[n_kept - 1]:
                        place = n_kept - 1
                        while place > 0 and kept[place - 1] > value:
                            kept[place], at[place] = kept[place - 1], at[place - 1]
                            place -= 1
                        kept[place], at[place] = value, start + column


@compiled(void(_ROWS, _ROWS, int64[:, ::1], float64[:, ::1]), **PLAIN)
def sort_by_distance(X, Y, indices, distances):  # type: ignore[no-untyped-def]
    """Fill in the distances of each row of X to the rows of Y that its indices name, and sort both by them.

    By differences: exact where products of rows would leave nothing but rounding.
    """
    for i in range(len(X)):
        for found in range(indices.shape[1]):
            at, square = indices[i, found], 0.0
            for column in range(X.shape[1]):
                square += (X[i, column] - Y[at, column]) ** 2
            distance, place = np.sqrt(square), found
            while place > 0 and distances[i, place - 1] > distance:
                distances[i, place], indices[i, place] = distances[i, place - 1], indices[i, place - 1]
                place -= 1
            distances[i, place], indices[i, place] = distance, at
