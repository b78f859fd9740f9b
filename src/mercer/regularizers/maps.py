"""Penalties of maps: what a map f = Σ_j α_j k(z_j, .) + Pᵀγ from a latent space to the data costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.parameters import check_choice
from mercer.regularizers.sparse import sparse_coefficients


class MapPenalty(ABC):
    """The cost Ω(f) of a map by the coefficients of its features; polynomials cost nothing. Objectives have λ Ω(f).

    A penalty of one's own is one class: `value`, and `minimise` if it is not half a sum of squares.

    Attributes
    ----------
    name : str
        Its short form.
    quadratic : bool
        Whether Ω is half the sum of the squared coefficients.
    whitened : bool
        Whether features are orthonormal in the norm of the kernel; else they are the kernel functions at the nodes.
    of_length : bool
        Whether it stands for the length of open curves, which has a kernel of its own.
    """

    name: ClassVar[str]
    quadratic: ClassVar[bool] = False
    whitened: ClassVar[bool] = False
    of_length: ClassVar[bool] = False

    @abstractmethod
    def value(self, coefficients: Array) -> float:
        """Ω for coefficients of shape (r, d)."""

    def of_map(self, alpha: Array, K: Array) -> float:
        """Ω for coefficients α of the kernel functions at nodes with the Gram matrix K."""
        return self.value(alpha)

    def minimise(self, G: Array, C: Array, lam: float, n_penalised: int, start: Array, sweeps: int) -> Array:
        """The V that minimises ½ tr VᵀGV - tr CᵀV + lam Ω(V), after a number of sweeps at most.

        Rows of V after the first `n_penalised` cost nothing.
        """
        raise TypeError(f"{self!r} is minimised by a linear system if it is quadratic; else it must define minimise.")

    def for_maps(self) -> MapPenalty:
        """The penalty itself."""
        return self


class _Squares(MapPenalty):
    quadratic = True

    def value(self, coefficients: Array) -> float:
        """Half the sum of squares."""
        return 0.5 * float(np.sum(coefficients**2))


@dataclass(frozen=True)
class MapNorm(_Squares):
    """½ tr αᵀKα: half the squared norm in the Hilbert space of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.regularizers import MapNorm
    >>> MapNorm().of_map(np.array([[1.0], [2.0]]), np.eye(2))
    2.5
    """

    name = "rkhs"
    whitened = True

    def of_map(self, alpha: Array, K: Array) -> float:
        """½ tr αᵀKα."""
        return 0.5 * float(np.vdot(alpha, K @ alpha))


@dataclass(frozen=True)
class MapLength(MapNorm):
    """½ ∫||f'||²: the norm of the kernel 1 + min(z, z'), for open curves, [Smola2001]_, section 3.3."""

    name = "length"
    of_length = True


@dataclass(frozen=True)
class MapL2(_Squares):
    """½ Σ_j ||α_j||², that of the generative topographic map."""

    name = "l2"


@dataclass(frozen=True)
class MapL1(MapPenalty):
    """Σ_jc |α_jc|, which leaves few coefficients: [Smola2001]_, eq. (34)."""

    name = "l1"

    def value(self, coefficients: Array) -> float:
        """The sum of absolute values."""
        return float(np.abs(coefficients).sum())

    def minimise(self, G: Array, C: Array, lam: float, n_penalised: int, start: Array, sweeps: int) -> Array:
        """The lasso."""
        return sparse_coefficients(G, C, lam, n_penalised, group=False, start=start, sweeps=sweeps)


@dataclass(frozen=True)
class MapGroupL1(MapPenalty):
    """Σ_j ||α_j||, which leaves few nodes."""

    name = "group_l1"

    def value(self, coefficients: Array) -> float:
        """The sum of the lengths of the rows."""
        return float(np.linalg.norm(coefficients, axis=1).sum())

    def minimise(self, G: Array, C: Array, lam: float, n_penalised: int, start: Array, sweeps: int) -> Array:
        """The group lasso."""
        return sparse_coefficients(G, C, lam, n_penalised, group=True, start=start, sweeps=sweeps)


_BY_NAME: dict[str, MapPenalty] = {
    penalty.name: penalty for penalty in (MapNorm(), MapL1(), MapGroupL1(), MapL2(), MapLength())
}
MAP_PENALTIES = tuple(_BY_NAME)


def as_map_penalty(regularizer: Any, owner: str = "MapPenalty") -> MapPenalty:
    """The penalty of maps that a word, a `Regularizer` or a `MapPenalty` stands for.

    Examples
    --------
    >>> from mercer.regularizers import RKHSNorm, as_map_penalty
    >>> as_map_penalty("rkhs") == as_map_penalty(RKHSNorm())
    True
    """
    if hasattr(regularizer, "for_maps") and not isinstance(regularizer, type):
        return regularizer.for_maps()
    remedy = "choose one of them, or give an object such as MapL1()"
    return _BY_NAME[check_choice(regularizer, MAP_PENALTIES, "regularizer", owner, remedy)]
