"""Leave-one-out predictions: the path against refits, the span where it is exact, and what is refused."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from mercer import (
    CellMachine,
    KernelRidge,
    NuSupportVectorClassifier,
    NuSupportVectorRegressor,
    OneClassMachine,
    SupportVectorClassifier,
    SupportVectorRegressor,
)
from mercer.capacity import leave_one_out
from mercer.capacity.fitted import Signed
from mercer.capacity.span import span_residuals
from mercer.kernels import Gaussian, Multiquadric, Polynomial, Precomputed, ThinPlate
from mercer.losses import (
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Laplace,
    Logistic,
    PolynomialLoss,
    Quantile,
    Squared,
    SquaredHinge,
)
from tests.contracts.all_problems import labels, rows, smooth_targets

KERNEL = Gaussian(0.8)
X = rows(60)
Y, LABELS = smooth_targets(X), labels(X)


def sunflower(n, k):
    i = np.arange(n)
    t, r = 2.399963229728653 * i, 2.0 * np.sqrt((i + 0.5) / n)
    X = np.column_stack([r * np.cos(t), r * np.sin(t)])
    return X, np.sign(np.sin(1.5 * X[:, 0]) + X[:, 1] - 0.8 * np.cos(k * i))


@pytest.mark.parametrize(
    ("n", "k", "width", "C", "exact", "span"), [(40, 7, 1.0, 1.0, 12, 13), (60, 5, 0.7, 10.0, 13, 17)]
)
def test_errors_of_the_sunflower(n, k, width, C, exact, span):
    X, y = sunflower(n, k)
    machine = SupportVectorClassifier(Gaussian(width), C=C, tol=1e-9).fit(X, y)
    assert n * leave_one_out(machine, X, y).error == pytest.approx(span)
    found = leave_one_out(machine, X, y, method="path")
    assert n * found.error == pytest.approx(exact)
    assert found.wrong.sum() == exact
    assert found.exact
    assert 0 < found.changed.sum() < n
    assert n * leave_one_out(machine, X, y, method="refit").error == pytest.approx(exact)


def random_machine(seed):
    """A machine with a loss of lines and parabolas, its rows, targets and weights."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    X = rng.normal(size=(n, int(rng.integers(1, 4))))
    if rng.random() < 0.3:
        X[-2:] = X[:2]  # equal rows
    C = float(10.0 ** rng.uniform(-1.0, 2.0))
    positive = [Gaussian(float(rng.uniform(0.3, 2.0))), Polynomial(2, 1.0), ThinPlate(), Multiquadric(1.0)]
    kernel = positive[rng.integers(len(positive))]
    if n < 15 or (X.shape[1] > 1 and kernel.order == 2):
        kernel = positive[0]
    parametric = [None, "constant", "constant", "linear", [first_column]][rng.integers(5)]
    weight = rng.uniform(0.1, 2.0, n) if rng.random() < 0.3 else None
    q, epsilon = float(rng.uniform(0.2, 0.8)), float(rng.uniform(0.0, 0.3))
    losses = [
        EpsilonInsensitive(epsilon), Laplace(), Quantile(q), Quantile(q, epsilon=epsilon), Huber(0.2), Squared(),
        Huber(0.2, epsilon=epsilon), Squared(epsilon=epsilon), Expectile(q), EpsilonInsensitive((0.0, 0.2)),
        Expectile(q, epsilon=epsilon), Hinge(), SquaredHinge(),
    ]  # fmt: skip
    loss = losses[seed % len(losses)]
    options = {"kernel": kernel, "loss": loss, "C": C, "parametric": parametric, "tol": 1e-6}
    if loss.classification:
        y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)
        y[:4] = 1, -1, 1, -1
        if rng.random() < 0.3:
            y[4:6] = 3
        return SupportVectorClassifier(**options), X, y, weight
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)
    if rng.random() < 0.2:
        options["C"] = (C, 2.0 * C)
    return SupportVectorRegressor(**options), X, y, weight


def first_column(X):
    return np.exp(0.3 * X[:, 0])


