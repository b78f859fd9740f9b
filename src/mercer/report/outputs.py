"""Results on disk: all files of a folder or none, and never a half-written one."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mercer.plain_json import json_bytes
from mercer.report.drafts import locked, publish_beside, publish_file, publish_inside
from mercer.tables.errors import OutputError

# Files of results, which are overwritten only if Mercer wrote them; and the one that lists the others.
_RESULTS, _MANIFEST = ("embedding.parquet", "index.html", "model.skops", "report.html", "summary.json"), "times.json"
# With more foreign files than this, a folder is not exchanged as a whole.
_MOST_FOREIGN = 1000


class OutputFolder:
    """A folder for results, which is tried at once, before any long work, and made when there are some.

    A set of files replaces the one before it in a single step, so that readers, concurrent writers and a process that
    is killed never see files of two sets together. Files of others in the folder stay.

    Parameters
    ----------
    path : str or Path
        The folder.
    force : bool
        Whether files may be replaced that Mercer did not write.
    also : sequence of str
        Files that will be written besides those that results have.

    Notes
    -----
    A file is Mercer's if the `times.json` of the folder lists it and the `summary.json` beside that has the version of
    Mercer.

    The new folder is written beside the old one, and both are exchanged at once; folders that others have put into it
    are moved to the new one before. Where that cannot be (other systems than Linux; a working folder; one whose parent
    may not be written; a mounted disk in it), old files are removed and new ones moved in: a process that is killed in
    between leaves a part of one set. The next `OutputFolder` on the same path completes what a killed one left.

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

    def __init__(self, path: str | Path, *, force: bool = False, also: Sequence[str] = ()):
        self.path = Path(path)
        self._force = force
        with explained(self.path):
            there = self._real
            while not _is_there(there):
                there = there.parent
            with tempfile.TemporaryFile(dir=there):
                pass
            if there == self._real:
                with self._locked():
                    self._check([*_RESULTS, _MANIFEST, *also])

    @property
    def _real(self) -> Path:
        """A link is followed, rather than replaced."""
        return Path(os.path.realpath(self.path))

    def write(self, files: Mapping[str, bytes]) -> None:
        """Publish a set of files in place of the one before; a failure leaves what was there."""
        folder = self._real
        with explained(self.path), _made(folder.parent), self._locked():
            self._check(files)
            old = [*self._before(), *files]
            if not (self._can_be_exchanged(old) and publish_beside(folder, files, old, self._foreign(old))):
                publish_inside(folder, files, old)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """The lock of the folder around, which the root has not, and then that of the folder itself if there is one."""
        folder, around = self._real, self._real.parent
        with locked(around), locked(folder) if folder.exists() and folder != around else contextlib.nullcontext():
            yield

    def _check(self, names: Iterable[str]) -> None:
        """Refuse to replace what Mercer did not write."""
        ours = self._before()
        for name in names:
            entry = self._real / name
            if entry.is_dir():
                raise OutputError(
                    f"Nothing was written to {self.path}: {name} is a folder there; move it away, or choose another "
                    "place with --out."
                )
            if not self._force and name not in ours and os.path.lexists(entry):
                raise OutputError(
                    f"Nothing was written to {self.path}: {name} is there, and Mercer did not write it; choose another "
                    "place with --out, or give --force."
                )

    def _before(self) -> list[str]:
        """Names of the set that is there; lists of others than Mercer say nothing."""
        if not _is_of_mercer(self._real):
            return []
        try:
            names = json.loads((self._real / _MANIFEST).read_bytes())["files"]
            return [name for name in names if Path(name).name == name and (self._real / name).is_file()]
        except (OSError, ValueError, TypeError, KeyError):
            return []

    def _foreign(self, ours: Sequence[str]) -> list[str]:
        folder = self._real
        return [name for name in os.listdir(folder) if name not in ours] if folder.exists() else []

    def _can_be_exchanged(self, ours: Sequence[str]) -> bool:
        """Whether nobody minds that the folder is a new one: our own, not the working one, without very many files."""
        folder = self._real
        if not folder.exists():
            return True
        about = folder.stat()
        return (
            (about.st_uid, about.st_gid) == (os.geteuid(), os.getegid())
            and not Path.cwd().is_relative_to(folder)
            and len(self._foreign(ours)) <= _MOST_FOREIGN
        )


def _is_there(path: Path) -> bool:
    """Whether there is such a file or folder; names that cannot be are an error."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True


def _is_of_mercer(folder: Path) -> bool:
    """Whether a folder holds a summary of Mercer."""
    try:
        return "mercer" in json.loads((folder / "summary.json").read_bytes())["versions"]
    except (OSError, ValueError, TypeError, KeyError):
        return False


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make a folder, and remove it again if nothing comes into it."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    try:
        for made in reversed(missing):
            made.mkdir(exist_ok=True)
        yield
    except BaseException:
        for made in missing:
            with contextlib.suppress(OSError):
                made.rmdir()
        raise


def manifest(files: Mapping[str, bytes], seconds: float) -> dict[str, bytes]:
    """A set of files with the one that says which belong to it, and how long they took."""
    names = sorted([*files, _MANIFEST])
    return {**files, _MANIFEST: json_bytes({"seconds": round(seconds, 2), "files": names})}


def try_file(path: str | Path, *, force: bool = False) -> None:
    """Refuse a place for one file where it could not be written, or where a file is and `force` is not given.

    Tables bear no mark of who wrote them, so that all of them are taken as those of others.
    """
    real = Path(os.path.realpath(path))
    with explained(Path(path)):
        if _is_there(real) and not real.is_file():
            raise OutputError(f"Nothing was written to {path}: it is no file; choose another place with --out.")
        if _is_there(real) and not force:
            raise OutputError(
                f"Nothing was written to {path}: there is a file already; choose another place with --out, or give "
                "--force."
            )
        with tempfile.TemporaryFile(dir=real.parent):
            pass


def write_file(path: str | Path, content: bytes) -> None:
    """Write one file whole, or leave what was there before; a link is followed."""
    real = Path(os.path.realpath(path))
    with explained(Path(path)), locked(real.parent):
        publish_file(real, content)


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
