"""Values of Thrift's compact protocol, in which Parquet files store their metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Bits of a number, in bytes of seven each. The time for longer numbers would grow as the square of their length.
_MOST_BITS = 70


class Compact:
    """Reads structs, as dictionaries of fields by their numbers.

    Damaged data raise IndexError, KeyError, TypeError or RecursionError.

    Attributes
    ----------
    place : int
        Where the next value begins.
    """

    def __init__(self, data: bytes):
        self._data, self.place = data, 0
        self._readers: dict[int, Callable[[], Any]] = {
            1: lambda: True, 2: lambda: False, 3: self._byte, 4: self._zigzag, 5: self._zigzag, 6: self._zigzag,
            7: lambda: self._skip(8), 8: self._text, 9: self._list, 10: self._list, 11: self._map, 12: self.struct,
        }  # fmt: skip

    def struct(self) -> dict[int, Any]:
        """The next struct."""
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            fields[number] = self._readers[head & 15]()
        return fields

    def _list(self) -> list[Any]:
        head = self._byte()
        length = head >> 4 if head >> 4 != 15 else self._varint()
        read = self._reader_of_entries(head & 15)
        return [read() for _ in range(length)]

    def _map(self) -> list[Any]:
        length = self._varint()
        if not length:
            return []
        kinds = self._byte()
        read_key, read_value = self._reader_of_entries(kinds >> 4), self._reader_of_entries(kinds & 15)
        return [(read_key(), read_value()) for _ in range(length)]

    def _reader_of_entries(self, kind: int) -> Callable[[], Any]:
        """Truth values in lists and maps take a byte each; those of fields are stored in the kind alone."""
        return self._byte if kind in (1, 2) else self._readers[kind]

    def _byte(self) -> int:
        self.place += 1
        return self._data[self.place - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift >= _MOST_BITS:
                raise IndexError(f"a number has more than {_MOST_BITS} bits")

    def _zigzag(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def _text(self) -> None:
        self._skip(self._varint())

    def _skip(self, n: int) -> None:
        self.place += n
        if self.place > len(self._data):
            raise IndexError(f"they end before byte {self.place}")
