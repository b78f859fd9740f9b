import polars as pl
import pytest

from mercer.datasets import make_arc
from mercer.report import LearningProblem, MapSettings, Progress, diagnose_problem, make_map, table_from_frame
from mercer.report.progress import Stages


class Listener(Progress):
    """Writes down what it is told, and ends the work after some words."""

    watched = True

    def __init__(self, last=None):
        self.told, self._last = [], last

    def __call__(self, words, share=0.0, objective=None):
        self.told.append((words, share, objective))
        return words == self._last


@pytest.fixture
def arc():
    X, angle = make_arc(60, noise=0.1, random_state=0)
    return table_from_frame(pl.DataFrame({"x": X[:, 0], "y": X[:, 1], "angle": angle}))


def test_stages():
    listener = Listener("b")
    stages = Stages(listener, {"a": 1.0, "b": 3.0})
    stages.begin("a")
    assert not stages.tell(0.5, 2.0)
    assert not stages.tell(7.0)
    with pytest.raises(KeyboardInterrupt):
        stages.begin("b")
    assert stages.tell(1.0)
    assert listener.told == [
        ("a", 0.0, None),
        ("a", 0.125, 2.0),
        ("a", 0.25, None),
        ("b", 0.25, None),
        ("b", 1.0, None),
    ]
    assert not Stages(None, {"a": 1.0}).watched


def test_maps_tell_of_each_iteration(arc):
    listener = Listener()
    result = make_map(arc, MapSettings("ukr", 1), progress=listener)
    shares = [share for _, share, _ in listener.told]
    assert shares == sorted(shares)
    objectives = [value for words, _, value in listener.told if words.startswith("fitting unsup") and value is not None]
    assert len(objectives) > 3
    assert objectives == sorted(objectives, reverse=True)
    # Nothing of the listener is left in what is stored.
    assert result.model.estimator.callback is None


def test_who_listens_changes_nothing(arc):
    heard = make_map(arc, MapSettings("manifold", 1), progress=Listener())
    alone = make_map(arc, MapSettings("manifold", 1))
    assert (heard.embedding == alone.embedding).all()


def test_work_ends_when_it_is_asked_to(arc):
    result = make_map(arc, MapSettings(dim=1), progress=Listener("fitting a principal manifold"))
    assert result.partial
    assert set(result.maps) == {"pca"}
    diagnosis = diagnose_problem(LearningProblem.read(arc, "angle"), progress=Listener("trying all kernels"))
    assert diagnosis.partial
    assert len(diagnosis.model.table_["kernel"]) == 3
    diagnosis = diagnose_problem(LearningProblem.read(arc, "angle"), progress=Listener("leaving out columns"))
    assert diagnosis.partial
    assert len(diagnosis.model.table_["kernel"]) > 12
    assert not diagnosis.columns
