"""Models whose parts do not fit each other are refused when they are opened, and not met by compiled code."""

import copy
import functools
import json
import re

import numpy as np
import polars as pl
import pytest

from mercer.kernels import Anova, Gaussian, Linear, Periodized, Polynomial
from mercer.losses import Squared
from mercer.manifolds import LatentBasis, LatentSpace
from mercer.manifolds.latent.tables import Tables
from mercer.manifolds.ukr.density_kernels import DENSITY_KERNELS, LatentDensity
from mercer.report import (
    METHODS,
    LearningProblem,
    MachineSettings,
    ModelFileError,
    fit_machine,
    load_machine,
    load_map,
    stored_machine,
    table_from_frame,
)
from mercer.tables.targets import Target
from mercer.workflows.model_files.archives import Refused
from mercer.workflows.model_files.checks import _MAPS
from mercer.workflows.model_files.facts import read_target
from tests.workflows.model_files.test_files import changed, fitted_map, saved


@functools.cache
def _a_map(name):
    options = {"circle": {"dim": 1, "topology": "circle"}, "torus": {"topology": "circle"}, "brute": {"d": 30}}
    return fitted_map({"circle": "manifold", "torus": "manifold", "brute": "eigenmaps"}.get(name, name),
                      **options.get(name, {}))  # fmt: skip


@functools.cache
def _a_machine(target, band=None):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    columns = {
        "y": x[:, 0],
        "two": np.where(x[:, 0] > 0, "a", "b"),
        "three": np.array(["a", "b", "c"])[np.arange(40) % 3],
    }
    frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1] + 0.1 * x[:, 0], target: columns[target]})
    return fit_machine(
        LearningProblem.read(table_from_frame(frame), target), MachineSettings("auto", "gaussian", band)
    ).model


def test_every_method_has_its_checks():
    assert set(_MAPS) == set(METHODS)


def turn(path, change):
    """A function that changes the attribute at a path of attributes."""

    def changes(thing):
        *owners, name = path.split(".")
        for owner in owners:
            thing = vars(thing)[owner]
        vars(thing)[name] = change(vars(thing).get(name))

    return changes


def put(path, value):
    """A function that sets the attribute at a path of attributes."""
    return turn(path, lambda _: value)


def density_of(kernel, periods=None):
    return LatentDensity(DENSITY_KERNELS[kernel], periods)


def first(number):
    """The first entry of an array is this."""

    def change(array):
        array = array.copy()
        array.flat[0] = number
        return array

    return change


def shorter(array):
    return array[:-1]


def as_texts(array):
    return array.astype(str)


