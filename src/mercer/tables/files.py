"""Bytes of files, never more of them than fit into memory."""

from __future__ import annotations

import gzip
import io
import stat
import zlib
from pathlib import Path
from typing import IO

import polars as pl

from mercer.tables.errors import InputError, MemoryRefusal
from mercer.tables.memory import in_words, memory_to_use, refuse_if_too_large

_CHUNK = 1 << 20
# Magic numbers of Zstandard: of frames, and of frames to be skipped.
_FRAME, _SKIPPABLE = 0xFD2FB528, range(0x184D2A50, 0x184D2A60)
# First bytes of compressed files.
_MARKS = {".gz": b"\x1f\x8b", ".zst": _FRAME.to_bytes(4, "little")}
# Largest block of Zstandard, in bytes.
_BLOCK = 1 << 17


def refuse_devices(path: Path) -> None:
    """Refuse what never ends, or is no file at all."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        what = "a device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else "a socket"
        raise InputError(f"{path} is {what}, not a file; give a file, a pipe or a folder of images.")


def read_file(path: Path, factor: float) -> bytes:
    """All bytes of a file or a pipe; `factor` times as many must fit into memory."""
    work = f"reading {path.name}"
    if path.is_file():
        refuse_if_too_large(factor * path.stat().st_size, work)
        return path.read_bytes()
    with path.open("rb") as pipe:
        return _bounded(pipe, factor, work)


def compression(data: bytes) -> str | None:
    """The ending that goes with compressed bytes, whatever the name of their file says."""
    return next((ending for ending, mark in _MARKS.items() if data.startswith(mark)), None)


def decompressed(data: bytes, ending: str, name: str, factor: float) -> bytes:
    """The content of a compressed file, measured while it is decompressed."""
    if ending == ".zst":
        return _from_zstandard(data, name, factor)
    try:
        with gzip.open(io.BytesIO(data)) as file:
            return _bounded(file, factor, f"decompressing {name}")
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{name} is damaged, or no gzip file: {error}; compress it again.") from None


def _bounded(file: IO[bytes] | gzip.GzipFile, factor: float, work: str) -> bytes:
    # Measured once, since the table itself takes some of the free memory while it is read.
    most = memory_to_use()
    chunks, n_bytes = [], 0
    while chunk := file.read(_CHUNK):
        n_bytes += len(chunk)
        if factor * n_bytes > most:
            raise MemoryRefusal(
                f"{work[0].upper()}{work[1:]} would take more than {in_words(factor * n_bytes)} of memory, and "
                f"{in_words(most)} can be had; give fewer rows or columns."
            )
        chunks.append(chunk)
    return b"".join(chunks)


def _from_zstandard(data: bytes, name: str, factor: float) -> bytes:
    """Polars unpacks Zstandard without a bound; the headers of the blocks bound the size."""
    try:
        n_bytes = zstandard_bound(data)
    except (IndexError, ValueError):
        raise InputError(f"{name} is damaged, or no Zstandard file; compress it again.") from None
    refuse_if_too_large(factor * n_bytes, f"decompressing {name}")
    try:
        # A column of lines: no text has zero bytes.
        lines = pl.read_csv(
            data, separator="\0", has_header=False, infer_schema=False, quote_char=None, new_columns=["line"]
        )
    except pl.exceptions.NoDataError:
        return b""
    except (pl.exceptions.PolarsError, OSError):
        raise InputError(
            f"{name} is damaged, or its content is not UTF-8 text; decompress it, and give the file itself."
        ) from None
    return "\n".join(lines["line"].fill_null("").to_list()).encode()


def zstandard_bound(data: bytes) -> int:
    """Bytes that the blocks of Zstandard frames can hold at most.

    References
    ----------
    RFC 8878, sections 3.1.1 and 3.1.2: frame headers and block headers.
    """
    place = total = 0
    while place < len(data):
        mark = int.from_bytes(data[place : place + 4], "little")
        if mark in _SKIPPABLE:
            place += 8 + int.from_bytes(data[place + 4 : place + 8], "little")
            continue
        if mark != _FRAME:
            raise ValueError("no Zstandard frame")
        descriptor = data[place + 4]
        single, checksum = bool(descriptor & 0x20), bool(descriptor & 0x04)
        place += 5 + (not single) + (0, 1, 2, 4)[descriptor & 3] + (int(single), 2, 4, 8)[descriptor >> 6]
        last = False
        while not last:
            if place + 3 > len(data):
                raise ValueError("a block is missing")
            header = int.from_bytes(data[place : place + 3], "little")
            last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
            total += _BLOCK if kind == 2 else size
            place += 3 + (1 if kind == 1 else size)
        place += 4 * checksum
    return total
