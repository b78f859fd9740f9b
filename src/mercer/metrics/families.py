"""Families of kernels whose lengths are learned: exp(-r) of distances r, and sums over sets of columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mercer.arrays import Array
from mercer.kernels import Anova, Exponential, Gaussian, Kernel, ProductLaplace
from mercer.metrics.anova import AnovaPairs, anova_slopes
from mercer.metrics.pairs import Pairs, slopes


class Family(ABC):
    """Kernels of rows a = x T: every length is in T.

    Attributes
    ----------
    name : str
        That of its kernel.
    turns : bool
        Whether the kernel stays as it is if the rows are turned: then T may be any matrix, else it must be diagonal.
    has_shares : bool
        Whether each column has a share beside its weight.
    """

    name: str
    turns: bool
    has_shares: bool

    @abstractmethod
    def kernel(self) -> Kernel:
        """The kernel of unit length."""

    @abstractmethod
    def pairs(self, n: int) -> Any:
        """Sums over pairs of n rows: `Pairs` or `AnovaPairs`."""

    @abstractmethod
    def slopes(self, A: Array, coef: Array) -> Array:
        """Gradients of f_c(a) = Σ_k coef_kc k(a, a_k) at the rows of A, each without its own term."""

    def at(self, shares: Array | None) -> Family:
        """The family with these shares."""
        return self


@dataclass(frozen=True)
class DistanceFamily(Family):
    """Kernels exp(-r).

    Attributes
    ----------
    name, turns
        As for all families.
    kind : int
        Its r, as `pairs_numba` counts them.
    degree : int
        r of rows that are multiplied by a factor is multiplied by its power of this degree.
    make : callable
        The kernel of unit length.
    """

    name: str
    kind: int
    degree: int
    turns: bool
    make: Callable[[], Kernel]
    has_shares = False

    def kernel(self) -> Kernel:
        """The kernel of unit length."""
        return self.make()

    def pairs(self, n: int) -> Pairs:
        """Sums over pairs of n rows."""
        return Pairs(self.kind, self.degree, n)

    def slopes(self, A: Array, coef: Array) -> Array:
        """Gradients of sums of kernel functions at their own rows."""
        return slopes(self.kind, A, coef)


@dataclass(frozen=True, eq=False)
class AnovaFamily(Family):
    """Sums over sets of columns of products of kernels of one column each.

    Attributes
    ----------
    nu : float
        Smoothness of these kernels.
    shares : array of shape (d,) or None
        Those of the columns; all are one if there are none.
    """

    nu: float
    shares: Array | None = None
    name = "Anova"
    turns = False
    has_shares = True

    def kernel(self) -> Kernel:
        """The kernel of unit length."""
        return Anova(share=1.0 if self.shares is None else self.shares.tolist(), nu=self.nu)

    def pairs(self, n: int) -> AnovaPairs:
        """Sums over pairs of n rows."""
        return AnovaPairs(self.nu, self.shares, n)

    def slopes(self, A: Array, coef: Array) -> Array:
        """Gradients of sums of kernel functions at their own rows."""
        return anova_slopes(self.nu, self.shares, A, coef)

    def at(self, shares: Array | None) -> Family:
        """The family with these shares."""
        return replace(self, shares=shares)


# The last of those of distances is what others must be better than.
FAMILIES: tuple[Family, ...] = (
    DistanceFamily("Exponential", 0, 1, True, partial(Exponential, rate=1.0)),
    DistanceFamily("ProductLaplace", 1, 1, False, partial(ProductLaplace, width=1.0)),
    DistanceFamily("Gaussian", 2, 2, True, partial(Gaussian, width=1.0)),
    AnovaFamily(0.5),
    AnovaFamily(1.5),
)
NAMES = tuple(dict.fromkeys(family.name for family in FAMILIES))


def families_named(name: str | None) -> list[Family]:
    """All families of a name, or all."""
    return [family for family in FAMILIES if name in (None, family.name)]
