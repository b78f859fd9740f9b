"""A vectorised exponential: compiled to SIMD instructions, since it has no branch and calls no library.

Written by hand because no library gives it to Numba: ``math.exp`` in a compiled loop is a scalar call.
"""

import math
from typing import Any

import numpy as np
from numba import float32, float64, int32, int64, void
from numba.extending import intrinsic, overload
from numba.np.numpy_support import as_dtype

from mercer.compiled_numba import IS_COMPILED, PLAIN, compiled

_CONTRACTED: Any = {**PLAIN, "fastmath": {"contract"}}
_LOG2_E = 1.0 / math.log(2.0)
# Adding 1.5 * 2^52 rounds a double to the nearest whole number and leaves it in the low bits of the mantissa.
_ROUND = 1.5 * 2.0**52
# ln 2 in two parts: k times the first is exact for |k| < 2^11.
_LN2_HIGH = float.fromhex("0x1.62e42fefa3800p-1")
_LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")
_SMALLEST = -708.0  # exp of less is below the smallest normal number and counts as zero
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (1.0 / math.factorial(i) for i in range(2, 14))


def _reinterpreted(of: Any, to: Any) -> Any:
    """The function that takes the bits of a number for a number of another type: no instruction at all."""
    if not IS_COMPILED:
        return lambda number: np.array(number, as_dtype(of)).view(as_dtype(to))[()]

    @intrinsic
    def function(typing_context, number):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.bitcast(arguments[0], context.get_value_type(to))

        return to(of), generate

    return function


_bits_of, _number_of = _reinterpreted(float64, int64), _reinterpreted(int64, float64)
_bits_of_single, _single_of = _reinterpreted(float32, int32), _reinterpreted(int32, float32)


@compiled(void(float64[::1], float64), **_CONTRACTED)
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
        value = p * _number_of((_bits_of(shifted) + 1023) << 52)
        x[i] = 0.0 if y < _SMALLEST else value


# Powers of two, for compiled loops to inline. The polynomials 1 + c1 f + c2 f² + ... equal 2^f at the Chebyshev nodes
# of |f| <= 1/2: off by 2e-17 in double and by 5e-9 in single precision, and exact at zero.
_D1, _D2, _D3, _D4, _D5, _D6, _D7, _D8, _D9, _D10, _D11 = (
    0.6931471805599453,
    0.24022650695910097,
    0.0555041086648216,
    0.009618129107606888,
    0.0013333558146416936,
    0.0001540353044173605,
    1.525273382983612e-05,
    1.321544258792169e-06,
    1.0178062445845774e-07,
    7.072585949269223e-09,
    4.4549605981865186e-10,
)
_S1, _S2, _S3, _S4, _S5, _S6 = (
    np.float32(0.6931471880262288),
    np.float32(0.24022650760568126),
    np.float32(0.05550357114219078),
    np.float32(0.009618082557277852),
    np.float32(0.0013390863364671234),
    np.float32(0.0001545316294512069),
)
# 2^-1023 is where the biased exponent becomes zero: all that is smaller comes out as exactly zero.
_ZERO_POWER, _ZERO_POWER_SINGLE = -1023.0, np.float32(-127.0)
_ONE_SINGLE = np.float32(1.0)
_ROUND_SINGLE = np.float32(1.5 * 2.0**23)
_MANTISSA_SINGLE = np.int32(23)


def power_of_two(t: Any) -> Any:
    """2^t of a number t <= 0 inside compiled code, in its own precision.

    With k the whole number nearest to t, 2^t = 2^k 2^(t - k): t - k is exact, and k is added to the exponent of the
    other factor.
    """
    if IS_COMPILED:
        raise NotImplementedError("power_of_two exists only inside compiled functions.")
    return _in_single(t) if isinstance(t, np.float32) else _in_double(t)


@overload(power_of_two, jit_options=_CONTRACTED)
def _power_of_two(t: Any) -> Any:
    return _in_single if t == float32 else _in_double


def _in_double(t: Any) -> Any:
    t = max(t, _ZERO_POWER)
    shifted = t + _ROUND
    f = t - (shifted - _ROUND)
    p = _D11 * f + _D10
    p = p * f + _D9
    p = p * f + _D8
    p = p * f + _D7
    p = p * f + _D6
    p = p * f + _D5
    p = p * f + _D4
    p = p * f + _D3
    p = p * f + _D2
    p = p * f + _D1
    p = p * f + 1.0
    return _number_of(_bits_of(p) + (_bits_of(shifted) << 52))


def _in_single(t: Any) -> Any:
    t = max(t, _ZERO_POWER_SINGLE)
    shifted = t + _ROUND_SINGLE
    f = t - (shifted - _ROUND_SINGLE)
    p = _S6 * f + _S5
    p = p * f + _S4
    p = p * f + _S3
    p = p * f + _S2
    p = p * f + _S1
    p = p * f + _ONE_SINGLE
    return _single_of(_bits_of_single(p) + (_bits_of_single(shifted) << _MANTISSA_SINGLE))
