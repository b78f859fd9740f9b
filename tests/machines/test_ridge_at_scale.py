"""Kernel ridge regression without the Gram matrix, beside that with it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import kernel_ridge
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelRidge
from mercer.kernels import Exponential, Gaussian, Multiquadric, Precomputed, ThinPlate, WeightedDegree
from mercer.kernels.gram import Gram
from mercer.kernels.gram.matrix import FormedMatrix
from tests.contracts.all_problems import indefinite_matrix, rows, smooth_targets

N = 400
X, X_NEW = rows(N), rows(50, seed=7)
y = smooth_targets(X)
WEIGHT = np.random.default_rng(3).uniform(0.2, 3.0, size=N)
KERNELS = [Gaussian(0.8), Exponential(1.0), Multiquadric(0.5), ThinPlate()]


def exact(kernel=None, **parameters):
    return KernelRidge(kernel or Gaussian(0.8), **{"solver": "eigen", **parameters})


def iterative(kernel=None, **parameters):
    return KernelRidge(kernel or Gaussian(0.8), **{"solver": "conjugate_gradients", "tol": 1e-12, **parameters})


class FewAreMany(KernelRidge):
    _many_rows = 100


@pytest.fixture
def never_formed(monkeypatch):
    def formed(self):
        raise AssertionError("formed")

    monkeypatch.setattr(Gram, "toarray", formed)


# One penalty ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [1e-4, 0.3, 100.0])
@pytest.mark.parametrize(
    "parametric", [None, "constant", "linear", [lambda X: np.sin(X[:, 0])]], ids=["none", "constant", "linear", "sine"]
)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_equals_the_eigendecomposition(kernel, parametric, penalty):
    choices = {"penalties": penalty, "parametric": parametric}
    for weight in (None, WEIGHT, WEIGHT * (np.arange(N) % 3 > 0)):
        expected = exact(kernel, **choices).fit(X, y, weight)
        model = iterative(kernel, **choices).fit(X, y, weight)
        assert model.status_ == expected.status_ == "optimal"
        assert abs(model.gap_) <= 1e-12
        assert model.penalty_ == penalty
        np.testing.assert_array_equal(model.support_, expected.support_)
        np.testing.assert_allclose(model.predict(X_NEW), expected.predict(X_NEW), atol=2e-4)
        np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-3)


def test_equals_scikit_learn():
    theirs = kernel_ridge.KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5).fit(X, y, WEIGHT)
    ours = iterative(Gaussian(1.0), penalties=0.1, parametric=None, tol=1e-14).fit(X, y, WEIGHT)
    np.testing.assert_allclose(ours.predict(X_NEW), theirs.predict(X_NEW), atol=1e-6)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-5)


def test_several_targets():
    Y = np.column_stack([y, 100 * np.cos(X[:, 0]), np.full(N, 2.0)])
    together = iterative(penalties=0.1).fit(X, Y)
    assert together.status_ == ["optimal"] * 3
    assert len(together.gap_) == len(together.n_iter_) == len(together.history_) == 3
    assert together.predict(X_NEW).shape == (50, 3)
    for j in range(3):
        alone = iterative(penalties=0.1).fit(X, Y[:, j])
        np.testing.assert_allclose(together.predict(X_NEW)[:, j], alone.predict(X_NEW), atol=1e-5)
        np.testing.assert_allclose(together.intercept_[j], alone.intercept_, atol=1e-4)
    one_column = iterative(penalties=0.1).fit(X, Y[:, :1])
    assert one_column.predict(X_NEW).shape == (50, 1)


def test_equal_rows_are_merged():
    twice, targets = np.vstack([X, X[:100]]), np.concatenate([y, y[:100] + 1.0])
    merged = iterative(penalties=0.1).fit(twice, targets)
    weight = 1.0 + (np.arange(N) < 100)
    expected = iterative(penalties=0.1).fit(X, np.where(weight > 1, y + 0.5, y), weight)
    assert merged.status_ == "optimal"
    # Each row has its own residual, and the copies together what the mean has with the weight of both.
    np.testing.assert_allclose(merged.dual_coef_, (targets - merged.predict(twice)) / 0.1, atol=1e-6)
    together = merged.dual_coef_[:100] + merged.dual_coef_[N:]
    np.testing.assert_allclose(together, expected.dual_coef_[:100], atol=1e-6)
    np.testing.assert_allclose(merged.predict(X_NEW), expected.predict(X_NEW), atol=1e-8)


def test_constant_targets():
    model = iterative(penalties=0.1).fit(X, np.full(N, 3.0))
    assert model.status_ == "optimal"
    np.testing.assert_allclose(model.predict(X_NEW), 3.0, atol=1e-10)


@parametrize_with_checks([KernelRidge(solver="conjugate_gradients", penalties=0.1, tol=1e-13)])
@pytest.mark.filterwarnings("ignore:The Gram matrix of:UserWarning")
def test_estimator_checks(estimator, check):
    check(estimator)


# Which way -----------------------------------------------------------------------------------------------------------


def test_few_rows_are_decomposed():
    model = KernelRidge(Gaussian(0.8)).fit(X, y)
    assert (model.solver_, model.solver_.reason) == ("eigen", "400 distinct rows")
    assert (model.status_, model.n_iter_, len(model.history_)) == ("optimal", 1, 1)
    assert abs(model.gap_) <= 1e-10
    assert len(model.penalties_) == len(model.leave_one_out_error_) == 60


def test_many_rows_are_not(never_formed):
    model = FewAreMany(Gaussian(0.8), penalties=0.1).fit(X, y)
    assert model.solver_ == "conjugate_gradients"
    assert "400 distinct rows: no matrix is factored" in repr(model.solver_)
    assert model.gap_ <= model.tol


def test_memory_decides_too(never_formed):
    model = KernelRidge(Gaussian(0.8), penalties=0.1, memory=10**6).fit(X, y)
    assert model.solver_.reason == "400 distinct rows: their matrices do not fit into memory"


@pytest.mark.parametrize("penalties", [0.1, [0.01, 0.1, 1.0]], ids=["one", "several"])
def test_matrices_that_are_slow_to_multiply_are_formed(penalties, monkeypatch):
    wide = np.hstack([X, 0.3 * np.random.default_rng(0).normal(size=(N, 70))])
    model = iterative(Gaussian(3.0), penalties=penalties)
    expected = clone(model).fit(wide, y)
    taken = []
    monkeypatch.setattr(
        Gram, "for_products", lambda gram, memory: taken.append(FormedMatrix(gram.toarray())) or taken[-1]
    )
    formed = clone(model).fit(wide, y)
    sizes = [len(K.formed) for K in taken]
    assert sizes == ([N] if penalties == 0.1 else [N // 2, N])  # without the rows that are held out, and with them
    assert formed.penalty_ == expected.penalty_
    np.testing.assert_allclose(formed.predict(wide), expected.predict(wide), atol=1e-5)


def test_errors_of_another_way_are_forgotten():
    model = exact().fit(X, y)
    model.set_params(solver="conjugate_gradients").fit(X, y)
    assert not hasattr(model, "leave_one_out_error_")
    assert len(model.penalties_) == len(model.validation_error_) == 25
    model.set_params(solver="eigen").fit(X, y)
    assert not hasattr(model, "validation_error_")


@pytest.mark.parametrize("solver", ["magic", "least_squares", None, 3, ["auto"]], ids=str)
def test_solver(solver):
    with pytest.raises(
        ValueError, match="solver of KernelRidge must be 'auto', 'eigen' or 'conjugate_gradients', got .*; choose one"
    ):
        KernelRidge(Gaussian(0.8), solver=solver).fit(X, y)


@pytest.mark.parametrize("options", [{"tol": 0.0}, {"max_iter": -1}])
def test_options(options):
    with pytest.raises(ValueError, match="of KernelRidge must be"):
        KernelRidge(Gaussian(0.8), **options).fit(X, y)


def test_penalties_are_checked_before_any_work(monkeypatch):
    monkeypatch.setattr(KernelRidge, "_rows", None)
    with pytest.raises(ValueError, match="penalties of KernelRidge must be positive numbers, got -1; give one"):
        KernelRidge(penalties=-1).fit(X, y)


# Several penalties ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Exponential(1.0), Multiquadric(1.0)], ids=repr)
def test_the_penalty_predicts_about_as_well_as_the_best(kernel, noise, never_formed):
    rng = np.random.default_rng(0)
    X, X_new = rng.uniform(-2, 2, size=(1500, 2)), rng.uniform(-2, 2, size=(1000, 2))

    def truth(X):
        return np.sin(2 * X[:, 0]) + 0.5 * X[:, 0] * X[:, 1]

    y = truth(X) + noise * rng.normal(size=1500)
    grid = np.geomspace(1e-6, 1e3, 19)
    model = iterative(kernel, penalties=grid, tol=1e-6).fit(X, y)
    error = np.sqrt(np.mean((model.predict(X_new) - truth(X_new)) ** 2))
    refits = [iterative(kernel, penalties=penalty, tol=1e-6, max_iter=2000).fit(X, y) for penalty in grid[6::2]]
    best = min(np.sqrt(np.mean((other.predict(X_new) - truth(X_new)) ** 2)) for other in refits)
    assert error <= 1.3 * best
    held_out = np.nanmin(model.validation_error_)
    np.testing.assert_allclose(held_out, np.hypot(error, noise), rtol=0.2)
    assert model.penalty_ == grid[np.nanargmin(model.validation_error_)]


def test_all_rows_are_fitted_with_the_best():
    model = iterative().fit(X, y)
    alone = iterative(penalties=model.penalty_).fit(X, y)
    np.testing.assert_allclose(model.predict(X_NEW), alone.predict(X_NEW), atol=1e-5)
    assert len(model.support_) == N


@pytest.mark.parametrize("kind", ["sparse", "single", "precomputed", "strings"])
def test_other_rows_than_vectors_in_double_precision(kind, never_formed):
    kernel, data, new = Gaussian(0.8), X, X_NEW
    if kind == "sparse":
        data, new = sparse.csr_array(X), sparse.csr_array(X_NEW)
    elif kind == "single":
        data, new = X.astype(np.float32), X_NEW.astype(np.float32)
    elif kind == "precomputed":
        kernel, data, new = Precomputed(), dense(X), dense(X_NEW, X)
    else:
        letters = np.random.default_rng(0).choice(list("ACGT"), size=(N, 12))
        kernel, data = WeightedDegree(3), ["".join(word) for word in letters]
        new = data
    model = iterative(kernel, tol=1e-8, penalties=np.geomspace(1e-2, 1e2, 5)).fit(data, y)
    assert model.status_ == "optimal"
    predicted = model.predict(new)
    if kind != "strings":
        expected = iterative(tol=1e-8, penalties=np.geomspace(1e-2, 1e2, 5)).fit(X, y)
        assert model.penalty_ == expected.penalty_
        np.testing.assert_allclose(predicted, expected.predict(X_NEW), atol=1e-3)
    assert np.isfinite(predicted).all()


def dense(X, Y=None):
    Y = X if Y is None else Y
    return np.exp(-np.sum((X[:, None] - Y) ** 2, axis=2) / (2 * 0.8**2))


def test_search_in_few_rows():
    for n in (2, 3, 5):
        model = KernelRidge(Gaussian(2.0), solver="conjugate_gradients").fit(X[:n], y[:n])
        assert np.isfinite(model.predict(X_NEW)).all()


def test_samples_without_a_weight_do_not_count():
    weight = (np.arange(N) % 4 > 0).astype(float)
    model = iterative().fit(X, y, weight)
    alone = iterative().fit(X[weight > 0], y[weight > 0])
    assert model.penalty_ == alone.penalty_
    np.testing.assert_allclose(model.predict(X_NEW), alone.predict(X_NEW), atol=1e-8)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(weight))


# When it does not go well --------------------------------------------------------------------------------------------


def test_too_few_iterations():
    with pytest.warns(ConvergenceWarning, match="KernelRidge ended as 'max_iter'; scale the columns"):
        model = iterative(penalties=1e-3, max_iter=1, kernel=Exponential(3.0)).fit(X, y)
    assert (model.status_, model.n_iter_) == ("max_iter", 1)
    assert model.gap_ > model.tol


def test_indefinite_matrix_stalls():
    with pytest.warns(ConvergenceWarning, match="KernelRidge ended as 'stalled'"):
        model = KernelRidge(Precomputed(), penalties=0.01, solver="conjugate_gradients").fit(indefinite_matrix(N), y)
    assert model.status_ == "stalled"


class Interruption:
    """Interrupts the product of that number."""

    def __init__(self, monkeypatch, number):
        self.n_products, product = 0, Gram._product

        def interrupted(gram, V, *, transposed):
            self.n_products += 1
            if self.n_products == number:
                raise KeyboardInterrupt
            return product(gram, V, transposed=transposed)

        monkeypatch.setattr(Gram, "_product", interrupted)


@pytest.mark.parametrize("penalties", [0.01, [0.001, 0.01, 0.1]], ids=["one", "several"])
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 7, 8, 20])
def test_interruption_leaves_a_function_and_a_warm_start(penalties, number, monkeypatch):
    model = iterative(Exponential(3.0), penalties=penalties, warm_start=True)
    with monkeypatch.context() as patch:
        Interruption(patch, number)
        with pytest.warns(ConvergenceWarning, match="KernelRidge was interrupted; set warm_start=True and call fit"):
            model.fit(X, y)
    assert model.status_ == "interrupted"
    assert np.isfinite(model.predict(X_NEW)).all()
    model.fit(X, y)
    assert model.status_ == "optimal"


def test_warm_start_saves_iterations():
    model = iterative(Exponential(3.0), penalties=0.1, warm_start=True).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ == 0
    nearby = model.set_params(penalties=0.101).fit(X, y)
    assert 0 < nearby.n_iter_ < cold
    fresh = clone(model).fit(X, y)
    np.testing.assert_allclose(nearby.predict(X_NEW), fresh.predict(X_NEW), atol=1e-5)
    assert model.fit(X[:300], y[:300]).status_ == "optimal"
    assert model.fit(X[:300], np.column_stack([y, y])[:300]).status_ == ["optimal"] * 2


@pytest.mark.slow
def test_many_rows_within_little_memory():
    X = rows(8000, 3)
    y = np.sin(2 * X[:, 0]) + 0.3 * np.random.default_rng(0).normal(size=8000)
    model = KernelRidge(Gaussian(1.0)).fit(X, y)
    assert (model.solver_, model.status_) == ("conjugate_gradients", "optimal")
    assert 0.28 < np.nanmin(model.validation_error_) < 0.35
    assert np.sqrt(np.mean((model.predict(X) - np.sin(2 * X[:, 0])) ** 2)) < 0.1
