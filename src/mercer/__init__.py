"""Mercer: learning with kernels.

Sub-packages are imported when they are first used, so that ``import mercer`` costs next to nothing.
"""

from importlib import import_module
from types import ModuleType

__version__ = "0.1.0"

_SUBPACKAGES = ("datasets", "kernels", "losses")

__all__ = ["__version__", *_SUBPACKAGES]


def __getattr__(name: str) -> ModuleType:
    if name in _SUBPACKAGES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
