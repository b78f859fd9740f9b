"""Numbers as people write them: marks of decimals and thousands, currencies, percent signs, brackets for losses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from mercer.tables.errors import OptionError

# A column of text holds numbers, or dates, if this fraction of its entries can be read as such.
READABLE_SHARE = 0.9

PLAIN_NUMBER = re.compile(r"[+-]?(?:\d[\d.,]*|\.\d+)(?:[eE][+-]?\d+)?|nan|[+-]?inf", re.IGNORECASE)
_OTHER = {".": ",", ",": "."}
# Separators of thousands for any decimal mark: spaces, also narrow and unbreakable ones, and apostrophes.
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
# Decimals and thousands between Arabic digits; and marks of full width, as between Japanese ones.
_ARABIC_MARKS = {"\u066b": ".", "\u066c": ",", "\uff0e": ".", "\uff0c": ",", "\uff0d": "-"}
# Dates of two centuries without separators.
_COMPACT = r"^\s*(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])\s*$"
# Digits that begin with zeros are codes, such as those of places; "05" may be an hour or a month.
_CODE = r"^0\d{2,}$"


@dataclass(frozen=True)
class Conventions:
    """Conventions for the numbers of a file, which are known before a column is read.

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
        """The conventions that the user gives; one mark implies the other where possible."""
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
        Whether the column, or the user, determines the decimal mark.
    bare : int
        Entries without the unit that others have.
    other : str
        An entry with the other mark, if both come.
    """

    format: NumberFormat
    example: str
    sure: bool = True
    bare: int = 0
    other: str = ""

    @property
    def says_something(self) -> bool:
        """Whether an entry is something else than what Python reads in it."""
        try:
            return not self.sure or bool(self.other) or float(self.example) != self._value(self.example)
        except ValueError:
            return True

    def _value(self, text: str) -> float:
        return float(self.format.numbers(pl.Series([text]))[0])

    def words(self, names: str) -> str:
        """What was decided for some columns."""
        examples = [self.example, *([self.other] if self.other not in ("", self.example) else [])]
        shown = " and ".join(f'"{text}" as {self._value(text):.12g}' for text in examples)
        text = f"{names}: texts are read as numbers, such as {shown}."
        if not self.sure:
            text = f"{text[:-1]}; if the mark means something else, say so with --decimal or --thousands."
        if self.bare:
            text += f" {self.bare:,} of the entries have no {self.format.unit}."
        return text


def look_like_numbers(texts: pl.Series) -> bool:
    """Whether all texts are numbers in some format."""
    return _parts(texts, "_")["body"].null_count() == 0


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
    if not len(known) or n_readable < READABLE_SHARE * len(known) or len(units) > 1:
        return None
    if are_codes(known) or are_compact_dates(known):
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
    readable = known.filter(numbers.is_not_null())
    example = _example(readable)
    other = readable.filter(readable.str.contains(_OTHER[decimal], literal=True))
    shown = _example(other) if len(other) else ""
    return NumberChoice(chosen, example, told or not either, bare if unit else 0, shown)


def _likely_decimal(bodies: pl.Series, conventions: Conventions) -> str:
    """The decimal mark where no entry proves one.

    Decimals are written in all entries or in none; a mark in some of them separates thousands.
    """
    marked = bodies.str.contains(r"[.,]")
    if not conventions.proven and marked.any() and not marked.all():
        return "." if bodies.str.contains(",", literal=True).any() else ","
    return conventions.decimal or "."


def proven_decimal(texts: pl.Series) -> str | None:
    """The decimal mark that entries of a column prove, if they prove one."""
    proofs = decimal_proofs(_parts(texts, "")["body"].drop_nulls())
    return None if proofs["."] == proofs[","] else max(".,", key=lambda mark: proofs[mark])


def are_codes(texts: pl.Series) -> bool:
    """Whether texts are digits with leading zeros, which tell things apart and measure nothing."""
    known = with_plain_digits(texts.drop_nulls()).str.strip_chars()
    digits = int(known.str.contains(r"^\d+$").sum())
    return digits > 0 and digits >= READABLE_SHARE * len(known) and bool(known.str.contains(_CODE).any())


def are_compact_dates(entries: pl.Series) -> bool:
    """Whether all entries are days such as 20240131, as one in a thousand numbers of eight digits is by chance."""
    known = entries.drop_nulls()
    if not len(known) or not re.match(_COMPACT, str(known[0])):
        return False
    known = known.cast(pl.String)
    return bool(known.str.contains(_COMPACT).all()) and known.str.to_date("%Y%m%d", strict=False).null_count() == 0


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


def with_plain_digits(texts: pl.Series) -> pl.Series:
    """Texts with the digits 0 to 9 in place of those of other scripts, and the marks of numbers that go with them."""
    if not texts.str.contains(r"[^\x00-\x7f]").any():
        return texts
    found = texts.str.extract_all(r"[\p{Nd}--0-9]").list.explode(empty_as_null=False).unique().drop_nulls().to_list()
    marks = _ARABIC_MARKS if found else {}
    return texts.str.replace_many({digit: str(unicodedata.digit(digit)) for digit in found} | marks)


def _parts(texts: pl.Series, thousands: str) -> pl.DataFrame:
    """Signs, units and digits of texts; null where a text is no number in any format."""
    texts = with_plain_digits(texts)
    if thousands == "_":
        texts = texts.str.replace_all("_", " ", literal=True)
    return texts.str.extract_groups(_PARTS).struct.unnest().with_columns(
        body=pl.when(
            (pl.col("open").is_null() == pl.col("close").is_null())
            & (pl.col("before").is_null() | pl.col("after").is_null())
            & (pl.col("sign").is_null() | (pl.col("inner").is_null() & pl.col("open").is_null()))
        ).then(pl.col("body").str.strip_chars()),
    )  # fmt: skip


def mostly_numbers(entries: Sequence[str]) -> bool:
    """Whether most entries are plain numbers."""
    return sum(PLAIN_NUMBER.fullmatch(entry) is not None for entry in entries) > len(entries) / 2


def _example(readable: pl.Series) -> str:
    """The entry with the most marks."""
    n_marks = readable.str.strip_chars().str.replace_all(r"[\d+\-]", "").str.len_chars()
    return str(readable[int(n_marks.arg_max() or 0)]).strip()
