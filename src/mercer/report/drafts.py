"""Drafts of results: whole sets of files that are published by one rename, and what dead processes left of them.

All of this happens while the folder around a result is locked. A draft that is found there, with the lock in hand,
belongs to a process that died.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

try:
    import fcntl
except ImportError:  # as on Windows: no locks, so that drafts of dead processes stay
    fcntl = None  # type: ignore[assignment]

_PREFIX = ".mercer-"
# What a draft holds: the files, what is known of a folder that is exchanged, and what makes a move in place final.
_NEW, _PLAN, _COMMIT = "new", "plan.json", "commit.json"
# Seconds to wait for another process that writes to the same place, and between attempts.
_PATIENCE, _PAUSE = 60.0, 0.02
# Of renameat2: paths relative to the working folder, and two names that change places.
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


@contextlib.contextmanager
def locked(place: Path) -> Iterator[None]:
    """Hold the lock of a folder, and finish or remove what dead processes left in it.

    The lock is that of the folder itself: it leaves no file, and ends with its process. File systems without locks,
    and folders that may not be read, are used without.
    """
    if fcntl is None or not os.access(place, os.R_OK):
        yield
        return
    handle, is_locked = _held(place)
    try:
        if is_locked:
            _tidy(place)
        yield
    finally:
        os.close(handle)


def _held(place: Path) -> tuple[int, bool]:
    """The open folder, and whether there is a lock, once it is ours."""
    while True:
        handle = os.open(place, os.O_RDONLY)
        try:
            is_locked = _lock(handle, place)
            # Another process may have put a new folder there in the meantime.
            if not is_locked or os.path.samestat(os.fstat(handle), os.stat(place)):
                return handle, is_locked
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, place: Path) -> bool:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                return False
        if time.monotonic() > end:
            raise OSError(errno.EBUSY, f"another process has been writing to {place} for {_PATIENCE:.0f} s")
        time.sleep(_PAUSE)


def publish_file(path: Path, content: bytes) -> None:
    """Replace one file; its folder is locked."""
    draft = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=path.parent))
    try:
        write_through(draft / _NEW, content)
        os.replace(draft / _NEW, path)
        _settle(path.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def publish_beside(folder: Path, files: Mapping[str, bytes], old: Sequence[str], foreign: Sequence[str]) -> bool:
    """Write a new folder beside the old one, and let both change places; the folder around them is locked.

    Parameters
    ----------
    folder : Path
        Where the files are to be; no link.
    files : mapping of str to bytes
        The new set.
    old, foreign : sequences of str
        Entries of the folder: those that are replaced, and those of others. Files of others are in both folders for a
        moment; anything else, as folders, moves to the new one just before it takes its place.

    Returns
    -------
    bool
        False where the system cannot do it, and nothing has changed.
    """
    try:
        draft = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder.parent))
    except PermissionError:
        if folder.exists():
            return False
        raise
    try:
        new = draft / _NEW
        _write_all(new, files)
        if not folder.exists():
            os.rename(new, folder)
        else:
            write_through(draft / _PLAN, json.dumps({"folder": folder.name, "names": [*old, *files]}).encode())
            if not (_given(folder, new, foreign) and _exchanged(new, folder)):
                return False
        _settle(folder.parent)
        return True
    finally:
        _clear(draft)


def publish_inside(folder: Path, files: Mapping[str, bytes], old: Sequence[str]) -> None:
    """Remove the old files of a folder and move the new ones in: never two sets at once; the folder is locked.

    A process that dies in between leaves a folder without some of its files; the next one moves the rest in.
    """
    draft = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
    try:
        _write_all(draft / _NEW, files)
        half = draft / f"{_COMMIT}.half"
        write_through(half, json.dumps({"old": list(old), "new": list(files)}).encode())
        os.rename(half, draft / _COMMIT)
        _settle(draft)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    _move_in(draft, folder)


def write_through(path: Path, content: bytes) -> None:
    """Write a file, and wait until the disk has it."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _write_all(new: Path, files: Mapping[str, bytes]) -> None:
    new.mkdir()
    for name, content in files.items():
        write_through(new / name, content)
    _settle(new)


def _settle(folder: Path) -> None:
    """Wait until the entries of a folder are on disk; not all file systems support this."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _given(folder: Path, new: Path, foreign: Sequence[str]) -> bool:
    """Whether what others have in the folder, and its permissions, could be given to the new one."""
    try:
        shutil.copymode(folder, new)
        are_files = {name: stat.S_ISREG((folder / name).lstat().st_mode) for name in foreign}
        for name in sorted(foreign, key=lambda name: not are_files[name]):
            if are_files[name]:
                os.link(folder / name, new / name)
            else:
                os.rename(folder / name, new / name)
    except OSError:
        return False
    _settle(new)
    return True


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one atomic step; False where the system cannot do it."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    done: int = rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    return done == 0


# What is left of drafts ----------------------------------------------------------------------------------------------


def _tidy(place: Path) -> None:
    with contextlib.suppress(PermissionError):
        for draft in place.glob(f"{_PREFIX}*"):
            if (draft / _COMMIT).exists():
                _move_in(draft, place)
            elif draft.is_dir():
                _clear(draft)


def _move_in(draft: Path, folder: Path) -> None:
    """Remove old files, then move new ones in; done again after a failure, it goes on where it was."""
    plan = json.loads((draft / _COMMIT).read_bytes())
    waiting = [name for name in plan["new"] if (draft / _NEW / name).exists()]
    for name in dict.fromkeys([*plan["old"], *plan["new"]]):
        if name in waiting or name not in plan["new"]:
            (folder / name).unlink(missing_ok=True)
    for name in waiting:
        os.rename(draft / _NEW / name, folder / name)
    _settle(folder)
    shutil.rmtree(draft, ignore_errors=True)


def _clear(draft: Path) -> None:
    """Remove a draft, or the old folder that has taken its place, and give entries of others back.

    A draft of which something cannot be given back stays.
    """
    with contextlib.suppress(FileNotFoundError, ValueError):  # without a plan, or with half of one, nothing has moved
        plan = json.loads((draft / _PLAN).read_bytes())
        folder = draft.parent / plan["folder"]
        for entry in (draft / _NEW).iterdir():
            is_there = os.path.lexists(folder / entry.name)
            if entry.name in plan["names"] or (is_there and not entry.is_dir()):
                continue
            try:
                os.rename(entry, folder / entry.name)  # which replaces no folder that holds something
            except OSError:
                return
    shutil.rmtree(draft, ignore_errors=True)
