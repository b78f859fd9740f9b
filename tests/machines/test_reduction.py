import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from mercer import KernelRidge, NuSupportVectorRegressor, SupportVectorClassifier, SupportVectorRegressor
from mercer.datasets import make_sinc
from mercer.kernels import (
    Exponential,
    FromFunction,
    Gaussian,
    Linear,
    Multiquadric,
    Polynomial,
    Precomputed,
    ThinPlate,
    WeightedDegree,
)
from mercer.machines import reduce_expansion

rng = np.random.default_rng(0)
X, y = make_sinc(200, noise=0.1, random_state=0)


def norm(K, coef):
    return np.sqrt(np.maximum(np.einsum("i...,i...->...", coef, K @ coef), 0.0))


def whole(reduction, n):
    coef = np.zeros((n, *reduction.coef.shape[1:]))
    coef[reduction.chosen] = reduction.coef
    return coef


def matching_pursuit(K, coef, n_functions):
    """In each step the projection is computed from scratch."""
    chosen, kept = [], np.zeros_like(coef)
    for _ in range(n_functions):
        correlation = K @ (coef - kept) / norm(K, coef) / np.sqrt(np.diagonal(K))[:, None]
        chosen.append(int(np.argmax(np.sum(correlation**2, axis=1))))
        kept[chosen] = np.linalg.solve(K[np.ix_(chosen, chosen)], K[chosen] @ coef)
    return sorted(chosen)


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize(
    "kernel", [Gaussian(0.5), Exponential(0.7), Polynomial(3, 1.0)], ids=lambda k: type(k).__name__
)
def test_steps_are_those_of_matching_pursuit_and_coefficients_a_projection(kernel, n_targets):
    rows, coef = rng.normal(size=(25, 2)), rng.normal(size=(25, n_targets))
    K = kernel(rows)
    for n_functions in (1, 2, 5):
        reduction = reduce_expansion(kernel, rows, coef, tol=0.0, max_functions=n_functions)
        S = reduction.chosen
        assert S.tolist() == matching_pursuit(K, coef, n_functions)
        np.testing.assert_allclose(reduction.coef, np.linalg.solve(K[np.ix_(S, S)], K[S] @ coef), rtol=1e-6, atol=1e-9)
        error = norm(K, coef - whole(reduction, 25))
        np.testing.assert_allclose(reduction.error.absolute, error, rtol=1e-8)
        np.testing.assert_allclose(reduction.error.relative, error / norm(K, coef), rtol=1e-8)


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-4, 1e-6])
def test_tolerance_is_reached_by_every_target(tol):
    rows = rng.normal(size=(300, 3))
    coef = rng.normal(size=(300, 3)) * [1.0, 1e3, 1e-3]
    reduction = reduce_expansion(Gaussian(2.0), rows, coef, tol=tol)
    K = Gaussian(2.0)(rows)
    assert np.all(norm(K, coef - whole(reduction, 300)) <= tol * norm(K, coef) * (1 + 1e-6))
    assert np.all(reduction.error.relative <= tol * (1 + 1e-6))
    assert len(reduction.chosen) < 300
    one_less = reduce_expansion(Gaussian(2.0), rows, coef, tol=tol, max_functions=len(reduction.chosen) - 1)
    assert np.any(one_less.error.relative > tol)


def test_machine_keeps_all_but_what_the_expansion_needs():
    machine = SupportVectorRegressor(Gaussian(), C=10.0).fit(X, y)
    before = pickle.dumps(machine)
    short = machine.reduce(1e-3)
    assert pickle.dumps(machine) == before
    assert len(short.support_) < len(machine.support_) / 3
    assert set(short.support_) <= set(machine.support_)
    np.testing.assert_array_equal(short.support_vectors_, X[short.support_])
    assert short.dual_coef_.shape == (len(short.support_),)
    assert short.intercept_ == machine.intercept_
    new = np.linspace(-15, 15, 500)[:, None]
    K = Gaussian()(new, short.support_vectors_)
    np.testing.assert_allclose(short.predict(new), K @ short.dual_coef_ + short.intercept_, atol=1e-9)
    difference = np.abs(short.predict(new) - machine.predict(new)).max()
    error = short.reduction_error_
    assert 0 < difference <= error.uniform == error.absolute
    np.testing.assert_allclose(
        short.predict(short.support_vectors_), machine.predict(short.support_vectors_), atol=1e-9
    )
    assert repr(clone(short)) == repr(machine)
    assert not hasattr(clone(short), "reduction_error_")
    again = pickle.loads(pickle.dumps(short))
    np.testing.assert_array_equal(again.predict(new), short.predict(new))


