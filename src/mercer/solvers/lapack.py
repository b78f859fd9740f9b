"""Calls of BLAS and LAPACK that can be made at the same time, on several threads, and an eigenproblem by them.

SciPy's functions hold the interpreter's lock while they work. These are calls of the same libraries, which SciPy
exports for compiled code, without it.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cython_blas, cython_lapack

from mercer.arrays import Array

_PANEL = 64


class TridiagonalForm:
    """K = Q T Qᵀ with a tridiagonal T and an orthogonal Q that is kept as reflections.

    Its eigenvectors are Q times those of T: who needs few of them saves the costliest third of an eigendecomposition.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric and in double precision; it may be overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.lapack import TridiagonalForm
    >>> form = TridiagonalForm(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]))
    >>> values, S = form.eigenpairs()
    >>> values.round(3)
    array([0.586, 2.   , 3.414])
    >>> np.abs(form.turned(S)[:, 1]).round(3)
    array([0.707, 0.   , 0.707])
    """

    def __init__(self, K: Array):
        n = len(K)
        A = np.require(K.T, requirements=["F", "W"])
        self.diagonal, self.subdiagonal = np.empty(n), np.empty(max(n - 1, 0))
        self._scales = np.empty(max(n - 1, 0))
        size = n * _PANEL
        call_lapack("dsytrd", b"L", n, A, n, self.diagonal, self.subdiagonal, self._scales, np.empty(size), size)
        self._reflections = np.asfortranarray(A[1:, : n - 1])

    def eigenpairs(self) -> tuple[Array, Array]:
        """Eigenvalues, ascending, and eigenvectors of T."""
        n = len(self.diagonal)
        values, S = self.diagonal.copy(), np.empty((n, n), order="F")
        sizes = 1 + 4 * n + n * n, 3 + 5 * n
        work, whole = np.empty(sizes[0]), np.empty(sizes[1], dtype=np.intc)
        call_lapack("dstevd", b"V", n, values, self.subdiagonal.copy(), S, n, work, sizes[0], whole, sizes[1])
        return values, S

    def turned(self, X: Array, *, back: bool = False) -> Array:
        """Q X, or Qᵀ X."""
        turned = np.array(X, dtype=np.float64, order="F")
        n, k = turned.shape
        if n > 1 and k:
            rest = np.asfortranarray(turned[1:])  # the first row stays
            size = k * _PANEL
            call_lapack(
                "dormqr", b"L", b"T" if back else b"N", n - 1, k, n - 1, self._reflections, n - 1, self._scales, rest,
                n - 1, np.empty(size), size,
            )  # fmt: skip
            turned[1:] = rest
        return turned


def call_blas(name: str, *arguments: bytes | int | Array) -> None:
    """Call a function of BLAS or LAPACK: letters and whole numbers as they are, all else as arrays, in Fortran's order.

    A part of a matrix is given as a view, whose first entry counts, with the leading dimension of the whole.
    """
    kept = [_boxed(argument) for argument in arguments]  # alive until the call is over
    pointers = [a.ctypes.data if isinstance(a, np.ndarray) else ctypes.addressof(a) for a in kept]
    _function(name, len(pointers))(*pointers)


def call_lapack(name: str, *arguments: bytes | int | Array) -> None:
    """Call a function of LAPACK, whose last argument, to be left out here, tells how it went."""
    info = np.zeros(1, dtype=np.intc)
    call_blas(name, *arguments, info)
    if info[0]:
        raise LinAlgError(f"{name} of LAPACK failed with code {info[0]}.")


def _boxed(argument: bytes | int | Array) -> Any:
    if isinstance(argument, np.ndarray):
        return argument
    return ctypes.c_char(argument) if isinstance(argument, bytes) else ctypes.c_int(argument)


@cache
def _function(name: str, n_arguments: int) -> Any:
    exported = cython_lapack if name in cython_lapack.__pyx_capi__ else cython_blas
    capsule = exported.__pyx_capi__[name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)
    return signature(pointer_of(capsule, name_of(capsule)))
