import io
import socket

import numpy as np
import polars as pl
import pytest

from mercer.tables import InputError, read_table
from mercer.tables.files import zstandard_bound
from mercer.tables.parquet_sizes import parquet_bytes

FRAME = pl.DataFrame({"a": [1.5, 2.5, None] * 100, "b": ["x", "yy", "x"] * 100, "c": [[1, 2], [3], []] * 100})


@pytest.mark.parametrize(
    "options", [{}, {"compression": "uncompressed"}, {"row_group_size": 50}, {"statistics": False}]
)
def test_footers_tell_sizes(options):
    file = io.BytesIO()
    FRAME.write_parquet(file, **options)
    # At least what every entry takes, and not much more.
    assert 16 * 900 <= parquet_bytes(file) <= 20 * 1000


@pytest.mark.parametrize(("start", "words"), [(-8, "does not end as a Parquet file"), (-200, "footer is damaged")])
def test_footers_that_are_damaged(tmp_path, start, words):
    file = io.BytesIO()
    FRAME.write_parquet(file)
    data = bytearray(file.getvalue())
    data[start : -4 if start == -200 else None] = b"\xff" * len(data[start : -4 if start == -200 else None])
    if start == -200:
        data[-8:-4] = (150).to_bytes(4, "little")
    with pytest.raises(ValueError, match=words):
        parquet_bytes(io.BytesIO(bytes(data)))
    (tmp_path / "t.parquet").write_bytes(bytes(data))
    with pytest.raises(InputError, match="t.parquet cannot be read as a table"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    "footer",
    [
        b"\x18\xff\xff\xff\xff\x0f\x00",  # a text that is longer than the file
        b"\x19\xf7\xff\xff\xff\xff\x0f\x00",  # many numbers of eight bytes each
        b"\x1b\xff\xff\xff\xff\x0f\x11\x00",  # a map of many truth values
        b"\x16" + b"\x80" * 20 + b"\x00\x00",  # a number that is longer than any
    ],
)
def test_footers_that_say_to_be_long_end_where_the_file_does(footer):
    with pytest.raises(ValueError, match="footer is damaged"):
        parquet_bytes(io.BytesIO(footer + len(footer).to_bytes(4, "little") + b"PAR1"))


def test_blocks_of_zstandard_tell_sizes():
    frame = bytes.fromhex("28b52ffd0458610000612c620a312c320a332c350a913af743")
    assert zstandard_bound(frame) == 12
    skippable = bytes.fromhex("502a4d1803000000aabbcc")
    assert zstandard_bound(skippable + frame + frame) == 24
    for damaged in (frame[:-20], b"nonsense"):
        with pytest.raises((ValueError, IndexError)):
            zstandard_bound(damaged)


def test_panics_of_polars_are_errors_of_the_file(tmp_path, monkeypatch):
    def panics(*args, **options):
        raise pl.exceptions.PanicException("out-of-range date")

    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    monkeypatch.setattr("mercer.tables.text.pl.read_csv", panics)
    with pytest.raises(InputError, match="t.csv cannot be read as a table: out-of-range date"):
        read_table(tmp_path / "t.csv")


def test_sockets_are_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.csv")
        with pytest.raises(InputError, match="s.csv is a socket, not a file"):
            read_table("s.csv")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv.gz", b"a,b\n1,2\n", "is damaged, or no gzip file"),
        ("t.csv.zst", b"a,b\n1,2\n", "is damaged, or no Zstandard file"),
        ("t.npz", b"PK", "cannot be read as a table"),
        ("t.csv.bz2", b"", "ending that is not known"),
        ("t.csv", b'"a\n1,2\n', "a quote in it does not end"),
    ],
)
def test_files_that_are_something_else(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_table(tmp_path / name)


def test_an_array_of_more_rows_than_the_file_has(tmp_path):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (1000, 2)})
    (tmp_path / "t.npy").write_bytes(file.getvalue())
    with pytest.raises(InputError, match="cannot be read as a table"):
        read_table(tmp_path / "t.npy")


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("t.csv", "mercer.tables.text.find_dialect"),
        ("t.parquet", "mercer.tables.reading.expanded"),
        ("t.npy", "mercer.tables.binary._from_arrays"),
    ],
)
@pytest.mark.parametrize("error", [ValueError, RuntimeError, pl.exceptions.ColumnNotFoundError])
def test_errors_of_mercer_are_not_those_of_the_file(tmp_path, monkeypatch, name, place, error):
    def fails(*args, **options):
        raise error("a mistake")

    path = tmp_path / name
    frame = pl.DataFrame({"a": [1.0, 2.0]})
    if name == "t.npy":
        np.save(path, frame.to_numpy())
    else:
        frame.write_csv(path) if name == "t.csv" else frame.write_parquet(path)
    monkeypatch.setattr(place, fails)
    with pytest.raises(error, match="a mistake"):
        read_table(path)


@pytest.mark.parametrize("unit", ["Y", "h", "s", "as"])
def test_dates_in_units_that_frames_do_not_know(tmp_path, unit):
    np.savez(tmp_path / "t.npz", X=np.arange(8.0).reshape(4, 2), when=np.arange(4).astype(f"M8[{unit}]"))
    with pytest.raises(InputError, match=rf"dates in units of D, ms, us, ns, got datetime64\[{unit}\] for when"):
        read_table(tmp_path / "t.npz")
