"""Tables from files: CSV, TSV, Parquet, Arrow, NPY, NPZ, and folders of images."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from mercer.tables.binary import array_table, arrow_frame, expanded, parquet_frame
from mercer.tables.columns import counted
from mercer.tables.dates import within_calendar
from mercer.tables.errors import InputError, unreadable
from mercer.tables.files import compression, decompressed, read_file, refuse_devices
from mercer.tables.images import CLASS, ImageShape, images_in, read_image_folder
from mercer.tables.naming import clean_names, is_pandas_index, shown_name, similar_name
from mercer.tables.numbers import Conventions
from mercer.tables.plain import typed
from mercer.tables.text import TextOptions, text_table

# Bytes of memory for each byte of text: measured on tables of numbers.
_TEXT_FACTOR = 8.0


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
    image_shape : ImageShape, optional
        Height, width and, for colours, channels, if each row is an image whose pixels are the columns `pixels`.
    pixels : tuple of str
        The columns that are pixels, row by row.
    label : str, optional
        The column that labels the rows, if the files say so: never used to fit a map.
    names : tuple of str
        Columns that the file itself says to name the rows.
    conventions : Conventions
        Conventions of the file, or of the user, for numbers in columns of text.
    units : dict of str to str
        Units of columns, if the file has a line of units.
    """

    frame: pl.DataFrame
    name: str
    notes: tuple[str, ...] = ()
    image_shape: ImageShape | None = None
    pixels: tuple[str, ...] = ()
    label: str | None = None
    names: tuple[str, ...] = ()
    conventions: Conventions = field(default_factory=Conventions)
    units: dict[str, str] = field(default_factory=dict)

    def check_columns(self, *names: str) -> None:
        """Refuse names that no column has."""
        for name in names:
            if name not in self.frame.columns:
                columns = ", ".join(self.frame.columns[:12]) + (" ..." if self.frame.width > 12 else "")
                similar = similar_name(name, self.frame.columns)
                meant = "" if similar is None else f" Did you mean {similar!r}?"
                raise InputError(f"There is no column {name!r} in {self.name}; its columns are {columns}.{meant}")

    def columns_called(self, *names: str) -> list[str]:
        """The columns that names stand for: a list of numbers is several columns."""
        found = []
        for name in names:
            parts = [column for column in self.frame.columns if column.startswith(f"{name}[") and column.endswith("]")]
            if name in self.frame.columns or not parts:
                self.check_columns(name)
                parts = [name]
            found += parts
        return found


def read_table(
    path: str | Path, *, encoding: str = "utf-8", separator: str | None = None, decimal: str | None = None,
    thousands: str | None = None, header: bool | None = None, texts: Collection[str] = (),
    image_shape: ImageShape | None = None,
) -> Table:  # fmt: skip
    r"""Read a table by the ending of its name; a folder is read as one of images.

    Parameters
    ----------
    path : str or Path
        .csv, .tsv, .txt, all of these also with .gz or .zst, .parquet, .arrow, .feather, .ipc, .npy, .npz, or a folder.
        A pipe without such an ending is read as text.
    encoding : str
        Of text files.
    image_shape : ImageShape, optional
        What the images of a folder are brought to, such as that of a model; by default they tell.
    separator, decimal, thousands : str, optional
        Between columns of text files ("tab" and "space" are known by name), and in numbers that are texts. The file
        tells if they are not given.
    header : bool, optional
        Whether the first line of a text file names the columns; the file tells if it is not given.
    texts : collection of str
        Columns of texts that stay texts, since a model knows how to read them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mercer.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cars.csv")
    ...     _ = path.write_text("weight;colour\n1,5;red\n2,5;blue\n")
    ...     read_table(path).frame.shape
    (2, 2)
    """
    path = Path(path)
    # Not the methods of paths, which raise an error for names that are too long.
    if os.path.isdir(path):
        images = read_image_folder(path, image_shape)
        label = CLASS if CLASS in images.frame.columns else None
        return Table(images.frame, shown_name(path.resolve()), images.notes, images.shape, images.pixels, label)
    if not os.path.exists(path):
        raise InputError(f"{path.parent / shown_name(path)} does not exist; check the name.")
    name = shown_name(path)
    try:
        refuse_devices(path)
        table = _reader(path)(path, TextOptions(encoding, separator, decimal, thousands, header, texts))
    except PermissionError:
        raise InputError(f"{name} may not be read; check its permissions.") from None
    except (OSError, pl.exceptions.PanicException) as error:
        # Panics may come late, since damaged parts are not always read at once.
        raise unreadable(name, error) from None
    if not table.frame.width or not table.frame.height:
        what = "no columns" if not table.frame.width else "a header but no rows"
        raise InputError(f"{name} has {what}; give a table with rows of data.")
    return _with_images(table)


