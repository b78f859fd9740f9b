"""Losses, transforms and targets that are far out: what a fit chooses by rows that were left out."""

import json

import numpy as np
import polars as pl
import pytest

from mercer.kernels import Exponential
from mercer.losses import Squared
from mercer.report import (
    LearningProblem,
    MachineSettings,
    diagnose_problem,
    fit_machine,
    load_machine,
    machine_files,
    table_from_frame,
)
from mercer.report.learning_pages import machine_summary, machine_verdict
from mercer.tables.targets import Target
from mercer.tables.transforms import KINDS, Transform
from mercer.workflows.kernel_choice import KernelChoice
from mercer.workflows.loss_choice import Parts, candidates, choose_loss
from mercer.workflows.model_files.archives import Refused
from mercer.workflows.model_files.facts import read_target
from mercer.workflows.progress import Stages
from mercer.workflows.target_choice import choose_transform


def problem_of(X, y):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    return LearningProblem.read(table_from_frame(pl.DataFrame({**columns, "y": y})), "y")


def rows_and_signal(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1], rng


def chosen(names, X, y, *, classes=False, C=10.0, noise=0.3):
    stages = Stages(None, {"choosing": 1.0})
    stages.begin("choosing")
    return choose_loss(KernelChoice(Exponential(0.5), C, noise), X, y, names, classes=classes, seed=0, stages=stages)


NUMBERS = candidates("auto", classes=False, learns_metric=True)


def test_heavy_tails_take_a_robust_loss_and_normal_noise_squares():
    X, f, rng = rows_and_signal(300)
    heavy = chosen(NUMBERS, X, f + 0.3 * rng.standard_t(1.5, size=300))
    assert "Squared" not in repr(heavy.loss)
    assert "less than by the loss squared" in heavy.reason
    normal = chosen(NUMBERS, X, f + 0.3 * rng.normal(size=300))
    assert isinstance(normal.loss, Squared)
    assert len(normal.errors) == 50


def test_skewed_noise_keeps_the_mean():
    """The median of exponential noise has the less absolute errors, and is not what squared errors ask for."""
    X, f, rng = rows_and_signal(600)
    assert isinstance(chosen(NUMBERS, X, 0.1 * f + rng.exponential(size=600), C=1.0, noise=1.0).loss, Squared)


@pytest.mark.parametrize(("C", "larger"), [(0.01, True), (1000.0, False)])
def test_a_formula_that_is_wrong_is_mended(C, larger):
    X, f, rng = rows_and_signal(300)
    found = chosen(["squared"], X, f + 0.3 * rng.normal(size=300), C=C)
    assert (found.factor > 1) == larger
    assert found.factor != 1
    assert pytest.approx(found.factor * C) == found.C


def test_classes_are_judged_by_their_log_loss():
    X, f, rng = rows_and_signal(300)
    y = np.where(f + 0.5 * rng.normal(size=300) > 0, "up", "down")
    found = chosen(candidates("auto", classes=True, learns_metric=True), X, y, classes=True, C=1000.0)
    assert found.factor < 1
    assert found.errors == ()


@pytest.mark.parametrize("y", [np.linspace(-1, 1, 30), np.repeat(["a", "b"], [60, 2])])
def test_few_rows_choose_nothing(y):
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    names = NUMBERS if y.dtype.kind == "f" else ["squared_hinge"]
    found = chosen(names, X, y, classes=y.dtype.kind != "f")
    assert (found.factor, found.reason) == (1.0, "")


def test_a_loss_that_was_asked_for_stays():
    assert candidates("huber", classes=False, learns_metric=True) == ["huber"]
    assert candidates("auto", classes=False, learns_metric=False)[0] == "epsilon"


def test_the_weight_has_bounds():
    assert Parts(KernelChoice(Exponential(), 1e9, 1.0), Squared(), 10.0).C == 1e5


@pytest.mark.parametrize("kind", KINDS)
def test_transforms_have_inverses_and_slopes(kind):
    y = np.array([0.01, 1.0, 30.0]) if kind == "log" else np.array([-30.0, -1.0, 0.0, 0.01, 30.0])
    transform = Transform(kind, 2.0)
    np.testing.assert_allclose(transform.inverse(transform.forward(y)), y, atol=1e-12)
    steps = 1e-6 * np.maximum(np.abs(y), 1.0)
    slopes = (transform.forward(y + steps) - transform.forward(y - steps)) / (2 * steps)
    np.testing.assert_allclose(transform.log_slope(y), np.log(slopes), atol=1e-4)
    assert np.all(np.diff(transform.forward(y)) > 0)
    assert np.isfinite(transform.inverse(np.array([-1e6, 1e6]))).all()


