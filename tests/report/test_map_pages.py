"""The report in a real browser: it works from a file, and what it shows is what was found."""

import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from mercer.report.map_pages import embedding_file, map_data, map_files, map_summary, profiles


def test_nothing_is_loaded_from_elsewhere(map_report):
    text = map_report.read_text()
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)""", text)
    assert "@import" not in text
    assert "http" not in re.sub(r"http://www.w3.org/\S+|https?://matplotlib.org/?", "", text)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.headings, self.inside = [], [], None

    def handle_starttag(self, tag, attributes):
        self.ids += [value for name, value in attributes if name == "id"]
        self.inside = tag

    def handle_data(self, data):
        if self.inside == "h2" and data.strip():
            self.headings.append(data.strip())


def test_structure(map_report):
    tags = Tags()
    tags.feed(map_report.read_text())
    assert tags.headings == [
        "The map", "How good it is", "What places on the map stand for", "Density", "How it was chosen",
        "What was done to the table", "To repeat this",
    ]  # fmt: skip
    named = [name for name in tags.ids if not re.fullmatch(r"[mpC0-9a-f_]{8,}", name)]
    assert len(named) == len(set(named))


def test_no_errors_and_all_rows_are_there(page):
    assert page.title() == "Map of sheet.csv"
    assert page.evaluate("JSON.parse(document.getElementById('data').textContent).rows.length") == 120
    assert page.locator("#map").get_attribute("aria-label").startswith("Map of 120 rows")


def place_of(page, curved_map, row):
    """Where a row is drawn: the whole map, one scale for both axes."""
    box = page.locator("#map").bounding_box()
    Z = curved_map.embedding
    low, high = Z.min(axis=0), Z.max(axis=0)
    scale = min((box["width"] - 68) / (high[0] - low[0]), (box["height"] - 68) / (high[1] - low[1]))
    x, y = (Z[row] - (low + high) / 2) * scale
    return box["x"] + box["width"] / 2 + x, box["y"] + box["height"] / 2 - y


def test_hover_shows_the_row_as_text(page, curved_map):
    row = int(np.argmax(curved_map.embedding[:, 0]))
    page.mouse.move(*place_of(page, curved_map, row))
    tip = page.locator("#tip")
    assert tip.is_visible()
    assert f"Row {row + 1}" in tip.inner_text()
    assert f"<b>row</b> {row}" in tip.inner_text()
    page.mouse.move(5, 5)
    assert not tip.is_visible()


def test_zoom_and_drag(page, curved_map):
    place = place_of(page, curved_map, 0)
    canvas = page.locator("#map")
    page.mouse.move(*place)
    page.mouse.wheel(0, -400)
    page.wait_for_function("Number(document.getElementById('map').dataset.zoom) > 2")
    # What is under the pointer stays there.
    assert canvas.get_attribute("data-hovered") == "0"
    page.mouse.down()
    page.mouse.move(place[0] + 60, place[1] + 30)
    page.mouse.up()
    page.mouse.move(place[0] + 61, place[1] + 30)
    assert canvas.get_attribute("data-hovered") == "0"
    page.locator("#reset").click()
    assert canvas.get_attribute("data-zoom") == "1.000"
    canvas.focus()
    page.keyboard.press("+")
    assert canvas.get_attribute("data-zoom") == "1.250"
    page.keyboard.press("0")
    assert canvas.get_attribute("data-zoom") == "1.000"


def picture(page):
    return page.evaluate("document.getElementById('map').toDataURL()")


def test_colours_labels_and_maps_can_be_chosen(page):
    assert page.locator("#legend button").all_inner_texts() == ["left (55)", "right (65)"]
    seen = {picture(page)}
    page.locator("#legend button").first.click()
    seen.add(picture(page))
    for name in ("x", "distance from the map"):
        page.select_option("#colour", label=name)
        assert page.locator("#map").get_attribute("data-colour") == name
        seen.add(picture(page))
    page.select_option("#which", label="principal components")
    seen.add(picture(page))
    assert len(seen) == 5


def test_theme_can_be_switched(page):
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_it_prints_on_white(page):
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") in (
        "rgb(255, 255, 255)",
        "rgba(0, 0, 0, 0)",
    )
    assert not page.locator(".controls").is_visible()
    assert page.pdf().startswith(b"%PDF")


def test_data_of_the_page(curved_map):
    data = map_data(curved_map)
    np.testing.assert_array_equal(data["maps"][0]["points"], curved_map.embedding)
    assert [column["name"] for column in data["columns"]] == [
        "kind",
        "x",
        "y",
        "z",
        "w",
        "name",
        "distance from the map",
    ]
    assert [column["kind"] for column in data["columns"]] == ["category", *["number"] * 4, "text", "number"]


def test_summary_and_files(curved_map):
    files = map_files(curved_map, "mercer map sheet.csv")
    assert list(files) == ["embedding.parquet", "model.skops", "report.html", "summary.json"]
    assert json.loads(files["summary.json"])["quality"].keys() == {"pca", "kpca"}
    assert map_summary(curved_map, "c")["command"] == "c"
    embedding = pl.read_parquet(io.BytesIO(embedding_file(curved_map)))
    np.testing.assert_array_equal(embedding["coordinate_1"], curved_map.embedding[:, 0])


def test_profiles_are_in_the_units_of_the_table(curved_map):
    for profile in profiles(curved_map):
        values = {name: [float(text) for text, _ in cells] for name, cells in profile["lines"]}
        assert values.keys() == {"x", "y", "z", "w"}
        frame = curved_map.table.frame
        for name, entries in values.items():
            spread = frame[name].max() - frame[name].min()
            assert frame[name].min() - 0.5 * spread < min(entries) <= max(entries) < frame[name].max() + 0.5 * spread


def test_a_map_of_one_coordinate_and_images(tmp_path):
    from sklearn.datasets import load_digits

    from mercer.report import MapSettings, make_map, table_from_frame

    data = load_digits(n_class=2, as_frame=True).frame.iloc[:60]
    table = table_from_frame(pl.DataFrame({name: data[name].to_numpy() for name in data.columns}))
    result = make_map(table, MapSettings(method="pca", dim=1), label="target")
    page = map_files(result, "mercer map")["report.html"].decode()
    assert "distance from the curve" in page
    assert "Images that the map makes" in page
    assert map_data(result)["images"]["shape"] == [8, 8]
    assert "What the map loses of each column" not in page


@pytest.mark.parametrize("dim", [1, 3])
def test_other_numbers_of_coordinates(dim, curved_map):
    from mercer.report import MapSettings, make_map

    result = make_map(curved_map.table, MapSettings(method="pca", dim=dim))
    page = map_files(result, "mercer map")["report.html"].decode()
    assert ("The curve among the rows" in page) == (dim == 1)
    assert f"Along coordinate {dim}" in page


def candidates_with(n_tried):
    """Models of a choice, with that many manifolds, 2 at most."""
    return {
        "rung": ["mean", "pca", *["manifold"] * n_tried], "n_components": [1] * (2 + n_tried),
        "width": [np.nan, np.nan, 0.1, 0.2][: 2 + n_tried], "penalty": [np.nan, np.nan, 1e-3, 1e-3][: 2 + n_tried],
        "held_out": [-3.0, -2.0, np.nan, -1.0][: 2 + n_tried],
    }  # fmt: skip


@pytest.mark.parametrize("n_tried", [0, 2])
def test_the_choice_is_explained_as_it_is_drawn(curved_map, monkeypatch, n_tried):
    estimator = curved_map.chosen.estimator
    monkeypatch.setattr(estimator, "candidates_", candidates_with(n_tried), raising=False)
    monkeypatch.setattr(estimator, "chosen_", "pca", raising=False)
    text = map_files(curved_map, "mercer map sheet.csv")["report.html"].decode()
    assert "The models that were compared, by held-out rows" in text
    assert "log density of held-out rows" in text


def test_maps_that_were_not_measured_are_named(curved_map):
    assert "Not measured" not in map_files(curved_map, "mercer map")["report.html"].decode()
    maps = {name: replace(found, quality=None) for name, found in curved_map.maps.items()}
    page = map_files(replace(curved_map, maps=maps, partial=True), "mercer map")["report.html"].decode()
    words = "Not measured, as the work was stopped before: principal components, kernel principal components (shown)."
    assert words in page
