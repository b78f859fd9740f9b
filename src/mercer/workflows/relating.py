"""What two sets of columns share: whether, along which directions, how much, and by which columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Array
from mercer.components import KernelCCA
from mercer.information import Bound, IndependenceTest, KernelCritic, independence_test
from mercer.running import Status, raise_if_interrupted, unless_interrupted
from mercer.tables.memory import refuse_if_too_large
from mercer.tables.pairs import PairedTables, Side
from mercer.workflows.progress import Progress, Stages

# Of more rows so many are drawn; with fewer than the second number none is held out.
_MOST_ROWS, _FEWEST_HELD_OUT = 20_000, 60
# Fraction of the rows that is held out, and rows on which columns are shuffled.
_HELD_OUT, _SHUFFLED = 0.25, 1000
_REPEATS = 3
# Rows that a critic learns from.
_CRITIC_ROWS = 4000
# Directions that are looked for, features of both sides, and features of critics.
DIRECTIONS, _LANDMARKS, _RANK = 5, 300, 50
# A direction holds if its correlation on held-out rows is so many standard errors above 0.
_ERRORS = 2.0
# p-values below this are a sign of dependence.
LEVEL = 0.05
# Pairs that are compared with each other in the bound.
_SIZES = (2, 4, 8, 16, 32, 64, 128, 256)
_TEST, _MAPS, _COLUMNS, _BOUND = "testing independence", "looking for directions", "shuffling columns", "bounding"


class Direction(NamedTuple):
    """A function of the left side and one of the right side that go together.

    Attributes
    ----------
    correlation, standard_error : float
        On rows that were held out.
    left, right : tuple of (str, float)
        By how much the correlation falls if a column is shuffled, most first.
    """

    correlation: float
    standard_error: float
    left: tuple[tuple[str, float], ...] = ()
    right: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class RelationResult:
    """What two sets of columns share.

    Attributes
    ----------
    paired : PairedTables
        What was examined.
    rows : array of int
        Rows of it that were used.
    test : IndependenceTest
        Whether they share anything.
    directions : list of Direction
        Those that hold on rows that were held out, the strongest first.
    scores : pair of arrays or None
        Values of the functions for all rows that were used.
    held_out : array of int
        Positions in `rows` of rows that were held out.
    bounds : list of (int, Bound)
        Lower bounds of the mutual information for several numbers of pairs that are compared, on held-out rows.
    notes, partial : list of str, bool
        What was done, and whether the work was cut short.
    """

    paired: PairedTables
    rows: Array
    test: IndependenceTest
    notes: list[str]
    directions: tuple[Direction, ...] = ()
    scores: tuple[Array, Array] | None = None
    held_out: Array | None = None
    bounds: tuple[tuple[int, Bound], ...] = ()
    partial: bool = False

    @property
    def related(self) -> bool:
        """Whether independence is refused."""
        return self.test.p_value < LEVEL

    @property
    def bound(self) -> Bound | None:
        """The bound with the most pairs that are compared, if there is any."""
        return self.bounds[-1][1] if self.bounds else None


def relate(paired: PairedTables, *, seed: int = 0, progress: Progress | None = None) -> RelationResult:
    """Tell what two sets of columns share.

    Parameters
    ----------
    paired : PairedTables
        Both sets.
    seed : int
        Draws permutations and rows.
    progress : Progress, optional
        Called with what is being done; if it returns True, the work ends.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from mercer.report import PairedTables, relate, table_from_frame
    >>> t = np.random.default_rng(0).uniform(-1, 1, size=200)
    >>> table = table_from_frame(pl.DataFrame({"a": t, "b": t**2}))
    >>> result = relate(PairedTables.read(table, columns=["b"]))
    >>> result.related, result.directions[0].correlation > 0.9
    (True, True)
    """
    n_all = len(paired.rows)
    notes, rows = list(paired.notes), np.arange(n_all)
    rng = np.random.default_rng(seed)
    if n_all > _MOST_ROWS:
        rows = np.sort(rng.choice(n_all, _MOST_ROWS, replace=False))
        notes.append(f"{_MOST_ROWS:,} of {n_all:,} rows were drawn.")
    X, Y = paired.left.X[rows], paired.right.X[rows]
    refuse_if_too_large(40.0 * len(rows) * _LANDMARKS + 24.0 * (X.size + Y.size), f"relating {len(rows):,} rows")
    stages = Stages(progress, {_TEST: 2.0, _MAPS: 2.0, _COLUMNS: 1.0, _BOUND: 4.0})
    stages.begin(_TEST)
    test = independence_test(X, Y, rank=_LANDMARKS, random_state=seed)
    result = RelationResult(paired, rows, test, notes)
    if len(rows) < _FEWEST_HELD_OUT:
        stages.end()
        notes.append(f"With fewer than {_FEWEST_HELD_OUT} rows none are held out: no directions, and no bound.")
        return result
    for step in (_with_directions, _with_bounds):
        work = partial(step, result, X, Y, rng, seed, stages)
        result = unless_interrupted(work, partial(replace, result, partial=True))
        if result.partial:
            return result
    stages.end()
    return result


def _with_directions(
    result: RelationResult, X: Array, Y: Array, rng: np.random.Generator, seed: int, stages: Stages
) -> RelationResult:
    stages.begin(_MAPS)
    order = rng.permutation(len(X))
    n_held_out = int(_HELD_OUT * len(X))
    held_out, learned = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    result = replace(result, held_out=held_out)
    result.notes.append(f"{n_held_out:,} of {len(X):,} rows were held out; all figures but the p-value are theirs.")
    cca = KernelCCA(DIRECTIONS, n_landmarks=_LANDMARKS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer directions, as for one column
        cca.fit(X[learned], Y[learned])
    scores = cca.transform(X, Y)
    correlations = _correlations(*(side[held_out] for side in scores))
    holds = np.cumprod(correlations > _ERRORS / np.sqrt(n_held_out)).astype(bool)
    correlations = correlations[holds]
    errors = (1 - correlations**2) / np.sqrt(n_held_out - 1)
    directions = tuple(Direction(float(c), float(e)) for c, e in zip(correlations, errors, strict=True))
    scores = (scores[0][:, holds], scores[1][:, holds])
    result = replace(result, directions=directions, scores=scores)
    if not directions:
        return result
    stages.begin(_COLUMNS)
    some = held_out[:_SHUFFLED]
    tables = result.paired.left, result.paired.right

    def lost(place: int) -> list[tuple[tuple[str, float], ...]]:
        def score(rows: Array) -> Array:
            return np.asarray((cca.transform(rows) if place == 0 else cca.transform(X[:1], rows)[1])[:, holds])

        def tell(done: float) -> bool:
            return stages.tell((place + done) / 2)

        return _lost(tables[place], (X, Y)[place][some], scores[1 - place][some], score, rng, tell)

    sides = lost(0), lost(1)
    named = zip(directions, sides[0], sides[1], strict=True)
    return replace(result, directions=tuple(d._replace(left=left, right=right) for d, left, right in named))


def _correlations(A: Array, B: Array) -> Array:
    """Correlations of columns with columns; 0 where one of them is constant."""
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    lengths = np.linalg.norm(A, axis=0) * np.linalg.norm(B, axis=0)
    cosines = np.divide((A * B).sum(axis=0), lengths, out=np.zeros(A.shape[1]), where=lengths > 0)
    return np.asarray(np.clip(cosines, -1.0, 1.0))  # rounding may take them beyond


def _lost(
    side: Side,
    rows: Array,
    other: Array,
    score: Callable[[Array], Array],
    rng: np.random.Generator,
    tell: Callable[[float], bool],
) -> list[tuple[tuple[str, float], ...]]:
    """For each direction, how much of its correlation goes when a column of one side is shuffled; most first."""
    whole = _correlations(score(rows), other)
    groups = side.schema.groups
    lost = np.zeros((len(groups), len(whole)))
    for i, positions in enumerate(groups.values()):
        if tell(i / len(groups)):
            raise_if_interrupted(Status.INTERRUPTED)
        for _ in range(_REPEATS):
            changed = rows.copy()
            changed[:, positions] = rows[:, positions][rng.permutation(len(rows))]
            lost[i] += (whole - _correlations(score(changed), other)) / _REPEATS
    return [_sorted(list(groups), column) for column in lost.T]


def _sorted(names: Sequence[str], values: Array) -> tuple[tuple[str, float], ...]:
    order = np.argsort(-values, kind="stable")
    return tuple((names[i], float(max(values[i], 0.0))) for i in order)


def _with_bounds(
    result: RelationResult, X: Array, Y: Array, rng: np.random.Generator, seed: int, stages: Stages
) -> RelationResult:
    stages.begin(_BOUND)
    assert result.held_out is not None
    held_out = result.held_out
    learned = np.setdiff1d(np.arange(len(X)), held_out)
    best, sides = _best_critic(X, Y, rng.permutation(learned), seed, stages)
    left, right = sides(X[held_out], Y[held_out])
    # Several batches of each size give the standard error.
    sizes = [size for size in _SIZES if 4 * size <= len(held_out)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the page says where the bound is near its ceiling
        bounds = tuple((size, best.bound(left, right, batch_size=size)) for size in sizes)
    return replace(result, bounds=bounds)


def _best_critic(
    X: Array, Y: Array, learned: Array, seed: int, stages: Stages
) -> tuple[KernelCritic, Callable[[Array, Array], Any]]:
    """A critic of the rows, or of the directions of half of them: many columns of noise hide what few columns share.

    What functions of both sides share is no more than what the sides share. The better one is told by the rows that
    chose its penalty. Returns the critic, and what it looks at.
    """
    n_pairs = min(64, len(learned) // 8)

    def critic_of(left: Array, right: Array, stage: int) -> KernelCritic:
        def tell(iteration: int, value: float) -> bool:
            return stages.tell(0.5 * (stage + min(iteration / 100, 1.0)), -value)

        critic = KernelCritic(rank=_RANK, batch_size=n_pairs, random_state=seed, callback=tell)
        critic.fit(left[:_CRITIC_ROWS], right[:_CRITIC_ROWS])
        raise_if_interrupted(critic.status_)
        return critic

    of_rows = critic_of(X[learned], Y[learned], 0)
    half = len(learned) // 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer directions, as for one column
        cca = KernelCCA(DIRECTIONS, n_landmarks=_LANDMARKS, random_state=seed).fit(X[learned[:half]], Y[learned[:half]])
    others = learned[half:]
    left, right = cca.transform(X[others], Y[others])
    of_directions = critic_of(left, right, 1)
    if of_directions.validation_ > of_rows.validation_:
        return of_directions, cca.transform
    return of_rows, lambda left, right: (left, right)
