import json
import math
import pickle
import time

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.running import (
    Run,
    Status,
    Step,
    Stopping,
    best_of,
    descend,
    raise_if_interrupted,
    run,
    unless_interrupted,
    with_progress,
)


def descent(values, **options):
    """A descent along given values; the state is the position."""
    stopping = Stopping(**{"tol": 0.01, "max_iter": 10, **options})
    return descend(0, values[0], lambda i: (i + 1, values[i + 1]), stopping, name="test")


def steps(*values):
    """An algorithm with given values, whose states are their positions; an exception among them is raised."""
    for i, value in enumerate(values):
        if isinstance(value, BaseException):
            raise value
        yield value if isinstance(value, Step) else Step(i, value)


def test_stops_where_little_is_gained():
    end = descent([8.0, 4.0, 2.0, 1.999, 0.0])
    assert (end.status, end.state, end.n_iter, end.value) == ("optimal", 3, 3, 1.999)


def test_a_step_up_is_not_taken():
    end = descent([8.0, 4.0, 5.0])
    assert (end.status, end.state, end.history) == ("optimal", 1, [8.0, 4.0])


def test_values_that_are_no_numbers_end_it():
    end = descent([8.0, 4.0, float("nan")])
    assert (end.status, end.history) == ("optimal", [8.0, 4.0])


def test_interruptions_keep_what_was_reached():
    def step(i):
        if i == 2:
            raise KeyboardInterrupt
        return i + 1, 1.0 / (i + 2)

    end = descend(0, 1.0, step, Stopping(0.0, 9), name="test")
    assert (end.status, end.state, end.n_iter) == ("interrupted", 2, 2)


def test_number_of_steps():
    end = descent([8.0, 4.0, 2.0, 1.0], max_iter=2)
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

    end = run(steps(8.0, 4.0, 2.0, 1.0), Stopping(), "test", tell=tell)
    assert seen == [(0, 0), (1, 1), (2, 2)]
    assert end.status == "interrupted"


def test_the_callback_of_the_stopping_hears_of_values():
    seen = []
    end = descent(
        [8.0, 4.0, 2.0, 1.0], callback=lambda iteration, value: seen.append((iteration, value)) or iteration == 2
    )
    assert (end.status, seen) == ("interrupted", [(1, 4.0), (2, 2.0)])


@pytest.mark.parametrize("status", Status)
def test_statuses_are_strings_that_have_a_message(status):
    assert status == status.value
    assert status in {status.value}
    assert f"{status} {status!r}" == f"{status.value} {status.value!r}"
    assert json.dumps(status) == json.dumps(status.value)
    assert pickle.loads(pickle.dumps(status)) is Status(status.value) is status
    assert np.array([status]) == status.value
    assert status.message


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([], "optimal"),
        (["optimal", "optimal"], "optimal"),
        (["optimal", "max_iter", "stalled"], "max_iter"),
        (["max_iter", "interrupted"], "interrupted"),
    ],
)
def test_the_status_of_several_fits(statuses, expected):
    assert Status.of_all(statuses) is Status(expected)


def test_an_algorithm_that_ends_by_itself_is_optimal():
    end = run(steps(3.0, 1.0), Stopping(), "test")
    assert (end.status, end.state, end.value, end.n_iter) == ("optimal", 1, 1.0, 1)


def test_an_algorithm_may_say_how_it_ends():
    end = run(steps(3.0, Step("here", 2.0, Status.STALLED), 1.0), Stopping(), "test")
    assert (end.status, end.state) == ("stalled", "here")


def test_the_best_and_the_last_step_are_kept():
    end = run(steps(3.0, 1.0, 2.0, 1.0), Stopping(max_iter=3), "test")
    assert (end.status, end.state, end.last.state, end.history) == ("max_iter", 1, 3, [3.0, 1.0, 1.0, 1.0])


def test_a_start_that_is_no_number_is_worse_than_any_number():
    assert run(steps(math.nan, 5.0, math.nan), Stopping(), "test").value == 5.0


def test_no_step_is_made_where_none_is_allowed():
    end = run(steps(3.0, RuntimeError("a step")), Stopping(max_iter=0), "test")
    assert (end.status, end.n_iter) == ("max_iter", 0)


def test_gains_are_measured_over_some_steps():
    values = [8.0, 4.0, 4.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    assert run(steps(*values), Stopping(tol=0.0), "test").n_iter == 2
    assert run(steps(*values), Stopping(tol=0.0, patience=3), "test").n_iter == 6


def test_the_time_limit_lets_a_step_be_completed():
    def slow():
        for value in (3.0, 2.0, 1.0):
            time.sleep(0.02)
            yield Step(None, value)

    end = run(slow(), Stopping(time_limit=0.03), "test")
    assert (end.status, end.value) == ("time_limit", 2.0)
    assert run(slow(), Stopping(time_limit=0.0), "test").history == [3.0]


def test_interrupts_leave_the_best_step():
    end = run(steps(3.0, 1.0, 2.0, KeyboardInterrupt()), Stopping(), "test")
    assert (end.status, end.state) == ("interrupted", 1)


def test_an_interrupt_before_the_first_step_leaves_nothing():
    end = run(steps(KeyboardInterrupt()), Stopping(), "test")
    assert (end.status, end.best, end.n_iter) == ("interrupted", None, 0)
    with pytest.raises(KeyboardInterrupt):
        _ = end.state


def test_other_errors_come_through():
    with pytest.raises(ZeroDivisionError, match="here"):
        run(steps(3.0, ZeroDivisionError("here")), Stopping(), "test")


def test_whoever_is_told_of_states_hears_of_the_start():
    seen = []
    run(steps(3.0, 1.0), Stopping(), "test", tell=lambda iteration, state: seen.append((iteration, state)))
    assert seen == [(0, 0), (1, 1)]


def test_a_run_may_be_told_by_an_optimiser():
    def note(intermediate_result):
        if watch.see(Step(intermediate_result.x, intermediate_result.fun)):
            raise StopIteration

    with Run(Stopping(max_iter=2), "test") as watch:
        minimize(lambda x: float(np.sum(x**4)), np.array([3.0, -1.0]), callback=note)
    assert (watch.status, watch.n_iter) == ("max_iter", 2)


def test_progress_is_shown_on_request(capsys):
    run(steps(3.0, 1.0), Stopping(verbose=True), "Some fit", shows="gap")
    shown = capsys.readouterr().err
    assert "Some fit" in shown
    assert "gap=1" in shown
    assert list(with_progress([1, 2], "Some loop")) == [1, 2]
    assert "Some loop" in capsys.readouterr().err
    run(steps(3.0, 1.0), Stopping(), "Some fit")
    assert list(with_progress([1, 2], "Some loop", shown=False)) == [1, 2]
    assert not capsys.readouterr().err


def test_the_best_of_some_runs_is_the_first_of_equals():
    runs = [descent(values) for values in ([8.0, 4.0, 4.0], [8.0, 2.0, 2.0], [2.0, 2.0])]
    assert best_of(runs) is runs[1]


def test_nested_fits_hand_interrupts_on():
    raise_if_interrupted("optimal", Status.MAX_ITER)
    with pytest.raises(KeyboardInterrupt):
        raise_if_interrupted("optimal", Status.INTERRUPTED)
    assert unless_interrupted(lambda: 1, lambda: 2) == 1
    assert unless_interrupted(lambda: raise_if_interrupted("interrupted"), lambda: 2) == 2
