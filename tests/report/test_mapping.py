from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from mercer.report import METHODS, InputError, MapSettings, make_map, table_from_frame
from mercer.report import mapping as mapping_module
from mercer.report.map_pages import map_summary


def blobs(n=60, d=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + 4 * (np.arange(n) % 2)[:, None]
    return pl.DataFrame({f"x{j}": X[:, j] for j in range(d)})


def test_a_kind_of_map_that_fails_is_left_out_unless_it_is_asked_for(monkeypatch):
    def fails(self, X, y=None):
        raise ValueError("no graph today")

    monkeypatch.setattr("mercer.graphs.LaplacianEigenmaps.fit", fails)
    monkeypatch.setitem(METHODS, "manifold", METHODS["pca"])
    table = table_from_frame(blobs())
    monkeypatch.setattr(mapping_module, "METHODS", {name: METHODS[name] for name in ("pca", "eigenmaps")})
    result = make_map(table, MapSettings(thorough=True))
    assert list(result.maps) == ["pca"]
    assert any("Laplacian eigenmaps could not be fitted: no graph today" in warning for warning in result.warnings)
    with pytest.raises(InputError, match="Laplacian eigenmaps cannot be fitted: no graph today"):
        make_map(table, MapSettings(method="eigenmaps"))


def test_kinds_of_maps_that_do_not_fit_into_memory_are_left_out(monkeypatch):
    monkeypatch.setattr(mapping_module, "METHODS", {name: METHODS[name] for name in ("pca", "eigenmaps")})
    monkeypatch.setattr("mercer.tables.memory.available_memory", lambda: 1e5)
    result = make_map(table_from_frame(blobs()), MapSettings(thorough=True))
    assert list(result.maps) == ["pca"]
    assert any("would take about" in warning for warning in result.warnings)


def test_another_map_is_taken_if_it_guesses_hidden_entries_better(monkeypatch):
    monkeypatch.setattr(mapping_module, "METHODS", {name: METHODS[name] for name in ("pca", "eigenmaps")})
    t = np.random.default_rng(0).uniform(0, 6, size=200)
    frame = pl.DataFrame({f"x{j}": np.cos((1 + j / 4) * t + j) for j in range(6)})
    result = make_map(table_from_frame(frame), MapSettings(dim=1, thorough=True))
    assert result.model.method == "eigenmaps"
    assert "no other map guesses hidden entries as well" in result.verdict
    assert result.maps["eigenmaps"].quality.hidden_entries < result.maps["pca"].quality.hidden_entries


def test_a_map_that_tears_neighbours_apart_is_named():
    t = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    frame = pl.DataFrame({"a": t[:, 0], "b": t[:, 1], "c": t[:, 0] + t[:, 1]})
    settings = MapSettings(method="kpca")
    result = make_map(table_from_frame(frame), settings)
    assert not any("torn" in warning for warning in result.warnings)
    torn = replace(result.maps["kpca"].quality, continuity=result.maps["pca"].quality.continuity - 0.2)
    work = mapping_module._Mapping(result.table, result.model.schema, result.X, result.rows, settings, None, print)
    work._maps = {**result.maps, "kpca": replace(result.maps["kpca"], quality=torn)}
    assert "it may have torn groups apart" in work._torn("kpca")[0]


def test_few_columns_are_not_hidden():
    result = make_map(table_from_frame(blobs(d=3)), MapSettings(method="pca"))
    assert np.isnan(result.chosen.quality.hidden_entries)


def test_rows_without_any_entry_are_not_on_the_map():
    frame = blobs().with_columns(pl.when(pl.int_range(60) == 7).then(None).otherwise(pl.all()).name.keep())
    result = make_map(table_from_frame(frame), MapSettings(method="pca"))
    assert 7 not in result.rows
    assert "1 row has no usable entry and is not on the map." in result.warnings


def test_labels_of_numbers_and_equal_rows():
    frame = blobs().with_columns(size=pl.col("x0") * 2.0)
    result = make_map(table_from_frame(frame), MapSettings(method="pca"), label="size")
    assert result.chosen.agreement > 0.8
    with pytest.raises(InputError, match="no column that can be used"):
        make_map(table_from_frame(pl.DataFrame({"a": [1.0] * 9, "b": [2.0] * 9})))


def test_the_number_of_coordinates_can_be_left_open():
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, size=80)
    frame = pl.DataFrame(
        {name: f(t) + 0.03 * rng.normal(size=80) for name, f in (("a", np.sin), ("b", np.cos), ("c", np.exp))}
    )
    result = make_map(table_from_frame(frame), MapSettings(method="manifold", dim="auto"))
    assert result.embedding.shape[1] in (1, 2)


def test_a_map_that_guesses_worse_than_the_mean_says_so():
    noise = np.random.default_rng(0).normal(size=(60, 6))
    table = table_from_frame(pl.DataFrame({f"x{j}": noise[:, j] for j in range(6)}))
    result = make_map(table, MapSettings("pca"))
    assert result.chosen.quality.hidden_entries > 1
    assert any("worse than their means" in warning for warning in result.warnings)


def test_what_thorough_work_would_add_is_said(monkeypatch):
    few = {name: METHODS[name] for name in ("pca", "eigenmaps")}
    monkeypatch.setattr(mapping_module, "METHODS", few)
    result = make_map(table_from_frame(blobs()))
    assert list(result.maps) == ["pca"]
    assert result.not_compared == ["kpca", "eigenmaps"]
    assert "kernel principal components, Laplacian eigenmaps. --thorough adds them." in result.reasons[-1]
    assert map_summary(result, "mercer map")["not_compared"] == result.not_compared
    for settings in (MapSettings(thorough=True), MapSettings("eigenmaps")):
        more = make_map(table_from_frame(blobs()), settings)
        assert list(more.maps) == ["pca", "eigenmaps"]
        assert more.not_compared == []
        assert "--thorough" not in "".join(more.reasons)
