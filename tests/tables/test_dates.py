from datetime import date, datetime, time, timedelta

import polars as pl
import pytest

from mercer.tables.columns import DATES


@pytest.mark.parametrize(
    ("kind", "first"),
    [("Date", date(1970, 1, 2)), ("Datetime", datetime(1970, 1, 2)), ("Duration", timedelta(seconds=1))],
)
def test_numbers_that_are_no_dates_are_nothing(kind, first):
    """Places far out on a map have such numbers."""
    for number in (1e12, 1e30, 1e300, float("inf"), float("nan"), None):
        dates = DATES[kind].from_numbers(pl.Series([1.0, number, -1.0 if number is None else -number]))
        assert dates[0] == first
        if kind != "Duration" or number != 1e12:
            assert dates.null_count() == (1 if number is None else 2)
    assert DATES["Time"].from_numbers(pl.Series([1e300, float("nan")])).to_list() == [time(23, 59, 59, 999000), None]


def test_the_calendar_has_9999_years():
    days = [(date(year, month, day) - date(1970, 1, 1)).days for year, month, day in ((1, 1, 1), (9999, 12, 31))]
    dates = DATES["Date"].from_numbers(pl.Series([days[0] - 1.0, *map(float, days), days[1] + 1.0]))
    assert dates.to_list() == [None, date(1, 1, 1), date(9999, 12, 31), None]
