"""What a stranger sees on the map: true colours, labels that differ, nothing that is left out without a word."""

import re

import numpy as np
import polars as pl
import pytest

from mercer.report import MapSettings, make_map, table_from_frame
from mercer.tables.images import pixel_names

RNG = np.random.default_rng(0)
FAST = MapSettings(method="pca")
# Linear RGB as it is seen without red, green and blue cones [Machado2009].
BLINDNESS = (
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
)


def table_of(n=120, d=4, **more):
    return table_from_frame(pl.DataFrame({**{f"x{j}": RNG.normal(size=n) for j in range(d)}, **more}))


def colour_images(n=40):
    """Dark red and bright green squares, one pixel of which is black and one is white."""
    values = np.empty((n, 6, 6, 3), dtype=np.uint8)
    values[:] = np.where((np.arange(n) % 2)[:, None, None, None], [140, 10, 20], [90, 220, 60])
    values[:, 2:4, 2:4] += RNG.integers(0, 30, size=(n, 2, 2, 3), dtype=np.uint8)
    values[:, 0, 0], values[:, 0, 5] = 0, 255
    columns = dict(zip(pixel_names((6, 6, 3)), values.reshape(n, -1).T, strict=True))
    table = table_from_frame(pl.DataFrame({"kind": np.where(np.arange(n) % 2, "red", "green"), **columns}))
    return values, make_map(table, FAST, label="kind")


def pixels_at(page, canvas, places):
    """Red, green and blue of places of a canvas, read from a copy."""
    return page.evaluate(
        "([canvas, places]) => { const from = document.querySelector(canvas), copy = document.createElement('canvas');"
        "copy.width = from.width; copy.height = from.height;"
        "const pen = copy.getContext('2d', {willReadFrequently: true}); pen.drawImage(from, 0, 0);"
        "return places.map(([x, y]) => [...pen.getImageData(x, y, 1, 1).data].slice(0, 3)); }",
        [canvas, places],
    )


def drawn_pictures(page):
    return page.evaluate("document.getElementById('map').pictures")


def test_pictures_have_their_colours_and_do_not_cover_each_other(open_map):
    values, result = colour_images()
    page = open_map(result)
    assert page.locator("#drawn").input_value() == "pictures"
    boxes = drawn_pictures(page)
    assert len(boxes) >= 2
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            apart_x = abs(a["left"] - b["left"]) >= a["width"]
            assert apart_x or abs(a["top"] - b["top"]) >= a["height"]
    corners = [(0, 0), (0, 5), (5, 1), (5, 4)]
    for box in boxes[:4]:
        sides = box["width"] / 6, box["height"] / 6
        places = [(box["left"] + (c + 0.5) * sides[0], box["top"] + (r + 0.5) * sides[1]) for r, c in corners]
        wanted = [values[box["row"], r, c] for r, c in corners]
        np.testing.assert_allclose(pixels_at(page, "#map", places), wanted, atol=2)
    page.select_option("#drawn", "points")
    assert drawn_pictures(page) == []


def test_the_picture_of_a_row_is_shown_as_it_is(open_map):
    page = open_map(colour_images()[1])
    box, place = drawn_pictures(page)[0], page.locator("#map").bounding_box()
    page.mouse.move(place["x"] + box["left"] + 3, place["y"] + box["top"] + 3)
    assert f"Row {box['row'] + 1}" in page.locator("#tip").inner_text()
    assert pixels_at(page, "#tip canvas", [(8, 8), (88, 8)]) == [[0, 0, 0], [255, 255, 255]]


def test_phones_show_points_first(open_map):
    page = open_map(colour_images()[1], width=420)
    assert page.locator("#drawn").input_value() == "points"
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


