"""What machines refuse, and what they say."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from mercer import KernelRidge, NuSupportVectorRegressor, QuantileBand, SupportVectorClassifier, SupportVectorRegressor
from mercer.kernels import BSpline, FromFunction, Gaussian, Linear, Multiquadric, Precomputed, ThinPlate
from mercer.losses import EpsilonInsensitive, Hinge, Huber, Squared
from mercer.regularizers import L2Coefficients, Mixed
from tests.contracts.all_problems import indefinite_matrix, labels, rows, smooth_targets

N = 30
KERNEL = Gaussian(0.8)
MACHINES = [SupportVectorRegressor(KERNEL), NuSupportVectorRegressor(KERNEL), SupportVectorClassifier(KERNEL)]
every_machine = pytest.mark.parametrize("model", MACHINES, ids=lambda model: type(model).__name__)
every_estimator = pytest.mark.parametrize(
    "model", [*MACHINES, KernelRidge(KERNEL), QuantileBand(KERNEL)], ids=lambda model: type(model).__name__
)


@pytest.fixture
def X():
    return rows(N)


@pytest.fixture
def y(X):
    """Targets that serve as classes too."""
    return labels(X)


@pytest.mark.parametrize("nu", [0, 0.0, -0.1, 1.01, np.nan, np.inf, True, None, [0.5]])
def test_nu(nu, X, y):
    with pytest.raises(
        ValueError, match=r"nu of NuSupportVectorRegressor must be in \(0, 1\] or the name .*; it is the"
    ):
        NuSupportVectorRegressor(KERNEL, nu=nu).fit(X, y)


def test_nu_of_an_unknown_noise(X, y):
    with pytest.raises(ValueError, match="noise"):
        NuSupportVectorRegressor(KERNEL, nu="pink").fit(X, y)


def test_nu_with_a_pair(X, y):
    with pytest.raises(ValueError, match="C of NuSupportVectorRegressor must be the same above and below, got a pair"):
        NuSupportVectorRegressor(KERNEL, C=(1.0, 2.0)).fit(X, y)


@every_machine
@pytest.mark.parametrize(
    "C", [0, -1.0, np.nan, -np.inf, None, "1", True, [1.0, 2.0], np.ones((N, 1)), np.zeros(N), [[1.0]]]
)
def test_c(model, C, X, y):
    with pytest.raises(
        ValueError, match=r"(?s)C of \w+ must be positive: one number, one for each of 30 .*; give C > 0"
    ):
        clone(model).set_params(C=C).fit(X, y)


@pytest.mark.parametrize("C", [(1.0,), (1.0, 2.0, 3.0), (1.0, 0.0), (-1.0, 1.0), (1.0, np.ones(3)), ()])
def test_pairs_of_c(C, X, y):
    with pytest.raises(
        ValueError, match=r"C of SupportVectorRegressor must be positive: .* or a pair \(below, above\)"
    ):
        SupportVectorRegressor(KERNEL, C=C).fit(X, y)


@pytest.mark.parametrize("loss", [Hinge(), "huber", 3, Huber], ids=repr)
def test_loss_of_a_regressor(loss, X, y):
    with pytest.raises(
        ValueError, match="loss of SupportVectorRegressor must be a loss for regression, got .*; take one"
    ):
        SupportVectorRegressor(KERNEL, loss=loss).fit(X, y)


@pytest.mark.parametrize("loss", [Squared(), "hinge", 3, Hinge], ids=repr)
def test_loss_of_a_classifier(loss, X, y):
    with pytest.raises(
        ValueError, match="loss of SupportVectorClassifier must be a loss for classification, got .*; take"
    ):
        SupportVectorClassifier(KERNEL, loss=loss).fit(X, y)


def test_loss_with_parameters_that_do_not_fit(X, y):
    with pytest.raises(
        ValueError, match="epsilon of EpsilonInsensitive must be one number, or 30, one for each sample"
    ):
        SupportVectorRegressor(KERNEL, loss=EpsilonInsensitive(np.ones(7))).fit(X, y)
    with pytest.raises(ValueError, match="sigma of Huber must be"):
        SupportVectorRegressor(KERNEL, loss=Huber(-1.0)).fit(X, y)


def test_one_class(X):
    with pytest.raises(
        ValueError, match="y of SupportVectorClassifier must hold two classes or more, got 1 class: .*'a'"
    ):
        SupportVectorClassifier(KERNEL).fit(X, ["a"] * N)


def test_a_class_without_weight(X, y):
    with pytest.raises(
        ValueError, match=r"sample_weight of \w+ must leave samples of every class, got a class with zero weight"
    ):
        SupportVectorClassifier(KERNEL).fit(X, y, (y > 0).astype(float))


def test_numbers_as_classes(X):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        SupportVectorClassifier(KERNEL).fit(X, smooth_targets(X))
    with pytest.raises(ValueError, match="1d array"):
        SupportVectorClassifier(KERNEL).fit(X, np.zeros((N, 2)))


@every_estimator
def test_no_targets(model, X):
    with pytest.raises(ValueError, match="y must be given: this estimator requires y to be passed"):
        clone(model).fit(X, None)


@every_estimator
def test_targets_of_another_length(model, X, y):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clone(model).fit(X, y[:-1])


@pytest.mark.parametrize("model", [SupportVectorRegressor(KERNEL), KernelRidge(KERNEL)], ids=repr)
def test_targets_with_too_many_dimensions(model, X):
    with pytest.raises(ValueError, match="dim 3|y must have one or two dimensions, got 3"):
        model.fit(X, np.zeros((N, 2, 2)))


@every_estimator
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none(model, bad, X, y):
    spoiled = X.copy()
    spoiled[3, 1] = bad
    with pytest.raises(ValueError, match="Input X contains (NaN|infinity)"):
        clone(model).fit(spoiled, y)
    targets = y.copy()
    targets[4] = bad
    with pytest.raises(ValueError, match="Input y contains (NaN|infinity)"):
        clone(model).fit(X, targets)
    fitted = clone(model).fit(X, y)
    with pytest.raises(ValueError, match="Input X contains (NaN|infinity)"):
        getattr(fitted, "predict_interval", getattr(fitted, "predict", None))(spoiled)


@every_machine
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (
            -np.ones(N),
            "(?s)sample_weight of .* must be non-negative and not all zero, got .*; leave samples out instead",
        ),
        (
            np.zeros(N),
            "(?s)sample_weight of .* must be non-negative and not all zero|must contain at least one non-zero",
        ),
        (np.r_[-1e-9, np.ones(N - 1)], "sample_weight of .* must be non-negative"),
        (np.full(N, np.nan), "sample_weight contains NaN"),
        (np.ones(N - 1), r"sample_weight.shape == \(29,\), expected \(30,\)"),
        (np.ones((N, 2)), "1D array or scalar|1d array"),
    ],
    ids=["negative", "zero", "barely negative", "nan", "short", "two columns"],
)
def test_sample_weight(model, weight, message, X, y):
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, y, weight)


# Kernels -------------------------------------------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("kernel", ["rbf", np.dot, 3.0, Gaussian], ids=str)
def test_kernel_that_is_none(model, kernel, X, y):
    with pytest.raises(
        TypeError, match="kernel of .* must be a Kernel or None, got .*; wrap a function in .*FromFunction"
    ):
        clone(model).set_params(kernel=kernel).fit(X, y)


def test_kernel_that_is_none_in_cross_validation(X, y):
    with pytest.raises(TypeError, match="must be a Kernel or None, got 'rbf'"):
        cross_val_score(SupportVectorRegressor("rbf"), X, y, error_score="raise")


@pytest.mark.parametrize("regularizer", ["rkhs", "mixed"])
def test_kernel_without_order(regularizer, X, y):
    with pytest.raises(
        ValueError,
        match=r"kernel of \w+ must be \(conditionally\) positive definite for \w+\(\), got BSpline.*2.*; "
        "choose another kernel, or the regularizer 'l1' or 'l2'",
    ):
        SupportVectorRegressor(BSpline(2), regularizer=regularizer).fit(X, y)
    for takes_it in ("l1", "l2"):
        assert SupportVectorRegressor(BSpline(2), regularizer=takes_it).fit(X, y).status_ == "optimal"


def test_ridge_with_a_kernel_without_order(X, y):
    with pytest.raises(ValueError, match=r"kernel of KernelRidge must be \(conditionally\) positive definite"):
        KernelRidge(BSpline(2)).fit(X, y)


@pytest.mark.parametrize("model", [SupportVectorRegressor(Precomputed()), KernelRidge(Precomputed())], ids=repr)
def test_indefinite_matrix(model, y):
    K = indefinite_matrix(N)
    with pytest.raises(
        ValueError,
        match=r"precomputed Gram matrix must be positive semi-definite .* got an eigenvalue of -.*; mend the",
    ):
        model.fit(K, y)


@pytest.mark.parametrize("regularizer", ["l1", "l2"])
def test_indefinite_matrix_with_norms_of_coefficients(regularizer, y):
    model = SupportVectorRegressor(Precomputed(), regularizer=regularizer, tol=1e-8).fit(indefinite_matrix(N), y)
    assert model.status_ == "optimal"
    assert model.gap_ <= 1e-8


def test_matrix_that_is_semi_definite_but_for_rounding(X, y):
    K = X @ X.T
    assert np.linalg.eigvalsh(K)[0] < 1e-10
    assert SupportVectorRegressor(Precomputed(), loss=Huber(0.2)).fit(K, y).status_ == "optimal"


@pytest.mark.parametrize(("smallest", "is_refused"), [(-0.5e-8, False), (-2e-8, True)])
def test_matrix_with_a_slightly_negative_eigenvalue(y, smallest, is_refused):
    # The largest eigenvalue belongs to a vector that is orthogonal to the constant: nothing simple tells its size.
    rng = np.random.default_rng(0)
    signs = rng.permutation(np.repeat([1.0, -1.0], N // 2))
    Q = np.linalg.qr(np.column_stack([signs, rng.normal(size=(N, N - 1))]))[0]
    K = (Q * np.array([100.0, *np.full(N - 2, 1e-3), 100.0 * smallest])) @ Q.T
    K = (K + K.T) / 2
    assert K.sum() / N < 1.0
    if is_refused:
        with pytest.raises(ValueError, match="got an eigenvalue of -2e-06"):
            SupportVectorRegressor(Precomputed()).fit(K, y)
    else:
        assert SupportVectorRegressor(Precomputed()).fit(K, y).status_ == "optimal"


def test_matrix_that_is_not_square_or_symmetric(y):
    with pytest.raises(ValueError, match="X of Precomputed must be a square matrix"):
        SupportVectorRegressor(Precomputed()).fit(np.ones((N, 5)), y)
    with pytest.raises(ValueError, match="X of Precomputed must be a symmetric matrix"):
        SupportVectorRegressor(Precomputed()).fit(np.triu(np.ones((N, N))), y)


def test_new_rows_of_a_matrix_have_a_column_for_each_sample(X, y):
    model = SupportVectorRegressor(Precomputed()).fit(KERNEL(X), y)
    with pytest.raises(ValueError, match="X has 7 features, but SupportVectorRegressor is expecting 30"):
        model.predict(np.ones((4, 7)))


def test_kernel_that_breaks_its_promise(X, y):
    """A function that claims to be positive definite and is not: the fit must not pass for a solution."""
    liar = FromFunction(lambda a, b: -float(np.exp(-((a - b) ** 2).sum())))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SupportVectorRegressor(liar, loss=Huber(0.2)).fit(X, y)
    assert model.status_ != "optimal"
    assert any("ended as 'stalled'" in str(warning.message) for warning in caught)


def test_mixed_with_a_conditionally_positive_kernel(X, y):
    """A price on its polynomials makes the program non-convex: refuse, or leave them free."""
    for kernel in (ThinPlate(), Multiquadric()):
        with pytest.raises(ValueError, match=r"(?i)conditional|order|polynomial"):
            SupportVectorRegressor(kernel, regularizer="mixed").fit(X, y)
    with pytest.raises(
        ValueError,
        match=r"regularizer of SupportVectorRegressor must leave the polynomials of Multiquadric\(.*\) free, got "
        r"Mixed\(weight=\[1, 0, 0\]\); give the parametric columns \[0\] the weight 0, or choose 'rkhs'",
    ):
        SupportVectorRegressor(Multiquadric(), regularizer=Mixed([1, 0, 0]), parametric="linear").fit(X, y)
    free = SupportVectorRegressor(Multiquadric(), regularizer=Mixed([0, 1, 1]), parametric="linear").fit(X, y)
    assert free.status_ == "optimal"


# Matrices that know nothing of the data ------------------------------------------------------------------------------


@every_estimator
def test_matrix_that_is_the_identity(model, X, y):
    with pytest.warns(
        UserWarning, match=r"Gram matrix of Gaussian.* is numerically the identity: .*; widen the kernel"
    ):
        clone(model).set_params(kernel=Gaussian(1e-4)).fit(X, y)


@every_estimator
def test_matrix_that_is_constant(model, X, y):
    with pytest.warns(UserWarning, match=r"Gram matrix of Gaussian.* is numerically constant: .*; narrow the kernel"):
        clone(model).set_params(kernel=Gaussian(1e6)).fit(X, y)


def test_one_unscaled_column_hides_the_others(X, y):
    with pytest.warns(UserWarning, match="numerically the identity: all rows look different; .* or scale the columns"):
        SupportVectorRegressor(Gaussian(1.0)).fit(X * [1.0, 1e6], y)


def test_matrices_that_know_something_do_not_warn(X, y):
    """Rows of a linear kernel on one positive column are parallel, but not alike."""
    SupportVectorRegressor(Linear(), loss=Huber(0.2)).fit(np.linspace(1.0, 5.0, N)[:, None], np.arange(N) / N)
    SupportVectorRegressor(Gaussian(0.05), loss=Huber(0.2)).fit(np.repeat(X[:15], 2, axis=0), y)


# The parametric part -------------------------------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("parametric", ["quadratic", 3, ["constant", 5], [np.ones(3)], {"constant"}, np.sin], ids=str)
def test_parametric_of_a_wrong_kind(model, parametric, X, y):
    with pytest.raises(
        ValueError, match="parametric must be None, 'constant', 'linear' or a list .*, got .*; a function takes X"
    ):
        clone(model).set_params(parametric=parametric).fit(X, y)


@pytest.mark.parametrize(
    "function",
    [lambda X: 1.0, lambda X: X, lambda X: X[:-1, 0], lambda X: X[:, [0]], lambda X: np.full(len(X), np.nan)],
    ids=["number", "table", "short", "column of a table", "nan"],
)
def test_parametric_function_with_a_wrong_shape(function, X, y):
    with pytest.raises(
        ValueError, match=r"parametric function <lambda> must return one finite column of shape \(30,\)"
    ):
        SupportVectorRegressor(KERNEL, parametric=[function]).fit(X, y)


def test_parametric_function_that_fails_on_new_rows(X, y):
    model = SupportVectorRegressor(KERNEL, parametric=[lambda X: X[:N, 0]]).fit(X, y)
    with pytest.raises(ValueError, match=r"must return one finite column of shape \(40,\), got shape \(30,\)"):
        model.predict(rows(40))


@every_estimator
def test_columns_that_depend_on_each_other(model, X, y):
    twice = ["constant", lambda X: X[:, 0], lambda X: 2 * X[:, 0] + 1]
    with pytest.raises(
        ValueError, match="columns must be linearly independent, got 3 of rank 2; drop constant or repeated"
    ):
        clone(model).set_params(parametric=twice).fit(X, y)
    X = np.column_stack([X[:, 0], np.full(N, 3.0)])
    with pytest.raises(ValueError, match="parametric columns must be linearly independent, got 3 of rank 2"):
        clone(model).set_params(parametric="linear").fit(X, y)


def test_more_columns_than_rows(y):
    with pytest.raises(ValueError, match="parametric columns must be linearly independent"):
        SupportVectorRegressor(ThinPlate()).fit(rows(2), y[:2])


# Names and other parameters ------------------------------------------------------------------------------------------


@every_machine
@pytest.mark.parametrize("solver", ["magic", None, 3, ["auto"]], ids=str)
def test_solver(model, solver, X, y):
    with pytest.raises(
        ValueError, match=r"solver must be 'auto' or one of \['conjugate_gradients', .*, got .*; choose one"
    ):
        clone(model).set_params(solver=solver).fit(X, y)


@every_machine
@pytest.mark.parametrize("regularizer", ["ridge", None, 3, ["l1"], Mixed], ids=str)
def test_regularizer(model, regularizer, X, y):
    with pytest.raises(ValueError, match=r"regularizer must be a Regularizer or one of \['l1', .*, got .*; choose one"):
        clone(model).set_params(regularizer=regularizer).fit(X, y)


@pytest.mark.parametrize("solver", ["least_squares", "linear_program"])
def test_solver_that_cannot(solver, X, y):
    with pytest.raises(ValueError, match=f"solver '{solver}' cannot solve this problem: .*; choose"):
        SupportVectorRegressor(KERNEL, solver=solver).fit(X, y)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            np.eye(3),
            r"matrix of L2Coefficients must be symmetric of shape \(30, 30\), got shape \(3, 3\); give one row",
        ),
        (np.ones(N), "matrix of L2Coefficients must be symmetric of shape"),
        (np.triu(np.ones((N, N))), "matrix of L2Coefficients must be symmetric of shape"),
        (-np.eye(N), "matrix of L2Coefficients must be positive definite, got one that is not; add to its diagonal"),
        (np.ones((N, N)), "matrix of L2Coefficients must be positive definite"),
        (np.full((N, N), np.nan), "matrix of L2Coefficients must be"),
    ],
    ids=["shape", "one column", "not symmetric", "negative", "singular", "nan"],
)
def test_matrix_of_weight_decay(matrix, message, X, y):
    with pytest.raises(ValueError, match=message):
        SupportVectorRegressor(KERNEL, regularizer=L2Coefficients(matrix)).fit(X, y)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, [1.0, 2.0], [[1.0]], []], ids=str)
def test_weight_of_mixed(weight, X, y):
    with pytest.raises(
        ValueError, match="weight of Mixed must be non-negative, one number or 1, got .*; give one for each"
    ):
        SupportVectorRegressor(KERNEL, regularizer=Mixed(weight)).fit(X, y)


@pytest.mark.parametrize("coverage", [0, 1, -0.5, 2.0, None, "0.9", np.nan])
def test_coverage(coverage, X, y):
    with pytest.raises(ValueError, match="coverage of QuantileBand must be between 0 and 1, got .*; it is the share"):
        QuantileBand(KERNEL, coverage=coverage).fit(X, y)


@pytest.mark.parametrize("penalties", [0.0, -1.0, [], [1.0, np.nan], [[1.0]], np.inf, [1.0, 0.0]], ids=str)
def test_penalties(penalties, X, y):
    with pytest.raises(
        ValueError, match="penalties of KernelRidge must be positive numbers, got .*; give one or a list"
    ):
        KernelRidge(KERNEL, penalties=penalties).fit(X, y)


def test_errors_come_before_heavy_work(X, y):
    """The Gram matrix is not computed for a fit that cannot succeed."""

    def never(a, b):
        raise AssertionError("heavy work")

    kernel = FromFunction(never)
    objects = list(X)
    for change, message in [
        ({"C": -1.0}, "C of"),
        ({"loss": Hinge()}, "loss of"),
        ({"regularizer": "ridge"}, "regularizer must be"),
        ({"parametric": "cubic"}, "parametric must be"),
        ({"solver": "magic"}, "solver must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            SupportVectorRegressor(kernel, **change).fit(objects, y)


@every_machine
@pytest.mark.parametrize("tol", [0, -1e-3, np.nan, np.inf, None, True, "small"])
def test_tol(model, tol, X, y):
    with pytest.raises(ValueError, match=r"tol of \w+ must be a number > 0, got .*; it is the relative gap to reach"):
        clone(model).set_params(tol=tol).fit(X, y)


@every_machine
@pytest.mark.parametrize("max_iter", [-1, 2.5, np.inf, True, "many"])
def test_max_iter(model, max_iter, X, y):
    with pytest.raises(ValueError, match=r"max_iter of \w+ must be a whole number >= 0, got .*; or None"):
        clone(model).set_params(max_iter=max_iter).fit(X, y)


@every_machine
@pytest.mark.parametrize("callback", ["print", 3, [print]])
def test_callback(model, callback, X, y):
    with pytest.raises(TypeError, match=r"callback of \w+ must be callable or None, got .*; give a function of the it"):
        clone(model).set_params(callback=callback).fit(X, y)


@pytest.mark.parametrize("memory", [None, "1", 0, -1, np.nan])
def test_memory(memory, X, y):
    for machine in (SupportVectorRegressor(), KernelRidge()):
        with pytest.raises(ValueError, match=r"memory of \w+ must be a number of bytes > 0, got .*; the default is"):
            machine.set_params(memory=memory).fit(X, y)


@pytest.mark.parametrize("weight", [1e-320, 1e308])
def test_weights_beyond_the_range_of_numbers(weight, X, y):
    for machine in (SupportVectorRegressor(), KernelRidge()):
        with pytest.raises(ValueError, match=r"sample_weight of \w+ must be zero or between 1e-100 and 1e\+100, got"):
            machine.fit(X, y, np.full(N, weight))
