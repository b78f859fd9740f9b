"""The limit of the address space, as `ulimit -v` sets it: known before anything large is imported."""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

try:
    import resource
except ImportError:  # as on Windows, which has no such limits
    resource = None  # type: ignore[assignment]

# Bytes that the libraries take before any work, measured with one thread each; and where threads are worth saving.
_LEAST, _SCARCE = 1.5e9, 1.6e10
# Each thread takes a stack and buffers.
_THREADS = {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "2"}
# Of mallopt: how many heaps the threads share.
_M_ARENA_MAX, _ARENAS = -8, 2


def address_space_left() -> float:
    """Bytes that may still be taken; infinite without a limit."""
    if resource is None:
        return float("inf")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return float("inf")
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        used = 0
    return max(0.0, float(limit - used))


class SmallAddressSpace(MemoryError):
    """The limit is so low that libraries cannot be imported."""


def prepare_address_space() -> None:
    """Refuse to go on where libraries would abort or hang at their import; let them begin few threads at low limits."""
    left = address_space_left()
    if left < _LEAST:
        raise SmallAddressSpace(
            f"Mercer takes about {_LEAST / 1e6:.0f} MB of address space to begin, and {left / 1e6:.0f} MB can be had; "
            "raise the limit (ulimit -v)."
        )
    if left < _SCARCE:
        for name, number in _THREADS.items():
            os.environ.setdefault(name, number)
        with contextlib.suppress(AttributeError, OSError):  # other C libraries than that of GNU have none
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)
