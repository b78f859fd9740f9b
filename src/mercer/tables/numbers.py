"""Numbers as people write them: marks of decimals and thousands, currencies, percent signs, brackets for losses."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from mercer.tables.errors import OptionError

# A column of text is one of numbers, or dates, if this share of its entries can be read as such.
READABLE_SHARE = 0.9

_OTHER = {".": ",", ",": "."}
# What separates thousands whatever the decimal mark is: spaces, some of them narrow or unbreakable, and apostrophes.
_GAPS = " \u00a0\u2009\u202f'’"
_CURRENCIES = "EUR|USD|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|TRY"
_UNIT = rf"[$€£¥₹₩₽₺%‰]|(?:US|CA|A|C)\$|(?:{_CURRENCIES})\b"
# Units of measurement stand after the number.
_MEASURES = (
    "[kmµ]?g|t|lbs?|oz|[kcmµn]?m|mi|ft|in|yd|m[²³23]|[cm]?l|ms|s|min|h|hrs?|days?|years?|yrs?|°[CF]|K|[kMG]?Hz|"
    "[kMG]?Wh?|[kM]?V|mA|k?J|kcal|[kh]?Pa|bar|psi|[kMGT]B|km/h|mph|m/s|px"
)
_MORE_UNITS = (
    "[mµn]?mol|[mµ]g|d[lL]|[mµ]?[lL]|[mk]?A|[mkMG]?W|[mk]?N|[kM]?Pa|deg[CF]?|°|rad|ppm|ppb|dB|rpm|pH|C|F|J|V|W|Ω"
)
_ONE_UNIT = rf"(?:{_UNIT}|{_MEASURES}|{_MORE_UNITS})"
# A unit, or several of them, without a number: kg, [m/s], (W/m^2).
UNIT_ALONE = re.compile(
    rf"[\[(]?{_ONE_UNIT}(?:(?:\^|\*\*)?-?[23¹²³])?(?:[ /·*]{_ONE_UNIT}(?:(?:\^|\*\*)?-?[1-3¹²³])?)*[\])]?"
)
_SIGN = r"[+\-−–]"
_PARTS = (
    rf"^\s*(?P<open>\()?\s*(?P<sign>{_SIGN})?\s*(?P<before>{_UNIT})?\s*(?P<inner>{_SIGN})?\s*"
    rf"(?P<body>[\d.,{_GAPS}]*\d[.,]?)(?P<exponent>[eE][+-]?\d+)?"
    rf"\s*(?P<after>{_UNIT}|{_MEASURES})?\s*(?P<close>\))?\s*$"
)
# A single mark with three digits after it: decimals or thousands.
_EITHER = {mark: rf"^[1-9]\d{{0,2}}\{mark}\d{{3}}$" for mark in ".,"}
# Digits that begin with zeros are codes, such as those of places; "05" may be an hour or a month.
_CODE = r"^0\d{2,}$"


@dataclass(frozen=True)
class Conventions:
    """What is known of the numbers of a file before one column is looked at.

    Attributes
    ----------
    decimal, thousands : str or None
        The marks, as far as they are known.
    given, proven : bool
        Whether the user gave the decimal mark, and whether columns of the file prove it. What is not given decides
        only where a column can be read both ways.
    """

    decimal: str | None = None
    thousands: str | None = None
    given: bool = False
    proven: bool = False

    @classmethod
    def asked(cls, decimal: str | None, thousands: str | None) -> Conventions:
        """What the user asks for; one mark tells of the other where it can."""
        if decimal not in (None, ".", ","):
            raise OptionError(f"--decimal must be a point or a comma, got {decimal!r}; give . or ,.")
        if thousands is not None and (len(thousands) != 1 or thousands not in f".,_{_GAPS}"):
            raise OptionError(f"--thousands must be one of . , ' _ or a space, got {thousands!r}; give one of them.")
        if thousands is not None and thousands == decimal:
            raise OptionError(f"--decimal and --thousands must differ, got {decimal!r} for both; change one.")
        known = decimal or _OTHER.get(thousands or "")
        return cls(known, thousands, given=known is not None, proven=known is not None)


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : str
        The decimal mark. Thousands are separated by the other mark, by gaps, or not at all.
    thousands : str
        A further mark of thousands that the user gave.
    unit : str
        A currency or a percent sign that entries may have.

    Examples
    --------
    >>> import polars as pl
    >>> from mercer.tables.numbers import NumberFormat
    >>> NumberFormat(",", unit="€").numbers(pl.Series(["1.200", "€ 3,5", "(7)", "red"])).to_list()
    [1200.0, 3.5, -7.0, None]
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    @property
    def is_known(self) -> bool:
        """Whether the decimal mark is one."""
        return self.decimal in _OTHER

    def numbers(self, texts: pl.Series) -> pl.Series:
        """Numbers, null where a text is none."""
        parts = _parts(texts, self.thousands)
        groups = "|".join(
            rf"[1-9]\d{{0,2}}(?:{mark}\d{{3}})+" for mark in (rf"\{_OTHER[self.decimal]}", *_GAPS)
        )  # the mark is the same throughout a number
        indian = rf"[1-9]\d?(?:\{_OTHER[self.decimal]}\d{{2}})+\{_OTHER[self.decimal]}\d{{3}}"
        fits = rf"^(?:\d+|{groups}|{indian})(?:\{self.decimal}\d*)?$|^\{self.decimal}\d+$"
        unit = pl.coalesce("before", "after", pl.lit("")).is_in(["", self.unit])
        negative = pl.coalesce("sign", "inner", pl.lit("")).is_in(["-", "−", "–"]) != pl.col("open").is_not_null()
        plain = (
            pl.col("body").str.replace_all(rf"[{_GAPS}\{_OTHER[self.decimal]}]", "")
            .str.replace(self.decimal, ".", literal=True)
        )  # fmt: skip
        value = pl.concat_str(plain, pl.coalesce("exponent", pl.lit(""))).cast(pl.Float64, strict=False)
        found = pl.when(pl.col("body").str.contains(fits) & unit).then(pl.when(negative).then(-value).otherwise(value))
        return parts.select(found.alias(texts.name)).to_series()


@dataclass(frozen=True)
class NumberChoice:
    """The format of a column of texts, and what it rests on.

    Attributes
    ----------
    format : NumberFormat
        How the texts are read.
    example : str
        An entry that shows it best.
    sure : bool
        Whether the column, or the user, tells the decimal mark.
    bare : int
        Entries without the unit that others have.
    """

    format: NumberFormat
    example: str
    sure: bool = True
    bare: int = 0

    @property
    def says_something(self) -> bool:
        """Whether an entry is something else than what Python reads in it."""
        try:
            return not self.sure or float(self.example) != self._value
        except ValueError:
            return True

    @property
    def _value(self) -> float:
        return float(self.format.numbers(pl.Series([self.example]))[0])

    def words(self, names: str) -> str:
        """What was decided for some columns."""
        text = f'{names}: texts are read as numbers, such as "{self.example}" as {self._value:.12g}.'
        if not self.sure:
            text = f"{text[:-1]}; if the mark means something else, say so with --decimal or --thousands."
        if self.bare:
            text += f" {self.bare:,} of the entries have no {self.format.unit}."
        return text


def units_of(texts: pl.Series) -> list[str]:
    """Units of texts that are numbers with units; none if too many of them are something else."""
    known = texts.drop_nulls()
    parts = _parts(known, "")
    if not len(known) or len(known) - parts["body"].null_count() < READABLE_SHARE * len(known):
        return []
    return sorted(set(pl.concat([parts["before"], parts["after"]]).drop_nulls()))


def number_choice(texts: pl.Series, conventions: Conventions) -> NumberChoice | None:
    """How texts are read as numbers; None if they are none, or codes.

    The decimal mark is what most entries prove. Where none does, as in "1,200", that of the file decides.
    """
    known = texts.drop_nulls()
    parts = _parts(known, conventions.thousands or "")
    n_readable = len(known) - parts["body"].null_count()
    units = set(pl.concat([parts["before"], parts["after"]]).drop_nulls())
    if not len(known) or n_readable < READABLE_SHARE * len(known) or len(units) > 1 or are_codes(known):
        return None
    proofs = decimal_proofs(parts["body"].drop_nulls())
    either = any(bool(parts["body"].str.contains(pattern).any()) for pattern in _EITHER.values())
    told = conventions.given or proofs["."] != proofs[","]
    if told:
        decimal = conventions.decimal or "." if conventions.given else max(".,", key=lambda mark: proofs[mark])
    else:
        decimal = _likely_decimal(parts["body"].drop_nulls(), conventions)
    unit = units.pop() if units else ""
    chosen = NumberFormat(decimal, conventions.thousands or "", unit)
    numbers = chosen.numbers(known)
    if numbers.null_count() > (1 - READABLE_SHARE) * len(known):
        return None
    bare = int((parts["body"].is_not_null() & parts["before"].is_null() & parts["after"].is_null()).sum())
    return NumberChoice(chosen, _example(known, numbers), told or not either, bare if unit else 0)


def _likely_decimal(bodies: pl.Series, conventions: Conventions) -> str:
    """The decimal mark where no entry proves one.

    Decimals are written in all entries or in none; a mark in some of them separates thousands.
    """
    marked = bodies.str.contains(r"[.,]")
    if not conventions.proven and marked.any() and not marked.all():
        return "." if bodies.str.contains(",", literal=True).any() else ","
    return conventions.decimal or "."


def are_codes(texts: pl.Series) -> bool:
    """Whether texts are digits with leading zeros, which tell things apart and measure nothing."""
    known = texts.drop_nulls().str.strip_chars()
    digits = int(known.str.contains(r"^\d+$").sum())
    return digits > 0 and digits >= READABLE_SHARE * len(known) and bool(known.str.contains(_CODE).any())


def decimal_proofs(bodies: pl.Series) -> dict[str, int]:
    """Numbers of entries that can be read with one decimal mark only."""
    plain = bodies.str.replace_all(rf"[{_GAPS}]", "")
    proofs = {}
    for mark, other in _OTHER.items():
        last = rf"^[^\{mark}]*\{other}[^\{mark}]*\{mark}\d*$"
        repeated = rf"^[^\{mark}]*\{other}[^\{mark}]*\{other}[^\{mark}]*$"
        single = rf"^\d*\{mark}\d*$"
        proven = plain.str.contains(rf"{last}|{repeated}") | (
            plain.str.contains(single) & ~plain.str.contains(_EITHER[mark])
        )
        proofs[mark] = int(proven.sum())
    return proofs


def reads_both_ways(texts: pl.Series) -> bool:
    """Whether all points in a column of plain numbers could separate thousands."""
    marked = texts.str.strip_chars().str.strip_chars("+-").filter(texts.str.contains(".", literal=True))
    return len(marked) > 0 and bool(marked.str.contains(_EITHER["."]).all())


def _parts(texts: pl.Series, thousands: str) -> pl.DataFrame:
    """Signs, units and digits of texts; null where a text is no number in any format."""
    if thousands == "_":
        texts = texts.str.replace_all("_", " ", literal=True)
    return texts.str.extract_groups(_PARTS).struct.unnest().with_columns(
        body=pl.when(
            (pl.col("open").is_null() == pl.col("close").is_null())
            & (pl.col("before").is_null() | pl.col("after").is_null())
            & (pl.col("sign").is_null() | (pl.col("inner").is_null() & pl.col("open").is_null()))
        ).then(pl.col("body").str.strip_chars()),
    )  # fmt: skip


def _example(texts: pl.Series, numbers: pl.Series) -> str:
    """The readable entry with the most marks."""
    readable = texts.filter(numbers.is_not_null())
    n_marks = readable.str.strip_chars().str.replace_all(r"[\d+\-]", "").str.len_chars()
    return str(readable[int(n_marks.arg_max() or 0)]).strip()
