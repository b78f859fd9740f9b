"""Tests of peers, imported from the installed package and run on Mercer behind adapters."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest


def peer_tests(
    module: ModuleType, replace: dict[str, object], not_applicable: dict[str, str]
) -> dict[str, Callable[..., object]]:
    """The test functions of a module, after names in its namespace are replaced.

    Parameters
    ----------
    module : module
        The peer's test module, which is changed.
    replace : dict
        Names in its namespace and what they stand for from now on.
    not_applicable : dict
        Names of tests that are skipped, each with its reason.
    """
    tests = {name: value for name, value in vars(module).items() if name.startswith("test_") and callable(value)}
    stale = sorted({*(set(not_applicable) - set(tests)), *(set(replace) - set(vars(module)))})
    if stale:
        raise ValueError(f"{module.__name__} has no {', '.join(stale)}; correct the lists.")
    vars(module).update(replace)
    return {
        name: pytest.mark.skip(reason=not_applicable[name])(test) if name in not_applicable else test
        for name, test in tests.items()
    }
