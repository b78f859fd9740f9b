"""Monotone functions of a target, after which its errors may be alike everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from mercer.arrays import Array

# Exponentials of larger numbers have no squares.
_LARGEST_LOG = 320.0


class _Functions(NamedTuple):
    """A function of u = y / unit, its inverse, and the logarithm of its slope."""

    forward: Callable[[Array], Array]
    inverse: Callable[[Array], Array]
    log_slope: Callable[[Array], Array]


def _exp(values: Array) -> Array:
    return np.asarray(np.exp(np.minimum(values, _LARGEST_LOG)))


# The signed ones are those of Yeo and Johnson for positive numbers, with powers 0 and 1/2, mirrored at 0.
_FUNCTIONS = {
    "none": _Functions(lambda u: u, lambda g: g, np.zeros_like),
    "log": _Functions(np.log, _exp, lambda u: -np.log(u)),
    "signed log": _Functions(
        lambda u: np.sign(u) * np.log1p(np.abs(u)),
        lambda g: np.sign(g) * (_exp(np.abs(g)) - 1.0),
        lambda u: -np.log1p(np.abs(u)),
    ),
    "signed root": _Functions(
        lambda u: np.sign(u) * 2.0 * (np.sqrt(1.0 + np.abs(u)) - 1.0),
        lambda g: np.sign(g) * ((1.0 + np.abs(g) / 2.0) ** 2 - 1.0),
        lambda u: -0.5 * np.log1p(np.abs(u)),
    ),
}
KINDS = tuple(_FUNCTIONS)


@dataclass(frozen=True)
class Transform:
    """A monotone function of y / unit: itself, its logarithm, or a logarithm or a root that grow to both sides of 0.

    Attributes
    ----------
    kind : {"none", "log", "signed log", "signed root"}
        u, log u, ± log(1 + |u|), or ± 2 (√(1 + |u|) - 1), where u = y / unit.
    unit : float
        The size of numbers below which the signed ones are nearly straight.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.tables.transforms import Transform
    >>> root = Transform("signed root", 2.0)
    >>> root.forward(np.array([-6.0, 0.0, 16.0])), root.inverse(np.array([-2.0, 0.0, 4.0]))
    (array([-2.,  0.,  4.]), array([-6.,  0., 16.]))
    """

    kind: str = "none"
    unit: float = 1.0

    @classmethod
    def candidates(cls, y: Array) -> list[Self]:
        """Those that numbers y can have: logarithms need positive ones."""
        sizes = np.abs(y[y != 0])
        unit = float(np.median(sizes)) if len(sizes) else 1.0
        return [cls(kind, 1.0 if kind == "none" else unit) for kind in KINDS if kind != "log" or y.min() > 0]

    def formula(self, name: str) -> str:
        """What is learned of a target with this name."""
        u = f"|{name}| / {self.unit:.4g}"
        return {
            "none": name, "log": f"log {name}", "signed log": f"± log(1 + {u})", "signed root": f"± √(1 + {u})",
        }[self.kind]  # fmt: skip

    def forward(self, y: Array) -> Array:
        """The function."""
        return _FUNCTIONS[self.kind].forward(y / self.unit)

    def inverse(self, values: Array) -> Array:
        """Numbers that have these values."""
        return self.unit * _FUNCTIONS[self.kind].inverse(values)

    def log_slope(self, y: Array) -> Array:
        """Logarithm of the derivative."""
        return _FUNCTIONS[self.kind].log_slope(y / self.unit) - np.log(self.unit)
