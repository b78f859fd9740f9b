"""Facts of model files: schemas, targets and plain values, which are refused unless they are what Mercer writes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mercer.tables.columns import text_format
from mercer.tables.dates import DATES
from mercer.tables.images import CHANNELS
from mercer.tables.schema import TableSchema
from mercer.tables.targets import Target
from mercer.tables.transforms import KINDS
from mercer.workflows.model_files.archives import Refused

_COLUMN_KINDS = ("number", "date", "category")
# Largest number of categories and rows: more than any table has.
_LEAST_DEVIATION = 1e-6
# Bounds of the number of quantiles and of the errors: more than any target has.
_MOST_ERRORS, _LARGEST_ERROR = 1000, 1e6


def require(condition: bool, words: str) -> None:
    """Refuse the file unless a condition holds."""
    if not condition:
        raise Refused(words)


class Facts:
    """Values by name, each of which is asked for with what it must be.

    Parameters
    ----------
    values : dict
        As they were read.
    owner : str
        What they are about, for messages.
    """

    def __init__(self, values: Any, owner: str):
        require(isinstance(values, dict), f"{owner} has no facts")
        self._values, self._owner = values, owner

    def get(self, name: str, default: Any = None) -> Any:
        """A value as it is."""
        return self._values.get(name, default)

    def given(self, name: str) -> Any:
        """A value that must be there, as it is."""
        return self._that(name, True, "")

    def text(self, name: str) -> str:
        """A text."""
        return str(self._that(name, isinstance(self.get(name), str), "a text"))

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of some texts."""
        return str(self._that(name, self.text(name) in choices, f"one of {', '.join(map(repr, choices))}"))

    def texts(self, name: str, default: Any = None) -> list[str]:
        """Texts, no two of which are equal."""
        values = self.get(name, default)
        valid = isinstance(values, list) and all(isinstance(value, str) for value in values) and _differ(values)
        require(valid, f"{name} of {self._owner} must be texts that differ")
        return list(values)

    def number(self, name: str, *, positive: bool = False) -> float:
        """A finite number."""
        value = self.get(name)
        self._that(name, _is_finite(value) and (value > 0 or not positive), f"a {'positive ' * positive}number")
        return float(value)

    def numbers(self, name: str, count: int) -> list[float]:
        """So many finite numbers."""
        values = self.get(name)
        valid = isinstance(values, list) and len(values) == count and all(map(_is_finite, values))
        return [float(value) for value in self._that(name, valid, f"{count} number{'s' * (count > 1)}")]

    def whole(self, name: str, least: int, most: int) -> int:
        """A whole number in a range."""
        value = self.get(name)
        return int(self._that(name, type(value) is int and least <= value <= most, f"from {least} to {most}"))

    def _that(self, name: str, valid: bool, what: str) -> Any:
        require(name in self._values, f"{self._owner} has no {name}")
        require(valid, f"{name} of {self._owner} must be {what}")
        return self.get(name)


def _is_finite(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # of a whole number
        return False


def _differ(values: Sequence[Any]) -> bool:
    return len(set(values)) == len(values)


def read_schema(values: Any) -> TableSchema:
    """The schema of a model file."""
    facts = Facts(values, "its schema")
    columns = facts.get("columns")
    require(isinstance(columns, list) and len(columns) > 0, "its schema has no columns")
    for number, column in enumerate(columns):
        _check_column(Facts(column, f"column {number + 1} of its schema"))
    require(_differ([column["name"] for column in columns]), "its schema has two columns of one name")
    facts.texts("left_out")
    facts.texts("names", [])
    if facts.given("image_shape") is not None:
        shape = facts.get("image_shape")
        valid = isinstance(shape, list) and len(shape) in (2, 3) and all(type(n) is int and n > 0 for n in shape)
        require(valid and math.prod(shape) == len(columns), "its schema has images of another size")
        require(len(shape) == 2 or shape[2] == len(CHANNELS), "its schema has images of unknown colours")
    return TableSchema.from_json(values)


def _check_column(facts: Facts) -> None:
    facts.text("name")
    kind = facts.choice("kind", _COLUMN_KINDS)
    categories = facts.texts("categories")
    require((kind == "category") == bool(categories), "its schema has a column with the wrong categories")
    center, scale = facts.numbers("center", len(categories) or 1), facts.number("scale", positive=True)
    if categories:
        # Indicators are not clipped, as numbers are: fractions of rows, and their deviation, keep them small.
        shares = all(0.0 <= share <= 1.0 for share in center) and _LEAST_DEVIATION <= scale <= 1.0
        require(shares, "its schema has categories that are no shares of rows")
    facts.choice("dtype", tuple(DATES) if kind == "date" else ("",))
    if facts.get("fences") is not None:
        low, high = facts.numbers("fences", 2)
        require(low < high, "its schema has a column with fences in the wrong order")
    require(isinstance(facts.get("unit", ""), str), "its schema has a unit that is no text")
    if facts.get("texts") is not None:
        _check_format(facts.get("texts"))


def _check_format(values: Any) -> None:
    names = set(values) if isinstance(values, dict) else set()
    known = names in ({"decimal", "thousands", "unit"}, {"pattern", "kind"})
    valid = known and all(isinstance(value, str) for value in values.values())
    form = text_format(values) if valid else None
    require(form is not None and form.is_known, "its schema has a column of texts in an unknown format")


def read_target(values: Any) -> Target:
    """The target of a model file."""
    facts = Facts(values, "its target")
    facts.text("name")
    facts.number("center")
    facts.number("scale", positive=True)
    require(facts.get("dtype", "") in ("", *DATES), "its target is of an unknown kind")
    _check_transform(facts)
    if facts.given("classes") is not None:
        require(not facts.get("dtype", ""), "its target has classes that are dates")
        require(len(facts.texts("classes")) >= 2, "its target has fewer than two classes")
    return Target.from_json(values)


def _check_transform(facts: Facts) -> None:
    """The first model files had none."""
    if facts.get("transform") is None:
        return
    facts.choice("transform", KINDS)
    facts.number("unit", positive=True)
    errors = facts.given("errors")
    require(isinstance(errors, list) and len(errors) <= _MOST_ERRORS, "errors of its target must be a short list")
    if errors:
        small = all(abs(error) <= _LARGEST_ERROR for error in facts.numbers("errors", len(errors)))
        require(small, "errors of its target are too large")
