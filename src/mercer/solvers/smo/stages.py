"""Programs with smaller weights, on which a cold start begins."""

from __future__ import annotations

import numpy as np

from mercer.problems import KernelProgram

# Ratios of the weights of one stage and the next.
_RATIO = 5.0
# The smallest weight with which one sample can still move the function by this multiple of the largest target.
_REACH = 6.0


def stages_of(problem: KernelProgram) -> list[float]:
    """Divisors of the weights C, descending to 1.

    Where C is large, the first blocks fit their own samples with coefficients that the later ones must take back, while
    under a small C the function is formed by all samples together; the solution, multiplied, is a good start.
    """
    weight = float(np.median(np.maximum(problem.C_below, problem.C_above)))
    reach = weight * float(np.median(problem.gram.diagonal())) / (_REACH * float(np.abs(problem.y).max()) or np.inf)
    n_stages = int(np.log(reach) / np.log(_RATIO)) if reach >= 1.0 else 0
    return [_RATIO**i for i in range(n_stages, -1, -1)]
