"""A primal-dual interior point method for kernel programs with any separable convex loss.

Written by hand: generic solvers factor a matrix of twice the size, do not take low-rank Gram matrices, and know only
linear and quadratic losses.
"""

from mercer.solvers.interior_point.method import InteriorPoint

__all__ = ["InteriorPoint"]
