"""Compiled selection of the k-th smallest value.

Written by hand: `numpy.partition` takes Numba five seconds to compile, most of it for checks and their messages.
"""

from numba import njit

from mercer.compiled_numba import FAST


@njit(**FAST)
def kth_smallest(values, n, k, room):  # type: ignore[no-untyped-def]
    """The value that is number k, from 0, of the first n in order; `room` is overwritten.

    Hoare's algorithm: values are exchanged until those before k are not larger, and those after it not smaller.
    """
    for i in range(n):
        room[i] = values[i]
    low, high = 0, n - 1
    while low < high:
        pivot = room[k]
        i, j = low, high
        while i <= j:
            while room[i] < pivot:
                i += 1
            while pivot < room[j]:
                j -= 1
            if i <= j:
                room[i], room[j] = room[j], room[i]
                i += 1
                j -= 1
        if j < k:
            low = i
        if k < i:
            high = j
    return room[k]
