"""Threads: the pool that Mercer's own loops share, and how many threads the BLAS libraries may use meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from threadpoolctl import ThreadpoolController

# Eigenproblems of so few rows take longer on two threads, which wait for those of the products before.
_FEW_ROWS = 500
# A matrix of so few numbers is computed before a second thread has started.
_FEW_VALUES = 2 * 384**2
# Rows of one task of a thread: enough to forget its start, few enough to share the work evenly.
_TASK = 2048

Item = TypeVar("Item")
State = TypeVar("State")


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


def threads_for(n_values: int) -> int:
    """One thread for matrices so small that starting a second one costs more than it saves."""
    return 1 if n_values <= _FEW_VALUES else allowed_threads()


def run_threaded(
    work: Callable[[Item, State], None], items: Iterable[Item], new_state: Callable[[], State], n_threads: int
) -> list[State]:
    """Call ``work(item, state)`` for every item, with one state for each thread; returns the states.

    Threads, of which the caller's is one, take the next item when they are free. An exception or Ctrl-C stops all of
    them after their current item. BLAS uses one thread meanwhile.

    Examples
    --------
    >>> from mercer.threads import run_threaded
    >>> lists = run_threaded(lambda number, squares: squares.append(number**2), range(4), list, n_threads=2)
    >>> sorted(square for squares in lists for square in squares)
    [0, 1, 4, 9]
    """
    if n_threads == 1:
        state = new_state()
        for item in items:
            work(item, state)
        return [state]

    remaining, lock, stop, end = iter(items), threading.Lock(), threading.Event(), object()

    def take_items() -> State:
        state = new_state()
        try:
            while not stop.is_set():
                with lock:
                    item = next(remaining, end)
                if item is end:
                    break
                work(cast(Item, item), state)
        except BaseException:
            stop.set()
            raise
        return state

    with single_threaded_blas:
        helpers = [_pool().submit(take_items) for _ in range(n_threads - 1)]
        try:
            own = take_items()
            return [own] + [helper.result() for helper in helpers if not helper.cancel()]
        finally:
            stop.set()  # also when this thread is interrupted while it waits
            wait([helper for helper in helpers if not helper.cancel()])


def run_over_rows(work: Callable[[slice], None], n_rows: int, n_columns: int, task: int = _TASK) -> None:
    """Call ``work(rows)`` for slices of all rows of a matrix, on threads where there is enough to do."""
    slices = (slice(start, min(start + task, n_rows)) for start in range(0, n_rows, task))
    run_threaded(lambda rows, _: work(rows), slices, lambda: None, threads_for(n_rows * n_columns))


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads that are kept: to start one takes as long as a tile of a Gram matrix."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="mercer")


if hasattr(os, "register_at_fork"):  # a child process has none of the threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