def table_from_frame(frame: pl.DataFrame, name: str = "table") -> Table:
    """A table that is in memory already."""
    return _with_images(Table(frame, name))


def _with_images(table: Table) -> Table:
    found = images_in(table.frame) if table.image_shape is None else None
    if found is None:
        return table
    shape, pixels = found
    note = f"The columns {pixels[0]} to {pixels[-1]} are taken as images of {shape[0]} x {shape[1]} pixels."
    return replace(table, image_shape=shape, pixels=tuple(pixels), notes=(*table.notes, note))


def _read_text(path: Path, options: TextOptions) -> Table:
    name, endings = shown_name(path), [ending.lower() for ending in path.suffixes]
    data = read_file(path, _TEXT_FACTOR)
    ending = endings[-1] if endings and endings[-1] in _COMPRESSED else compression(data)
    if ending is not None:
        data = decompressed(data, ending, name, _TEXT_FACTOR)
    found = text_table(data, name, options, tabs=".tsv" in endings[-2:])
    table = Table(found.frame, name, found.notes, names=found.names, conventions=found.conventions, units=found.units)
    return _with_index(table)


def _read_parquet(path: Path, options: TextOptions) -> Table:
    return _from_columns(parquet_frame(path), path, options)


def _read_arrow(path: Path, options: TextOptions) -> Table:
    return _from_columns(arrow_frame(path), path, options)


def _read_arrays(path: Path, options: TextOptions) -> Table:
    found = array_table(path)
    return Table(found.frame, shown_name(path), found.notes, found.image_shape, found.pixels)


def _from_columns(frame: pl.DataFrame, path: Path, options: TextOptions) -> Table:
    conventions = Conventions.asked(options.decimal, options.thousands)
    frame.columns, notes = clean_names(frame.columns)
    frame = expanded(frame)
    texts, conventions, said = typed(frame.select(pl.col(pl.String)).get_columns(), conventions, texts=options.texts)
    notes += said
    columns = []
    for series in frame.with_columns(texts).get_columns():
        series, n_beyond = within_calendar(series)
        columns.append(series)
        if n_beyond:
            entries = counted(
                n_beyond, "date is beyond the calendar and counts", "dates are beyond the calendar and count"
            )
            notes.append(f"{series.name}: {entries} as missing.")
    return _with_index(Table(pl.DataFrame(columns), shown_name(path), tuple(notes), conventions=conventions))


def _with_index(table: Table) -> Table:
    """Whether the index of a pandas frame names the rows, rather than counting them."""
    for name in filter(is_pandas_index, table.frame.columns):
        index = table.frame[name]
        if index.dtype.is_integer() and index.equals(pl.Series(name, range(len(index)), dtype=index.dtype)):
            note = f"{name} is left out: it is the index of pandas, and counts the rows."
            table = replace(table, frame=table.frame.drop(name), notes=(*table.notes, note))
        else:
            table = replace(table, names=(*table.names, name))
    return table


_Reader = Callable[[Path, TextOptions], Table]
_TEXT, _COMPRESSED = (".csv", ".tsv", ".txt"), (".gz", ".zst")
_READERS: dict[str, _Reader] = {
    **dict.fromkeys(_TEXT, _read_text), **{text + ending: _read_text for text in _TEXT for ending in _COMPRESSED},
    ".parquet": _read_parquet, **dict.fromkeys((".arrow", ".feather", ".ipc"), _read_arrow),
    **dict.fromkeys((".npy", ".npz"), _read_arrays),
}  # fmt: skip


def _reader(path: Path) -> _Reader:
    endings = path.name.lower().split(".")[1:]
    for n_parts in (2, 1):
        reader = _READERS.get("." + ".".join(endings[-n_parts:]))
        if reader is not None:
            return reader
    if path.is_fifo():
        return _read_text
    known = ", ".join(_READERS)
    raise InputError(f"{shown_name(path)} has an ending that is not known; give one of {known}, or a folder of images.")
