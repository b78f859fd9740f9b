"""Numbers of the search for a manifold."""

from __future__ import annotations

from dataclasses import dataclass, field

from mercer.manifolds.latent.space import LatentSpace
from mercer.running import Stopping


@dataclass(frozen=True)
class SearchTuning:
    """Numbers of the search; tuples of three are for one, two, and more coordinates.

    Set by `benchmarks/manifold_defaults.py`, and what is about planes by the flat tables of
    `tests/manifolds/principal/test_flat_tables.py`.

    Attributes
    ----------
    widths, first_widths : tuple of tuples of float, tuple of float
        Widths that may be chosen, and those that all starts are fitted with.
    penalties, first_penalties : tuple of float
        The same of penalties: the largest unfolds first, then the best start is followed.
    n_folds, n_held_out : int
        One fold of so many is held out, and as many of these as it takes to hold out so many rows.
    moves : tuple of pairs of int
        From one setting to another: steps in widths, up or down, and in penalties, which fall.
    wide, light, wide_from : tuple of float
        Smooth manifolds with much noise need kernels that are much wider and much less penalised, and all in between
        are worse: these widths are tried in one leap, with these penalties, of which the first takes away what a narrow
        kernel has made of the noise; from manifolds at least so wide, since surfaces of narrower ones are not smooth.
    n_errors : float
        A rung of the ladder is climbed for a gain of so many of its standard errors.
    trimmed : float
        Fraction of the rows, at either end, that do not decide whether a table is flat: a few may lie elsewhere.
    hard, first, followed : Stopping, Stopping, tuple of Stopping
        When fits that are compared end: hard ones, soft ones of starts, and those that are followed.
    """

    widths: tuple[tuple[float, ...], ...] = (
        (0.035, 0.06, 0.1, 0.17, 0.28, 0.48, 0.8, 1.4), (0.1, 0.14, 0.2, 0.34, 0.58, 1.0), (0.45, 0.6, 0.77, 1.0)
    )  # fmt: skip
    first_widths: tuple[float, ...] = (0.17, 0.34, 0.77)
    penalties: tuple[float, ...] = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 1e-7)
    first_penalties: tuple[float, ...] = (1e-2, 1e-3)
    n_folds: int = 5
    n_held_out: int = 160
    moves: tuple[tuple[int, int], ...] = ((-1, 0), (1, 0), (0, 1), (0, -1))
    wide: tuple[float, ...] = (0.8, 1.0, 1.0)
    light: tuple[float, ...] = (1e-2, 1e-4, 1e-5, 1e-6)
    wide_from: tuple[float, ...] = (0.0, 0.2, 0.0)
    n_errors: float = 2.0
    trimmed: float = 0.1
    hard: Stopping = field(default=Stopping(1e-3, 6))
    first: Stopping = field(default=Stopping(1e-3, 6))
    followed: tuple[Stopping, ...] = (Stopping(1e-4, 10), Stopping(1e-3, 3), Stopping(1e-3, 3))

    def kind(self, space: LatentSpace) -> int:
        """Where the entry for a number of coordinates stands."""
        return min(space.n_dims, len(self.widths)) - 1


TUNING = SearchTuning()
