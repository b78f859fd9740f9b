import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC, SVR

from mercer.report import InputError, LearningProblem, MachineSettings, diagnose_problem, fit_machine, table_from_frame
from mercer.report.learning_pages import machine_verdict
from mercer.tables.targets import Target
from mercer.workflows.learning import _split
from mercer.workflows.progress import Progress
from mercer.workflows.rivals import boosted_trees, boosted_trees_values
from mercer.workflows.scores import in_standard_errors


def problem_of(X, y, **options):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    return LearningProblem.read(table_from_frame(pl.DataFrame({**columns, "y": y})), "y", **options)


def test_numbers_are_predicted_as_well_as_by_a_grid_search():
    problem = problem_of(*load_diabetes(return_X_y=True))
    result = fit_machine(problem)
    train, test = _split(problem.y, problem.target, 0)
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.03, 0.1], "epsilon": [0.1, 0.4]}
    reference = GridSearchCV(SVR(), grid, cv=3).fit(problem.X[train], problem.y[train])
    errors = (reference.predict(problem.X[test]) - problem.y[test]) * problem.target.scale
    assert result.error < 1.03 * np.sqrt(np.mean(errors**2))
    assert result.guess_error == pytest.approx(np.std(problem.y[test]) * problem.target.scale, rel=0.1)


def test_classes_are_predicted_as_well_as_by_a_grid_search():
    X, y = load_wine(return_X_y=True)
    problem = problem_of(X, y)
    assert problem.target.classes == ("0", "1", "2")
    train, test = _split(problem.y, problem.target, 0)
    reference = GridSearchCV(SVC(), {"C": [1.0, 10.0], "gamma": [0.01, 0.1]}).fit(problem.X[train], problem.y[train])
    wrong = np.mean(reference.predict(problem.X[test]) != problem.y[test])
    assert fit_machine(problem).error <= wrong + 0.03


def test_a_band_that_is_too_narrow_is_confessed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    result = fit_machine(
        problem_of(X, np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=60)), MachineSettings("auto", "gaussian", 0.9)
    )
    assert (result.coverage < 0.7) == any("too narrow" in warning for warning in result.warnings)


def test_rows_without_target_and_missing_entries():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:60].copy(), y[:60].copy()
    X[3, 2] = y[5] = np.nan
    problem = problem_of(X, y)
    assert len(problem.X) == 59
    assert "1 missing entry was replaced by the means of their columns." in problem.notes
    assert "1 row without y was left out." in problem.notes


def test_tasks():
    X = np.random.default_rng(0).normal(size=(40, 2))
    whole = np.arange(40) % 5
    assert problem_of(X, whole).target.classes is not None
    assert problem_of(X, whole, task="regression").target.classes is None
    assert problem_of(X, whole.astype(float)).target.classes is not None
    assert problem_of(X, whole > 2).target.classes == ("false", "true")
    with pytest.raises(InputError, match="--task must be one of"):
        problem_of(X, whole, task="magic")
    with pytest.raises(InputError, match="must be a column of numbers for regression"):
        problem_of(X, np.where(whole > 2, "a", "b"), task="regression")
    with pytest.raises(InputError, match="must have 10 rows with a known y or more, got 5"):
        problem_of(X[:5], whole[:5])


def test_a_class_whose_only_row_is_held_out():
    X = np.random.default_rng(0).normal(size=(30, 2))
    held_out = train_test_split(np.arange(30), test_size=0.2, random_state=0)[1][0]
    y = np.where(np.arange(30) == held_out, "b", "a")
    with pytest.raises(InputError, match=r"must have two classes of several rows, got \[29, 1\] rows"):
        fit_machine(problem_of(X, y))


def test_diagnosis_of_many_rows(monkeypatch):
    monkeypatch.setattr("mercer.workflows.diagnosing._MOST_ROWS", 60)
    X = np.random.default_rng(0).normal(size=(90, 3))
    result = diagnose_problem(problem_of(X, X[:, 0] > 0))
    assert 60 <= len(result.rows) <= 62
    assert next(name for name, _ in result.columns) == "x0"
    assert len(result.held_out.rows) == 90
    assert any("Each of 4 parts of the rows was held out" in note for note in result.notes)


def test_a_diagnosis_that_is_stopped(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 2))

    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.workflows.diagnosing.held_out_losses", stop)
    result = diagnose_problem(problem_of(X, X[:, 0]))
    assert result.partial
    assert result.judged is None
    assert result.verdict.startswith("the work was stopped before the check on held-out rows: it is not known yet")
    assert result.learning_curve is None
    (line,) = result.evidence
    assert line.startswith("a first look at a few Gaussians, without a metric and without boosted trees: ")
    assert "components are relevant" in line


def test_a_few_held_out_rows_are_no_proof():
    X = np.random.default_rng(0).normal(size=(60, 2))
    few = fit_machine(problem_of(X, X[:, 0]), MachineSettings(kernel="linear"))
    assert few.held_out.height == 12
    assert few.error < 0.1 * few.guess_error
    assert "Only 12 rows were held out: whether that is better than guessing is unclear." in machine_verdict(few)
    X, noise = np.random.default_rng(1).normal(size=(2, 150, 2))
    chance = fit_machine(problem_of(X, noise[:, 0]), MachineSettings(kernel="linear"))
    assert abs(chance.gain) < 2
    assert "within two standard errors of guessing: whether it is better is unclear" in machine_verdict(chance)
    sure = fit_machine(problem_of(X, X[:, 0] > 0), MachineSettings(kernel="linear"))
    assert sure.gain > 2
    assert "is unclear" not in machine_verdict(sure)


