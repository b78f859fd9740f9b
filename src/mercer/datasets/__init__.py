"""Data: the generators of the papers."""

from mercer.datasets.curves import make_sinc

__all__ = ["make_sinc"]
