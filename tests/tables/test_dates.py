from datetime import date, datetime, time, timedelta

import polars as pl
import pytest

from mercer.tables import InputError, LearningProblem, TableSchema, table_from_frame
from mercer.tables.dates import DATES, DateFormat, date_choice


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


@pytest.mark.parametrize(
    ("texts", "expected", "sure"),
    [
        (["25/12/21", "03/04/21", "14/07/21"], date(2021, 12, 25), True),
        (["12/25/21", "04/03/21", "07/14/21"], date(2021, 12, 25), True),
        (["21/12/25", "21/04/03", "21/07/14"], date(2021, 12, 25), True),
        (["21-12-25", "21-04-03", "22-07-14"], date(2021, 12, 25), False),
        (["98/12/25", "99/04/03", "98/07/14"], date(1998, 12, 25), True),
        (["03/04/21", "05/06/21", "07/08/21"], date(2021, 4, 3), False),
        (["25.12.21", "03.04.22", "14.07.23"], date(2021, 12, 25), False),
    ],
)
def test_years_of_two_digits_are_read_by_the_whole_column(texts, expected, sure):
    choice = date_choice(pl.Series("d", texts))
    assert choice.format.dates(pl.Series("d", texts))[0] == expected
    assert (choice.sure, choice.doubt) == (sure, "")
    assert f'"{texts[0]}" as {expected}' in choice.words("d")
    assert ("may stand in another order" in choice.words("d")) == (not sure)


def test_a_century_that_cannot_be_told_is_not_guessed():
    births = pl.Series("born", [f"{day:02}/03/{year}" for day, year in zip(range(1, 31), range(40, 70), strict=True)])
    choice = date_choice(births)
    assert choice.doubt == ('the century of dates such as "01/03/40" is unclear; write years with four digits')
    frame = pl.DataFrame({"born": births, "x": [float(i % 7) for i in range(30)]})
    schema, notes = TableSchema.learn(table_from_frame(frame))
    assert [column.name for column in schema.columns] == ["x"]
    assert f"born is not used: {choice.doubt}." in notes
    with pytest.raises(InputError, match="The target 'born' cannot be learned: the century of dates"):
        LearningProblem.read(table_from_frame(frame), "born")
    assert DateFormat("%d/%m/%y", "Date").dates(pl.Series(["01/03/45", "2045-03-01", "01/03/39"])).to_list() == [
        None, date(2045, 3, 1), date(2039, 3, 1),
    ]  # fmt: skip
