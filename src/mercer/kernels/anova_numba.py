"""Tiles of the kernel `Anova`.

Written by hand: one exponential for each pair of rows and each column, which NumPy would write to memory and read
again. The inner loops run along the rows of the longer side, which are given as columns.
"""

import math
from typing import Any

from numba import float64, void

from mercer.compiled_numba import PLAIN, compiled, read_only
from mercer.kernels.exponential_numba import power_of_two

_LOG2_E = 1.0 / math.log(2.0)
_COMPILE: Any = {**PLAIN, "fastmath": {"contract", "nsz"}}
_ROWS, _NUMBERS = read_only(float64, 2), read_only(float64, 1)


@compiled(void(read_only(float64, 2, "A"), _ROWS, _NUMBERS, _NUMBERS, _NUMBERS, float64, float64[:, ::1]), **_COMPILE)
def fill(X, columns, constant, slope, start, linear, out):  # type: ignore[no-untyped-def]
    """Write the values for rows X against the rows whose columns are given: see `anova.recursion`.

    The factor of each column is (1 + linear s) exp(-s), where s is the distance.
    """
    for i in range(len(X)):
        values = out[i]
        for k in range(len(values)):
            values[k] = 0.0
        for j in range(len(columns)):
            own, column, b, s, a = X[i, j], columns[j], constant[j], slope[j], start[j]
            for k in range(len(values)):
                t = abs(own - column[k])
                m = (1.0 + linear * t) * power_of_two(-_LOG2_E * t)
                values[k] = values[k] * (b + s * m) + a * m
