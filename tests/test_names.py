"""What can be imported from the top."""

import ast
from pathlib import Path

import pytest

import mercer


def test_type_checkers_see_what_there_is():
    stub = ast.parse((Path(mercer.__file__).parent / "__init__.pyi").read_text())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.name: node.module for node in imports for alias in node.names}
    assert {"__version__", *seen} == set(mercer.__all__)
    assert {name: module for name, module in seen.items() if module != "mercer"} == {
        name: f"mercer.{folder}" for name, folder in mercer._ESTIMATORS.items()
    }
    (listed,) = (ast.literal_eval(node.value) for node in stub.body if isinstance(node, ast.Assign))
    assert sorted(listed) == sorted(mercer.__all__)


@pytest.mark.parametrize("name", [name for name in mercer.__all__ if not name.startswith("_")])
def test_names_can_be_imported(name):
    assert getattr(mercer, name).__name__.split(".")[-1] == name
