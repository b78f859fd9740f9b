import io
import re
import time

import pytest
from rich.console import Console

from mercer.cli import work as working
from mercer.cli.messages import Conversation
from mercer.cli.stopping import Stopping
from mercer.workflows.progress import Stages


@pytest.fixture
def terminal():
    """A conversation with somebody who looks, and what is seen."""
    talk, seen = Conversation(quiet=False, as_json=False), io.StringIO()
    talk._errors = Console(file=seen, force_terminal=True, width=120, color_system=None)
    return talk, seen


def test_bars_show_the_objective_and_the_time_left(terminal):
    talk, seen = terminal
    with talk.working() as work:
        assert not work("fitting a map", 0.25, 0.12345)
        work._begin -= 30  # as if half a minute had passed
        work("fitting a map", 0.25, 0.12345)
        work._bars.refresh()
    assert "fitting a map" in seen.getvalue()
    assert "objective 0.1235" in seen.getvalue()
    assert "about 90 s left" in seen.getvalue()


def test_time_left_in_minutes_and_at_the_end(terminal):
    talk, seen = terminal
    with talk.working() as work:
        work._begin -= 300
        work("fitting", 0.5)
        work._bars.refresh()
        work("writing", 1.0)
        work._bars.refresh()
    assert "about 5 min left" in seen.getvalue()
    assert "nearly done" in seen.getvalue()


@pytest.mark.parametrize("options", [(True, False), (False, True)])
def test_quiet_and_json_show_nothing(options, capsys):
    with Conversation(*options).working() as work:
        work("fitting", 0.5, 1.0)
    assert capsys.readouterr() == ("", "")


def test_bars_fit_a_terminal_of_80_columns():
    talk, seen = Conversation(quiet=False, as_json=False), io.StringIO()
    talk._errors = Console(file=seen, force_terminal=True, width=80, color_system=None)
    with talk.working() as work:
        work._begin -= 6000
        work("measuring unsupervised kernel regression", 0.5, -1.2345678e-10)
        work._bars.refresh()
    bars = [line for line in re.split(r"\x1b\[[^a-zA-Z]*[a-zA-Z]|[\r\n]", seen.getvalue()) if "left" in line]
    assert bars
    for bar in bars:
        assert len(bar) <= 80
        assert "about 100 min left" in bar
        assert "measuring" in bar


def test_lines_where_there_is_no_terminal(monkeypatch, capfd):
    monkeypatch.setattr(working, "_PAUSE", 0.02)
    with Conversation(quiet=False, as_json=False).working() as work:
        work("a stage whose name is longer than any line of a terminal of the usual width may be", 0.5)
        work._begin -= 600
        time.sleep(0.2)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) >= 2
    assert lines[-1].startswith("mercer: a stage")
    assert lines[-1].endswith("..., 50% after 10 min, about 10 min left")
    assert max(map(len, lines)) <= 79


def test_the_time_left_never_exceeds_the_limit():
    work = working.Work(Stopping(time_limit=30.0))
    assert 29 < work.left() <= 30
    work._begin -= 20
    work("fitting", 0.1)
    assert 9 < work.left() <= 10
    work("fitting", 0.9)
    assert 2 < work.left() < 2.5
    work._begin -= 20
    assert work.left() == 0
    assert working.Work(Stopping()).left() is None


def test_results_are_broken_between_words_on_a_terminal():
    talk, seen = Conversation(quiet=False, as_json=False), io.StringIO()
    talk._results = Console(file=seen, force_terminal=True, width=40, color_system=None)
    path = "/a/path/that/is/longer/than/the/line/of/the/terminal/report.html"
    talk.say("Some words " * 10, f"Report: {path}")
    lines = seen.getvalue().splitlines()
    assert all(len(line.rstrip()) <= 40 or line.rstrip() == path for line in lines), lines
    assert path in [line.rstrip() for line in lines]


def test_who_waits_for_compiled_code_is_told():
    work = working.Work(Stopping())
    work("fitting a manifold", 0.5)
    work.compiles()
    assert work.line().startswith("mercer: fitting a manifold (compiling, once), 50% after")
    work("fitting a manifold", 0.6)
    assert "compiling" not in work.line()


class Clock:
    """Time that passes when it is told to."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(working.time, "monotonic", lambda: self.now)


def estimates(clock, factors, *, steady, n_told=50):
    """What is told of the time left, and what was left, while three stages take other times than the plan foresaw.

    Steady stages tell how far they are; the others stand still until they are over.
    """
    plan, begin = {"reading": 20.0, "fitting": 50.0, "measuring": 30.0}, clock.now
    times = [factor * expected for factor, expected in zip(factors, plan.values(), strict=True)]
    work = working.Work(Stopping())
    clock.now += 7.0  # before there is a plan
    stages, found = Stages(work, plan), []
    end = clock.now + sum(times)
    for words, seconds, is_steady in zip(plan, times, steady, strict=True):
        stages.begin(words)
        for i in range(n_told):
            clock.now += seconds / n_told
            if is_steady:
                stages.tell((i + 1) / n_told)
            found.append((clock.now - begin, end - clock.now, work.left(), work.left_in_words()))
    return [entry for entry in found if entry[0] > (end - begin) / 3]


# Each stage may take twice as long beside another as was foreseen where all are heard of; where some stand still, which
# tells nothing, √2 times as long.
STEADY = [((True, True, True), second, third) for second in (0.71, 1.0, 1.41) for third in (0.71, 1.0, 1.41)]
STANDING = [
    (steady, second, third)
    for steady in ((True, False, True), (True, True, False), (True, False, False), (False, False, False))
    for second in (0.84, 1.0, 1.19)
    for third in (0.84, 1.0, 1.19)
]


@pytest.mark.parametrize(("steady", "second", "third"), STEADY + STANDING)
def test_the_time_left_is_right_within_a_factor_of_two(monkeypatch, steady, second, third):
    said = 0
    found = estimates(Clock(monkeypatch), (1.0, second, third), steady=steady)
    for _, left, told, words in found:
        if told is not None:
            said += 1
            assert left / 2 - 1 <= told <= 2 * left + 1
            assert ("nearly done" in words) <= (left < 3)
    assert said >= (0.95 if all(steady) else 0.3) * len(found)


def test_stages_that_take_longer_than_was_foreseen_say_nothing(monkeypatch):
    clock = Clock(monkeypatch)
    work = working.Work(Stopping(time_limit=300.0))
    stages = Stages(work, {"fitting": 50.0, "measuring": 50.0})
    stages.begin("fitting")
    clock.now += 50.0
    stages.begin("measuring")
    assert work.left_in_words() == "about 50 s left"
    clock.now += 100.0
    assert work.left_in_words() == "at most 2 min left"
    assert work.line().endswith("50% after 2 min, at most 2 min left")
    clock.now += 151.0
    assert work.left_in_words() == ""
    endless = working.Work(Stopping())
    stages = Stages(endless, {"fitting": 50.0, "measuring": 50.0})
    stages.begin("fitting")
    clock.now += 50.0
    stages.begin("measuring")
    clock.now += 100.0
    assert endless.left() is None
    assert endless.line().endswith("50% after 2 min")