def test_means_come_back_as_means():
    """Of exp(z + e) with normal e the mean is exp(z + s²/2), and the median is exp(z)."""
    rng = np.random.default_rng(0)
    target = Target("y", transform=Transform("log"), errors=tuple(rng.normal(scale=0.5, size=500).tolist()))
    assert target.predicted(np.array([1.0]))[0] == pytest.approx(np.exp(1.125), rel=0.05)
    assert target.in_units(np.array([1.0]))[0] == pytest.approx(np.e)


def choice_of(X):
    return KernelChoice(Exponential(1.0), 10.0, 0.3)


@pytest.mark.parametrize(("noise", "kind"), [("inside", "log"), ("outside", "none")])
def test_the_transform_under_which_noise_is_alike(noise, kind):
    X, f, rng = rows_and_signal(400)
    y = {
        "inside": np.exp(f + 0.3 * rng.normal(size=400)),
        "outside": 5 + f + 0.1 * rng.normal(size=400),
    }[noise]
    assert choose_transform(choice_of(X), X, y, Target("y"), 0).kind == kind


def test_dates_classes_and_few_rows_have_no_transform():
    X, f, _ = rows_and_signal(400)
    for target, n in ((Target("y", dtype="Date"), 400), (Target("y", ("a", "b")), 400), (Target("y"), 90)):
        assert choose_transform(choice_of(X), X[:n], np.exp(f[:n]), target, 0).kind == "none"


@pytest.fixture(scope="module")
def lognormal():
    X, f, rng = rows_and_signal(300)
    return fit_machine(problem_of(X, np.exp(1.5 * f + 0.2 * rng.normal(size=300))), MachineSettings(band=0.8))


def test_logarithms_are_learned_where_they_help(lognormal, tmp_path):
    assert lognormal.model.target.transform.kind == "log"
    assert lognormal.error < 0.6 * lognormal.guess_error
    assert 0.6 < lognormal.coverage <= 1
    assert "log y was learned, which is more likely" in machine_verdict(lognormal)
    files = machine_files(lognormal, "mercer fit")
    assert b"what is learned</td><td>log y" in files["report.html"]
    assert json.loads(files["summary.json"])["transform"]["predicts"] == "mean"
    (tmp_path / "model.skops").write_bytes(files["model.skops"])
    rows = lognormal.problem.X[:20]
    predicted = load_machine(tmp_path / "model.skops").predict(rows)
    assert predicted.equals(lognormal.model.predict(rows))
    low, high = (predicted[f"y_{end}"].to_numpy() for end in ("low", "high"))
    assert np.all((low > 0) & (low < high))


def test_targets_that_stay_as_they_are_say_nothing():
    X, f, _ = rows_and_signal(120)
    summary = machine_summary(fit_machine(problem_of(X, f)), "mercer fit")
    assert summary["transform"] is None
    assert "was learned" not in summary["verdict"]


def test_targets_that_are_far_out_ruin_nothing():
    X, f, rng = rows_and_signal(150)
    y = f + 0.1 * rng.normal(size=150)
    y[:4] = [1e5, -1e5, 3e4, 2e5]
    problem = problem_of(X, y)
    assert problem.far.sum() == 4
    assert "y: 4 numbers are farther from the median than 20 times the distance" in problem.warnings[0]
    result = fit_machine(problem)
    assert result.error < 0.3
    assert result.gain > 2
    assert problem.warnings[0] in result.warnings
    assert diagnose_problem(problem).judged.kind != "nothing found"


FACTS = {"name": "y", "classes": None, "center": 0.0, "scale": 1.0, "dtype": "", "transform": "log", "unit": 2.0,
         "errors": [0.1]}  # fmt: skip


def test_facts_of_targets():
    target = read_target(FACTS)
    assert (target.transform, target.errors) == (Transform("log", 2.0), (0.1,))
    assert read_target(target.to_json() | {"classes": None}) == target
    old = {name: FACTS[name] for name in ("name", "classes", "center", "scale")}
    assert read_target(old).transform.kind == "none"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"transform": "eval"}, "transform of its target must be one of"),
        ({"unit": 0.0}, "unit of its target must be a positive number"),
        ({"errors": "x"}, "errors of its target must be a short list"),
        ({"errors": [0.0] * 1001}, "errors of its target must be a short list"),
        ({"errors": [float("inf")]}, "errors of its target must be 1 number"),
        ({"errors": [1e9]}, "errors of its target are too large"),
    ],
)
def test_forged_targets_are_refused(change, words):
    with pytest.raises(Refused, match=words):
        read_target(FACTS | change)


def test_an_error_that_is_hardly_there_is_suspected():
    """A column whose square is the target: neither values nor their order correlate."""
    X, _, rng = rows_and_signal(200)
    X = np.column_stack([X, rng.normal(size=200)])
    result = fit_machine(problem_of(X, X[:, 0] ** 2))
    assert any("Hardly an error is left, and x0 alone would do it" in warning for warning in result.warnings)
    noisy = fit_machine(problem_of(X, X[:, 0] ** 2 + 0.3 * rng.normal(size=200)))
    assert noisy.warnings == []
