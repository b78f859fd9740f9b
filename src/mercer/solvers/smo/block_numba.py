"""Sequential minimal optimisation of one block: two variables at a time, chosen by second-order information.

Written by hand: each step needs two sweeps over the block that must stay in registers and in the cache.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import float32, float64, int64, njit, types
from numba.extending import intrinsic

from mercer.compiled_numba import FAST_WITHOUT_NAN, IS_COMPILED, PLAIN, compiled

# Long enough that the ends of the vectorised sweeps cost little, short enough to look for one variable in it.
_CHUNK = 256
_LEAST_CURVATURE = 1e-12


def _vectorised(name: str) -> Any:
    """LLVM's minimum or maximum, which becomes one instruction in a loop; Python's stays a branch."""
    if not IS_COMPILED:
        return {"minnum": min, "maxnum": max}[name]

    @intrinsic
    def function(typing_context, a, b):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            kind = arguments[0].type
            declared = builder.module.declare_intrinsic(f"llvm.{name}", [kind], ir.FunctionType(kind, [kind, kind]))
            return builder.call(declared, arguments, fastmath=("nnan", "nsz"))

        return a(a, a), generate

    return function


_minimum = _vectorised("minnum")
_maximum = _vectorised("maxnum")


@njit(**PLAIN)
def _price(box, k, b, rising):  # type: ignore[no-untyped-def]
    """Slope and curvature of the price of variable k at b, on the side to which it moves."""
    if b > 0 or (rising and b == 0):
        return box[2, k] + box[4, k] * b, box[4, k]
    return -box[3, k] + box[5, k] * b, box[5, k]


@njit(**PLAIN)
def _slopes(box, k, b):  # type: ignore[no-untyped-def]
    """Slopes of the price of variable k right and left of b, infinite at bounds; curvature to the left."""
    right, left = _price(box, k, b, True)[0], _price(box, k, b, False)
    return right if b < box[1, k] else np.inf, left[0] if b > box[0, k] else -np.inf, left[1]


@njit(**PLAIN)
def _set_slopes(right, left, box, k, b):  # type: ignore[no-untyped-def]
    """Store the slopes of variable k, for its sign if there are two rows; the curvature to the left."""
    rises, falls, curve = _slopes(box, k, b)
    last = right.shape[0] - 1
    right[:, k], left[:, k] = np.inf, -np.inf
    right[0 if b >= 0 else last, k], left[0 if b > 0 else last, k] = rises, falls
    return curve


@njit(**PLAIN)
def _reach(box, k, b, step, rising):  # type: ignore[no-untyped-def]
    """Length of the step from b at which the price of variable k changes its form next: a bound, or zero."""
    if rising:
        return -b if b + step < 0 else box[1, k] - b
    return b if b - step > 0 else b - box[0, k]


@njit(**PLAIN)
def _line_search(g_i, g_j, B, box, i, j, rising, curvature, by_sign):  # type: ignore[no-untyped-def]
    """Step of variable i, and of j the other way (unless j < 0), to the exact minimum: piecewise quadratic.

    If `by_sign`, no variable passes zero.
    """
    step = 0.0
    for _ in range(4):  # each variable may pass zero once
        sign = 1.0 if rising else -1.0
        slope, bend = _price(box, i, B[i] + sign * step, rising)
        slope, bend = sign * (g_i + slope) + curvature * step, curvature + bend
        reach, bound = _reach(box, i, B[i], step, rising), (box[1, i] - B[i]) if rising else (B[i] - box[0, i])
        if j >= 0:
            other, more = _price(box, j, B[j] - step, False)
            slope, bend = slope - g_j - other, bend + more
            reach, bound = min(reach, _reach(box, j, B[j], step, False)), min(bound, B[j] - box[0, j])
        if slope >= 0:
            break
        wanted = step - slope / max(bend, _LEAST_CURVATURE)
        step = min(wanted, reach)
        if wanted <= reach or step >= bound or by_sign:
            break
    return step


@njit(**PLAIN)
def _landed(b, step, low, high):  # type: ignore[no-untyped-def]
    """B + step, exactly at zero or at a bound if it is there but for rounding."""
    reached = b + step
    near = 4e-16 * (abs(b) + abs(step))
    if abs(reached) <= near:
        return 0.0
    if reached >= high - near:
        return high
    return low if reached <= low + near else reached


@njit(**PLAIN)
def _extreme(g, slopes, chunk, extreme, rising):  # type: ignore[no-untyped-def]
    """The variable of a chunk that wants most to rise (or to fall): the last with the value that was found, if any."""
    start, stop = chunk * _CHUNK, min(g.size, chunk * _CHUNK + _CHUNK)
    gs, ss = g[start:stop], slopes[start:stop]
    found = np.int32(-1)
    for k in range(np.int32(stop - start)):  # no early end, and small integers: it becomes a vectorised sweep
        found = max(found, np.int32(k) if gs[k] + ss[k] == extreme else np.int32(-1))
    if found >= 0:
        return start + found
    best = start
    for k in range(start, stop):
        value, record = g[k] + slopes[k], g[best] + slopes[best]
        if value < record if rising else value > record:
            best = k
    return best


def _descend_of(t: Any) -> Any:
    result = types.Tuple((int64, float64))  # type: ignore[no-untyped-call]
    return result(t[:, ::1], int64, t[::1], float64[::1], float64[:, ::1], int64, float64, int64)


# Infinite slopes mean "may not move", so that infinities must be kept; there are no NaN.
@compiled(*[_descend_of(t) for t in (float32, float64)], **FAST_WITHOUT_NAN)
def descend(K, first, g, B, box, n_sums, target, max_steps):  # type: ignore[no-untyped-def]
    """Minimise 1/2 BᵀKB - yᵀB + Σ price_i(B_i) over one block, in place; g = KB - y is kept up to date.

    Row and column `first` of K are those of the first variable: it may be the matrix of more than this block.
    The rows of `box` are low, high, up, down, curve_up, curve_down of each variable. With `n_sums` = 1, ΣB is constant;
    with 2, so are Σ max(B, 0) and Σ min(B, 0): then pairs are chosen among the variables of one sign, and among those
    at zero, which may move to either side. Stops when the largest violation of the optimality conditions is at most
    `target`. Returns the number of steps and the violation. In single precision sweeps are twice as fast; steps are
    made in double precision.
    """
    n = g.size
    low, high = box[0], box[1]
    paired, n_groups = n_sums > 0, max(n_sums, 1)
    bend_left, gains, diagonal = np.empty_like(g), np.empty_like(g), np.empty_like(g)
    right, left = np.empty((n_groups, n), g.dtype), np.empty((n_groups, n), g.dtype)
    largest = 0.0
    for k in range(n):
        curve = _set_slopes(right, left, box, k, B[k])
        diagonal[k] = K[first + k, first + k]
        bend_left[k] = diagonal[k] + curve
        largest = max(largest, diagonal[k])
    # Numbers in the precision of g: a literal would turn every sweep into double precision.
    # Curvatures below the rounding of K are noise: a pair of equal rows must not win by it.
    least = _LEAST_CURVATURE + 8.0 * np.finfo(g.dtype).eps * largest
    number = np.array([0.0, np.inf, least, 2.0]).astype(g.dtype)
    zero, infinite, least_curvature, two = number[0], number[1], number[2], number[3]
    steps = np.zeros(2, g.dtype)
    slopes_of_i = np.zeros(2, g.dtype)
    n_chunks = (n + _CHUNK - 1) // _CHUNK
    lowest, highest = np.empty(n_groups, g.dtype), np.empty(n_groups, g.dtype)
    chunk_low, chunk_high = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
    columns = slice(first, first + n)
    row_i, row_j = K[first, columns], K[first, columns]
    n_steps = 0
    while True:
        # The gradient after the last step, and the two variables that want most to rise and to fall.
        lowest[:], highest[:] = infinite, -infinite
        for chunk in range(n_chunks):
            start, stop = chunk * _CHUNK, min(n, chunk * _CHUNK + _CHUNK)
            gs, xs, zs = g[start:stop], row_i[start:stop], row_j[start:stop]
            step_i, step_j = steps[0], steps[1]
            for group in range(n_groups):
                rs, ls = right[group, start:stop], left[group, start:stop]
                least, most = infinite, -infinite
                for k in range(stop - start):
                    value = gs[k] + step_i * xs[k] + step_j * zs[k]
                    gs[k] = value
                    least = _minimum(least, value + rs[k])
                    most = _maximum(most, value + ls[k])
                if least < lowest[group]:
                    lowest[group], chunk_low[group] = least, chunk
                if most > highest[group]:
                    highest[group], chunk_high[group] = most, chunk
                step_i, step_j = zero, zero
        group = 1 if n_groups == 2 and highest[1] - lowest[1] > highest[0] - lowest[0] else 0
        least, most = lowest[group], highest[group]
        violation = most - least if paired else max(most, -least)
        if violation <= target or violation <= 0.0 or n_steps >= max_steps:
            return n_steps, violation
        n_steps += 1
        rising = paired or -least >= most
        rights, lefts = right[group], left[group]
        if rising:
            i = _extreme(g, rights, chunk_low[group], least, True)
        else:
            i = _extreme(g, lefts, chunk_high[group], most, False)
        row_i = K[first + i, columns]
        j = -1
        if paired:
            slopes_of_i[0] = g[i] + rights[i]
            slopes_of_i[1] = diagonal[i] + _price(box, i, B[i], True)[1]
            slope_i, curve_i = slopes_of_i[0], slopes_of_i[1]
            left_i, lefts[i] = lefts[i], -infinite  # it is not its own partner
            best, chunk_best = zero, 0
            for chunk in range(n_chunks):
                start, stop = chunk * _CHUNK, min(n, chunk * _CHUNK + _CHUNK)
                gs, ls, xs, bs = g[start:stop], lefts[start:stop], row_i[start:stop], bend_left[start:stop]
                gains_here, most = gains[start:stop], zero
                for k in range(stop - start):
                    descent = _maximum(gs[k] + ls[k] - slope_i, zero)
                    curvature = _maximum(curve_i + bs[k] - two * xs[k], least_curvature)
                    gain = descent * descent / curvature
                    gains_here[k] = gain
                    most = _maximum(most, gain)
                if most > best:
                    best, chunk_best = most, chunk
            lefts[i] = left_i
            start, stop = chunk_best * _CHUNK, min(n, chunk_best * _CHUNK + _CHUNK)
            gains_here, found = gains[start:stop], np.int32(-1)
            for k in range(np.int32(stop - start)):
                found = max(found, np.int32(k) if gains_here[k] == best else np.int32(-1))
            if best > zero and found >= 0:
                j = start + int(found)
            if j < 0:  # nothing but rounding
                j = _extreme(g, lefts, chunk_high[group], highest[group], False)
            row_j = K[first + j, columns]
        bend = diagonal[i] + (diagonal[j] - two * row_i[j] if paired else zero)
        step = _line_search(g[i], g[j], B, box, i, j, rising, bend, n_sums == 2)
        steps[0], steps[1] = step if rising else -step, -step if paired else 0.0
        for k, moved in ((i, step if rising else -step), (j, -step)):
            if k >= 0:
                B[k] = _landed(B[k], moved, low[k], high[k])
                curve = _set_slopes(right, left, box, k, B[k])
                bend_left[k] = diagonal[k] + curve
