"""Functions that are compiled at their first call, and whose machine code is kept for later processes.

Written by hand because Numba compiles a function with a signature where it is defined, for all signatures, and keeps
the machine code beside the sources, where the next installation removes it. Compilation takes seconds. Here each
precision is compiled by itself, at its first call, and the code is kept in the user's cache.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from numba import config, njit, types
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.np.numpy_support import as_dtype

from mercer.compiling import tell_of_compilation

# Whether functions are compiled at all: not after NUMBA_DISABLE_JIT=1, so that coverage sees their lines.
IS_COMPILED = not config.DISABLE_JIT  # type: ignore[attr-defined]
# Options of all compiled functions, of those whose sums may be reordered, and of those that never see NaN either.
PLAIN: Any = {"nogil": True, "error_model": "numpy"}
FAST: Any = {**PLAIN, "fastmath": {"contract", "reassoc", "nsz"}}
FAST_WITHOUT_NAN: Any = {**PLAIN, "fastmath": {"contract", "reassoc", "nsz", "nnan"}}
# Of functions that make no arrays, and return none: their callers own all arrays, and references to them are not
# counted, which takes a third of the time of short loops over many arrays (`benchmarks/ukr.py new_rows`).
UNCOUNTED: Any = {"_nrt": False}

# Machine code of other versions is kept for so many seconds after its last use, 30 days.
_KEPT_FOR = 30 * 24 * 3600


def read_only(kind: Any, n_dims: int, layout: Literal["C", "A"] = "C") -> Any:
    """The type of arrays of this kind of number that are not written to.

    Signatures with ``float64[::1]`` refuse arrays that must not be changed, like those of a memory-mapped file. This
    type takes both sorts.
    """
    return types.Array(kind, n_dims, layout, readonly=True)


class Compiled:
    """A function that is compiled when it is first called.

    Parameters
    ----------
    function : callable
        What is compiled.
    signatures : tuple of Numba signatures
        One, or several that differ in the precision of their first argument, an array.
    options : dict
        Of `numba.njit`.
    """

    def __init__(self, function: Callable[..., Any], signatures: tuple[Any, ...], options: dict[str, Any]):
        self.__name__ = function.__name__
        functools.update_wrapper(self, function)
        self._function, self._options = function, options
        self._signatures = {
            None if len(signatures) == 1 else as_dtype(signature.args[0].dtype): signature for signature in signatures
        }
        self._ready: dict[Any, Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Call the function; compile it before if this is the first call."""
        precision = arguments[0].dtype if len(self._signatures) > 1 else None
        ready = self._ready.get(precision)
        return (ready or self._compile(precision))(*arguments)

    def compile_all(self) -> None:
        """Compile the function for all precisions."""
        for precision in self._signatures:
            self._compile(precision)

    def _compile(self, precision: Any) -> Callable[..., Any]:
        with global_compiler_lock:
            if precision not in self._ready:
                made = njit(**self._options)(self._function)
                if made is not self._function:  # which it is after NUMBA_DISABLE_JIT=1
                    made._cache = _UserCache(self._function)  # type: ignore[no-untyped-call]
                    with event.install_listener("numba:compile", _Teller()):
                        made.compile(self._signatures[precision])
                    made.disable_compile()
                self._ready[precision] = made
        return self._ready[precision]


def compiled(*signatures: Any, **options: Any) -> Callable[[Callable[..., Any]], Compiled]:
    """Decorate a function that is compiled for these signatures at its first call."""
    return lambda function: Compiled(function, signatures, options)


class _Teller(event.Listener):
    """Tells of the first function that is compiled: the others are parts of it."""

    def __init__(self) -> None:
        self._told = False

    def on_start(self, event: Any) -> None:
        """Called where no machine code was found."""
        if not self._told:
            self._told = True
            tell_of_compilation()

    def on_end(self, event: Any) -> None:
        """Nothing to tell."""


# Where machine code is kept ------------------------------------------------------------------------------------------


class _Locator:
    """A folder of the user's that is named by the contents of the sources: all that Numba asks of a locator."""

    def __init__(self, place: Path, first_line: int):
        self._place, self._first_line = place, first_line

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator | None:
        """The place, or None where nothing can be written: then Numba looks for one."""
        place = _place_of_code()
        return None if place is None else cls(place, function.__code__.co_firstlineno)

    def ensure_cache_path(self) -> None:
        """The folder was made when it was found."""

    def get_cache_path(self) -> str:
        """The folder."""
        return str(self._place)

    def get_source_stamp(self) -> str:
        """Nothing in the folder is out of date."""
        return self._place.name

    def get_disambiguator(self) -> str:
        """Tells functions of one name apart."""
        return str(self._first_line)


class _UserCode(CompileResultCacheImpl):
    _locator_classes = [_Locator, *CompileResultCacheImpl._locator_classes]  # noqa: RUF012


class _UserCache(FunctionCache):
    _impl_class = _UserCode

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep machine code; where that fails, as on a full disk, it is only made again by the next process."""
        with contextlib.suppress(OSError):
            super().save_overload(signature, code)  # type: ignore[no-untyped-call]


@functools.cache
def _place_of_code() -> Path | None:
    """A folder for the machine code of these sources, or None if there can be none."""
    try:
        home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        place = Path(home) / "mercer" / "compiled" / _digest_of_sources()
        place.mkdir(parents=True, exist_ok=True)
        if not os.access(place, os.W_OK):
            return None
        os.utime(place)
        for folder in place.parent.iterdir():
            if folder.stat().st_mtime < place.stat().st_mtime - _KEPT_FOR:
                shutil.rmtree(folder, ignore_errors=True)
    except (OSError, RuntimeError):  # there is no home, or the sources are in an archive
        return None
    return place


def _digest_of_sources() -> str:
    """A digest of all that becomes machine code."""
    package, digest = Path(__file__).parent, hashlib.sha256()
    for source in sorted(package.rglob("*_numba.py")):
        digest.update(f"{source.relative_to(package)}\n".encode() + source.read_bytes())
    return digest.hexdigest()[:20]
