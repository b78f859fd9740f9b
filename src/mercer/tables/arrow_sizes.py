"""What an Arrow file or stream will take in memory, from the messages in it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO, Any

# First and last bytes of files; streams have none.
_MAGIC = b"ARROW1"
# Bytes of an entry in memory at least: a bit is stored for truth values, and nothing for missing ones.
_ENTRY = 16
# First four bytes of a message, which the oldest files leave out.
_MARK = 0xFFFFFFFF
# Kinds of messages that hold columns, or categories.
_DICTIONARY, _BATCH = 2, 3


def is_arrow_file(file: IO[bytes]) -> bool:
    """Whether it is a file, rather than a stream."""
    file.seek(0)
    return file.read(len(_MAGIC)) == _MAGIC


def arrow_bytes(file: IO[bytes]) -> float:
    """Bytes of the columns of an Arrow file or stream when they are decompressed.

    Buffers that are compressed begin with their length. Texts of views count once, as they do when they are read;
    `frame_bytes` counts them as often as they occur.

    Raises
    ------
    ValueError
        If a message cannot be read.

    References
    ----------
    Arrow's columnar format: File.fbs (Footer, Block), Message.fbs (Message, RecordBatch, DictionaryBatch, Buffer,
    BodyCompression), and the encapsulated message format.
    """
    end = file.seek(0, 2)
    try:
        messages = _of_file(file, end) if is_arrow_file(file) else _of_stream(file, end)
        return float(sum(_message_bytes(file, *message) for message in messages))
    except (struct.error, IndexError, OverflowError):
        raise ValueError("its messages are damaged") from None


def _of_file(file: IO[bytes], end: int) -> Iterator[tuple[_Table, int]]:
    """The messages that the footer lists, and where their bodies begin."""
    tail = _read(file, end - 10, 10)
    size = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or size + 10 > end:
        raise ValueError("it does not end as an Arrow file does")
    footer = _Table.root(_read(file, end - 10 - size, size))
    for field in (2, 3):
        for block in footer.structs(field, "<qi4xq"):
            place, n_metadata, _ = block
            yield _message(file, place)[0], place + n_metadata


def _of_stream(file: IO[bytes], end: int) -> Iterator[tuple[_Table, int]]:
    place = 0
    while place < end:
        message, body = _message(file, place)
        if body == place:
            return
        yield message, body
        place = body + max(0, message.number(3, "<q"))


def _message(file: IO[bytes], place: int) -> tuple[_Table, int]:
    """A message and where its body begins: where the message does, for the one that ends a stream."""
    (size,) = struct.unpack("<I", _read(file, place, 4))
    begin = place + 4
    if size == _MARK:
        (size,) = struct.unpack("<I", _read(file, begin, 4))
        begin += 4
    if size == 0:
        return _Table(b"", 0), place
    return _Table.root(_read(file, begin, size)), begin + size


def _message_bytes(file: IO[bytes], message: _Table, body: int) -> int:
    kind = message.number(1, "<B")
    batch = message.table(2) if kind in (_DICTIONARY, _BATCH) else None
    if batch is not None and kind == _DICTIONARY:
        batch = batch.table(1)
    if batch is None:
        return 0
    is_compressed = batch.table(3) is not None
    n_bytes = 0
    for offset, length in batch.structs(2, "<qq"):
        size = length
        if is_compressed and length > 8:
            (told,) = struct.unpack("<q", _read(file, body + offset, 8))
            size = length if told < 0 else told
        n_bytes += max(0, size)
    return max(n_bytes, _ENTRY * sum(max(0, length) for length, _ in batch.structs(1, "<qq")))


def _read(file: IO[bytes], place: int, size: int) -> bytes:
    """Bytes of a file; fewer than that are damage."""
    if place < 0:
        raise IndexError(f"there is nothing before the file, at {place}")
    file.seek(place)
    data = file.read(size)
    if len(data) < size:
        raise IndexError(f"the file ends before byte {place + size}")
    return data


class _Table:
    """A table of a flat buffer: fields by number, of which any may be left out."""

    def __init__(self, data: bytes, place: int):
        self._data, self._place = data, place

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, struct.unpack_from("<I", data, 0)[0])

    def number(self, field: int, layout: str) -> Any:
        place = self._at(field)
        return 0 if place is None else struct.unpack_from(layout, self._data, place)[0]

    def table(self, field: int) -> _Table | None:
        place = self._at(field)
        return None if place is None else _Table(self._data, self._followed(place))

    def structs(self, field: int, layout: str) -> list[tuple[Any, ...]]:
        """The entries of a vector of structs."""
        place = self._at(field)
        if place is None:
            return []
        begin = self._followed(place)
        (n,) = struct.unpack_from("<I", self._data, begin)
        size = struct.calcsize(layout)
        entries = self._data[begin + 4 : begin + 4 + n * size]
        if len(entries) < n * size:
            raise IndexError(f"a vector of {n} entries ends before its last")
        return list(struct.iter_unpack(layout, entries))

    def _at(self, field: int) -> int | None:
        """Where a field is."""
        if not self._data:
            return None
        (back,) = struct.unpack_from("<i", self._data, self._place)
        layout = self._place - back
        (size,) = struct.unpack_from("<H", self._data, layout)
        where = 4 + 2 * field
        (offset,) = struct.unpack_from("<H", self._data, layout + where) if where < size else (0,)
        return self._place + offset if offset else None

    def _followed(self, place: int) -> int:
        return place + int(struct.unpack_from("<I", self._data, place)[0])
