"""Dates, times and durations: as numbers and back, and from the ways in which people write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from mercer.tables.numbers import READABLE_SHARE

_SECONDS_A_DAY = 86_400.0
_MICROSECONDS = 1e6
# Days of 0001-01-01 and 9999-12-31, the ends of the calendar.
_FIRST_DAY, _LAST_DAY = -719_162.0, 2_932_896.0
# Two digits of a year mean 1969 to 2068, as in POSIX; from here on they may also belong to the century before.
_DOUBTFUL_YEAR = 2040
# A reading of two-digit years is unambiguous if all others have this many times as many different years.
_SURE_FACTOR = 2
# Number of entries that are tried before the whole column.
_SAMPLE = 200

_CALENDAR = (
    ("%Y-%m-%d",), ("%Y/%m/%d",), ("%Y.%m.%d",), ("%Y%m%d",), ("%d.%m.%Y",), ("%d.%m.%y", "%y.%m.%d"),
    ("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y"),
    ("%d/%m/%y", "%m/%d/%y", "%y/%m/%d"), ("%d-%m-%y", "%m-%d-%y", "%y-%m-%d"),
    ("%d %b %Y",), ("%d-%b-%Y",), ("%d-%b-%y",), ("%d %B %Y",), ("%b %d, %Y",), ("%B %d, %Y",), ("%b %d %Y",),
)  # fmt: skip
_CLOCK = ("%H:%M:%S%.f", "%H:%M", "%I:%M:%S %p", "%I:%M %p", "%H:%M:%S%.f%#z", "%H:%M:%S%.fZ")


@dataclass(frozen=True)
class DateKind:
    """How a kind of date becomes a number, and back; and what the number counts."""

    to_numbers: Callable[[pl.Series], pl.Series]
    from_numbers: Callable[[pl.Series], pl.Series]
    unit: str


class _DateKinds(dict[str, DateKind]):
    def of(self, dtype: pl.DataType | type[pl.DataType]) -> str | None:
        """The name of the kind of date that a column holds, if any."""
        name = dtype.base_type().__name__
        return name if name in self else None


def _whole(series: pl.Series, factor: float) -> pl.Series:
    """Whole numbers, and nothing where there are none: maps go on beyond the range of any type."""
    return (series.fill_nan(None) * factor).round().cast(pl.Int64, strict=False)


def _in_calendar(days: pl.Series) -> pl.Series:
    """Days since 1970 from the year 1 to 9999, and nothing where they are outside: no calendar shows those."""
    return days.set(~days.fill_nan(None).is_between(_FIRST_DAY, _LAST_DAY).fill_null(False), None)


DATES = _DateKinds(
    Date=DateKind(
        lambda s: s.cast(pl.Int32).cast(pl.Float64),
        lambda s: _whole(_in_calendar(s), 1.0).cast(pl.Int32).cast(pl.Date),
        "days",
    ),
    Datetime=DateKind(
        lambda s: s.dt.epoch("us").cast(pl.Float64) / (_MICROSECONDS * _SECONDS_A_DAY),
        lambda s: _whole(_in_calendar(s), _SECONDS_A_DAY * _MICROSECONDS).cast(pl.Datetime("us")),
        "days",
    ),
    Time=DateKind(
        lambda s: s.cast(pl.Int64).cast(pl.Float64) / 1e9,
        lambda s: (_whole(s.clip(0.0, _SECONDS_A_DAY - 1e-3), 1e6) * 1000).cast(pl.Time),
        "seconds",
    ),
    Duration=DateKind(
        lambda s: s.dt.total_microseconds().cast(pl.Float64) / _MICROSECONDS,
        lambda s: _whole(s, _MICROSECONDS).cast(pl.Duration("us")),
        "seconds",
    ),
)


def without_placeholders(series: pl.Series) -> tuple[pl.Series, int]:
    """Dates of the first and the last year of the calendar, or beyond, stand for nothing; and how many there were."""
    return _between(series, _FIRST_DAY + 365, _LAST_DAY - 365)


def within_calendar(series: pl.Series) -> tuple[pl.Series, int]:
    """Dates that Python knows, null for others; and how many others there were."""
    return _between(series, _FIRST_DAY, _LAST_DAY)


def _between(series: pl.Series, first: float, last: float) -> tuple[pl.Series, int]:
    # By the stored numbers, since polars panics for years beyond its calendar.
    if isinstance(series.dtype, pl.Datetime):
        a_day = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}[series.dtype.time_unit]
    elif series.dtype == pl.Date:
        a_day = 1
    else:
        return series, 0
    days = series.to_physical().cast(pl.Int64) // a_day
    outside = ((days < int(first)) | (days > int(last))).fill_null(False)
    n = int(outside.sum())
    return (pl.select(pl.when(~outside).then(series)).to_series().alias(series.name) if n else series), n


@dataclass(frozen=True)
class DateFormat:
    """How the dates of a column of texts are written.

    Attributes
    ----------
    pattern : str
        As `strptime` knows it.
    kind : str
        "Date", "Datetime" or "Time".

    Examples
    --------
    >>> import polars as pl
    >>> from mercer.tables.dates import DateFormat
    >>> DateFormat("%d/%m/%Y", "Date").dates(pl.Series(["01/02/2024", "never"])).to_list()
    [datetime.date(2024, 2, 1), None]
    """

    pattern: str
    kind: str

    @property
    def is_known(self) -> bool:
        """Whether it is one of those that are tried."""
        return any(self.kind == kind and self.pattern in patterns for patterns, kind in _candidates())

    @property
    def has_short_years(self) -> bool:
        """Whether years have two digits."""
        return "%y" in self.pattern

    def dates(self, texts: pl.Series) -> pl.Series:
        """Dates, null where a text is none, or two digits leave the century open."""
        texts = texts.str.strip_chars()
        found = self.any_dates(texts)
        if self.has_short_years:
            open_century = found.dt.year() >= _DOUBTFUL_YEAR
            found = found.set(open_century & texts.str.contains(self._years), None)
        return found

    def any_dates(self, texts: pl.Series) -> pl.Series:
        """Dates, with the century of POSIX where two digits leave it open."""
        texts = texts.str.strip_chars()
        if self.kind == "Time":
            return texts.str.to_time(self.pattern, strict=False)
        found = self._parsed(texts, self.pattern)
        found = found.set(~texts.str.contains(self._years).fill_null(True), None)
        if found.null_count() == texts.null_count():
            return found
        # These formats are unambiguous.
        plain = texts.set(~texts.str.contains(r"^\d{4}-").fill_null(True), None)
        return found.zip_with(found.is_not_null(), self._parsed(plain, "%Y-%m-%d").cast(found.dtype))

    def _parsed(self, texts: pl.Series, pattern: str) -> pl.Series:
        if self.kind == "Date" or pattern == "%Y-%m-%d":
            return texts.str.to_date(pattern, strict=False)
        return texts.str.to_datetime(pattern, strict=False, time_unit="us")

    @property
    def _years(self) -> str:
        """Years have two digits or four, as the pattern says: `strptime` takes any number of them."""
        if self.pattern.startswith("%Y%m"):
            return r"^\d{8}(?:\D|$)"
        if not self.has_short_years:
            return r"(?:^|\D)\d{4}(?:\D|$)"
        return r"^\d{2}[-/.]" if self.pattern.startswith("%y") else r"^\d{1,2}[-/.]\w+[-/.]\d{2}(?:\D|$)"


@dataclass(frozen=True)
class DateChoice:
    """The format of a column of texts, and what it rests on.

    Attributes
    ----------
    format, example : DateFormat, str
        How the texts are read, and one of them.
    sure : bool
        Whether day, month and year can be distinguished.
    doubt : str
        Why the column cannot be read; empty if it can.
    """

    format: DateFormat
    example: str
    sure: bool = True
    doubt: str = ""

    @property
    def says_something(self) -> bool:
        """Whether the dates are written in a way of their own."""
        return not self.format.pattern.startswith("%Y-%m-%d")

    def words(self, names: str) -> str:
        """What was decided for some columns."""
        value = self.format.dates(pl.Series([self.example]))[0]
        text = f'{names}: texts are read as dates, such as "{self.example}" as {value}.'
        if not self.sure:
            order = (
                "day, month and year may stand in another order"
                if self.format.has_short_years
                else ("day and month may be the other way round")
            )
            text = f"{text[:-1]}; {order}: write them as 2024-12-31 to be sure."
        return text


def date_choice(texts: pl.Series) -> DateChoice | None:
    """How texts are read as dates; None if they are none.

    Where day and month can be exchanged in all entries, the day comes first. Of several ways to read two-digit years,
    the one with the fewest different years is taken, since days differ more than years do.
    """
    known = texts.drop_nulls()
    some = known.head(_SAMPLE)
    # Separators between digits, eight digits, or the name of a month, or a clock: nothing else can be a date.
    looks = some.str.contains(r"\d.*[-/. ,:].*\d|^\s*[0-9]{8}\s*$")
    if not len(known) or int(looks.sum()) < READABLE_SHARE * len(some):
        return None
    for patterns, kind in _candidates():
        formats = [DateFormat(pattern, kind) for pattern in patterns]
        counts = [_n_dates(form, known) for form in formats]
        if max(counts) < READABLE_SHARE * len(known):
            continue
        readings = [
            (form, form.any_dates(known)) for form, count in zip(formats, counts, strict=True) if count == max(counts)
        ]
        spans = [found.dt.year().n_unique() if form.has_short_years else 1 for form, found in readings]
        best = spans.index(min(spans))  # the first of equals
        chosen, found = readings[best]
        sure = all(
            other.equals(found) or (chosen.has_short_years and span >= _SURE_FACTOR * spans[best])
            for (_, other), span in zip(readings, spans, strict=True)
        )
        example = str(known.filter(found.is_not_null())[0]).strip()
        return DateChoice(chosen, example, sure, _doubt(chosen, known, found))
    return None


def _doubt(chosen: DateFormat, texts: pl.Series, found: pl.Series) -> str:
    open_century = found.is_not_null() & chosen.dates(texts).is_null()
    if not open_century.any():
        return ""
    return (
        f'the century of dates such as "{str(texts.filter(open_century)[0]).strip()}" is unclear; write years with '
        "four digits"
    )


def _candidates() -> list[tuple[tuple[str, ...], str]]:
    days = [(patterns, "Date") for patterns in _CALENDAR]
    moments = [
        (tuple(f"{day}{gap}{clock}" for day in patterns), "Datetime")
        for patterns in _CALENDAR
        for gap in ("T", " ")
        for clock in _CLOCK
    ]
    return [*days, *(((clock,), "Time") for clock in _CLOCK[:4]), *moments]


def _n_dates(chosen: DateFormat, texts: pl.Series) -> int:
    some = chosen.any_dates(texts.head(_SAMPLE))
    if some.null_count() > (1 - READABLE_SHARE) * len(some):
        return 0
    found = chosen.any_dates(texts)
    return len(found) - found.null_count()