@pytest.mark.parametrize(
    ("gains", "expected"), [([1.0], 0.0), ([0.0, 0.0], 0.0), ([2.0, 2.0], np.inf), ([1.0, 3.0], 2.0)]
)
def test_gainsin_standard_errors(gains, expected):
    assert in_standard_errors(np.array(gains)) == expected


class _EndsWith(Progress):
    """Ends the work when something is begun."""

    def __init__(self, words):
        self._words = words

    def __call__(self, words, share=0.0, objective=None):
        return words == self._words


def test_a_comparison_that_is_stopped_is_left_out():
    X = np.random.default_rng(0).normal(size=(60, 2))
    settings = MachineSettings(kernel="linear")
    result = fit_machine(problem_of(X, X[:, 0]), settings, progress=_EndsWith("comparing with boosted trees"))
    assert np.isnan(result.trees_error)
    assert not result.partial
    assert "The comparison with boosted trees is left out: the work was stopped before it was ready." in result.warnings
    whole = fit_machine(problem_of(X, X[:, 0]), settings)
    assert np.isfinite(whole.trees_error)
    assert not any("boosted trees" in warning for warning in whole.warnings)


def test_boosted_trees_hear_that_they_are_to_end():
    X = np.random.default_rng(0).normal(size=(100, 2))
    shares = []

    def ended(share):
        shares.append(share)
        return share >= 0.3

    with pytest.raises(KeyboardInterrupt):
        boosted_trees(X, X[:, 0], X, Target("y"), 0, ended)
    assert shares == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("n", [300, 10_500])
def test_boosted_trees_in_steps_are_those_of_scikit_learn(n):
    """With more than 10,000 rows they stop by themselves."""
    X = np.random.default_rng(0).normal(size=(n, 2))
    values = np.sin(X[:, 0])
    for kind, y, target in (
        (HistGradientBoostingRegressor, values, Target("y")),
        (HistGradientBoostingClassifier, (values > 0).astype(str), Target("y", ("False", "True"))),
    ):
        expected = kind(random_state=0).fit(X, y).predict(X)
        found = boosted_trees_values(X, y, X, target, 0)
        assert (found == expected).all() if target.classes else np.allclose(found, expected)


def test_a_few_held_out_rows_do_not_prefer_trees(monkeypatch):
    monkeypatch.setattr("mercer.workflows.learning.are_clearly_less", lambda *losses: True)
    X = np.random.default_rng(0).normal(size=(60, 2))
    few = fit_machine(problem_of(X, X[:, 0]), MachineSettings(kernel="linear"))
    assert not few.trees_are_better
    assert "prefer them" not in machine_verdict(few)
    X = np.random.default_rng(0).normal(size=(100, 2))
    assert fit_machine(problem_of(X, X[:, 0]), MachineSettings(kernel="linear")).trees_are_better


class _EndsWithin(Progress):
    """Ends the work at some call of a stage."""

    def __init__(self, words, n_calls):
        self._words, self._left = words, n_calls

    def __call__(self, words, share=0.0, objective=None):
        self._left -= words == self._words
        return self._left < 0


@pytest.mark.parametrize(
    ("kernel", "stage", "n_calls"),
    [
        ("auto", "choosing the kernel and the penalty", 30),
        ("gaussian", "choosing the kernel and the penalty", 1),
        ("auto", "choosing the loss and its weight", 0),
        ("auto", "checking on held-out rows", 0),
    ],
)
def test_the_best_kernel_so_far_makes_a_machine(kernel, stage, n_calls):
    X = np.random.default_rng(0).normal(size=(120, 3))
    problem = problem_of(X, np.sin(X[:, 0]))
    result = fit_machine(problem, MachineSettings(kernel=kernel, band=0.9), progress=_EndsWithin(stage, n_calls))
    assert result.partial
    assert result.error < 0.7 * result.guess_error
    assert any("The band for 90% is not there" in warning for warning in result.warnings)
    assert np.isfinite(result.model.predict(problem.X)["y"].to_numpy()).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_that_were_stopped_early_are_all_known(n_classes):
    X = np.random.default_rng(0).normal(size=(90, 2))
    problem = problem_of(X, np.digitize(X[:, 0], [0.0, 0.5][: n_classes - 1]))
    result = fit_machine(problem, progress=_EndsWithin("choosing the kernel and the penalty", 20))
    assert result.partial
    assert len(result.model.machine.classes_) == n_classes


def test_an_interruption_before_there_is_any_kernel_gives_nothing(monkeypatch):
    def interrupted(*words, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.workflows.learning.choose_kernel", interrupted)
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(KeyboardInterrupt):
        fit_machine(problem_of(X, X[:, 0]))


def test_an_interruption_after_the_metric_keeps_it(monkeypatch):
    def interrupted(*words, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.workflows.kernel_choice._pairs", interrupted)
    X = np.random.default_rng(0).normal(size=(60, 2))
    result = fit_machine(problem_of(X, X[:, 0]))
    assert result.partial
    assert result.learned.pairs == []
    assert result.error < 0.5 * result.guess_error