@pytest.mark.parametrize(
    "machine",
    [
        SupportVectorRegressor(Gaussian(), C=10.0).fit(X, np.column_stack([y, 5 * y**2])),
        SupportVectorClassifier(Gaussian(2.0)).fit(*make_blobs(150, random_state=0)),
        NuSupportVectorRegressor(Gaussian()).fit(X, y),
        KernelRidge(Gaussian()).fit(X, y),
        SupportVectorRegressor(3.0 * Gaussian(), regularizer="l2").fit(X, y),
        SupportVectorRegressor(Gaussian()).fit(X.astype(np.float32), y),
    ],
    ids=["targets", "classes", "nu", "ridge", "l2", "single_precision"],
)
def test_all_machines(machine):
    short = machine.reduce(1e-3)
    assert len(short.support_) < len(machine.support_)
    assert np.all(short.reduction_error_.relative <= 1e-3)
    rows = machine.support_vectors_
    evaluate = "decision_function" if hasattr(machine, "classes_") else "predict"
    before, after = getattr(machine, evaluate)(rows), getattr(short, evaluate)(rows)
    assert after.shape == before.shape
    assert np.all(np.abs(after - before) <= short.reduction_error_.uniform * (1 + 1e-6))
    assert np.shape(short.intercept_) == np.shape(machine.intercept_)


@pytest.mark.parametrize("kernel", [Multiquadric(1.0), ThinPlate()], ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("parametric", ["constant", "linear", ["linear", lambda X: X[:, 0] ** 2]])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_conditionally_positive_kernels(kernel, parametric, n_targets):
    rows = rng.uniform(-1, 1, size=(120, 2))
    targets = np.sin(3 * rows[:, :1]) * rows[:, 1:] + rng.normal(scale=0.05, size=(120, n_targets))
    machine = SupportVectorRegressor(kernel, C=10.0, parametric=parametric, tol=1e-8)
    machine.fit(rows, targets[:, 0] if n_targets == 1 else targets)
    short = machine.reduce(0.1)
    assert len(short.support_) < len(machine.support_)
    assert np.all(short.reduction_error_.relative <= 0.1)
    P = kernel.polynomial_part(short.support_vectors_)
    np.testing.assert_allclose(P.T @ short.dual_coef_, 0.0, atol=1e-9 * np.abs(short.dual_coef_).sum())
    change = np.zeros((120, *machine.dual_coef_.shape[1:]))
    change[machine.support_] = machine.dual_coef_
    change[short.support_] -= short.dual_coef_
    np.testing.assert_allclose(short.reduction_error_.absolute, norm(kernel(rows), change), rtol=1e-6)
    difference = np.abs(short.predict(rows) - machine.predict(rows))
    assert difference.max() > 1e-3
    # The coefficients of the fit are orthogonal to the polynomials only to the accuracy of the solver.
    assert difference[short.support_].max() < 1e-4 * difference.max()
    assert np.all(np.isinf(short.reduction_error_.uniform))
    assert short.intercept_ is not None


def test_few_rows_of_a_conditionally_positive_kernel_stay():
    rows = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])  # on a line: polynomials are not told apart
    reduction = reduce_expansion(ThinPlate(), rows, np.array([1.0, -3.0, 3.0, -1.0]))
    assert reduction.chosen.tolist() == [0, 1, 2, 3]
    assert reduction.error.relative == reduction.error.uniform == 0.0
    assert reduction.polynomial.tolist() == [0.0, 0.0, 0.0]


