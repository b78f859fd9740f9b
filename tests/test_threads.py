import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from mercer.kernels import Gaussian, Linear
from mercer.kernels.gram import Gram
from mercer.threads import (
    allowed_threads,
    run_over_rows,
    run_threaded,
    single_threaded_blas,
    single_threaded_numpy,
    threads_of_eigenproblem,
)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(1000, 3))


def test_one_thread_and_several_give_the_same(X):
    several = Gaussian()(X)
    product = Gram(Gaussian(), X) @ X
    with threadpool_limits(limits=1, user_api="blas"):
        assert allowed_threads() == 1
        np.testing.assert_array_equal(Gaussian()(X), several)
        np.testing.assert_allclose(Gram(Gaussian(), X) @ X, product, rtol=1e-12)


def test_concurrent_callers_leave_blas_as_it_was(X):
    before = allowed_threads()
    expected = Gaussian()(X)
    with ThreadPoolExecutor(4) as pool:
        for K in pool.map(lambda _: Gaussian()(X), range(12)):
            np.testing.assert_array_equal(K, expected)
    assert allowed_threads() == before


class Failing(Linear):
    def _tile(self, left, right):
        raise self.error


@pytest.mark.parametrize("error", [RuntimeError("broken tile"), KeyboardInterrupt("broken tile")])
def test_an_error_in_a_tile_stops_all_threads_and_restores_blas(X, error):
    before = allowed_threads()
    kernel = Failing()
    kernel.error = error
    with pytest.raises(type(error), match="broken tile"):
        kernel(X)
    assert allowed_threads() == before


def test_work_stops_soon_after_an_error():
    done, lock = [], threading.Lock()

    def work(item, state):
        with lock:
            done.append(item)
        if len(done) == 5:
            raise RuntimeError("stop here")

    with pytest.raises(RuntimeError, match="stop here"):
        run_threaded(work, range(10_000), lambda: None, 2)
    assert len(done) < 10_000


def test_threads_may_call_for_threads(X):
    expected = Gaussian()(X)
    states = run_threaded(lambda _, found: found.append(Gaussian()(X)), range(20), list, 2 * (os.cpu_count() or 1))
    for K in [K for found in states for K in found]:
        np.testing.assert_array_equal(K, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own(X):
    Gaussian()(X)
    child = multiprocessing.get_context("fork").Process(target=Gaussian(), args=(X,))
    child.start()
    child.join(60)
    assert child.exitcode == 0


def ends_well(target):
    """Whether a forked process ends within a time limit, with no error."""
    child = multiprocessing.get_context("fork").Process(target=target)
    child.start()
    child.join(60)
    if child.exitcode is None:
        child.kill()
    return child.exitcode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("limit", [single_threaded_blas, single_threaded_numpy], ids=["all", "NumPy's"])
def test_a_forked_process_is_free_of_what_other_threads_hold(limit, X):
    before, expected = allowed_threads(), Gaussian()(X)
    held, done = threading.Event(), threading.Event()

    def hold():
        with limit, limit._lock:
            held.set()
            done.wait()

    def compute():
        assert allowed_threads() == before
        np.testing.assert_array_equal(Gaussian()(X), expected)
        with limit:
            pass
        assert allowed_threads() == before

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert ends_well(compute)
    finally:
        done.set()
        thread.join()
    assert allowed_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_processes_may_be_forked_while_a_thread_computes(X):
    stop, expected = threading.Event(), Gram(Gaussian(), X) @ X

    def compute():
        np.testing.assert_allclose(Gram(Gaussian(), X) @ X, expected)

    def loop():
        while not stop.is_set():
            compute()

    # OpenBLAS does not survive a fork during a product on several threads, see docs/processes.md.
    with threadpool_limits(limits=1, user_api="blas"):
        thread = threading.Thread(target=loop)
        thread.start()
        try:
            assert all(ends_well(compute) for _ in range(10))
        finally:
            stop.set()
            thread.join(60)
    assert not thread.is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_may_be_forked_inside():
    before = allowed_threads()

    def leave():
        single_threaded_blas.__exit__()
        with single_threaded_blas:
            assert allowed_threads() == 1
        assert allowed_threads() == before

    with single_threaded_blas:
        assert ends_well(leave)
    assert allowed_threads() == before


def test_every_item_is_visited_once():
    for n_threads in (1, 3):
        states = run_threaded(lambda item, seen: seen.append(item), range(500), list, n_threads)
        assert sorted(item for seen in states for item in seen) == list(range(500))


def test_none_is_an_item_like_others():
    states = run_threaded(lambda item, seen: seen.append(item), [1, None, 2], list, 2)
    assert sum(len(seen) for seen in states) == 3


def test_all_rows_are_done_in_slices():
    done = np.zeros(5000)

    def work(rows):
        done[rows] += 1

    run_over_rows(work, len(done), 1000)
    assert np.all(done == 1)


def test_small_eigenproblems_have_one_thread_and_large_ones_all():
    before = allowed_threads()
    with threads_of_eigenproblem(100):
        assert allowed_threads() == 1
    with threads_of_eigenproblem(1000):
        assert allowed_threads() == before
    assert allowed_threads() == before
