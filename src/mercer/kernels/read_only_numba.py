"""The type of arrays that a compiled function only reads."""

from typing import Any, Literal

from numba import types


def read_only(kind: Any, n_dims: int, layout: Literal["C", "A"] = "C") -> Any:
    """Arrays of this kind of number that are not written to.

    Signatures with ``float64[::1]`` refuse arrays that must not be changed, like those of a memory-mapped file. This
    type takes both sorts.
    """
    return types.Array(kind, n_dims, layout, readonly=True)
