"""A vectorised exponential: compiled to SIMD instructions, since it has no branch and calls no library.

Written by hand because no library gives it to Numba: ``math.exp`` in a compiled loop is a scalar call.
"""

import math

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

_LOG2_E = 1.0 / math.log(2.0)
# Adding 1.5 * 2^52 rounds a double to the nearest whole number and leaves it in the low bits of the mantissa.
_ROUND = 1.5 * 2.0**52
# ln 2 in two parts: k times the first is exact for |k| < 2^11.
_LN2_HIGH = float.fromhex("0x1.62e42fefa3800p-1")
_LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")
_SMALLEST = -708.0  # exp of less is below the smallest normal number and counts as zero
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (1.0 / math.factorial(i) for i in range(2, 14))


@intrinsic
def _bits_of(typing_context, number):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic
def _number_of(typing_context, bits):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@njit("void(float64[::1], float64)", nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
def exp_of_negative_in_place(x, factor):  # type: ignore[no-untyped-def]
    """Overwrite x by exp(-factor x), for factor x >= 0.

    With k the whole number nearest to y / ln 2 and r = y - k ln 2 (|r| < 0.35), exp(y) = 2^k exp(r): the Taylor
    polynomial of degree 13 gives exp(r) to 4e-18, and 2^k is written directly into the exponent of a double.
    """
    for i in range(x.size):
        y = -factor * x[i]
        bounded = _SMALLEST if y < _SMALLEST else y  # in this order NaN stays NaN
        shifted = bounded * _LOG2_E + _ROUND
        k = shifted - _ROUND
        r = bounded - k * _LN2_HIGH
        r = r - k * _LN2_LOW
        p = _C13 * r + _C12
        p = p * r + _C11
        p = p * r + _C10
        p = p * r + _C9
        p = p * r + _C8
        p = p * r + _C7
        p = p * r + _C6
        p = p * r + _C5
        p = p * r + _C4
        p = p * r + _C3
        p = p * r + _C2
        p = p * r + 1.0
        p = p * r + 1.0
        value = p * _number_of((_bits_of(shifted) + 1023) << 52)  # type: ignore[call-arg]
        x[i] = 0.0 if y < _SMALLEST else value


# The same in single precision, as a function that compiled loops inline: |r| < 0.35 and a polynomial of degree 7 give
# exp(r) to 3e-9, less than the rounding of a float32.
_LOG2_E_SINGLE = np.float32(_LOG2_E)
_ROUND_SINGLE = np.float32(1.5 * 2.0**23)
_LN2_HIGH_SINGLE = np.float32(float.fromhex("0x1.63p-1"))
_LN2_LOW_SINGLE = np.float32(math.log(2.0) - float.fromhex("0x1.63p-1"))
_SMALLEST_SINGLE = np.float32(-87.0)
_S2, _S3, _S4, _S5, _S6, _S7 = (np.float32(1.0 / math.factorial(i)) for i in range(2, 8))
_ONE = np.float32(1.0)
_BIAS = np.int32(127)
_MANTISSA = np.int32(23)


@intrinsic
def _bits_of_single(typing_context, number):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], context.get_value_type(types.int32))

    return types.int32(types.float32), generate


@intrinsic
def _single_of(typing_context, bits):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], context.get_value_type(types.float32))

    return types.float32(types.int32), generate


@njit("float32(float32)", nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
def exp_single(y):  # type: ignore[no-untyped-def]
    """exp(y) of a float32 y <= 0; what would be below the smallest normal number comes out as exp(-87) = 2e-38."""
    y = _SMALLEST_SINGLE if y < _SMALLEST_SINGLE else y
    shifted = y * _LOG2_E_SINGLE + _ROUND_SINGLE
    k = shifted - _ROUND_SINGLE
    r = y - k * _LN2_HIGH_SINGLE
    r = r - k * _LN2_LOW_SINGLE
    p = _S7 * r + _S6
    p = p * r + _S5
    p = p * r + _S4
    p = p * r + _S3
    p = p * r + _S2
    p = p * r + _ONE
    p = p * r + _ONE
    return p * _single_of((_bits_of_single(shifted) + _BIAS) << _MANTISSA)  # type: ignore[call-arg]
