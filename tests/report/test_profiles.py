"""Profiles run where rows are."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from mercer.report import MapSettings, figures, make_map, table_from_frame
from mercer.report.figures import decoded_images
from mercer.report.map_pages import map_files
from mercer.report.profiles import profiles, rows_along
from mercer.tables.images import pixel_names

RNG = np.random.default_rng(0)


def test_places_are_rows_at_even_quantiles():
    z = RNG.exponential(size=1000)
    found = z[rows_along(z[:, None], 0)]
    assert (np.diff(found) > 0).all()
    np.testing.assert_allclose(np.searchsorted(np.sort(z), found) / 1000, np.linspace(0.04, 0.96, 7), atol=0.01)


def test_places_along_a_ring_are_on_it():
    angles = RNG.uniform(0, 2 * np.pi, size=800)
    Z = np.column_stack([np.cos(angles), np.sin(angles)])
    Z[5] = np.nan
    for c in range(2):
        np.testing.assert_allclose(np.linalg.norm(Z[rows_along(Z, c)], axis=1), 1.0)


def test_few_rows_give_fewer_places():
    assert len(rows_along(np.arange(10.0).reshape(5, 2), 0)) == 5


def test_decoded_values_are_ones_that_rows_have():
    """Two groups: the middle of the table is where no row is."""
    group = np.arange(200) % 2
    numbers = {name: 10.0 * group + 0.3 * RNG.normal(size=200) for name in ("a", "b", "c")}
    result = make_map(table_from_frame(pl.DataFrame(numbers)), MapSettings(method="pca"))
    for profile in profiles(result):
        for _, cells in profile["lines"]:
            for text, _ in cells:
                assert min(abs(float(text)), abs(float(text) - 10.0)) < 2.0


def test_no_images_are_decoded_where_no_rows_are(monkeypatch):
    values = (100 * (np.arange(60) % 2)[:, None] + RNG.integers(0, 5, size=(60, 16))).astype(np.uint8)
    table = table_from_frame(pl.DataFrame(dict(zip(pixel_names((4, 4)), values.T, strict=True))))
    result = make_map(table, MapSettings(method="pca", dim=1))
    drawn = []

    class Display:
        def __init__(self, **parts):
            drawn.append(parts)

        def plot(self, ax, cmap):
            assert cmap == "gray"  # from black to white

    monkeypatch.setattr("mercer.report.figures.DecodedGridDisplay", Display)
    decoded_images(result)
    images = drawn[0]["images"][:, 0].reshape(9, 16)
    assert drawn[0]["ends"] == (0.0, 255.0)
    assert np.isfinite(images[[0, 8]]).all()
    assert np.isnan(images[3:6]).all()


@pytest.mark.parametrize(("n_left_out", "words"), [(1, "1 column that changes"), (2, "2 columns that change")])
def test_what_is_left_out_is_counted_in_good_english(n_left_out, words):
    X = RNG.normal(size=(60, 15 + n_left_out))
    result = make_map(table_from_frame(pl.DataFrame(X)), MapSettings(method="pca"))
    verb = "is" if n_left_out == 1 else "are"
    page = map_files(result, "mercer map")["report.html"].decode()
    assert f"{words} less along this coordinate {verb} left out." in page


@pytest.mark.parametrize("turned", [False, True])
def test_the_density_of_a_long_map_is_no_strip(monkeypatch, turned):
    seen = []
    monkeypatch.setattr(figures.Picture, "svg", lambda picture: seen.extend(picture.figure.axes))
    Z = RNG.uniform(-1, 1, size=(200, 2)) * ([5.0, 70.0] if turned else [70.0, 5.0])
    result = SimpleNamespace(embedding=Z, model=SimpleNamespace(estimator=None))
    figures.density_picture(result)
    seen[0].figure.draw_without_rendering()
    box = seen[0].get_window_extent()
    assert max(box.width / box.height, box.height / box.width) < 3.1
    seen.clear()
    result.embedding = RNG.uniform(-1, 1, size=(200, 2)) * [2.0, 1.0]
    figures.density_picture(result)
    assert seen[0].get_aspect() == 1.0
