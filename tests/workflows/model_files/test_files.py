import io
import json
import pickle
import warnings
import zipfile

import numpy as np
import polars as pl
import pytest

import mercer
from mercer.report import (
    METHODS,
    LearningProblem,
    MachineSettings,
    MapModel,
    MapSettings,
    ModelFileError,
    TableSchema,
    fit_machine,
    load_machine,
    load_map,
    load_model,
    model_bytes,
    stored_machine,
    stored_map,
    table_from_frame,
)
from mercer.workflows.kernel_choice import KERNELS
from mercer.workflows.loss_choice import CLASSIFICATION_LOSSES, REGRESSION_LOSSES
from mercer.workflows.map_models import distances_of
from tests.fuzz.edits import unzipped, zipped


def curve_table(n=60, d=3):
    t = np.random.default_rng(0).uniform(0, 3, n)
    X = np.column_stack([np.cos(t * (1 + j / d)) for j in range(d)])
    return table_from_frame(pl.DataFrame({f"x{j}": X[:, j] for j in range(d)}))


def fitted_map(name, *, dim=2, topology="interval", d=3, n=60):
    schema, _ = TableSchema.learn(table := curve_table(n, d))
    X, _ = schema.matrix(table.frame)
    estimator = METHODS[name].make(MapSettings(dim=dim, topology=topology), len(X))
    if name == "manifold":
        estimator.set_params(width=0.5, penalty=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X)
    distances_of(estimator, X, False)  # what is only made when it is needed is stored, too
    return MapModel(estimator, schema, name, METHODS[name].takes_missing, dim, 1.0), X


def saved(model, tmp_path, store=stored_map):
    path = tmp_path / "model.skops"
    path.write_bytes(model_bytes(store(model)))
    return path


CASES = [
    *[(name, {}) for name in METHODS],
    *[(name, {"dim": 1, "d": 2}) for name in METHODS],
    *[(name, {"d": 30}) for name in METHODS],
    ("manifold", {"dim": 1, "topology": "circle"}),
    ("manifold", {"topology": ("circle", "interval")}),
    ("manifold", {"topology": "circle"}),
    ("kpca", {"n": 1100}),
]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_maps_come_back_as_they_were(tmp_path, name, options):
    model, X = fitted_map(name, **options)
    again = load_map(saved(model, tmp_path))
    assert (again.method, again.dim, again.far, again.schema) == (model.method, model.dim, model.far, model.schema)
    Z = model.coordinates(X)
    np.testing.assert_allclose(again.coordinates(X), Z, atol=1e-12)
    np.testing.assert_allclose(again.rows(Z), model.rows(Z), atol=1e-12)


