"""Problems: the convex program that kernel, loss, regularizer and data make, and the certificate of its solution."""

from mercer.problems.program import KernelProgram
from mercer.problems.values import Certificate, Iterate

__all__ = ["Certificate", "Iterate", "KernelProgram"]
