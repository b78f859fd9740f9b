import io

import pytest
from rich.console import Console

from mercer.cli.messages import Conversation


@pytest.fixture
def terminal():
    """A conversation with somebody who looks, and what is seen."""
    talk, seen = Conversation(quiet=False, as_json=False), io.StringIO()
    talk._errors = Console(file=seen, force_terminal=True, width=120, color_system=None)
    return talk, seen


def test_bars_show_the_objective_and_the_time_left(terminal):
    talk, seen = terminal
    with talk.working() as work:
        assert work.watched
        assert not work("fitting a map", 0.25, 0.12345)
        work._bars.tasks[0].start_time -= 30  # as if half a minute had passed
        work("fitting a map", 0.25, 0.12345)
        work._bars.refresh()
    assert "fitting a map" in seen.getvalue()
    assert "objective 0.1235" in seen.getvalue()
    assert "about 90 s left" in seen.getvalue()


def test_time_left_in_minutes_and_at_the_end(terminal):
    talk, seen = terminal
    with talk.working() as work:
        work._bars.tasks[0].start_time -= 300
        work("fitting", 0.5)
        work._bars.refresh()
        work("writing", 1.0)
        work._bars.refresh()
    assert "about 5 min left" in seen.getvalue()
    assert "nearly done" in seen.getvalue()


@pytest.mark.parametrize("options", [(True, False), (False, True)])
def test_quiet_and_json_show_nothing(options, capsys):
    with Conversation(*options).working() as work:
        assert not work.watched
        work("fitting", 0.5, 1.0)
    assert capsys.readouterr() == ("", "")