def path_equals_refits(seed):
    machine, X, y, weight = random_machine(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of kernels that see little
        machine.fit(X, y, weight)
        found = leave_one_out(machine, X, y, weight, method="path")
        refits = leave_one_out(machine, X, y, weight, method="refit")
    scale = max(1.0, np.abs(refits.predictions).max())
    far = np.abs(found.predictions - refits.predictions) > 1e-6 * scale
    for row in np.flatnonzero(np.any(far.reshape(len(X), -1), axis=1)):
        assert parametric_part_is_free(machine, X, y, weight, row), (machine, row)
    if not far.any():
        assert found.error == pytest.approx(refits.error, abs=1e-6)
    return bool(far.any())


def parametric_part_is_free(machine, X, y, weight, row):
    """Whether too few variables are inside of their boxes to determine the parametric part: any value is optimal."""
    weight = np.ones(len(X)) if weight is None else weight.copy()
    weight[row] = 0.0
    refit = clone(machine).set_params(kernel=machine.kernel_, tol=1e-12).fit(X, y, weight)
    for part in refit.programs(X, y, weight):
        low, high = part.program.box()
        A = part.program.sign * part.B
        margin = 1e-6 * (high - low)
        inside = (low + margin < A) & (high - margin > A) & (np.abs(A) > margin)
        if np.linalg.matrix_rank(part.program.columns[inside]) < part.program.columns.shape[1]:
            return True
    return False


@pytest.mark.parametrize("seed", range(13))
def test_path_equals_refits(seed):
    path_equals_refits(seed)


@pytest.mark.slow
def test_path_equals_refits_of_many_machines():
    n_free = sum(path_equals_refits(seed) for seed in range(13, 200))
    assert n_free <= 10, "optimal values that are not unique are rare"


@pytest.mark.parametrize(
    "machine",
    [
        SupportVectorRegressor(KERNEL, loss=Squared(), C=3.0),
        SupportVectorRegressor(KERNEL, loss=Squared(), C=3.0, parametric="linear"),
        SupportVectorRegressor(ThinPlate(), loss=Squared(), C=3.0),
        KernelRidge(KERNEL),
        KernelRidge(KERNEL, parametric=None, penalties=0.1),
    ],
    ids=str,
)
def test_span_is_exact_for_the_squared_loss(machine):
    targets = np.column_stack([Y, X[:, 0] ** 2])
    machine.fit(X, targets)
    found = leave_one_out(machine, X, targets)
    assert found.exact
    refits = leave_one_out(machine, X, targets, method="refit")
    np.testing.assert_allclose(found.predictions, refits.predictions, atol=1e-7)
    if isinstance(machine, KernelRidge):
        np.testing.assert_allclose(found.error, machine.leave_one_out_error_.min(), rtol=1e-6)


def test_two_weights_of_a_squared_error_are_not_linear():
    machine = SupportVectorRegressor(KERNEL, loss=Squared(), C=(1.0, 5.0)).fit(X, Y)
    found = leave_one_out(machine, X, Y)
    assert not found.exact
    refits = leave_one_out(machine, X, Y, method="refit")
    assert found.error == pytest.approx(refits.error, rel=0.05)


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge(), Hinge()], ids=str)
def test_span_is_close_for_classes(loss):
    X = rows(150)
    y = labels(X)
    machine = SupportVectorClassifier(KERNEL, loss=loss).fit(X, y)
    span, refits = (leave_one_out(machine, X, y, method=method) for method in ("span", "refit"))
    assert span.error == pytest.approx(refits.error, abs=0.02)
    assert np.corrcoef(span.predictions, refits.predictions)[0, 1] > 0.98


def test_span_of_powers_is_close():
    machine = SupportVectorRegressor(KERNEL, loss=PolynomialLoss(1.5)).fit(X, Y)
    span, refits = (leave_one_out(machine, X, Y, method=method) for method in ("span", "refit"))
    assert span.error == pytest.approx(refits.error, rel=0.05)


def test_span_goes_without_the_whole_matrix():
    X = rows(700)
    y = labels(X)
    machine = SupportVectorClassifier(KERNEL, solver="smo").fit(X, y)
    exact = leave_one_out(machine, X, y, method="path")
    assert leave_one_out(machine, X, y).error == pytest.approx(exact.error, abs=0.01)


