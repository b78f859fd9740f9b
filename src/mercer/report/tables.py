"""Tables from files: CSV, TSV, Parquet, Arrow, NPY, NPZ, and folders of images."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mercer.report.errors import InputError
from mercer.report.images import image_shape_of, read_image_folder
from mercer.report.memory import refuse_if_too_large

Array = NDArray[Any]

# What people write where there is nothing.
_MISSING = ["", "NA", "N/A", "n/a", "na", "NaN", "nan", "null", "NULL", "None", "none", "?", "-", "#N/A"]
_SEPARATORS = ",;\t|"
# Bytes of memory for each byte of a file of text, and of a compressed one: measured on tables of numbers.
_TEXT_FACTOR, _COMPRESSED_FACTOR = 4.0, 12.0


@dataclass(frozen=True)
class Table:
    """Rows with named columns, and what was done to read them.

    Attributes
    ----------
    frame : polars.DataFrame
        The rows.
    name : str
        What the report calls them.
    notes : tuple of str
        Sentences about the reading that the user should know.
    image_shape : pair of int, optional
        Height and width, if each row is an image whose pixels are the columns `pixels`.
    pixels : tuple of str
        The columns that are pixels, row by row.
    """

    frame: pl.DataFrame
    name: str
    notes: tuple[str, ...] = ()
    image_shape: tuple[int, int] | None = None
    pixels: tuple[str, ...] = ()

    def check_columns(self, *names: str) -> None:
        """Refuse names that no column has."""
        for name in names:
            if name not in self.frame.columns:
                columns = ", ".join(self.frame.columns[:12]) + (" ..." if self.frame.width > 12 else "")
                raise InputError(f"There is no column {name!r} in {self.name}; its columns are {columns}.")


def read_table(path: str | Path, *, encoding: str = "utf-8") -> Table:
    r"""Read a table by the ending of its name; a folder is read as one of images.

    Parameters
    ----------
    path : str or Path
        .csv, .tsv, .txt, .parquet, .arrow, .feather, .ipc, .npy, .npz, or a folder.
    encoding : str
        Of text files.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mercer.report import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cars.csv")
    ...     _ = path.write_text("weight;colour\n1,5;red\n2,5;blue\n")
    ...     read_table(path).frame.shape
    (2, 2)
    """
    path = Path(path)
    if path.is_dir():
        frame, shape, notes = read_image_folder(path)
        return Table(frame, path.name, notes, shape, tuple(frame.columns[1:]))
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name.")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(_READERS)
        raise InputError(f"{path.name} has an ending that is not known; give one of {known}, or a folder of images.")
    try:
        table = reader(path, encoding)
    except PermissionError:
        raise InputError(f"{path} may not be read; check its permissions.") from None
    except (pl.exceptions.PolarsError, OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path.name} cannot be read as a table: {_first_line(error)}.") from None
    if not table.frame.width or not table.frame.height:
        what = "no columns" if not table.frame.width else "a header but no rows"
        raise InputError(f"{path.name} has {what}; give a table with rows of data.")
    return _with_images(table)


def table_from_frame(frame: pl.DataFrame, name: str = "table") -> Table:
    """A table that is in memory already."""
    return _with_images(Table(frame, name))


def _with_images(table: Table) -> Table:
    found = image_shape_of(table.frame.columns) if table.image_shape is None else None
    if found is None:
        return table
    shape, pixels = found
    note = f"The columns {pixels[0]} to {pixels[-1]} are taken as images of {shape[0]} x {shape[1]} pixels."
    return replace(table, image_shape=shape, pixels=tuple(pixels), notes=(*table.notes, note))


# Text ----------------------------------------------------------------------------------------------------------------


def _read_text(path: Path, encoding: str) -> Table:
    refuse_if_too_large(_TEXT_FACTOR * path.stat().st_size, f"reading {path.name}")
    text = _decoded(path.read_bytes(), path.name, encoding)
    if not text.strip():
        raise InputError(f"{path.name} is empty; give a table with a header and rows.")
    first_line = text.lstrip("\n").split("\n", 1)[0]
    separator = "\t" if path.suffix.lower() == ".tsv" else max(_SEPARATORS, key=first_line.count)
    names = [name.strip() for name in next(csv.reader([first_line.rstrip("\r")], delimiter=separator))]
    has_header = not all(_is_number(name) for name in names)
    notes = [] if has_header else ["The first line holds numbers: it is taken as a row, and the columns are numbered."]
    frame = pl.read_csv(
        io.BytesIO(text.encode()), separator=separator, has_header=has_header, infer_schema_length=None,
        try_parse_dates=True, null_values=_MISSING,
    )  # fmt: skip
    if has_header and len(names) == frame.width:
        unique = _unique(names)
        if unique != names:
            changed = [new for old, new in zip(names, unique, strict=True) if old != new]
            notes.append(f"Column names that are empty or come twice were changed: {', '.join(changed)}.")
        frame.columns = unique
    return Table(frame, path.name, tuple(notes))


def _decoded(data: bytes, name: str, encoding: str) -> str:
    for mark, guess in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark) and encoding.lower().replace("-", "") == "utf8":
            raise InputError(f"{name} is not UTF-8 text but {guess}; pass --encoding {guess}, or save it as UTF-8.")
    try:
        text = data.decode(encoding).lstrip("\ufeff")
    except LookupError:
        raise InputError(f"encoding must be one that Python knows, got {encoding!r}; try utf-8 or latin-1.") from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{name} is not {encoding} text (line {line}); save it as UTF-8, or pass --encoding latin-1."
        ) from None
    if "\0" in text:
        raise InputError(f"{name} is not a text table: it holds zero bytes; check what kind of file it is.")
    return text.replace("\r\n", "\n")


def _unique(names: Sequence[str]) -> list[str]:
    """Names without gaps and repetitions."""
    unique: list[str] = []
    for position, name in enumerate(names):
        wanted = new = name or f"column {position + 1}"
        number = 2
        while new in unique or (new != wanted and new in names):
            new, number = f"{wanted} ({number})", number + 1
        unique.append(new)
    return unique


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# Binary files --------------------------------------------------------------------------------------------------------


def _read_parquet(path: Path, encoding: str) -> Table:
    refuse_if_too_large(_COMPRESSED_FACTOR * path.stat().st_size, f"reading {path.name}")
    return Table(pl.read_parquet(path), path.name)


def _read_arrow(path: Path, encoding: str) -> Table:
    refuse_if_too_large(_COMPRESSED_FACTOR * path.stat().st_size, f"reading {path.name}")
    try:
        return Table(pl.read_ipc(path), path.name)
    except pl.exceptions.PolarsError:
        return Table(pl.read_ipc_stream(path), path.name)


def _read_npy(path: Path, encoding: str) -> Table:
    return _from_arrays(path.name, {"x": _load(path)})


def _read_npz(path: Path, encoding: str) -> Table:
    with _load(path) as archive:
        return _from_arrays(path.name, {name: archive[name] for name in sorted(archive.files)})


def _load(path: Path) -> Any:
    refuse_if_too_large(2.0 * path.stat().st_size, f"reading {path.name}")
    # From memory, since NumPy leaves files open that it cannot read; and without pickled objects, which could run code.
    return np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)


def _from_arrays(name: str, arrays: dict[str, Array]) -> Table:
    """The largest array holds the rows, or images; vectors of the same length are further columns."""
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
    flat = values.reshape(len(values), -1)
    names = [f"{main}{j + 1}" for j in range(flat.shape[1])]
    columns: dict[str, Any] = dict(zip(names, np.ascontiguousarray(flat.T), strict=True))
    others = [key for key in arrays if key != main and arrays[key].shape == (len(values),)]
    columns |= {key: arrays[key] for key in others}
    left_out = [key for key in arrays if key != main and key not in others]
    notes = (f"The arrays {', '.join(left_out)} have another length and are left out.",) if left_out else ()
    return Table(pl.DataFrame(columns), name, notes, shape, tuple(names) if shape else ())


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


_READERS: dict[str, Callable[[Path, str], Table]] = {
    ".csv": _read_text, ".tsv": _read_text, ".txt": _read_text, ".parquet": _read_parquet, ".arrow": _read_arrow,
    ".feather": _read_arrow, ".ipc": _read_arrow, ".npy": _read_npy, ".npz": _read_npz,
}  # fmt: skip
