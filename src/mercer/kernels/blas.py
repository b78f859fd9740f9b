"""How many threads the BLAS libraries may use while Mercer works."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController

# Eigenproblems of so few rows take longer on two threads, which wait for those of the products before.
_FEW_ROWS = 500


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@cache
def _of_numpy() -> ThreadpoolController:
    """NumPy's library if it has one of its own, as the wheels have; else none."""
    paths = [library["filepath"] for library in _libraries().info()]
    own = [path for path in paths if any(part.startswith("numpy") for part in Path(path).parts[-3:])]
    return _libraries().select(filepath=own if len(own) < len(paths) else [])


def allowed_threads() -> int:
    """As many threads as BLAS may use now: whoever limits BLAS (joblib, threadpoolctl, a shell) limits Mercer too."""
    return max((library["num_threads"] for library in _libraries().info()), default=1)


class _SingleThreaded:
    """Keeps some BLAS libraries to one thread while anyone is inside.

    A library has one limit for the whole process, so nested and concurrent users are counted: the first one sets the
    limit and the last one restores it.
    """

    def __init__(self, libraries: Any) -> None:
        self._libraries = libraries
        self._lock = threading.Lock()
        self._users = 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limiter = self._libraries().limit(limits=1)
            self._users += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            if self._users == 0:  # a process that was forked inside has been freed already
                return
            self._users -= 1
            if self._users == 0:
                self._limiter.restore_original_limits()

    def forget_users(self) -> None:
        """Free the lock and the libraries in a forked process, where the threads that hold them do not exist."""
        self._lock = threading.Lock()
        if self._users:
            self._users = 0
            self._limiter.restore_original_limits()


# For Mercer's own pools of threads.
single_threaded_blas = _SingleThreaded(_libraries)
# For work whose heavy part is SciPy's: threads that NumPy's library leaves spinning after a product with a vector would
# take the cores from it (a factor of two in `benchmarks/machines.py`).
single_threaded_numpy = _SingleThreaded(_of_numpy)

if hasattr(os, "register_at_fork"):
    # Where both are in use, NumPy's comes first and goes last.
    for _limit in (single_threaded_blas, single_threaded_numpy):
        os.register_at_fork(after_in_child=_limit.forget_users)


def threads_of_eigenproblem(n: int) -> AbstractContextManager[None]:
    """Keeps the dense eigenproblem of n rows that follows a large product to one thread if it is small."""
    return single_threaded_blas if n <= _FEW_ROWS else nullcontext()
