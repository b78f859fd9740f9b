"""Folders of images: classes, colours, files that are broken or too large, and memory."""

import os

import numpy as np
import polars as pl
import pytest

from mercer.tables import InputError, MemoryRefusal, TableSchema, read_table, table_from_frame
from mercer.tables import images as images_module
from mercer.tables.images import image_shape_of, pixel_names

Image = pytest.importorskip("PIL.Image")
RNG = np.random.default_rng(0)


def grey(path, value=None, size=(6, 6)):
    path.parent.mkdir(parents=True, exist_ok=True)
    values = RNG.integers(0, 255, size=size[::-1], dtype=np.uint8) if value is None else np.full(size[::-1], value)
    Image.fromarray(values.astype(np.uint8)).save(path)


def pixels_of(table):
    return table.frame.select(table.pixels).to_numpy().reshape(-1, *table.image_shape)


def test_sub_folders_are_classes(tmp_path):
    for name in ("cats/0.png", "cats/1.png", "dogs/0.png"):
        grey(tmp_path / name)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "cats" / "._0.png").write_text("what another system left there")
    table = read_table(tmp_path)
    assert table.frame["file"].to_list() == ["cats/0.png", "cats/1.png", "dogs/0.png"]
    assert table.frame["class"].to_list() == ["cats", "cats", "dogs"]
    assert table.label == "class"
    assert "The names of 2 sub-folders are the column class." in table.notes
    assert "class" not in TableSchema.learn(table)[0].features
    # Images beside the sub-folders have no class, and what is deeper is named.
    grey(tmp_path / "loose.png")
    grey(tmp_path / "dogs" / "small" / "0.png")
    table = read_table(tmp_path)
    assert table.frame["class"].to_list() == [None, "cats", "cats", "dogs"]
    assert table.notes[-1] == "Folders inside of sub-folders are not read: dogs/small."


def test_images_that_are_too_deep_are_refused(tmp_path):
    grey(tmp_path / "train" / "cats" / "0.png")
    with pytest.raises(InputError, match="got images in train/cats only; give the folder .*train"):
        read_table(tmp_path)
    assert read_table(tmp_path / "train").frame["class"].to_list() == ["cats"]


