import polars as pl
import pytest

from mercer.printable import CONTROL, encodable, on_one_line, printable


@pytest.mark.parametrize(
    ("text", "shown"), [("a\udcff", "a\ufffd"), ("a\ud800b", "a\ufffdb"), ("\udcc3\udca4", "\u00e4")]
)
def test_all_texts_can_be_written(text, shown):
    for written in (encodable(text), printable(text), on_one_line(text)):
        assert written == shown


def test_control_characters_of_messages_lines_and_entries():
    text = "a\x1b\x9b\tb\r\nc\u202ed\u2028e"
    assert printable(text) == "a\tb\ncde"
    assert on_one_line(text, " ") == "a b c d e"
    assert pl.Series([text]).str.replace_all(CONTROL, "?")[0] == "a??\tb\r\nc\u202ed\u2028e"
