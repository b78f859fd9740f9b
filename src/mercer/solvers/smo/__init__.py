"""Sequential minimal optimisation in blocks, for losses made of straight lines and parabolas.

Written by hand: no library takes these losses with weights and tubes for each sample, kernels of one's own, and stops
at a certified gap.
"""

from mercer.solvers.smo.method import SMO

__all__ = ["SMO"]
