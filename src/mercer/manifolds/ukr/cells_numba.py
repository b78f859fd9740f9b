"""Compiled loops over the points within reach of others, which are found by cells.

Points are padded with zeros to an even number of coordinates, two of which are taken at once. Here is what every map
needs; the passes over them, which take long to compile, are in `quartic_numba` and `cell_pass_numba`.
"""

from numba import float64, int32, int64, njit, void

from mercer.compiled_numba import FAST, compiled, read_only

VECTOR, MATRIX = float64[::1], float64[:, ::1]
# What is only read may be of a model that was loaded from a file, and read-only.
READ_VECTOR, READ_MATRIX = (read_only(float64, n_dims) for n_dims in (1, 2))
READ_COUNTS, READ_CELLS = (read_only(int64, n_dims) for n_dims in (1, 2))
READ_LISTS = read_only(int32, 1)


@njit(inline="always", **FAST)
def squared_distance(U, r, V, s):  # type: ignore[no-untyped-def]
    """||u_r - v_s||², of points with an even number of coordinates."""
    total = 0.0
    for k in range(0, U.shape[1], 2):
        d0, d1 = U[r, k] - V[s, k], U[r, k + 1] - V[s, k + 1]
        total += d0 * d0 + d1 * d1
    return total


@compiled(
    int64(READ_MATRIX, READ_MATRIX, READ_CELLS, READ_COUNTS, READ_COUNTS, READ_COUNTS, float64, int64[::1], int32[::1]),
    **FAST,
)
def find_neighbours(U, V, cells, sides, starts, itself, reach, counts, found):  # type: ignore[no-untyped-def]
    """Write the positions in U, increasing, of the points within reach of each point of V, one list after the other.

    Returns the length of all lists, and writes that of each to `counts`; or, if `found` has no room, returns how much
    room suffices. Points U are sorted by cell: those of (c0, c1, c2) are starts[c] to starts[c + 1], with c = (c0
    sides[1] + c1) sides[2] + c2. Cells of V may lie outside. Points of V that are points of U, at positions `itself`,
    are not neighbours of themselves.
    """
    measuring = len(found) == 0
    place = 0
    for i in range(len(V)):
        before = place
        last_low, last_high = max(cells[i, 2] - 1, 0), min(cells[i, 2] + 1, sides[2] - 1)
        for c0 in range(max(cells[i, 0] - 1, 0), min(cells[i, 0] + 2, sides[0])):
            for c1 in range(max(cells[i, 1] - 1, 0), min(cells[i, 1] + 2, sides[1])):
                if last_low > last_high:
                    continue
                row = (c0 * sides[1] + c1) * sides[2]
                low, high = starts[row + last_low], starts[row + last_high + 1]
                if measuring:
                    place += high - low + 1
                    continue
                for j in range(low, high):
                    # Written before it is known whether it stays: no branch that cannot be foreseen.
                    found[place] = j
                    place += (squared_distance(U, j, V, i) < reach) & (j != itself[i])
        counts[i] = place - before
    return place


@compiled(void(READ_MATRIX, READ_MATRIX, READ_CELLS, READ_COUNTS, READ_COUNTS, VECTOR), **FAST)
def sum_values(U, V, cells, sides, starts, sums):  # type: ignore[no-untyped-def]
    """Write Σ_j (1 - ||u_j - v_i||²)² over the points of U nearer than 1, in cells as above, for each point of V."""
    for i in range(len(V)):
        last_low, last_high = max(cells[i, 2] - 1, 0), min(cells[i, 2] + 1, sides[2] - 1)
        total = 0.0
        for c0 in range(max(cells[i, 0] - 1, 0), min(cells[i, 0] + 2, sides[0])):
            for c1 in range(max(cells[i, 1] - 1, 0), min(cells[i, 1] + 2, sides[1])):
                if last_low > last_high:
                    continue
                row = (c0 * sides[1] + c1) * sides[2]
                for j in range(starts[row + last_low], starts[row + last_high + 1]):
                    total += max(1.0 - squared_distance(U, j, V, i), 0.0) ** 2
        sums[i] = total
