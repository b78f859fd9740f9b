"""Tables in binary files: Parquet, Arrow and NumPy."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.tables.arrow_sizes import arrow_bytes, is_arrow_file
from mercer.tables.errors import InputError, unreadable
from mercer.tables.features import some_of
from mercer.tables.files import read_file
from mercer.tables.frame_sizes import TEXTS, frame_bytes
from mercer.tables.memory import memory_to_use, refuse_if_too_large
from mercer.tables.naming import clean_names, shown_name
from mercer.tables.parquet_sizes import longest_row, parquet_bytes

# Errors of libraries for files that are damaged, or not what their names say. Panics are no `Exception`.
_UNREADABLE = (
    pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, EOFError,
    RuntimeError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip

# Bytes of memory for each byte of a compressed file without sizes in its headers: measured on tables of numbers.
_COMPRESSED_FACTOR = 12.0
# Bytes for each byte of a column: Mercer makes one copy of it.
_COPIES = 2.0
# Names of the arrays that SciPy's `save_npz` writes.
_SPARSE = {"data", "format", "shape"}
# Factor for a column of texts, which is copied once more while numbers and dates are searched in it.
_COPIES_OF_TEXTS = 1.0
# Largest number of passes over a file.
_MOST_SLICES = 500
# Units of dates in frames.
_DATE_UNITS = ("D", "ms", "us", "ns")
# First bytes of files of NumPy.
_BEGINNINGS = (b"\x93NUMPY", b"PK")
# First bytes of files and streams of Arrow.
_ARROW = (b"ARROW1", b"\xff\xff\xff\xff")
# Largest number of entries of a list that becomes columns.
_LONGEST_LIST = 10_000


@dataclass(frozen=True)
class ArrayTable:
    """Columns from arrays; the pixels and the shape of images, if rows are such; and what to say."""

    frame: pl.DataFrame
    notes: tuple[str, ...] = ()
    image_shape: tuple[int, int] | None = None
    pixels: tuple[str, ...] = ()


@contextmanager
def _opened(path: Path, factor: float) -> Iterator[IO[bytes]]:
    """A file to read from; the content of a pipe, which cannot be read twice, is in memory.

    Errors of the libraries that read it are those of the file.
    """
    try:
        with _as_file(path, factor) as file:
            yield file
    except _UNREADABLE as error:
        raise unreadable(shown_name(path), error) from None


@contextmanager
def _as_file(path: Path, factor: float) -> Iterator[IO[bytes]]:
    if path.is_file():
        with path.open("rb") as file:
            yield file
    else:
        yield io.BytesIO(read_file(path, factor))


def parquet_frame(path: Path) -> pl.DataFrame:
    """The columns of a Parquet file, after the headers of its pages showed that they fit into memory."""
    with _opened(path, _COMPRESSED_FACTOR) as file:
        needed, longest = _COPIES * parquet_bytes(file), longest_row(file)
        if longest and needed > memory_to_use():
            return _read_in_slices(file, path, needed, longest)
        refuse_if_too_large(needed, f"reading {shown_name(path)}")
        return _with_room(pl.read_parquet(_rewound(file)), path)


def _read_in_slices(file: IO[bytes], path: Path, needed: float, longest: float) -> pl.DataFrame:
    """A file whose texts may be long, but seldom are: so many rows at a time as would fit if they were."""
    table = pl.scan_parquet(_rewound(file))
    height = table.select(pl.len()).collect().item()
    step = int(memory_to_use() / (_COPIES * longest))
    if height > _MOST_SLICES * step:
        refuse_if_too_large(needed, f"reading {shown_name(path)}", "write it with another encoding than differences")
    pieces: list[pl.DataFrame] = []
    for start in range(0, height, max(step, 1)):
        pieces.append(table.slice(start, step).collect())
        frame = _with_room(pl.concat(pieces), path)
    return frame


def arrow_frame(path: Path) -> pl.DataFrame:
    """The columns of an Arrow file or stream, after the headers of its messages showed that they fit into memory."""
    with _opened(path, _COMPRESSED_FACTOR) as file:
        if not file.read(8).startswith(_ARROW):
            raise InputError(f"{shown_name(path)} is no Arrow file; check what kind of file it is.")
        file.seek(0)
        refuse_if_too_large(_COPIES * arrow_bytes(file), f"reading {shown_name(path)}")
        read = pl.read_ipc if is_arrow_file(file) else pl.read_ipc_stream
        return _with_room(read(_rewound(file)), path)


def _rewound(file: IO[bytes]) -> IO[bytes]:
    """A file at its beginning, also for polars, which does not know what Python has read ahead of its place."""
    file.seek(0, 2)
    file.seek(0)
    return file


def _with_room(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    """A frame for which there is room to work on, when texts are no longer shared."""
    n_bytes = _COPIES * frame_bytes(frame) + _COPIES_OF_TEXTS * frame_bytes(frame.select(TEXTS))
    refuse_if_too_large(n_bytes, f"reading {shown_name(path)}")
    return frame


def expanded(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists of numbers that all have the same length as columns "name[0]", "name[1]", ..."""
    columns: list[pl.Series] = []
    for series in frame.get_columns():
        dtype = series.dtype
        if isinstance(dtype, pl.Array) and not dtype.inner.is_nested():
            series = series.arr.to_list()
        inner = series.dtype.inner if isinstance(series.dtype, pl.List) else None
        lengths = set(series.list.len().drop_nulls()) if inner is not None else set()
        if inner is None or not (inner.is_numeric() or inner == pl.Boolean) or len(lengths) != 1:
            columns.append(series)
            continue
        n_entries = lengths.pop()
        if not 0 < n_entries <= _LONGEST_LIST:
            columns.append(series)
            continue
        columns += [series.list.get(j).alias(f"{series.name}[{j}]") for j in range(n_entries)]
    unique, _ = clean_names([series.name for series in columns])
    return pl.DataFrame([series.alias(name) for series, name in zip(columns, unique, strict=True)])


