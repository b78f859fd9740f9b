"""Memory that work will take, against what there is."""

from __future__ import annotations

import os
from pathlib import Path

from mercer.address_space import address_space_left
from mercer.tables.errors import MemoryRefusal

# Fraction of the available memory that may be used, since other programs run too.
_SHARE = 0.8
# Files in which Linux states the limits of a container.
_CONTAINER = Path("/sys/fs/cgroup")


def available_memory() -> float:
    """Bytes that can be used without swapping, within the limits of container and process; inf if there is none."""
    return min(_of_machine(), _of_container(), address_space_left())


def _of_container() -> float:
    try:
        limit, used = (float((_CONTAINER / f"memory.{name}").read_text()) for name in ("max", "current"))
    except (OSError, ValueError):  # none, or its limit is "max"
        return float("inf")
    return max(0.0, limit - used)


def _of_machine() -> float:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * float(line.split()[1])
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def memory_to_use() -> float:
    """Bytes that one command may take."""
    return _SHARE * available_memory()


def refuse_if_too_large(n_bytes: float, work: str, advice: str = "give fewer rows or columns") -> None:
    """Refuse work that would not fit, before it begins."""
    there_is = memory_to_use()
    if n_bytes > there_is:
        raise MemoryRefusal(
            f"{work[0].upper()}{work[1:]} would take about {in_words(n_bytes)} of memory, and {in_words(there_is)} "
            f"can be had; {advice}."
        )


def in_words(n_bytes: float) -> str:
    """A number of bytes for people.

    Examples
    --------
    >>> from mercer.tables.memory import in_words
    >>> in_words(3_500_000)
    '3.5 MB'
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"