def test_precomputed_matrix_gives_what_its_kernel_gives():
    K = Gaussian()(X)
    by_matrix = SupportVectorRegressor(Precomputed(), C=10.0, tol=1e-9).fit(K, y).reduce(1e-2)
    by_kernel = (
        SupportVectorRegressor(Gaussian(), C=10.0, tol=1e-9, solver=str(by_matrix.solver_)).fit(X, y).reduce(1e-2)
    )
    np.testing.assert_array_equal(by_matrix.support_, by_kernel.support_)
    np.testing.assert_allclose(by_matrix.predict(K), by_kernel.predict(X), atol=1e-6)
    weight = np.ones(len(y))
    weight[:3] = 0
    machine = SupportVectorRegressor(Precomputed()).fit(K, y, weight)
    with pytest.raises(
        ValueError, match="Samples of a precomputed matrix must all have a weight .* got 197 of 200; fit"
    ):
        machine.reduce()


def test_objects_and_sparse_rows():
    words = ["".join(rng.choice(list("ACGT"), size=6)) for _ in range(60)]
    reduction = reduce_expansion(WeightedDegree(3), words, rng.normal(size=60), tol=0.3)
    assert len(reduction.chosen) < 60
    assert reduction.error.relative <= 0.3
    dense = rng.normal(size=(50, 6)) * (rng.uniform(size=(50, 6)) < 0.3)
    coef = rng.normal(size=50)
    one, other = (reduce_expansion(Gaussian(), rows, coef, tol=0.1) for rows in (dense, sparse.csr_array(dense)))
    np.testing.assert_array_equal(one.chosen, other.chosen)


def test_repeated_rows_and_a_kernel_of_low_rank():
    rows, coef = np.repeat(rng.normal(size=(10, 3)), 4, axis=0), rng.normal(size=40)
    reduction = reduce_expansion(Gaussian(), rows, coef, tol=1e-7)
    assert len(reduction.chosen) <= 10
    np.testing.assert_allclose(
        Gaussian()(rows)[:, reduction.chosen] @ reduction.coef, Gaussian()(rows) @ coef, atol=1e-6
    )
    linear = reduce_expansion(Linear(), rows, coef, tol=1e-7)
    assert len(linear.chosen) == 3
    assert np.isinf(linear.error.uniform)


def test_nothing_to_reduce():
    constant = SupportVectorRegressor(Gaussian(), solver="smo").fit(X, np.ones(len(X)))
    short = constant.reduce()
    assert len(short.support_) == 0
    assert short.reduction_error_.relative == 0.0
    np.testing.assert_array_equal(short.predict(X), constant.predict(X))
    rows, coef = np.eye(4), np.arange(1.0, 5.0)
    reduction = reduce_expansion(Gaussian(0.01), rows, coef, tol=0.0)
    np.testing.assert_array_equal(reduction.coef, coef)
    assert reduction.error.absolute == 0.0
    nothing = reduce_expansion(Gaussian(), rows, np.zeros(4))
    assert len(nothing.chosen) == 0
    assert nothing.error.relative == 0.0


def test_memory_grows_with_the_functions_only():
    n = 5000
    rows, coef = rng.normal(size=(n, 2)), rng.normal(size=n)
    reduce_expansion(Gaussian(), rows[:500], coef[:500])
    tracemalloc.start()
    reduction = reduce_expansion(Gaussian(), rows, coef, tol=1e-3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(reduction.chosen) < 200
    assert peak < 0.2 * 8 * n**2


def test_bad_input_is_refused():
    rows, coef = np.eye(5), np.ones(5)
    with pytest.raises(NotFittedError):
        SupportVectorRegressor().reduce()
    for tol in (-0.1, 1.0, "small", True, np.nan):
        with pytest.raises(ValueError, match=r"tol of reduce_expansion must be in \[0, 1\), got .*; give a share"):
            reduce_expansion(Gaussian(), rows, coef, tol=tol)
    for kernel, least in ((Gaussian(), 1), (Multiquadric(1.0), 2)):
        for number in (least - 1, 2.5):
            with pytest.raises(
                ValueError, match=f"max_functions of reduce_expansion must be a whole number >= {least}"
            ):
                reduce_expansion(kernel, rows, coef, max_functions=number)
    odd = FromFunction(lambda a, b: float(a @ b), order=None)
    with pytest.raises(
        ValueError, match="kernel of reduce_expansion must be .conditionally. positive definite, got From"
    ):
        reduce_expansion(odd, rows, coef)
