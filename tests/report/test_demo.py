"""The tour of the demo, and the page that leads to its reports."""

import re
import sys

import polars as pl
import pytest

from mercer.report.demo import STATIONS, diabetes_table, digits_table, overview_page, tour

CIRCLE = STATIONS[-1]


@pytest.fixture(scope="module")
def findings():
    return CIRCLE.run(CIRCLE.command)


@pytest.fixture(scope="module")
def overview(findings, tmp_path_factory):
    path = tmp_path_factory.mktemp("tour") / "index.html"
    path.write_bytes(overview_page([(CIRCLE, findings)]))
    return path


@pytest.mark.parametrize(("read", "shape"), [(digits_table, (120, 65)), (diabetes_table, (442, 11))])
def test_tables_need_no_pandas(read, shape, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert read().frame.shape == shape


def test_the_command_of_a_station_can_be_repeated_with_its_files(findings):
    name = CIRCLE.command.split()[2]
    assert pl.read_csv(findings.files[name]).columns == ["east", "north", "hour"]
    assert CIRCLE.command.encode() in findings.files["report.html"]


def test_the_overview_shows_pictures_and_needs_no_network(overview):
    text = overview.read_text()
    assert text.count("<svg") == 1
    assert CIRCLE.command in text
    assert re.findall(r'(?:href|src)="(?!data:|#)([^"]*)"', text) == ["circle/report.html"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_overview_on_a_phone(browser, overview, scheme):
    context = browser.new_context(offline=True, color_scheme=scheme, viewport={"width": 390, "height": 844})
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(overview.as_uri())
    text = page.locator("body").inner_text()
    for words in ("A tour of Mercer", CIRCLE.title, "Partial."):
        assert words in text
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    picture = page.locator(".card svg").bounding_box()
    assert picture["width"] > 250
    assert picture["height"] > 150
    assert said == []
    context.close()


def test_workers_end_by_themselves(monkeypatch, findings):
    calls = []

    class Workers:
        def __init__(self, *_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            calls.append("exit")

        def imap_unordered(self, _, numbers):
            return ((number, findings) for number in numbers)

        def close(self):
            calls.append("close")

        def join(self):
            calls.append("join")

    monkeypatch.setattr("multiprocessing.context.SpawnContext.Pool", Workers)
    assert [station for station, _ in tour()] == list(STATIONS)
    assert calls == ["close", "join", "exit"]
