from mercer.kernels.blas import allowed_threads, threads_of_eigenproblem


def test_small_eigenproblems_have_one_thread_and_large_ones_all():
    before = allowed_threads()
    with threads_of_eigenproblem(100):
        assert allowed_threads() == 1
    with threads_of_eigenproblem(1000):
        assert allowed_threads() == before
    assert allowed_threads() == before
