import numpy as np
import polars as pl
import pytest

from mercer.datasets import make_arc
from mercer.report import (
    LearningProblem,
    MachineSettings,
    MapSettings,
    Progress,
    diagnose_problem,
    fit_machine,
    make_map,
    table_from_frame,
)
from mercer.workflows.progress import Stages


class Listener(Progress):
    """Writes down what it is told, and ends the work after some words."""

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
    unheard = Stages(None, {"a": 1.0})
    unheard.begin("a")
    assert not unheard.tell(0.5)


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


@pytest.mark.parametrize("band", [None, 0.8])
def test_machines_tell_of_each_iteration(arc, band):
    listener = Listener()
    model = fit_machine(
        LearningProblem.read(arc, "angle"), MachineSettings("epsilon", band=band), progress=listener
    ).model
    shares = [share for _, share, _ in listener.told]
    assert shares == sorted(shares)
    stages = ["checking on held-out rows", "fitting all rows", "comparing with boosted trees"]
    starts = [next(share for said, share, _ in listener.told if said == words) for words in stages]
    for words, start, end in zip(stages[:2], starts, starts[1:], strict=False):
        told = [(share, value) for said, share, value in listener.told if said == words and value is not None]
        assert len(told) > 3
        assert np.isfinite(told).all()
        # The bar moves through its stage.
        assert told[-1][0] - told[0][0] > 0.9 * (end - start)
    watched = [model.machine, *([model.band, model.band.lower_, model.band.upper_] if band else [])]
    assert all(estimator.callback is None for estimator in watched)


def test_machines_of_several_classes_tell_of_each_iteration():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    X[:, 0] += 2 * y
    problem = LearningProblem.read(table_from_frame(pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})), "y")
    listener = Listener()
    fit_machine(problem, progress=listener)
    shares = [share for _, share, _ in listener.told]
    assert shares == sorted(shares)
    assert sum(value is not None for _, _, value in listener.told) > 12


class Late(Listener):
    """Ends the work at the third objective of a stage."""

    def __call__(self, words, share=0.0, objective=None):
        self.told.append((words, share, objective))
        return sum(said == self._last and value is not None for said, _, value in self.told) >= 3


@pytest.mark.parametrize("stage", ["checking on held-out rows", "fitting all rows"])
@pytest.mark.parametrize("band", [None, 0.8])
def test_machines_end_when_they_are_asked_to(arc, stage, band):
    result = fit_machine(
        LearningProblem.read(arc, "angle"), MachineSettings("epsilon", band=band), progress=Late(stage)
    )
    assert result.partial
    # That of all rows is not at its optimum: what is kept is the one that was checked.
    has_band = band is not None and stage == "fitting all rows"
    assert (result.model.band is not None) == has_band
    assert (result.model.machine.status_ == "optimal") == (stage == "fitting all rows")


def test_who_listens_changes_nothing(arc):
    heard = make_map(arc, MapSettings("manifold", 1), progress=Listener())
    alone = make_map(arc, MapSettings("manifold", 1))
    assert (heard.embedding == alone.embedding).all()


def test_work_ends_when_it_is_asked_to(arc):
    result = make_map(arc, MapSettings(dim=1), progress=Listener("fitting a principal manifold"))
    assert result.partial
    assert set(result.maps) == {"pca"}
    for stage in ("learning the metric", "checking on held-out rows"):
        diagnosis = diagnose_problem(LearningProblem.read(arc, "angle"), progress=Listener(stage))
        assert diagnosis.partial
        assert len(diagnosis.model.table_["kernel"]) == 3
        assert diagnosis.judged is None
