"""Bridges to scikit-learn."""

from mercer.compat.kernels import ScikitLearnKernel

__all__ = ["ScikitLearnKernel"]