@pytest.mark.parametrize(
    ("loss", "kernel"),
    [
        *((loss, "gaussian") for loss in (*REGRESSION_LOSSES, *CLASSIFICATION_LOSSES)),
        *(("epsilon", k) for k in KERNELS),
    ],
)
def test_machines_come_back_as_they_were(tmp_path, loss, kernel):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(40, 2))
    y = np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=40)
    classes = loss in CLASSIFICATION_LOSSES
    target = np.where(y > 0.4, "high", np.where(y < -0.4, "low", "middle")) if classes else y
    problem = LearningProblem.read(table_from_frame(pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": target})), "y")
    model = fit_machine(problem, MachineSettings(loss, kernel, None if classes else 0.8)).model
    again = load_machine(saved(model, tmp_path, stored_machine))
    assert again.predict(problem.X).equals(model.predict(problem.X))


def test_the_same_model_gives_the_same_bytes():
    contents = [model_bytes(stored_map(fitted_map("manifold")[0])) for _ in range(2)]
    assert contents[0] == contents[1]


def test_foreign_files_are_refused(tmp_path):
    for name, content in (
        ("text.skops", b"no model"),
        ("empty.skops", b""),
        ("pickle.skops", pickle.dumps([1, 2])),
        ("zip.skops", zipped({"a.txt": b"a"})),
        ("list.skops", zipped({"mercer.json": b"[]"})),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match="is not a model file of Mercer, or it is damaged"):
            load_model(path)
    with pytest.raises(ModelFileError, match="does not exist"):
        load_model(tmp_path / "nothing.skops")


def changed(path, change, *, signed=True):
    """The same archive with its members changed, and the digest that belongs to them."""
    members = unzipped(path.read_bytes())
    change(members)
    path.write_bytes(zipped(members, signed=signed))
    return path


def test_a_file_that_was_cut_is_refused(tmp_path):
    path = saved(fitted_map("pca")[0], tmp_path)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(ModelFileError, match="or it is damaged"):
        load_map(path)
    path = saved(fitted_map("pca")[0], tmp_path)
    with pytest.raises(ModelFileError, match="is refused: it has no schema.json"):
        load_map(changed(path, lambda members: members.pop("schema.json")))


class Calls:
    """What must never be built."""

    built = 0

    def __init__(self):
        type(self).built += 1

    def __setstate__(self, state):
        type(self).built += 1


def test_untrusted_types_are_refused_and_never_built(tmp_path):
    from skops.io import dumps

    path = saved(fitted_map("pca")[0], tmp_path)
    with zipfile.ZipFile(io.BytesIO(dumps({"estimator": Calls()}))) as archive:
        foreign = {name: archive.read(name) for name in archive.namelist()}
    Calls.built = 0
    with pytest.raises(ModelFileError, match="is refused: it asks for .*Calls"):
        load_map(changed(path, lambda members: members.update(foreign)))
    assert Calls.built == 0


def test_types_of_mercer_that_call_what_they_are_given_are_refused(tmp_path):
    from skops.io import dumps

    from mercer.kernels import FromFunction

    path = saved(fitted_map("pca")[0], tmp_path)
    with zipfile.ZipFile(io.BytesIO(dumps({"estimator": FromFunction(np.dot)}))) as archive:
        foreign = {name: archive.read(name) for name in archive.namelist()}
    with pytest.raises(ModelFileError, match="FromFunction"):
        load_map(changed(path, lambda members: members.update(foreign)))


def test_a_file_of_another_version_says_which(tmp_path):
    def newer(members):
        about = json.loads(members["mercer.json"])
        members["mercer.json"] = json.dumps({**about, "format": 99, "mercer": "7.0"}).encode()

    path = changed(saved(fitted_map("pca")[0], tmp_path), newer)
    with pytest.raises(
        ModelFileError, match=f'written by Mercer 7.0, and this is Mercer {mercer.__version__}.*"mercer==7.0"'
    ):
        load_map(path)


@pytest.mark.parametrize(("facts", "margin"), [({}, 0.0), ({"margin": 0.25}, 0.25)])
def test_bands_of_older_files_have_their_margin_beside_them_or_none(tmp_path, facts, margin):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=40), "y": rng.normal(size=40)})
    problem = LearningProblem.read(table_from_frame(frame), "y")
    model = fit_machine(problem, MachineSettings(kernel="gaussian", band=0.8)).model
    assert model.band.margin_ != 0
    assert load_machine(saved(model, tmp_path, stored_machine)).band.margin_ == model.band.margin_

    def older(members):
        about = json.loads(members["mercer.json"])
        about["facts"] |= facts
        members["mercer.json"] = json.dumps(about).encode()

    del model.band.margin_
    assert load_machine(changed(saved(model, tmp_path, stored_machine), older)).band.margin_ == margin


@pytest.mark.parametrize("d", [3, 40])
def test_eigenmaps_come_back_with_their_neighbours(tmp_path, d):
    """By a tree in few dimensions, by brute force in many."""
    X = np.random.default_rng(0).normal(size=(1100, d))
    table = table_from_frame(pl.DataFrame({f"x{j}": X[:, j] for j in range(d)}))
    schema, _ = TableSchema.learn(table)
    X, _ = schema.matrix(table.frame)
    estimator = METHODS["eigenmaps"].make(MapSettings(), len(X)).fit(X)
    assert estimator.neighbor_method_ == ("tree" if d == 3 else "brute")
    model = MapModel(estimator, schema, "eigenmaps", False, 2, 1.0)
    path = saved(model, tmp_path)
    new = np.random.default_rng(1).normal(size=(20, d))
    Z = model.coordinates(new)
    rows = model.rows(Z)
    again = load_map(path)
    np.testing.assert_allclose(again.coordinates(new), Z, atol=1e-12)
    np.testing.assert_allclose(again.rows(Z), rows, atol=1e-12)


def test_a_machine_is_no_map(tmp_path):
    path = saved(fitted_map("pca")[0], tmp_path)
    with pytest.raises(ModelFileError, match="holds a map, not a machine; use `mercer apply`"):
        load_machine(path)