def test_rows_without_weight_are_left_out_already():
    weight = np.ones(len(X))
    weight[:7] = 0.0
    machine = SupportVectorRegressor(KERNEL, tol=1e-9).fit(X, Y, weight)
    for method in ("span", "path", "refit"):
        found = leave_one_out(machine, X, Y, weight, method=method)
        np.testing.assert_allclose(found.predictions[:7], machine.predict(X[:7]), atol=1e-6)
    few = SupportVectorRegressor(KERNEL, tol=1e-9).fit(X[7:], Y[7:])
    assert found.error == pytest.approx(leave_one_out(few, X[7:], Y[7:], method="path").error)


def test_balanced_classes_and_matrices():
    weights = SupportVectorClassifier(KERNEL, class_weight="balanced", tol=1e-9).fit(X, LABELS)
    path, refits = (leave_one_out(weights, X, LABELS, method=method) for method in ("path", "refit"))
    np.testing.assert_allclose(path.predictions, refits.predictions, atol=1e-6)
    given = SupportVectorClassifier(Precomputed(), tol=1e-9).fit(KERNEL(X), LABELS)
    plain = SupportVectorClassifier(KERNEL, tol=1e-9).fit(X, LABELS)
    for method in ("span", "path"):
        a = leave_one_out(given, KERNEL(X), LABELS, method=method).predictions
        np.testing.assert_allclose(a, leave_one_out(plain, X, LABELS, method=method).predictions, atol=1e-6)


def test_low_rank_machines_have_the_error_of_their_own_kernel():
    machine = SupportVectorRegressor(KERNEL, loss=Squared(), low_rank_tol=1e-9).fit(X, Y)
    whole = SupportVectorRegressor(KERNEL, loss=Squared()).fit(X, Y)
    assert leave_one_out(machine, X, Y).error == pytest.approx(leave_one_out(whole, X, Y).error, rel=1e-4)


def test_a_class_of_one_is_told_wrong():
    y = np.ones(20)
    y[3] = -1
    machine = SupportVectorClassifier(KERNEL, C=10.0).fit(X[:20], y)
    assert leave_one_out(machine, X[:20], y, method="path").wrong[3]


@pytest.mark.parametrize("method", ["span", "path"])
def test_all_at_the_bound_or_nothing(method):
    far = SupportVectorClassifier(Gaussian(100.0), C=1e-3).fit(X, LABELS)
    assert 0.0 <= leave_one_out(far, X, LABELS, method=method).error <= 1.0
    nothing = SupportVectorRegressor(KERNEL, loss=EpsilonInsensitive(50.0)).fit(X, Y)
    assert np.isfinite(leave_one_out(nothing, X, Y, method=method).error)


def test_tables_in_single_precision_that_may_not_be_written():
    single = X.astype(np.float32)
    single.flags.writeable = False
    machine = SupportVectorRegressor(KERNEL).fit(single, Y)
    assert leave_one_out(machine, single, Y, method="path").exact


def fitted():
    return SupportVectorRegressor(KERNEL).fit(X, Y)


@pytest.mark.parametrize(
    ("machine", "arguments", "error", "message"),
    [
        (fitted(), (X, Y + np.sin(9 * X[:, 0])), ValueError, "X and y of leave_one_out must be the rows that .* was"),
        (fitted(), (X[::-1], Y), ValueError, "must be the rows that SupportVectorRegressor was fitted on"),
        (fitted(), (X[:50], Y[:50]), ValueError, "must be the training set of SupportVectorRegressor"),
        (fitted().reduce(0.5), (X, Y), ValueError, "and a machine that was not reduced"),
        (fitted(), (np.full_like(X, np.nan), Y), ValueError, "NaN"),
        (SupportVectorRegressor(), (X, Y), NotFittedError, "not fitted yet"),
        (CellMachine(), (X, Y), TypeError, "machine of leave_one_out must be a kernel machine of mercer.machines"),
    ],
    ids=["other targets", "other order", "fewer", "reduced", "NaN", "not fitted", "cells"],
)
def test_other_rows_and_other_things_are_refused(machine, arguments, error, message):
    with pytest.raises(error, match=message):
        leave_one_out(machine, *arguments)