MAPS = [
    ("pca", put("n_features_in_", 4), "n_features_in_ of its PCA must be 3, and is 4"),
    ("pca", lambda pca: vars(pca).pop("mean_"), "its PCA has no mean_"),
    ("pca", turn("mean_", shorter), "mean_ of its PCA must have the shape (3), not (2,)"),
    ("pca", put("mean_", "text"), "mean_ of its PCA is str"),
    ("pca", turn("components_", first(np.nan)), "components_ of its PCA holds numbers that are none, or beyond 1e+30"),
    ("pca", turn("components_", first(1e200)), "components_ of its PCA holds numbers that are none, or beyond 1e+30"),
    ("pca", turn("components_", as_texts), "components_ of its PCA is an array of <U"),
    ("pca", put("whiten", True), "whiten of its PCA must be False, and is True"),
    ("pca", put("transform", Linear()), "its PCA has a value where its method transform should be"),
    ("pca", put("_sklearn_output_config", {"transform": "text"}), "it cannot be used ("),
    ("manifold", turn("_origin", first(np.inf)), "_origin of its PrincipalManifold holds numbers"),
    ("manifold", put("fit_", 3), "fit_ of its PrincipalManifold must be ManifoldFit, and is int"),
    ("manifold", turn("fit_.map.alpha", shorter), "alpha of its LatentMap must have the shape (49, 3), not (48, 3)"),
    ("manifold", turn("fit_.map.coefficients", shorter), "coefficients of its LatentMap must have the shape"),
    ("manifold", turn("fit_.map.gamma", lambda g: np.vstack([g, g])), "gamma of its LatentMap must have the shape"),
    ("manifold", put("fit_.map.basis.sides", (7, 10**9)), "to_alpha of its LatentBasis must have the shape (700000000"),
    ("manifold", put("fit_.map.basis.sides", (7, 1)), "sides of its LatentBasis must be 2 whole numbers"),
    ("manifold", put("fit_.map.basis.sides", (7, 7.0)), "sides of its LatentBasis must be 2 whole numbers"),
    ("manifold", put("fit_.map.basis.linear", 1), "linear of its LatentBasis must be True or False, and is 1"),
    ("manifold", put("fit_.map.basis.space.topology", ("interval",)), "topology of its LatentSpace must be 2 of inter"),
    ("manifold", put("fit_.map.basis.kernel", "rbf"), "kernel of its LatentBasis is str, which is no kernel of a mode"),
    ("manifold", put("fit_.map.basis.kernel", Gaussian(-1.0)), "width of its Gaussian must be a positive number"),
    ("manifold", put("fit_.map.basis.kernel", Gaussian([1.0])), "width of its Gaussian must be 2 positive numbers"),
    ("manifold", turn("density_.cells.squares", shorter), "squares of its Cells must have the shape (2, 484), not"),
    ("manifold", put("density_.variance", 0.0), "variance of its ManifoldDensity must be a positive number, and is 0."),
    ("circle", put("fit_.map.basis.kernel.period", float("nan")), "period of its Periodized must be a positive number"),
    ("circle", put("fit_.map.basis.kernel.kernel", Linear()), "kernel of its Periodized must be Gaussian, and is Line"),
    ("torus", put("fit_.map.basis.kernel.left.columns", [5]), "columns of its OnColumns must be positions below 2"),
    ("ukr", put("density_kernel", "other"), "density_kernel of its UnsupervisedKernelRegression must be 'gaussian' or"),
    ("ukr", turn("_Z", shorter), "_Z of its UnsupervisedKernelRegression must have the shape (60, 2), not (59, 2)"),
    ("ukr", turn("_surface.Z", first(np.nan)), "Z of its Surface holds numbers that are none"),
    ("ukr", turn("_surface.values", shorter), "values of its Surface must have the shape (60, 3), not (59, 3)"),
    ("ukr", put("_surface.seen", np.ones(3)), "seen of its Surface must have the shape (60, 3), not (3,)"),
    ("ukr", put("_units.periods", np.array([-1.0, 2.0])), "periods of its LatentUnits must be 2 positive numbers"),
    ("ukr", put("_surface.density", density_of("quartic")), "must be GaussianDensity, and is Quar"),
    ("ukr", put("_density", density_of("gaussian", np.ones(3))), "periods of its LatentDensity must be 2 positive"),
    ("ukr", put("_density", density_of("gaussian", -np.ones(2))), "periods of its LatentDensity must be 2 positive"),
    ("ukr", put("density_threshold_", 1e9), "it cannot be used ("),
    ("kpca", turn("rows_", shorter), "dual_coef_ of its KernelPCA must have the shape (59, 2), not (60, 2)"),
    ("kpca", put("kernel_", Polynomial(10**6)), "degree of its Polynomial must be a whole number from 1 to 20"),
    ("kpca", put("kernel", "rbf"), "kernel of its KernelPCA is str"),
    ("kpca", put("preimage", "fixed_point"), "preimage of its KernelPCA must be 'auto'"),
    ("kpca", put("_removed._varying", np.ones(3, bool)), "_varying of its RemovedFunctions must have the shape (0)"),
    ("kpca", turn("_learned.noisy._coef", shorter), "_coef of its RidgePreimages must have the shape (60, 3)"),
    ("eigenmaps", put("affinity", "precomputed"), "affinity of its LaplacianEigenmaps must be 'neighbors'"),
    ("eigenmaps", turn("_embedded_with", first(10**9)), "_embedded_with of its LaplacianEigenmaps holds positions out"),
    ("eigenmaps", put("_affinity._k", 10**9), "_k of its NeighbourAffinity must be a whole number from 1 to 60, and i"),
    ("eigenmaps", put("_affinity.about", {}), "its NeighbourAffinity has no width"),
    ("eigenmaps", put("_affinity._n", 61), "_n of its NeighbourAffinity must be 60, and is 61"),
    ("eigenmaps", turn("_affinity._search._X", shorter), "_X of its NeighbourSearch must have the shape (60, 3)"),
    ("eigenmaps", turn("_affinity._search._search._X", shorter), "_X of its Tree must have the shape (60, 3)"),
    ("eigenmaps", put("_affinity._search._origin", np.ones(4)), "_origin of its NeighbourSearch must have the shape ("),
    ("eigenmaps", put("_affinity._search._unit", -1.0), "_unit of its NeighbourSearch must be a positive number"),
    ("eigenmaps", turn("graph_", lambda graph: graph[:50, :50]), "graph_ of its LaplacianEigenmaps must have the shap"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "words"), MAPS, ids=[words for _, _, words in MAPS])
