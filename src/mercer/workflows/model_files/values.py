"""What attributes of objects from a model file must be: the words by which `model_checks` describes a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.workflows.model_files.archives import Refused

# Largest number in a model: its square, and squares of products, must not overflow.
_LARGEST, _SMALLEST = 1e30, 1e-30


def attribute(owner: Any, name: str) -> Any:
    """An attribute that must have been stored."""
    if name not in vars(owner):
        raise Refused(f"its {type(owner).__name__} has no {name}")
    return vars(owner)[name]


def part(owner: Any, name: str, *kinds: type) -> Any:
    """An attribute that is an object of one of some types, and of no other."""
    value = attribute(owner, name)
    if type(value) not in kinds:
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise Refused(f"{name} of its {type(owner).__name__} must be {expected}, and is {type(value).__name__}")
    return value


def equal(owner: Any, name: str, *allowed: Any) -> Any:
    """An attribute that has one of some values."""
    value = attribute(owner, name)
    if not any(type(value) is type(other) and value == other for other in allowed):
        raise Refused(f"{name} of its {type(owner).__name__} must be {_listed(allowed)}, and is {_short(value)}")
    return value


def floats(owner: Any, name: str, *shape: int | None, missing: bool = False) -> Array:
    """An array of numbers that have squares; None stands for any length, and `missing` allows NaN."""
    array = _array(owner, name, shape, "f")
    known = array[~np.isnan(array)] if missing else array
    if not (np.abs(known) <= _LARGEST).all():
        raise Refused(f"{name} of its {type(owner).__name__} holds numbers that are none, or beyond {_LARGEST:g}")
    return array


def positions(owner: Any, name: str, *shape: int | None, least: int = 0, below: int) -> Array:
    """An array of whole numbers in a range."""
    array = _array(owner, name, shape, "iu")
    if array.size and not (array.min() >= least and array.max() < below):
        raise Refused(f"{name} of its {type(owner).__name__} holds positions outside of {least} to {below - 1}")
    return array


def truths(owner: Any, name: str, *shape: int | None) -> Array:
    """An array of truth values."""
    return _array(owner, name, shape, "b")


def texts(owner: Any, name: str, *shape: int | None) -> Array:
    """An array of texts."""
    return _array(owner, name, shape, "U")


def _array(owner: Any, name: str, shape: Sequence[int | None], kinds: str) -> Array:
    array = attribute(owner, name)
    if type(array) is not np.ndarray or array.dtype.kind not in kinds:
        found = f"an array of {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        raise Refused(f"{name} of its {type(owner).__name__} is {found}")
    if array.ndim != len(shape) or any(
        wanted not in (None, there) for wanted, there in zip(shape, array.shape, strict=True)
    ):
        wanted_shape = ", ".join("any" if length is None else str(length) for length in shape)
        raise Refused(f"{name} of its {type(owner).__name__} must have the shape ({wanted_shape}), not {array.shape}")
    return array


def is_number(value: Any) -> bool:
    """Whether a value is a number that has a square."""
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(abs(value) <= _LARGEST)


def number(owner: Any, name: str, *, positive: bool = False) -> float:
    """An attribute that is a number, above 0 if it must be positive."""
    value = attribute(owner, name)
    if not is_number(value) or (positive and not value >= _SMALLEST):
        what = "positive number" if positive else "number"
        raise Refused(f"{name} of its {type(owner).__name__} must be a {what}, and is {_short(value)}")
    return float(value)


def whole(owner: Any, name: str, least: int, most: int) -> int:
    """An attribute that is a whole number in a range."""
    value = attribute(owner, name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Refused(
            f"{name} of its {type(owner).__name__} must be a whole number from {least} to {most}, and is "
            f"{_short(value)}"
        )
    return value


def _listed(values: Sequence[Any]) -> str:
    return " or ".join(repr(value) for value in values)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
