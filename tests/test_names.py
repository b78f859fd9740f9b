"""What can be imported from the top, and that no class of a family is left out of the tests of its contract."""

import ast
from inspect import isabstract
from pathlib import Path

import pytest

import mercer
from mercer import kernels, losses, regularizers
from tests.contracts.all_kernels import INDEFINITE_KERNELS, VECTOR_KERNELS
from tests.contracts.all_losses import LOSSES, ROW_LOSSES
from tests.contracts.all_manifolds import MAP_PENALTIES


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


def below(kind):
    """All classes that derive from one."""
    return {kind, *(deeper for derived in kind.__subclasses__() for deeper in below(derived))}


@pytest.mark.parametrize(
    ("package", "base", "tested", "elsewhere"),
    [
        # Sequences and given matrices are no rows of two columns: tests/kernels and tests/machines have them.
        (kernels, kernels.Kernel, [*VECTOR_KERNELS, *INDEFINITE_KERNELS], {"WeightedDegree", "Precomputed"}),
        (losses, losses.Loss, LOSSES, set()),
        (losses, losses.RowLoss, ROW_LOSSES, set()),
        (regularizers, regularizers.MapPenalty, MAP_PENALTIES, set()),
    ],
)
def test_every_kernel_loss_and_penalty_is_in_the_tests_of_its_contract(package, base, tested, elsewhere):
    public = {
        kind.__name__ for kind in below(base) if getattr(package, kind.__name__, None) is kind and not isabstract(kind)
    }
    kinds = {parent.__name__ for part in tested for parent in type(part).__mro__}
    assert public - kinds == elsewhere
