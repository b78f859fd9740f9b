"""Folders of images from the first look to new images."""

import json

import numpy as np
import polars as pl
import pytest

from mercer.cli.exit_codes import ExitCode

Image = pytest.importorskip("PIL.Image")
COLOURS = {"apples": (200, 30, 30), "limes": (60, 190, 40)}


@pytest.fixture
def fruit(tmp_path):
    """Two sub-folders of coloured images, and a broken one."""
    rng = np.random.default_rng(0)
    for name, colour in COLOURS.items():
        (tmp_path / "fruit" / name).mkdir(parents=True)
        for i in range(12):
            values = np.clip(np.array(colour) + rng.integers(-20, 20, size=(6, 6, 3)), 0, 255)
            Image.fromarray(values.astype(np.uint8)).save(tmp_path / "fruit" / name / f"{i}.png")
    (tmp_path / "fruit" / "limes" / "broken.png").write_bytes(b"no image")
    return tmp_path / "fruit"


def test_a_folder_of_classes_is_mapped_with_its_label(run, tmp_path, fruit):
    said = run("map", fruit, "--method", "pca", "--out", "o").output
    assert "The names of 2 sub-folders are the column class." in said
    assert "The column class is the label: it colours the map, and took no part in making it." in said
    assert "left out: limes/broken.png (broken)" in said
    summary = json.loads((tmp_path / "o/summary.json").read_text())
    assert (summary["label"], summary["n_rows"], summary["n_columns"]) == ("class", 24, 108)
    assert summary["quality"]["pca"]["label_agreement"] > 0.9
    assert 0.0 < summary["quality"]["pca"]["shared_neighbours"] <= 1.0
    embedding = pl.read_parquet(tmp_path / "o/embedding.parquet")
    assert embedding["class"].to_list() == ["apples"] * 12 + ["limes"] * 12
    assert run("map", fruit, "--method", "pca", "--drop", "class", "--json").output.count('"label": null') == 1


def test_new_images_are_brought_to_the_shape_of_the_model(run, tmp_path, fruit):
    run("map", fruit, "--method", "pca", "--out", "o")
    (tmp_path / "new").mkdir()
    Image.new("RGB", (20, 9), COLOURS["limes"]).save(tmp_path / "new" / "lime.png")
    Image.new("L", (6, 6), 90).save(tmp_path / "new" / "grey.png")
    run("apply", "o/model.skops", "new", "--out", "places.csv")
    places = pl.read_csv(tmp_path / "places.csv")
    assert places["file"].to_list() == ["grey.png", "lime.png"]
    known = pl.read_parquet(tmp_path / "o/embedding.parquet").filter(pl.col("class") == "limes")
    low, high = known["coordinate_1"].min(), known["coordinate_1"].max()
    spread = high - low
    assert low - spread < places["coordinate_1"][1] < high + spread


def test_a_machine_learns_the_classes_of_a_folder(run, tmp_path, fruit):
    run("fit", fruit, "--target", "class", "--out", "o", "--kernel", "gaussian")
    run("predict", "o/model.skops", fruit / "limes", "--out", "guesses.csv")
    assert set(pl.read_csv(tmp_path / "guesses.csv")["class"]) == {"limes"}


def test_folders_of_folders_are_refused(run, fruit):
    said = run("map", fruit.parent, code=ExitCode.INPUT).output
    assert "must hold images, or one sub-folder of images for each class" in " ".join(said.split())


def test_labels_of_many_values_are_on_the_page(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({name: rng.normal(size=60) for name in "abc"})
    frame = frame.with_columns(city=pl.Series([f"city {i % 30}" for i in range(60)]))
    frame.write_csv(tmp_path / "t.csv")
    run("map", "t.csv", "--method", "pca", "--label", "city", "--out", "o")
    page = (tmp_path / "o/report.html").read_text()
    assert '<option value="0" selected>city</option>' in page
    assert '"categories":["city 0","city 1"' in page
