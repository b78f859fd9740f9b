"""Every public class of a family is in the list that the tests of its contract go through."""

import ast
from inspect import isabstract, isclass
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import mercer
from mercer import kernels, losses, plots, regularizers, solvers
from mercer.kernels import gram
from mercer.plots.display import Display
from tests.contracts.all_displays import DISPLAYS
from tests.contracts.all_kernels import INDEFINITE_KERNELS, VECTOR_KERNELS
from tests.contracts.all_losses import LOSSES, ROW_LOSSES
from tests.contracts.all_manifolds import MAP_PENALTIES
from tests.kernels.gram.test_matrix import FORMS
from tests.regularizers.test_norms import EVERY as REGULARIZERS

# Displays of capacities and risks are made from fits: tests/plots/test_capacity.py and test_risk.py draw them.
MADE_OF_RESULTS = {
    "EntropyNumberDisplay",
    "WaterFillingDisplay",
    "PeriodDisplay",
    "CapacityMapDisplay",
    "FeatureBoxDisplay",
    "HullDisplay",
    "ShatteringDisplay",
    "RateDisplay",
    "RiskBoundsDisplay",
    "RiskPathDisplay",
    "NormRiskDisplay",
}
TESTS = Path(__file__).parents[1]


def below(kind):
    """All classes that derive from one."""
    return {kind, *(deeper for derived in kind.__subclasses__() for deeper in below(derived))}


def names_of(parts):
    return {parent.__name__ for part in parts for parent in type(part).__mro__}


@pytest.mark.parametrize(
    ("package", "base", "tested", "elsewhere"),
    [
        # Sequences and given matrices are no rows of two columns: tests/kernels and tests/machines have them.
        (kernels, kernels.Kernel, [*VECTOR_KERNELS, *INDEFINITE_KERNELS], {"WeightedDegree", "Precomputed"}),
        (losses, losses.Loss, LOSSES, set()),
        (losses, losses.RowLoss, ROW_LOSSES, set()),
        (regularizers, regularizers.Regularizer, REGULARIZERS, set()),
        (regularizers, regularizers.MapPenalty, MAP_PENALTIES, set()),
        (solvers, solvers.Solver, solvers.SOLVERS.values(), set()),
        (gram, gram.GramMatrix, FORMS.values(), set()),
        (plots, Display, DISPLAYS, MADE_OF_RESULTS),
    ],
    ids=[
        "kernels",
        "losses",
        "losses of rows",
        "regularizers",
        "penalties of maps",
        "solvers",
        "Gram matrices",
        "displays",
    ],
)
def test_every_class_of_a_family_is_in_the_tests_of_its_contract(package, base, tested, elsewhere):
    public = {kind.__name__ for kind in below(base) if getattr(package, kind.__name__, None) is kind}
    abstract = {kind.__name__ for kind in below(base) if isabstract(kind)}
    assert public - abstract - names_of(tested) == elsewhere


def test_every_public_display_is_a_display():
    assert {name for name in plots.__all__ if not issubclass(getattr(plots, name), Display)} == set()


def checked_by_scikit_learn():
    """Names of the classes in all calls of `parametrize_with_checks`, as the files of the tests have them."""
    names = set()
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "parametrize_with_checks":
                calls = (part for part in ast.walk(node.args[0]) if isinstance(part, ast.Call))
                names |= {call.func.id for call in calls if isinstance(call.func, ast.Name)}
    return names


def public_estimators():
    """Classes with `fit` that some package of Mercer offers."""
    offered = (getattr(package, name) for package in packages() for name in package.__all__)
    return {kind.__name__ for kind in offered if isclass(kind) and issubclass(kind, BaseEstimator) and is_fitted(kind)}


def packages():
    return [getattr(mercer, name) for name in mercer._SUBPACKAGES]


def is_fitted(kind):
    return hasattr(kind, "fit") and not isabstract(kind)


def test_every_estimator_passes_the_checks_of_scikit_learn():
    assert set(mercer._ESTIMATORS) <= public_estimators()
    # Smoothers of principal curves take one column, which the checks do not give: tests/manifolds/curve has them.
    assert public_estimators() - checked_by_scikit_learn() == {"SmoothingSpline", "LocalLinear"}
