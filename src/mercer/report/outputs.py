"""Results on disk: all files of a folder or none, and never a half-written one."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mercer.report.errors import OutputError


class OutputFolder:
    """A folder for results, which is made and tried at once, before any long work.

    Parameters
    ----------
    path : str or Path
        The folder; it is made if it does not exist.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer.report import OutputFolder
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = OutputFolder(pathlib.Path(place, "results"))
    ...     folder.write({"a.txt": b"text"})
    ...     sorted(path.name for path in folder.path.iterdir())
    ['a.txt']
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        with self._explained():
            self.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write all files next to their places, then move them there: a failure leaves what was there before."""
        with self._explained():
            drafts = Path(tempfile.mkdtemp(prefix=".mercer-", dir=self.path))
            try:
                for name, content in files.items():
                    write_through(drafts / name, content)
                for name in files:
                    os.replace(drafts / name, self.path / name)
            finally:
                shutil.rmtree(drafts, ignore_errors=True)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        with explained(self.path):
            yield


def write_file(path: str | Path, content: bytes) -> None:
    """Write one file whole, or leave what was there before."""
    path = Path(path)
    with explained(path):
        handle, draft = tempfile.mkstemp(prefix=".mercer-", dir=path.parent)
        os.close(handle)
        try:
            write_through(Path(draft), content)
            os.replace(draft, path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise


def write_through(path: Path, content: bytes) -> None:
    """Write a file, and wait until the disk has it."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    path.chmod(0o666 & ~_umask())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say what an error of the system means for results in this place."""
    try:
        yield
    except OSError as error:
        reason = {
            errno.ENOSPC: "the disk is full; free some space",
            errno.EDQUOT: "your share of the disk is full; free some space",
            errno.EACCES: "writing is not permitted; choose another place with --out",
            errno.EROFS: "the disk may only be read; choose another place with --out",
        }.get(error.errno or 0, f"{error.strerror or error}; choose another place with --out")
        raise OutputError(f"Nothing was written to {path}: {reason}.") from None


def json_bytes(values: Any) -> bytes:
    """Plain values as JSON, the same bytes for the same values; numbers that are none become null."""
    return (json.dumps(plain(values), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def plain(value: Any, digits: int | None = None) -> Any:
    """Lists, texts and numbers of Python for whatever holds such; rounded to some significant digits if asked."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry, digits) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), digits)
    if isinstance(value, list | tuple):
        return [plain(entry, digits) for entry in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        if not np.isfinite(value):
            return None
        return float(value) if digits is None else float(f"{float(value):.{digits}g}")
    return value if value is None or isinstance(value, str) else str(value)