def test_methods_say_what_they_cannot_do():
    with pytest.raises(ValueError, match="method of leave_one_out must be one of"):
        leave_one_out(fitted(), X, Y, method="guess")
    for regularizer in ("l1", "l2"):
        machine = SupportVectorRegressor(KERNEL, regularizer=regularizer).fit(X[:20], Y[:20])
        with pytest.raises(ValueError, match=r"regularizer of .* takes its kernel function with it; take method='re"):
            leave_one_out(machine, X[:20], Y[:20])
        assert leave_one_out(machine, X[:20], Y[:20], method="refit").exact
    mixed = SupportVectorRegressor(KERNEL, regularizer="mixed").fit(X, Y)
    assert leave_one_out(mixed, X, Y).error > 0
    with pytest.raises(ValueError, match="must be 'rkhs' for the method 'path'"):
        leave_one_out(mixed, X, Y, method="path")
    smooth = SupportVectorClassifier(KERNEL, loss=Logistic()).fit(X, LABELS)
    with pytest.raises(ValueError, match="must consist of lines and parabolas for the method 'path'"):
        leave_one_out(smooth, X, LABELS, method="path")
    tube = NuSupportVectorRegressor(KERNEL).fit(X[:20], Y[:20])
    for method in ("span", "path"):
        with pytest.raises(ValueError, match="NuSupportVectorRegressor must not find a width"):
            leave_one_out(tube, X[:20], Y[:20], method=method)
    assert leave_one_out(tube, X[:20], Y[:20], method="refit").error >= 0
    margin = NuSupportVectorClassifier(KERNEL, nu=0.4).fit(X, LABELS)
    with pytest.raises(ValueError, match="must not find a margin for the method 'span'.* take method='path'"):
        leave_one_out(margin, X, LABELS)


@pytest.mark.parametrize("nu", [0.2, 0.5])
def test_path_of_machines_with_a_margin_equals_refits(nu):
    X = rows(40, seed=3)
    y = labels(X)
    margin = NuSupportVectorClassifier(KERNEL, nu=nu, tol=1e-9).fit(X, y)
    path, refits = (leave_one_out(margin, X, y, method=method) for method in ("path", "refit"))
    np.testing.assert_allclose(path.predictions, refits.predictions, atol=1e-5)
    assert path.error == refits.error
    region = OneClassMachine(KERNEL, nu=nu, tol=1e-9).fit(X)
    path, refits = (leave_one_out(region, X, method=method) for method in ("path", "refit"))
    np.testing.assert_allclose(path.predictions, refits.predictions, atol=1e-5)
    assert path.error >= np.mean(region.decision_function(X) < -1e-6)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_of_targets_and_kernels_do_not_matter(scale):
    plain = SupportVectorRegressor(KERNEL, loss=Huber(0.1)).fit(X[:30], Y[:30])
    scaled = SupportVectorRegressor(KERNEL, loss=Huber(0.1 * scale), C=scale).fit(X[:30], scale * Y[:30])
    for method in ("span", "path"):
        expected = leave_one_out(plain, X[:30], Y[:30], method=method).predictions
        found = leave_one_out(scaled, X[:30], scale * Y[:30], method=method).predictions
        np.testing.assert_allclose(found / scale, expected, atol=1e-6)
    other = SupportVectorRegressor(scale * KERNEL, loss=Huber(0.1), C=1.0 / scale).fit(X[:30], Y[:30])
    found = leave_one_out(other, X[:30], Y[:30], method="path").predictions
    np.testing.assert_allclose(found, leave_one_out(plain, X[:30], Y[:30], method="path").predictions, atol=1e-6)


def test_rows_that_are_all_there_twice():
    twice, labels_twice = np.vstack([X[:30]] * 2), np.tile(LABELS[:30], 2)
    machine = SupportVectorClassifier(KERNEL, C=100.0).fit(twice, labels_twice)
    path, refits = (leave_one_out(machine, twice, labels_twice, method=method) for method in ("path", "refit"))
    np.testing.assert_allclose(path.predictions, refits.predictions, atol=1e-6)


def test_two_rows():
    for method in ("span", "path"):
        both = SupportVectorClassifier(KERNEL).fit(X[:2], [0, 1])
        assert leave_one_out(both, X[:2], [0, 1], method=method).error == 1.0


def test_matrices_that_are_not_positive_are_refused():
    (part,) = fitted().programs(X, Y)
    signed = Signed.of(part)
    signed.block = lambda rows, columns: -np.eye(len(rows), len(columns))
    with pytest.raises(ValueError, match="must be positive definite for their span, got one that is not; take"):
        span_residuals(signed)
