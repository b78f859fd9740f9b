import numpy as np
import polars as pl
import pytest

from mercer.report import InputError, read_table, table_from_frame
from mercer.tables.images import image_shape_of

FRAME = pl.DataFrame({"a": [1.5, 2.5, None], "b": ["x", "y", "x"]})


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.txt", "t.parquet", "t.arrow", "t.feather", "t.ipc", "stream.arrow"]
)
def test_all_kinds_of_files_give_the_same_table(tmp_path, name):
    path = tmp_path / name
    if name == "stream.arrow":
        FRAME.write_ipc_stream(path)
    elif path.suffix == ".parquet":
        FRAME.write_parquet(path)
    elif path.suffix in (".arrow", ".feather", ".ipc"):
        FRAME.write_ipc(path)
    else:
        FRAME.write_csv(path, separator="\t" if path.suffix == ".tsv" else ";")
    assert read_table(path).frame.equals(FRAME)
    assert read_table(str(path)).name == name


def test_text_in_other_encodings_and_with_marks(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe,b\r\n1,2\r\n".encode("latin-1"))
    assert read_table(path, encoding="latin-1").frame.columns == ["größe", "b"]
    path.write_bytes("größe,b\n1,2\n".encode("utf-8-sig"))
    assert read_table(path).frame.columns == ["größe", "b"]
    with pytest.raises(InputError, match="encoding must be one that Python knows, got 'klingon'"):
        read_table(path, encoding="klingon")


def test_words_for_nothing_are_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,NA\n?,2\n3,-\nnan,4\n")
    assert read_table(path).frame.null_count().row(0) == (2, 2)


def test_arrays(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    np.save(tmp_path / "x.npy", X)
    assert read_table(tmp_path / "x.npy").frame.columns == ["x1", "x2", "x3"]
    np.savez(tmp_path / "x.npz", X=X, y=np.arange(4), other=np.zeros(2))
    table = read_table(tmp_path / "x.npz")
    assert table.frame.columns == ["X1", "X2", "X3", "y"]
    assert table.notes == ("Left out, having another length: other.",)
    np.save(tmp_path / "images.npy", np.zeros((5, 6, 7)))
    assert read_table(tmp_path / "images.npy").image_shape == (6, 7)
    np.savez(tmp_path / "none.npz")
    with pytest.raises(InputError, match="holds no arrays"):
        read_table(tmp_path / "none.npz")


def test_folders_of_images(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for i, size in enumerate([(64, 48), (64, 48), (32, 24)]):
        Image.fromarray(rng.integers(0, 255, size=size[::-1], dtype=np.uint8)).save(tmp_path / f"{i}.png")
    (tmp_path / "notes.txt").write_text("no image")
    (tmp_path / "broken.png").write_text("no image")
    table = read_table(tmp_path)
    assert table.image_shape == (24, 32)
    assert table.frame.shape == (3, 1 + 24 * 32)
    assert table.frame["file"].to_list() == ["0.png", "1.png", "2.png"]
    said = " ".join(table.notes)
    assert "2 sizes" in said
    assert "1 file that cannot be opened was left out: broken.png" in said
    for path in tmp_path.glob("?.png"):
        path.unlink()
    with pytest.raises(InputError, match="holds no image that can be opened"):
        read_table(tmp_path)


def test_names_tell_of_images():
    squares = [f"pixel_{r}_{c}" for r in range(8) for c in range(6)]
    assert image_shape_of(["label", *squares]) == ((8, 6), squares)
    assert image_shape_of([f"{r}x{c}" for r in range(1, 6) for c in range(1, 6)])[0] == (5, 5)
    assert image_shape_of([f"pixel{i}" for i in range(784)])[0] == (28, 28)
    for names in (["a", "b"], squares[:-1], [f"pixel{i}" for i in range(17)], ["x_1_2", "x_1_3"]):
        assert image_shape_of(names) is None
    assert "8 x 6 pixels" in table_from_frame(pl.DataFrame({name: [0.0] for name in squares})).notes[0]


def test_what_cannot_be_read(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")

    def forbidden(self):
        raise PermissionError

    monkeypatch.setattr("pathlib.Path.read_bytes", forbidden)
    with pytest.raises(InputError, match="may not be read; check its permissions"):
        read_table(path)
