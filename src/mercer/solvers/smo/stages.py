"""Programs with smaller weights, on which a cold start begins."""

from __future__ import annotations

import numpy as np

from mercer.problems import KernelProgram

# Ratios of the weights of one stage and the next.
_RATIO = 5.0
# With the smallest weight one sample can still move the function by this multiple of the largest target.
_REACH = 6.0


def stages_of(problem: KernelProgram) -> list[float]:
    """Divisors of the weights C, descending to 1.

    Where C is large, the first blocks fit their own samples with coefficients that the later ones must take back, while
    under a small C the function is formed by all samples together; the solution, multiplied, is a good start.
    """
    reach = problem.reach / _REACH
    n_stages = int(np.log(reach) / np.log(_RATIO)) if reach >= 1.0 else 0
    return [_RATIO**i for i in range(n_stages, -1, -1)]
