import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import KernelPCA
from sklearn.linear_model import LinearRegression

from mercer import KernelPCClassifier, KernelPCRegressor, RelevantDimensions
from mercer.datasets import make_sinc
from mercer.kernels import Gaussian, Linear, Precomputed, WeightedDegree
from mercer.relevance import leave_one_out_errors, two_component_nll

X, y = make_sinc(120, noise=0.2, random_state=0)


@pytest.mark.parametrize("method", ["two_component", "leave_one_out"])
def test_in_sample_prediction_is_the_projection(method):
    relevance = RelevantDimensions(method=method).fit(X, y)
    model = KernelPCRegressor(method=method, intercept=False).fit(X, y)
    assert repr(model.kernel_) == repr(relevance.kernel_)
    assert model.n_components_ == relevance.dimension_
    U = np.linalg.eigh(model.kernel_(X))[1][:, ::-1][:, : model.n_components_]
    np.testing.assert_allclose(model.predict(X), U @ (U.T @ y), atol=1e-12)
    np.testing.assert_allclose(relevance.projection_, U @ (U.T @ y), atol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_prediction_is_least_squares_on_the_components_of_scikit_learn(intercept):
    # scikit-learn centres K; a kernel whose Gram matrix is centred already makes the two agree without an intercept.
    rng = np.random.default_rng(1)
    rows, new = rng.normal(size=(60, 5)), rng.normal(size=(20, 5))
    rows -= rows.mean(axis=0)
    target = rows[:, 0] - rows[:, 1] + 0.1 * rng.normal(size=60) + 3.0
    components = KernelPCA(3, kernel="linear").fit(rows)
    reference = LinearRegression(fit_intercept=intercept).fit(components.transform(rows), target)
    model = KernelPCRegressor(Linear(), n_components=3, intercept=intercept).fit(rows, target)
    np.testing.assert_allclose(model.predict(new), reference.predict(components.transform(new)), atol=1e-10)


@pytest.mark.parametrize("width", [0.3, 2.0])
@pytest.mark.parametrize("rank", [None, 119])
def test_intercept_and_the_centred_components_of_scikit_learn(width, rank):
    components = KernelPCA(6, kernel="rbf", gamma=0.5 / width**2, eigen_solver="dense").fit(X)
    reference = LinearRegression().fit(components.transform(X), y + 1.0)
    model = KernelPCRegressor(Gaussian(width), n_components=6, intercept=True, rank=rank).fit(X, y + 1.0)
    grid = np.linspace(-3.9, 3.9, 50)[:, None]
    np.testing.assert_allclose(model.predict(grid), reference.predict(components.transform(grid)), atol=1e-7)
    np.testing.assert_allclose(model.predict(X).mean(), y.mean() + 1.0, rtol=1e-9)


@pytest.mark.parametrize("method", ["two_component", "leave_one_out"])
def test_intercept_leaves_no_trace_of_the_mean(method):
    near, far = (RelevantDimensions(intercept=True, method=method).fit(X, y + shift) for shift in (0.0, 1e3))
    assert near.dimension_ == far.dimension_
    assert near.noise_level_ == pytest.approx(far.noise_level_)
    np.testing.assert_allclose(far.projection_ - near.projection_, 1e3, atol=1e-8)


def test_intercept_is_chosen_by_likelihood():
    """A hill on a plain: without a constant the plain takes many components; noise about zero needs no constant."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-3, 3, size=(150, 2))
    hill = np.exp(-np.sum(rows**2, axis=1) / 2) + 0.05 * rng.normal(size=150)
    with_plain = KernelPCRegressor(Gaussian(1.0)).fit(rows, hill - 1.0)
    assert with_plain.intercept_ == pytest.approx(-1.0, abs=0.2)
    without = KernelPCRegressor(Gaussian(1.0), intercept=False).fit(rows, hill - 1.0)
    assert with_plain.n_components_ < without.n_components_
    assert KernelPCRegressor(Gaussian(1.0)).fit(rows, hill).intercept_ == 0.0


def test_wide_kernels_with_an_intercept_are_cut_above_rounding():
    """Centred, a wide kernel is small: what is left of it must not be taken for more than rounding."""
    model = RelevantDimensions(Gaussian(1e4), intercept=True).fit(X, y)
    assert len(model.spectrum_) <= 2


@pytest.mark.parametrize("estimator", [KernelPCRegressor, RelevantDimensions])
def test_intercept_that_is_no_answer(estimator):
    with pytest.raises(ValueError, match=rf"intercept of {estimator.__name__} must be True.*got 'perhaps'"):
        estimator(intercept="perhaps").fit(X, y)


@pytest.mark.parametrize("intercept", [False, True])
def test_low_rank_fit_agrees_where_the_rank_suffices(intercept):
    exact = KernelPCRegressor(Gaussian(1.0), intercept=intercept).fit(X, y)
    low = KernelPCRegressor(Gaussian(1.0), rank=60, intercept=intercept).fit(X, y)
    assert low.n_components_ == exact.n_components_
    assert len(low.support_) < len(exact.support_)
    grid = np.linspace(-3.9, 3.9, 50)[:, None]
    np.testing.assert_allclose(low.predict(grid), exact.predict(grid), atol=1e-7)


def test_two_classes_and_many():
    rows, labels = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[labels]
    model = KernelPCClassifier().fit(rows, names)
    assert model.decision_function(rows).shape == (150, 3)
    assert model.score(rows, names) > 0.94
    assert 1 - model.score(rows, names) == pytest.approx(model.noise_level_)
    two = KernelPCClassifier(Gaussian(2.0)).fit(rows[:100], names[:100])
    assert two.decision_function(rows).shape == (150,)
    assert two.score(rows[:100], names[:100]) == 1


def test_given_number_of_components_and_family():
    model = KernelPCRegressor([Gaussian(0.05), Gaussian(1.0), Gaussian(50.0)], n_components=8).fit(X, y)
    assert model.n_components_ == 8
    assert model.kernel_.width == 1.0
    # A linear kernel on one column has one eigenvalue above rounding.
    assert KernelPCRegressor(Linear(), n_components=5).fit(X, y).n_components_ == 1


def test_precomputed_matrices_and_strings():
    kernel, new = Gaussian(1.0), np.linspace(-3, 3, 11)[:, None]
    expected = KernelPCRegressor(kernel).fit(X, y).predict(new)
    for rank in (None, 50):
        model = KernelPCRegressor(Precomputed(), rank=rank).fit(kernel(X), y)
        np.testing.assert_allclose(model.predict(kernel(new, X)), expected, atol=1e-7)
    strings = ["".join(word) for word in np.random.default_rng(0).choice(list("ACGT"), size=(60, 8))]
    labels = np.array([word[3:5] in ("AC", "GT", "AG", "CT") for word in strings])
    assert KernelPCClassifier(WeightedDegree(3)).fit(strings, labels).score(strings, labels) > 0.8


@pytest.mark.parametrize("n_components", [0, -1, 2.5, "all", True, 120])
def test_bad_number_of_components(n_components):
    with pytest.raises(
        ValueError, match="n_components of KernelPCRegressor must be 'auto' or a whole number from 1 to 119"
    ):
        KernelPCRegressor(n_components=n_components).fit(X, y)


@pytest.mark.parametrize("options", [{}, {"rank": 10}, {"intercept": True}, {"intercept": False}], ids=str)
def test_a_kernel_to_which_all_rows_look_alike(options):
    with pytest.warns(UserWarning, match="has learned nothing: to Gaussian.* all rows look alike; narrow it"):
        model = KernelPCRegressor(Gaussian(1e9), **options).fit(X, y)
    assert np.ptp(model.predict(X)) < 1e-6
    # As one of a family it does no harm.
    assert KernelPCRegressor([Gaussian(1e9), Gaussian(1.0)], **options).fit(X, y).kernel_.width == 1.0


def test_a_kernel_to_which_all_rows_look_different():
    with pytest.warns(
        UserWarning, match="has learned nothing: to Gaussian.* all rows look equally different; widen it"
    ):
        KernelPCClassifier(Gaussian(1e-7)).fit(X, y > 0)


@pytest.mark.parametrize("n", [4, 60])
def test_as_many_components_as_are_allowed(n):
    rows, target = X[:n], y[:n]
    model = KernelPCRegressor(Gaussian(0.05), n_components=n - 1, intercept=False).fit(rows, target)
    assert model.n_components_ == n - 1
    centred = KernelPCRegressor(Gaussian(0.05), n_components=n - 1, intercept=True).fit(rows, target)
    assert centred.n_components_ == n - 2
    assert KernelPCRegressor(Gaussian(0.05), n_components=n - 1).fit(rows, target).n_components_ >= n - 2


def test_progress_bar(capsys):
    KernelPCRegressor([Gaussian(1.0), Gaussian(2.0)], verbose=True).fit(X, y)
    assert "4/4" in capsys.readouterr().err


def test_names_of_two_kinds():
    with pytest.raises(ValueError, match="y of KernelPCClassifier must be names of one kind.*turn them all into text"):
        KernelPCClassifier().fit(X[:60], np.array(["a", 1] * 30, dtype=object))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("rank", [None, 60])
def test_targets_are_fitted_in_one_subspace(intercept, rank):
    Y = np.column_stack([y, 1e3 * np.cos(X[:, 0]), y - 5.0])
    options = {"n_components": 7, "intercept": intercept, "rank": rank}
    model = KernelPCRegressor(Gaussian(0.5), **options).fit(X, Y)
    grid = np.linspace(-3.9, 3.9, 50)[:, None]
    singles = [KernelPCRegressor(Gaussian(0.5), **options).fit(X, target) for target in Y.T]
    expected = np.column_stack([single.predict(grid) for single in singles])
    np.testing.assert_allclose(model.predict(grid), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, [single.intercept_ for single in singles], atol=1e-6)
    assert model.noise_level_ == pytest.approx(np.mean([single.noise_level_ for single in singles]))
    assert model.dual_coef_.shape == (len(model.support_), 3)
    one = KernelPCRegressor(Gaussian(0.5), **options).fit(X, Y[:, :1])
    np.testing.assert_allclose(one.predict(grid), expected[:, :1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["two_component", "leave_one_out"])
def test_targets_share_the_dimension_with_the_best_mean(method):
    Y = np.column_stack([y, np.cos(X[:, 0]) + 0.3 * np.random.default_rng(0).normal(size=len(X))])
    widths = (0.2, 0.5, 1.0)
    model = KernelPCRegressor(widths=widths, method=method, intercept=False, rank=None).fit(X, Y)
    found = {}
    for width in widths:
        U = np.linalg.eigh(Gaussian(width)(X))[1][:, ::-1]
        for d in range(1, 40):
            if method == "two_component":
                values = [two_component_nll(U.T @ target)[d] for target in Y.T]
            else:
                values = [leave_one_out_errors(U[:, :d], target)[-1] / target.var() for target in Y.T]
            found[width, d] = np.mean(values)
    assert (model.kernel_.width, model.n_components_) == min(found, key=found.get)
    # Units of the targets do not matter.
    scaled = KernelPCRegressor(widths=widths, method=method, intercept=False, rank=None).fit(X, Y * [1e-3, 1e6])
    np.testing.assert_allclose(scaled.predict(X) / [1e-3, 1e6], model.predict(X), rtol=1e-6, atol=1e-9)


def test_every_target_must_vary():
    with pytest.raises(ValueError, match="y of KernelPCRegressor must be not constant, got"):
        KernelPCRegressor().fit(X, np.column_stack([y, np.ones(len(y))]))
    with pytest.raises(ValueError, match="Found array with dim 3"):
        KernelPCRegressor().fit(X, y[:, None, None])
