import pytest

from mercer.quantizers import Stopping, descend


def run(values, **options):
    """A descent along given values; the state is the position."""
    stopping = Stopping(**{"tol": 0.01, "max_iter": 10, **options})
    return descend(0, values[0], lambda i: (i + 1, values[i + 1]), stopping, name="test")


def test_stops_where_little_is_gained():
    end = run([8.0, 4.0, 2.0, 1.999, 0.0])
    assert (end.status, end.state, end.n_iter, end.value) == ("optimal", 3, 3, 1.999)


def test_a_step_up_is_not_taken():
    end = run([8.0, 4.0, 5.0])
    assert (end.status, end.state, end.history) == ("optimal", 1, [8.0, 4.0])


def test_values_that_are_no_numbers_end_it():
    end = run([8.0, 4.0, float("nan")])
    assert (end.status, end.history) == ("optimal", [8.0, 4.0])


def test_interruptions_keep_what_was_reached():
    def step(i):
        if i == 2:
            raise KeyboardInterrupt
        return i + 1, 1.0 / (i + 2)

    end = descend(0, 1.0, step, Stopping(0.0, 9), name="test")
    assert (end.status, end.state, end.n_iter) == ("interrupted", 2, 2)


def test_number_of_steps():
    end = run([8.0, 4.0, 2.0, 1.0], max_iter=2)
    assert (end.status, end.value) == ("max_iter", 2.0)
    with pytest.warns(
        UserWarning, match="Model was still improving after 2 iterations; raise max_iter or tol, or go on"
    ):
        end.warn_unless_converged("Model")


def test_tells_the_state():
    seen = []

    def tell(iteration, state):
        seen.append((iteration, state))
        return iteration == 2

    run = descend(1.0, 1.0, lambda x: (x / 2, x**2 / 4), Stopping(tol=0.0, max_iter=9), name="halving", tell=tell)
    assert seen == [(1, 0.5), (2, 0.25)]
    assert run.status == "interrupted"
