"""What kernels from a model file must be before they are used: see `model_checks`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.kernels import Anova, Exponential, Gaussian, Linear, Periodized, Polynomial, ProductLaplace
from mercer.kernels.algebra import OnColumns, Product
from mercer.workflows.model_files.archives import Refused
from mercer.workflows.model_files.values import attribute, equal, is_number, number, part, whole

_LARGEST_DEGREE = 20


def check_stored_kernel(owner: Any, name: str, n_columns: int) -> None:
    """Refuse an attribute that is no kernel on rows with so many columns."""
    kernel = attribute(owner, name)
    if type(kernel) not in _KERNELS:
        raise Refused(f"{name} of its {type(owner).__name__} is {type(kernel).__name__}, which is no kernel of a model")
    _KERNELS[type(kernel)](kernel, n_columns)


def _gaussian(kernel: Any, n_columns: int) -> None:
    _per_column(kernel, "width", n_columns)


def _anova(kernel: Anova, n_columns: int) -> None:
    _per_column(kernel, "share", n_columns)
    _per_column(kernel, "width", n_columns)
    equal(kernel, "nu", 0.5, 1.5)


def _per_column(kernel: Any, name: str, n_columns: int) -> None:
    values = attribute(kernel, name)
    if not isinstance(values, list):
        number(kernel, name, positive=True)
    elif len(values) != n_columns or not all(is_number(value) and value > 0 for value in values):
        raise Refused(f"{name} of its {type(kernel).__name__} must be {n_columns} positive numbers")


def _polynomial(kernel: Polynomial, n_columns: int) -> None:
    whole(kernel, "degree", 1, _LARGEST_DEGREE)
    number(kernel, "offset")


def _periodized(kernel: Periodized, n_columns: int) -> None:
    number(kernel, "period", positive=True)
    _gaussian(part(kernel, "kernel", Gaussian), n_columns)


def _on_columns(kernel: OnColumns, n_columns: int) -> None:
    columns = part(kernel, "columns", list)
    if not columns or not all(type(column) is int and 0 <= column < n_columns for column in columns):
        raise Refused(f"columns of its OnColumns must be positions below {n_columns}")
    check_stored_kernel(kernel, "kernel", len(columns))


def _product(kernel: Product, n_columns: int) -> None:
    check_stored_kernel(kernel, "left", n_columns)
    check_stored_kernel(kernel, "right", n_columns)


_KERNELS: dict[type, Callable[[Any, int], Any]] = {
    Gaussian: _gaussian, Exponential: lambda kernel, n_columns: number(kernel, "rate", positive=True),
    ProductLaplace: _gaussian,  # which has a width, too
    Linear: lambda kernel, n_columns: None, Polynomial: _polynomial, Periodized: _periodized, OnColumns: _on_columns,
    Product: _product, Anova: _anova,
}  # fmt: skip


def check_stored_kernel_parameter(estimator: Any, n_columns: int) -> None:
    """Refuse the parameter `kernel` of an estimator if it is neither such a kernel nor None."""
    if attribute(estimator, "kernel") is not None:
        check_stored_kernel(estimator, "kernel", n_columns)
