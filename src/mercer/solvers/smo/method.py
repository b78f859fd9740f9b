"""Sequential minimal optimisation: what it takes, and its parameters."""

from __future__ import annotations

from typing import ClassVar

from mercer.problems import KernelProgram
from mercer.solvers.decomposition import Decomposition, checked_block
from mercer.solvers.needs import LINES_AND_PARABOLAS, QUADRATIC_PENALTY, WHOLE_MATRIX, unmet
from mercer.solvers.result import Options
from mercer.solvers.smo.state import State
from mercer.solvers.smo.sums import Sums
from mercer.solvers.smo.tuning import TUNING, Tuning

_MAX_ROUNDS = 100_000
# Rounds that may pass without a gain: so many, or so many samples in blocks for each sample. Blocks that somebody has
# chosen may be so small that one of them gains next to nothing.
_PATIENCE, _VISITS, _VISITS_OF_CHOSEN = 20, 2, 20


class SMO(Decomposition):
    """Sequential minimal optimisation on blocks of some thousand variables.

    For losses made of straight lines and parabolas (ε-insensitive, Laplace, quantile, hinge, Huber, squared hinge,
    expectile), with a constant as the only unpenalised column, or none; with a budget, or with the labels as a second
    column, as in ν-machines, the sums of the variables above and below zero are held. Neither the Gram matrix nor rows
    of it are formed: memory grows with the number of samples.

    Parameters
    ----------
    block : int, optional
        Number of variables optimised together; by default a third of them, but 1024 to 2032, and twice as many as soon
        as most of them are free: what a block does not hold, further rounds must.

    Notes
    -----
    The variables are the signed B in [low, high], not the two halves of each: a step of two of them is an exact line
    search over a piecewise quadratic function. Blocks are chosen as the worst violators together with the free
    variables of the last block, and solved by steps on pairs with second-order selection [Fan2005]_. Where these become
    many, they are made on two halves of the block that have little to do with each other, at the same time, which are
    joined by the longest step that the objective allows; and the free variables at the optimum are guessed, with a
    Newton step for each guess [Hintermueller2002]_. The coefficient of the constant is the one that makes the primal
    value least: the gap is then as small as the variables allow, and no round is made for its sake. The gradient is
    kept up to date with columns in single precision; it is computed again in double precision before success is
    claimed, after which errors are proportional to the smaller steps that follow: any gap can be reached. If they are
    in the way and the matrix hardly varies, such as that of a wide kernel, a constant is taken from it, in double
    precision: with ΣB = 0 it does not matter, but next to it single precision keeps little of what does.
    [Platt1999]_, [Joachims1999]_, [Smola1998]_, section 4.4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.gram import Gram
    >>> from mercer.losses import EpsilonInsensitive
    >>> from mercer.problems import KernelProgram
    >>> from mercer.regularizers import RKHSNorm
    >>> from mercer.solvers import SMO
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> penalty = RKHSNorm().penalty(Gram(Gaussian(), X), np.ones((500, 1)))
    >>> problem = KernelProgram.build(penalty, np.sin(X[:, 0]), EpsilonInsensitive(0.1), C=10.0)
    >>> result = SMO().solve(problem, tol=1e-6)
    >>> result.status, problem.certificate(result).holds(1e-6)
    ('optimal', True)
    """

    name = "smo"
    tuning: ClassVar[Tuning] = TUNING

    def __init__(self, block: int | None = None):
        self.block = None if block is None else checked_block(self, block)

    def refusal(self, problem: KernelProgram) -> str | None:
        """Losses with another shape, columns or budgets that are no sums, prices, low-rank matrices."""
        return unmet(problem, LINES_AND_PARABOLAS, QUADRATIC_PENALTY, WHOLE_MATRIX) or Sums.refusal(problem)

    def _start(self, problem: KernelProgram, options: Options) -> State:
        return State(problem, options, self.block, self.tuning)

    def _limits(self, problem: KernelProgram) -> tuple[int, int]:
        n_visited = len(problem.y) * (_VISITS if self.block is None else _VISITS_OF_CHOSEN)
        return _MAX_ROUNDS, max(_PATIENCE, n_visited // (self.block or self.tuning.smallest_block))