def test_broken_and_oversized_images_are_left_out_and_named(tmp_path, monkeypatch):
    for i in range(3):
        grey(tmp_path / f"fine{i}.png")
    whole = (tmp_path / "fine0.png").read_bytes()
    # The first file by name is cut short: it must not tell the size of all others.
    Image.fromarray(RNG.integers(0, 255, size=(40, 9), dtype=np.uint8)).save(tmp_path / "a.png")
    cut = (tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").write_bytes(cut[: len(cut) // 2])
    (tmp_path / "b.png").write_bytes(whole[:20] + b"\xff\xff" + whole[22:])
    (tmp_path / "c.png").mkdir()
    grey(tmp_path / "large.png", 0, size=(30, 20))
    monkeypatch.setattr(images_module, "_MOST_PIXELS", 500)
    table = read_table(tmp_path)
    assert table.frame["file"].to_list() == ["fine0.png", "fine1.png", "fine2.png"]
    assert table.image_shape == (6, 6)
    lost = "a.png (broken), b.png (broken), large.png (30 x 20 pixels are too many)"
    assert table.notes[-1] == f"3 files that cannot be opened were left out: {lost}."


def test_a_lack_of_memory_is_no_fault_of_an_image(tmp_path, monkeypatch):
    def fails(image):
        raise MemoryError("of the machine")

    grey(tmp_path / "a.png")
    monkeypatch.setattr(images_module, "_in_rgb", fails)
    with pytest.raises(MemoryError, match="of the machine"):
        read_table(tmp_path)


def test_decompression_bombs_are_left_out(tmp_path, monkeypatch):
    grey(tmp_path / "bomb.png", 0, size=(60, 60))
    grey(tmp_path / "fine.png", 9)
    for limit in (1500, 2500):  # an error of Pillow, and a warning
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        monkeypatch.setattr(images_module, "_MOST_PIXELS", limit)
        table = read_table(tmp_path)
        assert table.frame["file"].to_list() == ["fine.png"]
        assert "bomb.png" in table.notes[-1]


def test_many_images_are_refused_before_they_are_read(tmp_path, monkeypatch):
    for i in range(30):
        grey(tmp_path / f"{i:02}.png")
    opened, open_image = [], Image.open
    monkeypatch.setattr(Image, "open", lambda path: opened.append(path) or open_image(path))
    monkeypatch.setattr("mercer.tables.memory.available_memory", lambda: 1e5)
    with pytest.raises(MemoryRefusal, match="Reading 30 images of 6 x 6 pixels would take .* give fewer images"):
        read_table(tmp_path)
    assert len(opened) == 1


def test_colours_stay_colours_and_greys_stay_greys(tmp_path):
    colours = RNG.integers(0, 255, size=(2, 5, 7, 3), dtype=np.uint8)
    for i, values in enumerate(colours):
        Image.fromarray(values).save(tmp_path / f"{i}.png")
    table = read_table(tmp_path)
    assert table.image_shape == (5, 7, 3)
    assert table.pixels[:4] == ("pixel_0_0_red", "pixel_0_0_green", "pixel_0_0_blue", "pixel_0_1_red")
    np.testing.assert_array_equal(pixels_of(table), colours)
    assert table.notes[0] == "2 colour images were brought to 5 x 7 pixels."
    greys = RNG.integers(0, 255, size=(2, 5, 7), dtype=np.uint8)
    for i, values in enumerate(greys):
        Image.fromarray(values).convert("RGB").save(tmp_path / f"{i}.png")
    table = read_table(tmp_path)
    np.testing.assert_array_equal(pixels_of(table), greys)
    assert table.notes[0] == "2 grey images were brought to 5 x 7 pixels."


def test_large_images_are_made_smaller_in_colour_more_than_in_grey(tmp_path):
    grey(tmp_path / "0.png", size=(640, 480))
    assert read_table(tmp_path).image_shape == (24, 32)
    Image.new("RGB", (640, 480), (200, 0, 0)).save(tmp_path / "1.png")
    table = read_table(tmp_path)
    assert table.image_shape == (15, 20, 3)
    np.testing.assert_array_equal(pixels_of(table)[1], np.broadcast_to([200, 0, 0], (15, 20, 3)))


def test_a_model_tells_the_shape_of_new_images(tmp_path):
    grey(tmp_path / "0.png", 77, size=(9, 5))
    table = read_table(tmp_path, image_shape=(6, 6, 3))
    assert table.image_shape == (6, 6, 3)
    assert (pixels_of(table) == 77).all()
    Image.new("RGB", (9, 5), (200, 0, 0)).save(tmp_path / "0.png")
    table = read_table(tmp_path, image_shape=(6, 6))
    assert table.image_shape == (6, 6)
    assert (pixels_of(table) == 60).all()


@pytest.mark.parametrize(
    ("image", "values"),
    [
        (Image.new("RGBA", (4, 4), (10, 10, 10, 0)), 255),  # what is transparent is paper
        (Image.new("1", (4, 4), 1), 255),
        (Image.fromarray(np.full((4, 4), 32896, dtype=np.uint16)), 128),
    ],
)
def test_kinds_of_images(tmp_path, image, values):
    image.save(tmp_path / "0.png")
    assert (pixels_of(read_table(tmp_path)) == values).all()


def test_photographs_stand_upright(tmp_path):
    image = Image.new("L", (64, 32), 0)
    image.paste(255, (0, 0, 32, 32))
    exif = image.getexif()
    exif[0x0112] = 6  # to be turned by a quarter, clockwise
    image.save(tmp_path / "0.jpg", exif=exif)
    table = read_table(tmp_path)
    assert table.image_shape == (32, 16)
    upper, lower = pixels_of(table)[0, :14], pixels_of(table)[0, 18:]
    assert upper.min() > 200
    assert lower.max() < 55


def test_fractions_without_a_white_are_left_out(tmp_path):
    Image.fromarray(np.ones((4, 4), dtype=np.float32)).save(tmp_path / "0.tif")
    with pytest.raises(InputError, match="no image that can be opened; look at 0.tif"):
        read_table(tmp_path)


def test_names_of_pixels_tell_the_shape():
    for shape in ((5, 6), (4, 5, 3)):
        names = pixel_names(shape)
        assert image_shape_of(["kind", *names[::-1]]) == (shape, names)
    assert image_shape_of(pixel_names((4, 5, 3))[:-1]) is None
    assert image_shape_of([*pixel_names((4, 5, 3)), *pixel_names((4, 5))]) is None


def test_pixels_that_are_dropped_leave_a_plain_table():
    table = table_from_frame(pl.DataFrame({name: RNG.uniform(size=20) for name in pixel_names((4, 4))}))
    schema, _ = TableSchema.learn(table, ["pixel_0_0"])
    assert schema.image_shape is None
    assert len(schema.columns) == 15


def test_names_of_images_that_are_no_text(tmp_path):
    for name in (b"caf\xe9/\xff.png", b"caf\xe8/\xfe.png"):
        path = os.fsdecode(os.fsencode(tmp_path) + b"/" + name)
        os.makedirs(os.path.dirname(path))
        grey(tmp_path / "0.png")
        os.rename(tmp_path / "0.png", path)
    with open(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9/\xfa.png"), "wb") as broken:
        broken.write(b"no image")
    table = read_table(tmp_path)
    # Different names stay different.
    assert table.frame["class"].to_list() == [r"caf\xe8", r"caf\xe9"]
    assert table.frame["file"].to_list() == [r"caf\xe8/\xfe.png", r"caf\xe9/\xff.png"]
    assert r"left out: caf\xe9/\xfa.png (broken)" in table.notes[1]


@pytest.mark.parametrize(("largest", "white"), [(255, 255), (4095, 4095), (3000, 4095), (40_000, 65_535)])
@pytest.mark.parametrize("kind", [np.uint16, np.int32])
def test_images_of_more_than_8_bits_are_as_bright_as_they_can_be(tmp_path, largest, white, kind):
    grey(tmp_path / "a.png", 77)
    for name, value in (("b", largest // 2), ("c", largest)):
        Image.fromarray(np.full((6, 6), value, dtype=kind)).save(tmp_path / f"{name}.tif")
    table = read_table(tmp_path)
    expected = [77, *[255 * value // white for value in (largest // 2, largest)]]
    np.testing.assert_array_equal(pixels_of(table)[:, 0, 0], expected)
    assert f"2 images have more than 8 bits: {white:,} is taken as white" in " ".join(table.notes)


def test_columns_of_years_and_quarters_are_no_images():
    rng = np.random.default_rng(0)
    quarters = [f"{year}_{quarter}" for year in range(2019, 2023) for quarter in range(1, 5)]
    months = [f"sales_{year}_{month:02}" for year in range(2019, 2023) for month in range(1, 13)]
    counted = [f"{row}_{column}" for row in range(1, 5) for column in range(1, 5)]
    for names in (quarters, months, counted):
        table = table_from_frame(pl.DataFrame({name: rng.integers(0, 1000, size=9) for name in names}))
        assert table.image_shape is None
    # With the values of pixels, names that count rows and columns are those of images.
    for values in (rng.integers(0, 256, size=(9, 16)), rng.uniform(size=(9, 16))):
        assert table_from_frame(pl.DataFrame(values, schema=counted)).image_shape == (4, 4)
    assert table_from_frame(pl.DataFrame([["x"] * 9] * 16, schema=counted)).image_shape is None


def test_columns_that_are_to_be_used_beside_pixels_make_a_plain_table():
    frame = pl.DataFrame({name: RNG.uniform(size=20) for name in ("price", *pixel_names((4, 4)))})
    schema, notes = TableSchema.learn(table_from_frame(frame), keep=["price"])
    assert schema.image_shape is None
    assert len(schema.columns) == 17
    assert "Pixels are columns like others, since price is to be used otherwise." in notes
    schema, _ = TableSchema.learn(table_from_frame(frame), keep=["pixel_0_0"])
    assert schema.image_shape == (4, 4)
