"""Notes that say the same of many columns."""

import pytest

from mercer.workflows.notes import grouped

FAR = "x{}: {} count as -1.3 or 2.4, being farther out; they would hide all other differences."


def test_what_holds_for_many_columns_is_said_once():
    far = [FAR.format(j, f"{j + 2} entries") for j in range(57)]
    assert grouped(["Used: 57 columns of numbers.", *far, "1 row repeats another one."]) == [
        "Used: 57 columns of numbers.",
        "57 columns have entries far out, which were clipped, as they would hide all other differences: "
        "x0, x1, x2 and 54 more.",
        "1 row repeats another one.",
    ]


@pytest.mark.parametrize(
    ("note", "words"),
    [
        (
            "{}: 1 entry is not a number and counts as missing.",
            "have entries that are not a number and count as missing",
        ),
        ("{}: 1,200 entries are infinite and count as missing.", "have entries that are infinite and count as missing"),
        ("{} is not used: it is the same in all rows.", "are not used, since each is the same in all rows"),
    ],
)
def test_each_kind_has_its_words(note, words):
    assert grouped([note.format(name) for name in "abcd"]) == [f"4 columns {words}: a, b, c and 1 more."]


def test_few_columns_are_named_one_by_one():
    few = [FAR.format(j, "2 entries") for j in range(3)] + ["a is not used: it is empty."]
    assert grouped(few) == few