def test_maps_that_do_not_fit_together_are_refused(tmp_path, name, change, words):
    model = copy.deepcopy(_a_map(name)[0])
    change(model.estimator)
    with pytest.raises(ModelFileError, match="is refused: .*" + re.escape(words)):
        load_map(saved(model, tmp_path))


MACHINES = [
    ("y", turn("machine.dual_coef_", shorter), "dual_coef_ of its SupportVectorRegressor must have the shape"),
    ("y", turn("machine.support_", first(-1)), "support_ of its SupportVectorRegressor holds positions outside of 0 t"),
    ("y", turn("machine.parametric_coef_", first(np.nan)), "parametric_coef_ of its SupportVectorRegressor holds numb"),
    ("y", turn("machine._part._kept", first(3)), "_kept of its ParametricPart holds positions outside of 0 to 0"),
    ("y", put("machine._part._items", [Linear()]), "items of its ParametricPart must be 'constant' or 'linear'"),
    ("y", put("machine.kernel_.width", "wide"), "width of its Gaussian must be a positive number, and is 'wide'"),
    ("y", put("machine.kernel_.width", 10**400), "width of its Gaussian must be a positive number, and is 1000"),
    ("y", put("machine.kernel_", Anova([1.0, "all"])), "share of its Anova must be 2 positive numbers"),
    ("y", put("machine.kernel_", Anova(width=[1.0])), "width of its Anova must be 2 positive numbers"),
    ("y", put("machine.kernel_", Anova(nu=2.5)), "nu of its Anova must be 0.5 or 1.5, and is 2.5"),
    ("y", put("machine.kernel_", Anova([0.1, 2.0])), None),
    ("y", put("band.margin_", float("nan")), "margin_ of its QuantileBand must be a number, and is nan"),
    ("y", put("band.upper_", None), "upper_ of its QuantileBand must be SupportVectorRegressor, and is NoneType"),
    ("y", put("band", Linear()), "the band must be QuantileBand, and is Linear"),
    ("y", turn("seen.rows", shorter), None),
    ("y", turn("seen.rows", lambda rows: rows[:, :1]), "rows of its SeenRows must have the shape (any, 2), not (40, 1"),
    ("two", put("machine.classes_", np.array([1, 2])), "classes_ of its SupportVectorClassifier is an array of int64"),
    ("three", turn("machine.classes_", shorter), "classes_ of its SupportVectorClassifier must have the shape (3)"),
    ("three", turn("machine", lambda _: _a_machine("y", 0.8).machine), "the machine must be SupportVectorClassifier"),
    ("three", put("machine.calibration_", 1), "calibration_ of its SupportVectorClassifier must be NoneType or"),
    ("two", put("machine.loss_", Squared()), "loss_ of its SupportVectorClassifier must be Hinge or SquaredHinge or"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "change", "words"), MACHINES, ids=[str(words) for _, _, words in MACHINES])
def test_machines_that_do_not_fit_together_are_refused(tmp_path, target, change, words):
    model = copy.deepcopy(_a_machine(target, 0.8 if target == "y" else None))
    change(model)
    path = saved(model, tmp_path, stored_machine)
    if words is None:
        load_machine(path)
        return
    with pytest.raises(ModelFileError, match="is refused: .*" + re.escape(words)):
        load_machine(path)


