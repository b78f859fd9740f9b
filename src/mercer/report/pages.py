"""Pages: one HTML file each, with its styles, scripts and data inside, which needs no network."""

from __future__ import annotations

import json
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import mercer
from mercer.report.outputs import plain
from mercer.tables.columns import counted

# What a result depends on.
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "polars")


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
    environment = Environment(
        loader=PackageLoader("mercer.report", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"figure": figure, "percent": percent, "counted": counted}
    environment.globals["source"] = lambda name: Markup(environment.loader.get_source(environment, name)[0])  # type: ignore[union-attr]
    return environment.get_template(template).render(**values).encode(errors="backslashreplace")


def script_data(values: Any) -> Markup:
    """Data for the scripts of a page: nothing in it can end the element that holds it."""
    text = json.dumps(plain(values, digits=5), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


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
