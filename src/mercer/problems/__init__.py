"""Problems: the convex program that kernel, loss, regularizer and data make, and the certificate of its solution."""

from mercer.problems.program import Certificate, KernelProgram

__all__ = ["Certificate", "KernelProgram"]