FACTS = [
    (("schema",), [], "its schema has no facts"),
    (("schema", "columns"), [], "its schema has no columns"),
    (("schema", "columns", 0), "x", "column 1 of its schema has no facts"),
    (("schema", "columns", 0, "name"), 3, "name of column 1 of its schema must be a text"),
    (("schema", "columns", 0, "name"), "x1", "its schema has two columns of one name"),
    (("schema", "columns", 0, "kind"), "other", "kind of column 1 of its schema must be one of 'number', 'date', 'cat"),
    (("schema", "columns", 0, "kind"), "date", "dtype of column 1 of its schema must be one of 'Date'"),
    (("schema", "columns", 0, "kind"), "category", "its schema has a column with the wrong categories"),
    (("schema", "columns", 0, "categories"), ["a", "a"], "categories of column 1 of its schema must be texts that dif"),
    (("schema", "columns", 0, "center"), [1, 2], "center of column 1 of its schema must be 1 number"),
    (("schema", "columns", 0, "scale"), -1.0, "scale of column 1 of its schema must be a positive number"),
    (("schema", "columns", 0, "scale"), 10**400, "scale of column 1 of its schema must be a positive number"),
    (("schema", "columns", 0, "scale"), True, "scale of column 1 of its schema must be a positive number"),
    (("schema", "columns", 0, "fences"), [2.0, 1.0], "its schema has a column with fences in the wrong order"),
    (("schema", "columns", 0, "fences"), 3, "fences of column 1 of its schema must be 2 numbers"),
    (("schema", "left_out"), "x", "left_out of its schema must be texts that differ"),
    (("schema", "image_shape"), [2, 2], "its schema has images of another size"),
    (("schema", "image_shape"), ..., "its schema has no image_shape"),
    (("method",), "other", "method of its map must be one of 'pca', 'manifold'"),
    (("method",), "kpca", "the map of method 'kpca' must be KernelPCA, and is PCA"),
    (("method",), ..., "its map has no method"),
    (("takes_missing",), True, "takes_missing of its map is not that of its method"),
    (("dim",), -3, "dim of its map must be from 1 to 1000"),
    (("dim",), 3, "components_ of its PCA must have the shape (3, 3), not (2, 3)"),
    (("far",), "text", "far of its map must be a positive number"),
    (("label",), 3, "label of its map must be a text"),
]  # fmt: skip


def put_fact(path, place, value):
    """The file with another fact; ... stands for none."""

    def change(members):
        about = json.loads(members["mercer.json"])
        facts = about["facts"]
        for name in place[:-1]:
            facts = facts[name]
        facts[place[-1]] = value
        if value is ...:
            del facts[place[-1]]
        members["mercer.json"] = json.dumps(about).encode()

    return changed(path, change)


@pytest.mark.parametrize(("place", "value", "words"), FACTS, ids=[words for _, _, words in FACTS])
def test_facts_of_maps_are_what_was_written(tmp_path, place, value, words):
    path = saved(_a_map("pca")[0], tmp_path)
    with pytest.raises(ModelFileError, match="is refused: .*" + re.escape(words)):
        load_map(put_fact(path, place, value))


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("target",), None, "its target has no facts"),
        (("target", "name"), [], "name of its target must be a text"),
        (("target", "scale"), 0, "scale of its target must be a positive number"),
        (("target", "classes"), ..., "its target has no classes"),
        (("target", "classes"), ["a"], "its target has fewer than two classes"),
        (("far",), ..., "its machine has no far"),
    ],
)
def test_facts_of_machines_are_what_was_written(tmp_path, place, value, words):
    path = saved(_a_machine("y", 0.8), tmp_path, stored_machine)
    with pytest.raises(ModelFileError, match="is refused: .*" + re.escape(words)):
        load_machine(put_fact(path, place, value))


@pytest.mark.parametrize(("center", "scale"), [(1e150, 0.5), (0.5, 1e-300), (0.5, 2.0)])
def test_categories_are_shares_of_rows(tmp_path, center, scale):
    """Indicators are not clipped, and would be too large for squares."""
    column = {"name": "x0", "kind": "category", "center": [center], "scale": scale, "categories": ["a"], "dtype": ""}
    path = put_fact(saved(_a_map("pca")[0], tmp_path), ("schema", "columns", 0), column)
    with pytest.raises(ModelFileError, match="is refused: its schema has categories that are no shares of rows"):
        load_map(path)


