"""What a Parquet file will take in memory, from its footer and the headers of its pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from mercer.tables.thrift import Compact

# Least number of bytes of an entry in memory: encodings may store a million equal entries in a few bytes.
_ENTRY = 16
# Bytes of the header of a page; statistics of long texts may need many times as many.
_HEADER = 512
# Of parquet.thrift: the type of bytes of any length, the encoding of texts by what they have in common with the one
# before, and where both kinds of headers of pages with values have the encoding.
_BYTES, _DIFFERENCES, _ENCODINGS = 6, 7, {5: 2, 8: 4}
# Errors of damaged structs.
_DAMAGED = (IndexError, KeyError, TypeError, AttributeError, RecursionError)


def parquet_bytes(file: IO[bytes]) -> float:
    """Bytes of the columns of a Parquet file when they are decompressed and decoded.

    The headers of all pages are read, since what the footer says of them need not be so. Texts of a dictionary count
    once, as they do when they are read; `frame_bytes` counts them as often as they occur. Texts that are stored as
    differences are bounded: each may hold all that the others of its page do, see `longest_row`.

    Raises
    ------
    ValueError
        If the footer or a header cannot be read.

    References
    ----------
    parquet.thrift: FileMetaData 4 row_groups, RowGroup 1 columns, ColumnChunk 3 meta_data, ColumnMetaData 1 type,
    5 num_values, 7 total_compressed_size, 9 data_page_offset and 11 dictionary_page_offset; PageHeader
    2 uncompressed_page_size, 3 compressed_page_size, 5 data_page_header and 8 data_page_header_v2; in these
    1 num_values, and 2 or in version two 4 encoding.
    """
    with _damage_told("a page of it"):
        return float(sum(_chunk_bytes(file, chunk) for group in _groups(file) for chunk in group))


def longest_row(file: IO[bytes]) -> float:
    """Bytes that a row may take by texts that are stored as differences: the longest page of each such column."""
    longest: dict[int, int] = {}
    with _damage_told("a page of it"):
        for group in _groups(file):
            for column, chunk in enumerate(group):
                sizes = [page[2] for page in _pages(file, chunk) if _are_differences(chunk, page)]
                longest[column] = max(longest.get(column, 0), *sizes, 0)
    return float(sum(longest.values()))


@contextmanager
def _damage_told(what: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGED:
        raise ValueError(f"{what} is damaged") from None


def _groups(file: IO[bytes]) -> list[list[dict[int, Any]]]:
    """What the footer says of the columns of each group of rows."""
    end = file.seek(0, 2)
    file.seek(max(0, end - 8))
    tail = file.read(8)
    size = int.from_bytes(tail[:4], "little")
    if tail[4:] != b"PAR1" or size + 8 > end:
        raise ValueError("it does not end as a Parquet file does")
    file.seek(end - 8 - size)
    with _damage_told("its footer"):
        meta = Compact(file.read(size)).struct()
        return [[chunk[3] for chunk in group.get(1, [])] for group in meta.get(4, [])]


def _chunk_bytes(file: IO[bytes], chunk: dict[int, Any]) -> int:
    n_values = n_bytes = 0
    for page in _pages(file, chunk):
        n_values += (n_here := _n_values(page))
        n_bytes += max(0, page[2]) * (n_here if _are_differences(chunk, page) else 1)
    return max(n_bytes, _ENTRY * max(n_values, chunk[5]))


def _n_values(page: dict[int, Any]) -> int:
    return sum(max(0, page[kind][1]) for kind in _ENCODINGS if kind in page)


def _are_differences(chunk: dict[int, Any], page: dict[int, Any]) -> bool:
    """Whether a page holds texts by what they have in common with the one before."""
    encodings = [page[kind][place] for kind, place in _ENCODINGS.items() if kind in page]
    return chunk[1] == _BYTES and _DIFFERENCES in encodings


def _pages(file: IO[bytes], chunk: dict[int, Any]) -> Iterator[dict[int, Any]]:
    """The headers of the pages of a column, until they cover all of its values."""
    place = min(offset for offset in (chunk.get(11, 0), chunk[9]) if offset > 0)
    end, n_left = place + chunk[7], chunk[5]
    while n_left > 0 and place < end:
        header, length = _header(file, place, end)
        yield header
        n_left -= _n_values(header)
        place += length + max(0, header[3])


def _header(file: IO[bytes], place: int, end: int) -> tuple[dict[int, Any], int]:
    """The header of a page and its length; statistics can make it long."""
    n_bytes = _HEADER
    while True:
        file.seek(place)
        data = file.read(min(n_bytes, end - place))
        reader = Compact(data)
        try:
            return reader.struct(), reader.place
        except IndexError:
            if len(data) < n_bytes:
                raise
        n_bytes *= 16
