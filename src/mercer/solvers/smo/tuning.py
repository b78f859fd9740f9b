"""The numbers of sequential minimal optimisation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """Numbers that `benchmarks/machines_scale.py` set, by the part of it that is named.

    Attributes
    ----------
    smallest_block, largest_block, grown_block : int
        Variables of blocks that nobody has chosen (`growth`): a third of all between the first two, and the third when
        more than `crowded` of them are free. The large ones are no powers of two: rows that are so far apart in memory
        take each other's places in the cache.
    crowded : float
        See there.
    share, large_share : float
        A block is left when its largest violation has fallen to the first share or, after steps that cost as much as a
        guess of the free variables at the optimum, to the second (`fit`): the next blocks move what is left again
        anyway.
    enough : float
        A larger share will do if the gap is then below this share of the wanted one (`fit`).
    patience : tuple of int
        After as many steps on pairs as cost these multiples of a guess, guesses are tried (`losses`) ...
    near, few : float, int
        ... if the relative gap is below the first, so that they may be right, or there are fewer variables than the
        second, or pairs get nowhere.
    slack : float
        Guesses may be wrong by this share of the violation that is aimed at (`losses`).
    n_guesses, wrong : int, float
        Most guesses; with more wrong ones than this share of the free variables steps on pairs come closer at less cost
        (`losses`).
    cost : float
        What a multiplication of a factorisation costs, where one of a sweep costs one (`floor`): they come in large
        products.
    corrected, few_corrected : float, int
        Sets of free variables are factored anew if they differ by more than this share of the variables, and by more
        than so many of them (`path`).
    on_block, on_parts : int
        Steps for each variable, on the whole block and on its parts in turn (`fit`).
    least_divided : int
        Blocks with fewer variables are not divided (`growth`).
    share_of_part : float
        Parts are solved to this share of the violation that is aimed at (`fit`).
    clear : float
        Violations are clear if they are larger than so many times the error of the gradient (`losses`).
    coarse : float
        Violations above this share of the largest target are reduced in single precision (`fit`), which drifts by less
        than a tenth.
    ratio, reach : float
        Ratio of the weights of one stage and the next; with the smallest weight one sample can still move the function
        by this multiple of the largest target (`fit`).
    tol_of_stage : float
        Relative gap at which a stage is left (`fit`).
    """

    smallest_block: int = 1024
    largest_block: int = 2032
    grown_block: int = 3568
    crowded: float = 0.8
    share: float = 0.1
    large_share: float = 0.33
    enough: float = 0.7
    patience: tuple[int, ...] = (1, 2, 4, 8, 16, 128)
    near: float = 0.05
    few: int = 100
    slack: float = 0.1
    n_guesses: int = 10
    wrong: float = 0.25
    cost: float = 0.01
    corrected: float = 0.1
    few_corrected: int = 16
    on_block: int = 1
    on_parts: int = 16
    least_divided: int = 512
    share_of_part: float = 0.5
    clear: float = 2.0
    coarse: float = 1e-3
    ratio: float = 5.0
    reach: float = 6.0
    tol_of_stage: float = 0.1


TUNING = Tuning()