def test_files_without_their_objects_are_refused(tmp_path):
    def nothing(members):
        tree = json.loads(members["schema.json"])
        tree["content"]["other"] = tree["content"].pop("estimator")
        members["schema.json"] = json.dumps(tree).encode()

    with pytest.raises(ModelFileError, match="is refused: it has no estimator"):
        load_map(changed(saved(_a_map("pca")[0], tmp_path), nothing))


# What follows from other parts is not read from files -----------------------------------------------------------------


def test_tables_and_grids_of_older_files_are_not_used(tmp_path, monkeypatch):
    """Steps beyond the tables would be a segmentation fault."""
    model, X = _a_map("manifold")
    model = copy.deepcopy(model)
    Z = model.coordinates(X)
    basis = model.estimator.fit_.map.basis
    points, neighbours, features = basis.search_grid
    vars(basis)["search_grid"] = points, neighbours + 10**9, features
    tables = Tables.__new__(Tables)
    vars(tables)["steps"] = np.full(2, 10**9)
    vars(basis).update(tables=tables)
    for name in ("factors", "_kernel_factors"):  # which the first files did not have
        vars(basis).pop(name, None)
    monkeypatch.setattr(LatentBasis, "__getstate__", lambda self: vars(self))
    monkeypatch.setattr(LatentSpace, "__getstate__", lambda self: {**vars(self), "is_circle": np.ones(9)})
    path = saved(model, tmp_path)
    monkeypatch.undo()
    np.testing.assert_array_equal(load_map(path).coordinates(X), Z)


def test_lists_of_neighbours_of_older_files_are_not_used(tmp_path, monkeypatch):
    model, X = _a_map("ukr")
    model = copy.deepcopy(model)
    new = X[:10] + 0.01
    Z = model.coordinates(new)
    vars(model.estimator._projector)["_lists"] = np.full(10**4, 10**9, dtype=np.int32)
    kind = type(model.estimator)
    monkeypatch.setattr(kind, "__getstate__", lambda self: vars(self))
    path = saved(model, tmp_path)
    monkeypatch.undo()
    np.testing.assert_array_equal(load_map(path).coordinates(new), Z)


def test_models_hold_no_more_than_is_needed(tmp_path):
    """Tables, grids and lists follow from other parts."""
    for name, most in (("manifold", 150_000), ("ukr", 15_000)):
        assert saved(_a_map(name)[0], tmp_path).stat().st_size < most


@pytest.mark.parametrize(
    ("sides", "steps"), [((7, 7), (10**9, 8)), ((7, 7), (0, 8)), ((99, 7), (8, 8)), ((7,), (8, 8))]
)
def test_tables_do_not_say_more_than_they_hold(sides, steps):
    with pytest.raises(ValueError, match=r"sides and steps of Tables must fit values of shape \(2, 9, 14\)"):
        Tables(np.zeros((2, 9, 14)), np.array(sides), np.array(steps))


def test_periodic_kernels_of_several_columns_are_checked_in_all(tmp_path):
    model = copy.deepcopy(_a_map("circle")[0])
    vars(model.estimator.fit_.map.basis)["kernel"] = Periodized(Gaussian([0.5, 0.5]), period=2.0)
    with pytest.raises(ModelFileError, match="width of its Gaussian must be 1 positive numbers"):
        load_map(saved(model, tmp_path))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dtype": "Century"}, "its target is of an unknown kind"),
        ({"dtype": ["Date"]}, "its target is of an unknown kind"),
        ({"dtype": "Date", "classes": ["a", "b"]}, "its target has classes that are dates"),
    ],
)
def test_kinds_of_targets(changes, words):
    target = Target("y", dtype="Date")
    assert read_target(target.to_json()) == target
    older = {name: value for name, value in target.to_json().items() if name != "dtype"}
    assert read_target(older) == Target("y")
    with pytest.raises(Refused, match=words):
        read_target({**target.to_json(), **changes})
