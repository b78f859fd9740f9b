"""The lists of what is replaced and what does not apply must not grow stale."""

from types import ModuleType

import pytest

from tests.peers.collect import peer_tests


def module():
    made = ModuleType("made")
    exec("def f():\n    return 1\n\ndef test_f():\n    return f()\n\ndef test_g():\n    pass", vars(made))
    return made


def test_names_are_replaced_and_tests_are_skipped():
    tests = peer_tests(module(), {"f": lambda: 2}, {"test_g": "no g"})
    assert list(tests) == ["test_f", "test_g"]
    assert tests["test_f"]() == 2
    assert not hasattr(tests["test_f"], "pytestmark")
    assert [(mark.name, mark.kwargs) for mark in tests["test_g"].pytestmark] == [("skip", {"reason": "no g"})]


def test_stale_names():
    with pytest.raises(ValueError, match="made has no h, test_h; correct the lists"):
        peer_tests(module(), {"h": None}, {"test_h": "no h"})
