"""Pages: one HTML file each, with its styles, scripts and data inside, which needs no network."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import mercer
from mercer.arrays import Array
from mercer.plain_json import plain
from mercer.tables.columns import counted

# A name, the length of its bar in percent, what stands beside it, and whether it is marked.
Bar = tuple[str, float, str, bool]

# Packages whose versions a result depends on.
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "polars")
# Significant digits of numbers in the data of pages.
_DIGITS = 5


def versions() -> dict[str, str]:
    """Versions of Mercer, Python and what a result depends on."""
    found = {"mercer": mercer.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def render(template: str, **values: Any) -> bytes:
    """A page from one of the templates."""
    return _environment().get_template(template).render(**values).encode(errors="backslashreplace")


@cache
def _environment() -> Environment:
    """The templates, which are compiled once."""
    environment = Environment(
        loader=PackageLoader("mercer.report", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"figure": figure, "percent": percent, "counted": counted}
    environment.globals["source"] = lambda name: Markup(environment.loader.get_source(environment, name)[0])  # type: ignore[union-attr]
    return environment


def script_data(values: Any) -> Markup:
    """Data for the scripts of a page: nothing in it can end the element that holds it."""
    text = json.dumps(_short(values), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


def _short(values: Any) -> Any:
    """Plain values of five digits; arrays of numbers are rounded at once, as a map has very many."""
    if isinstance(values, dict):
        return {str(key): _short(entry) for key, entry in values.items()}
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return _rounded_list(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iub":
        return values.tolist()
    if isinstance(values, list | tuple) and not set(map(type, values)) <= {str, int, type(None)}:
        return [_short(entry) for entry in values]
    return values if isinstance(values, list | tuple) else plain(values, digits=_DIGITS)


def _rounded_list(values: Array) -> Any:
    """Lists of numbers of five digits, None where there is none."""
    texts = (f"%.{_DIGITS}g " * values.size) % tuple(values.ravel().tolist())
    rounded = np.array(texts.split(), dtype=np.float64)
    known = np.isfinite(rounded)
    if not known.all():
        rounded = rounded.astype(object)
        rounded[~known] = None
    return rounded.reshape(values.shape).tolist()


def bars(values: Sequence[tuple[str, float]]) -> list[Bar]:
    """Bars of named numbers, the longest of which is that of the largest number."""
    largest = max((value for _, value in values), default=1.0) or 1.0
    return [(name, 100 * value / largest, f"{value:.2f}", False) for name, value in values]


def figure(value: float | None, digits: int = 3) -> str:
    """A number for a table; a dash if there is none."""
    if value is None or value != value:
        return "–"
    return f"{value:.{digits}g}"


def rounded(text: str) -> str:
    """A text whose long numbers are cut to three digits.

    Examples
    --------
    >>> from mercer.report.pages import rounded
    >>> rounded("Gaussian(width=3.372754401671635)")
    'Gaussian(width=3.37)'
    """
    return re.sub(r"\d+\.\d{4,}(?:e-?\d+)?", lambda number: f"{float(number[0]):.3g}", text)


def percent(value: float | None) -> str:
    """A share for a table; a dash if there is none."""
    return "–" if value is None or value != value else f"{100 * value:.1f}%"
