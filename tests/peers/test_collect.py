from types import ModuleType

import pytest

from tests.peers.collect import peer_tests


def module():
    made = ModuleType("peer")
    lines = ("def estimator(): return 1", "def test_one(): return estimator()", "def test_two(): pass")
    exec("\n".join(lines), vars(made))
    return made


def test_names_are_replaced_and_tests_skipped():
    tests = peer_tests(module(), {"estimator": lambda: 2}, {"test_two": "not ours"})
    assert list(tests) == ["test_one", "test_two"]
    assert tests["test_one"]() == 2
    assert [(mark.name, mark.kwargs) for mark in tests["test_two"].pytestmark] == [("skip", {"reason": "not ours"})]
    assert not hasattr(tests["test_one"], "pytestmark")


@pytest.mark.parametrize(("replace", "skipped"), [({"machine": 1}, {}), ({}, {"test_three": "gone"})])
def test_stale_names_are_refused(replace, skipped):
    with pytest.raises(ValueError, match="peer has no (machine|test_three); correct the lists"):
        peer_tests(module(), replace, skipped)
