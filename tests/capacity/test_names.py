import ast
from pathlib import Path

import pytest

from mercer import capacity


def test_type_checkers_see_what_there_is():
    stub = ast.parse((Path(capacity.__file__).parent / "__init__.pyi").read_text())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    seen = {node.module.split(".")[-1]: {alias.name for alias in node.names} for node in imports}
    assert seen == {module: set(names) for module, names in capacity._MODULES.items()}
    (listed,) = (ast.literal_eval(node.value) for node in stub.body if isinstance(node, ast.Assign))
    assert sorted(listed) == sorted(capacity.__all__)


def test_names_are_those_of_things_and_no_module_hides_one():
    assert not set(capacity._MODULES) & set(capacity.__all__)
    for name in capacity.__all__:
        assert getattr(capacity, name).__module__ == f"mercer.capacity.{capacity._HOMES[name]}"
    assert dir(capacity) == sorted(capacity.__all__)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="module 'mercer.capacity' has no attribute 'magic'"):
        capacity.magic  # noqa: B018