def array_table(path: Path) -> ArrayTable:
    """Arrays of NumPy, from one file or an archive of several."""
    name = shown_name(path)
    data = read_file(path, _COPIES)
    try:
        arrays = _arrays(data, name, path.suffix.lower())
    except _UNREADABLE as error:
        if "allow_pickle" in str(error):
            what = "no arrays of NumPy" if not data.startswith(_BEGINNINGS) else "objects of Python, which may run code"
            raise InputError(f"{name} cannot be read as a table: it holds {what}; write arrays of numbers.") from None
        raise unreadable(name, error) from None
    return _from_arrays(name, arrays)


def _arrays(data: bytes, name: str, ending: str) -> dict[str, Any]:
    # From memory, since NumPy leaves files open that it cannot read; and without pickled objects, which could run code.
    if ending == ".npy":
        return {"x": np.load(io.BytesIO(data), allow_pickle=False)}
    with zipfile.ZipFile(io.BytesIO(data)) as members:
        refuse_if_too_large(_COPIES * sum(member.file_size for member in members.infolist()), f"reading {name}")
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        return {key: archive[key] for key in sorted(archive.files)}


def _from_arrays(name: str, arrays: dict[str, Any]) -> ArrayTable:
    """The largest array holds the rows, or images; vectors of the same length are further columns."""
    arrays = {key: value for key, value in arrays.items() if isinstance(value, np.ndarray)}
    if arrays.keys() >= _SPARSE:
        raise InputError(f"{name} holds a sparse matrix of SciPy; give its rows, as X.toarray() has them.")
    if not arrays:
        raise InputError(f"{name} holds no arrays; give one of rows.")
    main = max(arrays, key=lambda key: arrays[key].size)
    values = arrays[main]
    if values.dtype.kind not in "fiub" or not 1 <= values.ndim <= 3:
        raise InputError(
            f"{name} must hold numbers of one, two or three dimensions (rows, or images), got {values.dtype} of "
            f"shape {values.shape}; convert it."
        )
    shape = (values.shape[1], values.shape[2]) if values.ndim == 3 else None
    flat = _native(values).reshape(len(values), -1) if values.size else values.reshape(0, 0)
    names = [f"{main}{j + 1}" for j in range(flat.shape[1])]
    why_not = {key: _why_no_column(value, len(values)) for key, value in arrays.items() if key != main}
    others = [key for key, why in why_not.items() if not why]
    for key in others:
        if arrays[key].dtype.kind == "M" and np.datetime_data(arrays[key].dtype)[0] not in _DATE_UNITS:
            raise InputError(
                f"{name} must hold dates in units of {', '.join(_DATE_UNITS)}, got {arrays[key].dtype} for {key}; "
                "convert them."
            )
    unique, notes = clean_names([*names, *others])
    columns = [*np.ascontiguousarray(flat.T), *[_native(arrays[key].ravel()) for key in others]]
    for why in dict.fromkeys(filter(None, why_not.values())):
        left_out = [key for key in why_not if why_not[key] == why]
        notes.append(f"Left out, {why}: {some_of(left_out)}.")
    frame = pl.DataFrame(dict(zip(unique, columns, strict=True)))
    return ArrayTable(frame, tuple(notes), shape, tuple(unique[: len(names)]) if shape else ())


def _why_no_column(values: Array, n_rows: int) -> str:
    """Why an array is no column beside others; empty if it is one."""
    if len(values.shape) == 0 or len(values) != n_rows:
        return "having another length"
    if values.size != n_rows:
        return "having several columns"
    return "" if values.dtype.kind in "fiubUM" else f"being of type {values.dtype}"


def _native(values: Array) -> Array:
    """Numbers of a size and an order of bytes that frames know."""
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        return values.astype(np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)