def lab(linear):
    xyz = linear @ np.array(
        [[0.4124564, 0.2126729, 0.0193339], [0.3575761, 0.7151522, 0.1191920], [0.1804375, 0.0721750, 0.9503041]]
    )
    f = np.cbrt(xyz / [0.95047, 1.0, 1.08883])
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_twenty_colours_differ_for_all_eyes(map_report, theme):
    styles = re.findall(r":root[^{]*\{(.*?)\}", map_report.read_text(), re.DOTALL)[theme == "dark"]
    colours = [re.search(rf"--c{i}: #(\w{{6}})", styles)[1] for i in range(20)]
    rgb = np.array([[int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)] for colour in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    for matrix, least in ((np.eye(3), 20.0), *((np.array(m), 13.0) for m in BLINDNESS)):
        seen = lab(np.clip(linear @ matrix.T, 0.0, 1.0))
        distances = np.linalg.norm(seen[:, None] - seen[None], axis=-1) + 1e3 * np.eye(20)
        assert distances.min() > least


def test_no_two_of_forty_labels_look_alike_and_others_are_told(open_map):
    page = open_map(make_map(table_of(400, kind=[f"kind {i % 40}" for i in range(400)]), FAST, label="kind"))
    signs = page.evaluate("[...document.querySelectorAll('#legend canvas')].map((c) => c.toDataURL())")
    assert len(signs) == len(set(signs)) == 40
    many = [f"name {i}" for i in range(300)] + ["often"] * 100
    page = open_map(make_map(table_of(400, kind=many), FAST, label="kind"))
    texts = page.locator("#legend button").all_inner_texts()
    assert texts[0] == "often (100)"
    assert texts[60] == "other: 241 values (241)"
    assert "and 41 more: find them by name" in page.locator("#legend").inner_text()


def test_rows_can_be_found(open_map):
    names = [f"name {i}" for i in range(120)]
    page = open_map(make_map(table_of(kind=["low", "high", "higher"] * 40, name=names), FAST, label="kind"))
    before = page.evaluate("document.getElementById('map').toDataURL()")
    page.fill("#find", "HIGH")
    assert page.locator("#found").inner_text() == "80 of 120 rows"
    assert page.locator("#legend button").all_inner_texts() == ["high (40)", "higher (40)"]
    assert page.evaluate("document.getElementById('map').toDataURL()") != before
    page.fill("#find", "name 77")
    assert page.locator("#found").inner_text() == "1 of 120 rows"
    page.fill("#find", "118")
    assert page.locator("#found").inner_text() == "2 of 120 rows"
    page.fill("#find", "")
    assert page.evaluate("document.getElementById('map').toDataURL()") == before


def test_a_wide_table_makes_no_tall_page_and_tips_tell_what_they_leave_out(open_map):
    result = make_map(table_of(80, 617), FAST)
    page = open_map(result)
    assert page.evaluate("document.documentElement.scrollHeight") < 6000
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert page.evaluate("document.documentElement.scrollHeight") < 8000
    assert page.locator(".bars .name").count() == 617
    assert "The 15 of 617 columns of which the map loses most." in page.locator("body").inner_text()
    page.evaluate("scrollTo(0, 0)")
    box, Z = page.locator("#map").bounding_box(), result.embedding
    low, high = Z.min(axis=0), Z.max(axis=0)
    scale = min((box["width"] - 68) / (high[0] - low[0]), (box["height"] - 68) / (high[1] - low[1]))
    x, y = (Z[0] - (low + high) / 2) * scale
    page.mouse.move(box["x"] + box["width"] / 2 + x, box["y"] + box["height"] / 2 - y)
    lines = page.locator("#tip tr").all_inner_texts()
    assert lines[-1].startswith("distance from the map")
    assert f"and {617 - len(lines) + 1} more columns" in page.locator("#tip").inner_text()


def test_words_stay_with_their_menus_and_menus_show_their_words(open_map):
    page = open_map(make_map(table_of(), MapSettings(method="pca", dim=1)))
    for name in ("colour", "which", "across", "up", "find"):
        word, menu = page.locator(f"label[for={name}]").bounding_box(), page.locator(f"#{name}").bounding_box()
        assert abs(word["y"] + word["height"] / 2 - menu["y"] - menu["height"] / 2) < 6
        assert 0 <= menu["x"] - word["x"] - word["width"] < 12
    for name in ("across", "up"):
        width, needed = page.evaluate(
            "(id) => { const menu = document.getElementById(id), style = getComputedStyle(menu);"
            "const pen = document.createElement('canvas').getContext('2d');"
            "pen.font = `${style.fontSize} ${style.fontFamily}`;"
            "return [menu.clientWidth, pen.measureText('distance from the curve').width]; }",
            name,
        )
        assert width > needed + 24  # the arrow takes the rest


def test_figures_have_their_names(open_map):
    text = open_map(make_map(table_of(), FAST)).locator("body").inner_text()
    assert "true neighbours of 10" in text
    assert "Trustworthiness and continuity are no shares" in " ".join(text.split())
    assert "neighbours on the map are real" not in text
