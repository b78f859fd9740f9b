import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelPCA, UnsupervisedKernelRegression
from mercer.datasets import make_arc, make_s_sheet, make_spiral
from mercer.kernels import L1, FromFunction, Gaussian, Linear, Multiquadric, Precomputed, ThinPlate, WeightedDegree
from mercer.manifolds.ukr.problem import LatentProblem
from mercer.manifolds.ukr.targets import data_targets
from tests.manifolds.latent.test_starts import alignment
from tests.manifolds.ukr.tuned import tuned

ARC, ANGLES = make_arc(100, angle=4.0, noise=0.05, random_state=0)
SHEET, PLACES = make_s_sheet(120, noise=0.03, random_state=0)


def curve(**options):
    return UnsupervisedKernelRegression(1, **{"init": "isomap-8", "random_state": 0, **options})


@pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        UnsupervisedKernelRegression(1, init="pca", max_iter=3),
        UnsupervisedKernelRegression(1, init="pca", objective="leave_one_out", density_kernel="quartic", max_iter=3),
        UnsupervisedKernelRegression(1, init="pca", feature_kernel=L1(), max_iter=2),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("options", [{}, {"density_kernel": "quartic"}, {"objective": "leave_one_out", "max_iter": 60}])
@pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning")
def test_arc(options):
    model = curve(**options).fit(ARC)
    assert abs(spearmanr(model.embedding_[:, 0], ANGLES)[0]) > 0.99
    grid = np.linspace(model.embedding_.min(), model.embedding_.max(), 300)[:, None]
    assert np.mean((np.linalg.norm(model.inverse_transform(grid), axis=1) - 1) ** 2) < 0.002
    assert model.objective_ == model.history_[-1] == min(model.history_)
    assert model.n_iter_ == len(model.history_) - 1
    assert model.init_ == "isomap-8"
    assert model.n_pieces_ == 1
    np.testing.assert_allclose(model.embedding_.mean(axis=0), 0, atol=1e-9)


def test_errors_are_those_of_the_objectives():
    model = curve(n_excluded=4).fit(ARC)
    targets = data_targets(ARC)
    assert model.n_excluded_ == 4
    assert model.objective_ == pytest.approx(LatentProblem(targets, n_excluded=4).value(model.embedding_), rel=1e-9)
    single = LatentProblem(targets).value(model.embedding_)
    assert model.leave_one_out_error_ == pytest.approx(single, rel=1e-9)
    explicit = []
    for i, z in enumerate(model.embedding_[:, 0]):
        weights = np.exp(-((model.embedding_[:, 0] - z) ** 2) / 2)
        weights[i] = 0
        explicit.append(np.sum((ARC[i] - weights @ ARC / weights.sum()) ** 2))
    assert single == pytest.approx(np.mean(explicit), rel=1e-9)


def test_the_best_start_is_taken():
    X, _ = make_spiral(150, random_state=3)
    model = UnsupervisedKernelRegression(1, random_state=0, max_iter=200).fit(X)
    table = model.candidates_
    assert set(table) == {"start", "objective", "leave_one_out_error", "descended", "iterations"}
    assert {"pca", "isomap-5", "eigenmaps-8", "lle-12"} <= set(table["start"])
    best = int(np.nanargmin(table["descended"]))
    assert model.init_ == table["start"][best] != "pca"
    assert model.history_[0] == pytest.approx(table["objective"][best])
    worst = UnsupervisedKernelRegression(1, init="pca", random_state=0).fit(X)
    assert model.objective_ < 0.5 * worst.objective_


def test_closed_curve():
    X, t = make_arc(150, noise=0.05, random_state=2)
    model = curve(topology="circle", init="auto").fit(X)
    assert np.all((model.embedding_ >= -1) & (model.embedding_ < 1))
    assert np.isfinite(model.periods_).all()
    assert alignment(np.pi * model.embedding_[:, 0], t) > 0.98
    radius = np.linalg.norm(model.inverse_transform(np.linspace(-1, 1, 200)[:, None]), axis=1)
    assert abs(radius.mean() - 1) < 0.03
    np.testing.assert_allclose(model.inverse_transform([[-0.7]]), model.inverse_transform([[1.3]]), atol=1e-9)
    np.testing.assert_allclose(model.density([[-0.7]]), model.density([[1.3]]))
    assert model.n_pieces_ == 1


def test_cylinder():
    rng = np.random.default_rng(0)
    t, h = rng.uniform(0, 2 * np.pi, 200), rng.uniform(-1, 1, 200)
    X = np.column_stack([np.cos(t), np.sin(t), h])
    model = UnsupervisedKernelRegression(2, topology=("circle", "interval"), init="isomap", random_state=0).fit(X)
    assert np.isfinite(model.periods_).tolist() == [True, False]
    assert model.score(X) > -0.05
    assert alignment(np.pi * model.embedding_[:, 0], t) > 0.9


def test_new_rows():
    model = curve().fit(ARC)
    t = np.linspace(0.2, 3.8, 50)
    X = np.column_stack([np.cos(t), np.sin(t)])
    Z = model.transform(X)
    assert abs(spearmanr(Z[:, 0], t)[0]) > 0.999
    np.testing.assert_allclose(np.linalg.norm(model.inverse_transform(Z), axis=1), 1, atol=0.1)
    np.testing.assert_array_equal(model.transform(ARC), model.embedding_)
    errors = model.reconstruction_error(X)
    np.testing.assert_allclose(errors, np.sum((X - model.inverse_transform(Z)) ** 2, axis=1), rtol=1e-5, atol=1e-12)
    assert model.score(X) == -errors.mean()
    assert np.all(model.density(Z) >= model.density_threshold_ * (1 - 1e-6))


def test_rows_far_away_are_flagged():
    model = curve().fit(ARC)
    rows = np.array([[0.0, 1.0], [50.0, 0.0], [0.0, 0.0]])
    Z, squares, outside = model.project(rows)
    assert outside.tolist() == [False, True, True]
    assert np.isfinite(Z).all()
    assert np.all(model.density(Z) >= model.density_threshold_ * (1 - 1e-6))
    np.testing.assert_array_equal(model.transform(rows), Z)
    np.testing.assert_array_equal(model.reconstruction_error(rows), squares)
    mixed = model.project(np.concatenate([rows, ARC]))
    assert mixed.outside.tolist() == [False, True, True] + 100 * [False]
    np.testing.assert_array_equal(mixed.Z, np.concatenate([Z, model.embedding_]))
    expected = np.sum((ARC - model.inverse_transform(model.embedding_)) ** 2, axis=1)
    np.testing.assert_allclose(mixed.squares, np.concatenate([squares, expected]), rtol=1e-9)
    assert not hasattr(model, "outside_")


def test_rows_with_missing_entries_are_projected():
    X, _ = make_s_sheet(100, n_columns=6, noise=0.03, random_state=0)
    X[::3, 2] = np.nan
    model = UnsupervisedKernelRegression(2, init="isomap-8", random_state=0).fit(X)
    projection = model.project(X)
    np.testing.assert_array_equal(projection.Z, model.embedding_)
    expected = np.nansum((X - model.inverse_transform(model.embedding_)) ** 2, axis=1)
    np.testing.assert_allclose(projection.squares, expected, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"feature_kernel": L1()}, {"feature_kernel": Gaussian(1.0)}], ids=str)
def test_single_precision_is_kept(options):
    single = curve(**options).fit(ARC.astype(np.float32))
    double = curve(**options).fit(ARC.astype(np.float32).astype(np.float64))
    rows = (ARC[:10] + 0.01).astype(np.float32)
    assert single.embedding_.dtype == single.fit_transform(ARC.astype(np.float32)).dtype == np.float32
    assert single.transform(rows).dtype == single.inverse_transform(single.transform(rows)).dtype == np.float32
    assert single.transform(rows.astype(np.float64)).dtype == double.transform(rows.astype(np.float64)).dtype == float
    assert double.transform(rows).dtype == np.float32
    assert single.objective_ == double.objective_  # double precision inside
    np.testing.assert_array_equal(single.embedding_, double.embedding_.astype(np.float32))
    np.testing.assert_array_equal(single.transform(rows), double.transform(rows))
    np.testing.assert_array_equal(single.transform(ARC.astype(np.float32)), single.embedding_)


def test_thresholds_and_pieces():
    rng = np.random.default_rng(0)
    X = np.concatenate([0.3 * rng.normal(size=(40, 3)), 0.3 * rng.normal(size=(40, 3)) + 20])
    model = UnsupervisedKernelRegression(1, init="pca", density_threshold=0.1).fit(X)
    assert model.n_pieces_ >= 2
    densities = model.density(model.embedding_)
    assert np.mean(densities < model.density_threshold_) == pytest.approx(0.1, abs=0.02)
    least = UnsupervisedKernelRegression(1, init="pca").fit(X)
    assert least.density_threshold_ == pytest.approx(least.density(least.embedding_).min())


def test_missing_entries_are_filled():
    X, _ = make_s_sheet(200, n_columns=6, noise=0.03, random_state=0)
    missing = np.random.default_rng(0).random(X.shape) < 0.15
    missing[missing.all(axis=1)] = False
    holes = np.where(missing, np.nan, X)
    model = UnsupervisedKernelRegression(2, init="isomap-8", random_state=0).fit(holes)
    filled = model.inverse_transform(model.transform(holes))
    means = np.nanmean(holes, axis=0)
    assert np.mean((filled - X)[missing] ** 2) < 0.25 * np.mean((means - X)[missing] ** 2)


def test_missing_entries_are_imputed():
    X = ARC[:30] + 0.01
    holes = X.copy()
    holes[::2, 0] = np.nan
    model = curve().fit(ARC)
    missing = np.isnan(holes)
    filled = model.impute(holes)
    np.testing.assert_allclose(filled[~missing], X[~missing], rtol=1e-12)
    np.testing.assert_allclose(filled[missing], model.inverse_transform(model.transform(holes))[missing])
    kernel = UnsupervisedKernelRegression(1, feature_kernel=Linear(), init="pca").fit(ARC[:20])
    with pytest.raises(TypeError, match="has no entries to fill in the feature space of Linear"):
        kernel.impute(ARC[:3])


def test_linear_feature_kernel_is_data_space():
    options = {"init": "pca", "max_iter": 30, "tol": 1e-12}
    with pytest.warns(ConvergenceWarning):
        plain = UnsupervisedKernelRegression(2, **options).fit(SHEET)
    with pytest.warns(ConvergenceWarning):
        feature = UnsupervisedKernelRegression(2, feature_kernel=Linear(), **options).fit(SHEET)
    assert feature.history_[0] == pytest.approx(plain.history_[0], rel=1e-3)
    rows = SHEET[:20] + 0.01
    given = UnsupervisedKernelRegression(2, feature_kernel=Linear(), init="pca", random_state=0).fit(SHEET)
    products = given.inner_products(rows, given.embedding_[:5])
    expected = rows @ given.inverse_transform(given.embedding_[:5]).T
    np.testing.assert_allclose(products, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kernel", [L1(), Gaussian(1.0), Multiquadric(1.0)], ids=repr)
def test_feature_spaces(kernel):
    model = curve(feature_kernel=kernel).fit(ARC)
    assert abs(spearmanr(model.embedding_[:, 0], ANGLES)[0]) > 0.99
    rows = ARC[:10] + 0.01
    Z = model.transform(rows)
    np.testing.assert_allclose(np.linalg.norm(model.inverse_transform(Z), axis=1), 1, atol=0.12)
    products = model.inner_products(rows, Z)
    weights = LatentProblem(data_targets(ARC)).density.weights(Z, model.embedding_)
    np.testing.assert_allclose(products, kernel(rows, ARC) @ weights, rtol=1e-9)
    # ||Φ(x) - f(z)||² by inner products alone.
    own = kernel.diag(rows) - 2 * np.diag(products) + np.einsum("ij,ik,kj->j", weights, kernel(ARC), weights)
    np.testing.assert_allclose(model.reconstruction_error(rows), own, rtol=1e-4, atol=1e-7)


def test_quartic_kernel_in_feature_space():
    model = curve(feature_kernel=Gaussian(1.0), density_kernel="quartic").fit(ARC)
    Z = model.transform(ARC[:10] + 0.01)
    np.testing.assert_allclose(np.linalg.norm(model.inverse_transform(Z), axis=1), 1, atol=0.15)
    assert model.inner_products(ARC, Z).shape == (100, 10)


def test_inner_products_in_data_space():
    model = curve().fit(ARC)
    Z = model.embedding_[:4]
    np.testing.assert_allclose(model.inner_products(ARC, Z), ARC @ model.inverse_transform(Z).T)


@pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning")
def test_strings_and_given_matrices():
    rng = np.random.default_rng(0)
    letters = np.array(list("ACGT"))
    words = np.array(["".join(letters[rng.choice(4, 12, p=p)]) for p in rng.dirichlet(np.ones(4), size=60)])
    kernel = WeightedDegree(2)
    model = UnsupervisedKernelRegression(2, feature_kernel=kernel, init="pca", random_state=0).fit(words)
    np.testing.assert_array_equal(model.transform(words[:5]), model.embedding_[:5])
    new = np.array(["A" * 12, "ACGT" * 3])
    assert model.transform(new).shape == (2, 2)
    given = UnsupervisedKernelRegression(2, feature_kernel=Precomputed(), init="pca", random_state=0).fit(kernel(words))
    np.testing.assert_allclose(given.transform(kernel(new, words)), model.transform(new), atol=1e-3)
    with pytest.raises(TypeError, match="was not given vectors, so that there are no rows to go back to"):
        model.inverse_transform(model.embedding_)
    with pytest.raises(TypeError, match=r"does not know k\(x, x\) of new objects"):
        given.score(kernel(new, words))


def test_kernel_pca_is_the_start_in_feature_space():
    seen = []
    curve(feature_kernel=L1(), init="pca", callback=lambda n, fit: seen.append(fit) or True).fit(ARC)
    scores = KernelPCA(1, kernel=L1()).fit_transform(ARC)
    assert abs(np.corrcoef(seen[0].Z[:, 0], scores[:, 0])[0, 1]) > 0.99


def test_given_start_is_scaled():
    fits = [curve(init=c * ANGLES[:, None] + 7, max_iter=50, tol=1e-9) for c in (1e-6, 1e6)]
    with pytest.warns(ConvergenceWarning):
        results = [model.fit(ARC) for model in fits]
    assert results[0].init_ == "given"
    np.testing.assert_allclose(results[0].embedding_, results[1].embedding_, rtol=1e-3, atol=1e-3)


def test_homotopy_unfolds_principal_components():
    model = curve(init="pca", homotopy=(0.3, 0.1), objective="leave_one_out", max_iter=60)
    with pytest.warns(ConvergenceWarning):
        model.fit(ARC[::2])
    assert model.objective_ < 0.1 * model.candidates_["objective"][0]
    # Its iterations, a hundred for each threshold, come first.
    assert len(model.history_) == model.n_iter_ + 1 == 261
    assert np.all(np.diff(model.history_) <= 0)
    assert model.history_[0] > model.candidates_["objective"][0]  # all points nearly in one place


def test_homotopy_of_a_warm_start():
    model = curve(init="pca", objective="leave_one_out", max_iter=3, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        model.fit(ARC[::2])
    before = model.objective_
    with pytest.warns(ConvergenceWarning):
        model.set_params(homotopy=(0.3, 0.1)).fit(ARC[::2])
    assert model.init_ == "warm_start"
    assert model.n_iter_ == 203
    assert model.history_[0] > before


def test_a_fit_that_has_not_converged_says_so():
    with pytest.warns(ConvergenceWarning, match="did not converge in 25 iterations; raise max_iter or tol, or fit"):
        tuned(curve(tol=1e-9), max_iter=25).fit(ARC)
    with pytest.warns(ConvergenceWarning, match="With leave-one-out, more iterations also follow the noise"):
        tuned(curve(objective="leave_one_out", tol=1e-9), max_iter=25).fit(ARC)


def test_a_fit_by_way_of_a_sample_converges_where_the_sample_does():
    X, _ = make_arc(400, angle=4.0, noise=0.05, random_state=0)
    model = tuned(curve(density_kernel="quartic"), start_rows=100).fit(X)
    assert model.status_ == "optimal"
    assert model.n_iter_ <= 20
    with pytest.warns(ConvergenceWarning, match="did not converge in 8 iterations"):
        tuned(curve(density_kernel="quartic", max_iter=8), start_rows=100).fit(X)
    with pytest.warns(ConvergenceWarning, match="did not converge in 25 iterations"):
        tuned(curve(density_kernel="quartic", tol=1e-9), start_rows=100, max_iter=25).fit(X)


def test_warm_start_callback_and_max_iter():
    model = curve(max_iter=5, warm_start=True)
    with pytest.warns(
        ConvergenceWarning, match="did not converge in 5 iterations; raise max_iter or tol, or fit again"
    ):
        model.fit(ARC)
    assert model.status_ == "max_iter"
    first = model.objective_
    model.set_params(max_iter=400).fit(ARC)
    assert model.init_ == "warm_start"
    assert model.candidates_ == {}
    assert model.history_[0] == pytest.approx(first)
    assert model.status_ == "optimal"
    told = []
    stopped = curve(callback=lambda n, fit: told.append((n, fit.objective)) or n == 7).fit(ARC)
    assert stopped.status_ == "interrupted"
    assert stopped.n_iter_ == len(told) == 7
    model.fit(ARC[:60])  # other rows: no warm start
    assert model.init_ == "isomap-8"


def test_interrupts_leave_a_model():
    def interrupt(n, fit):
        raise KeyboardInterrupt

    model = curve(callback=interrupt).fit(ARC)
    assert model.status_ == "interrupted"
    assert model.transform(ARC[:3] + 0.01).shape == (3, 1)


def test_deterministic_and_picklable():
    model = UnsupervisedKernelRegression(2, init="isomap-8", random_state=0).fit(SHEET)
    again = clone(model).fit(SHEET)
    np.testing.assert_array_equal(model.embedding_, again.embedding_)
    rows = SHEET[:10] + 0.05
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(rows), model.transform(rows))


def test_does_not_depend_on_unit_and_place():
    near, far = (curve().fit(X) for X in (ARC, 1e4 * ARC + 3e5))
    np.testing.assert_allclose(near.embedding_, far.embedding_, atol=0.3)
    assert far.leave_one_out_error_ == pytest.approx(1e8 * near.leave_one_out_error_, rel=0.05)


@pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning")
def test_duplicates_parts_and_few_rows():
    doubled = curve(objective="leave_one_out").fit(np.repeat(ARC[::2], 2, axis=0))
    assert np.isfinite(doubled.embedding_).all()
    parts = UnsupervisedKernelRegression(1, random_state=0).fit(np.concatenate([ARC, ARC + 100]))
    assert np.isfinite(parts.embedding_).all()
    ring = UnsupervisedKernelRegression(1, topology="circle", random_state=0).fit(np.repeat(ARC[:6], 5, axis=0))
    assert np.isfinite(ring.embedding_).all()
    assert ring.density_threshold_ > 0
    few = UnsupervisedKernelRegression(1).fit(np.array([[0.0, 0.0], [1.0, 0.1], [2.0, 0.0], [3.0, 0.2]]))
    assert few.embedding_.shape == (4, 1)
    flat = UnsupervisedKernelRegression(2, init="pca", random_state=0).fit(np.column_stack([ANGLES, 2 * ANGLES]))
    assert np.all(np.ptp(flat.embedding_, axis=0) > 0)


def test_many_rows_are_fitted_by_way_of_a_sample():
    X, t = make_arc(3300, angle=4.0, noise=0.05, random_state=0)
    model = curve(density_kernel="quartic").fit(X)
    assert abs(spearmanr(model.embedding_[:, 0], t)[0]) > 0.99
    assert model.n_excluded_ == 22
    assert model.n_iter_ <= 20
    radii = np.linalg.norm(model.inverse_transform(model.embedding_), axis=1)
    np.testing.assert_allclose(radii, 1, atol=0.06)


@pytest.mark.parametrize("density_kernel", ["gaussian", "quartic"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_circles_by_way_of_a_sample_are_like_those_at_once(density_kernel, missing):
    X, t = make_arc(600, noise=0.05, random_state=0)
    X = np.column_stack([X, X, X])  # what is missing can be told from what is there
    hidden = np.random.default_rng(0).random(X.shape) < missing
    aligned, errors = [], []
    for n_start in (600, 200):
        model = tuned(curve(density_kernel=density_kernel, topology="circle"), start_rows=n_start)
        model.fit(np.where(hidden, np.nan, X))
        aligned.append(alignment(np.pi * model.embedding_[:, 0], t))
        errors.append(np.mean((model.inverse_transform(model.embedding_) - X) ** 2))
    assert aligned[1] > aligned[0] - 0.02
    assert errors[1] < 1.1 * errors[0]


@pytest.mark.slow
def test_a_map_of_many_rows_is_better_than_one_of_few():
    X, T = make_s_sheet(24_000, n_columns=12, random_state=0)
    X, X_new, T_new = X[:20_000], X[20_000:], T[20_000:]
    errors, explained = {}, {}
    for n in (3_000, 20_000):
        model = UnsupervisedKernelRegression(2, density_kernel="quartic", random_state=0).fit(X[:n])
        Z = model.transform(X_new)
        errors[n] = np.mean(np.sum((X_new - model.inverse_transform(Z)) ** 2, axis=1))
        explained[n] = KNeighborsRegressor(5).fit(Z[:2000], T_new[:2000]).score(Z[2000:], T_new[2000:])
        assert model.n_pieces_ == 1
    # Noise of deviation 0.05 in the ten directions that leave the sheet.
    assert 0.024 < errors[20_000] < errors[3_000]
    assert explained[20_000] > explained[3_000] - 0.005
    assert explained[20_000] > 0.98


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components of UnsupervisedKernelRegression must be a whole number >= 1, got 0"),
        ({"n_components": 3}, "must be at most the number of columns, n_features=2, got 3; ask for fewer"),
        ({"n_components": 100, "feature_kernel": L1()}, "must be at most the number of rows less one"),
        ({"density_kernel": "cubic"}, "density_kernel of UnsupervisedKernelRegression must be one of"),
        ({"objective": "loss"}, "objective of UnsupervisedKernelRegression must be one of"),
        ({"n_excluded": 0}, "n_excluded of UnsupervisedKernelRegression must be a whole number >= 1, got 0"),
        ({"n_excluded": 98}, "n_excluded of .* must leave two rows or more of 100 to predict from, got 98"),
        ({"n_excluded": 3, "objective": "leave_one_out"}, "n_excluded of .* must be 'auto' for objective="),
        ({"init": "magic"}, "init of UnsupervisedKernelRegression must be 'auto', one of .*, got 'magic'"),
        ({"init": np.zeros((100, 1))}, "init of .* must have points that differ, got 100 equal ones"),
        ({"init": np.zeros((3, 1))}, r"init of .* must be of shape \(100, 1\), coordinates of the rows, got \(3, 1\)"),
        ({"init": np.full((100, 1), np.nan)}, "Input init contains NaN"),
        ({"optimizer": "sgd"}, "optimizer of UnsupervisedKernelRegression must be one of"),
        ({"homotopy": (0.1, 0.5)}, "homotopy of .* must be True, False or falling numbers between 0 and 1"),
        ({"homotopy": "yes"}, "homotopy of .* must be True, False or falling numbers between 0 and 1"),
        ({"topology": "sphere"}, "topology of UnsupervisedKernelRegression must be 'interval', 'circle' or a tuple"),
        ({"density_threshold": 1.0}, "density_threshold of .* must be 'minimum' or a number from 0 to 1, got 1.0"),
        ({"max_iter": 0}, "max_iter of UnsupervisedKernelRegression must be a whole number >= 1, got 0"),
        ({"tol": 0.0}, "tol of UnsupervisedKernelRegression must be a number > 0, got 0.0"),
        ({"feature_kernel": ThinPlate()}, "feature_kernel of .* must be positive definite, or conditionally so"),
        ({"feature_kernel": FromFunction(lambda x, y: -float(x @ y), order=None)}, "must be positive definite"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        UnsupervisedKernelRegression(**{"n_components": 1, "init": "pca", **options}).fit(ARC)


def test_types_are_checked():
    with pytest.raises(TypeError, match="callback of UnsupervisedKernelRegression must be callable or None, got 3"):
        curve(callback=3).fit(ARC)
    with pytest.raises(TypeError, match="feature_kernel of UnsupervisedKernelRegression must be a Kernel or None"):
        curve(feature_kernel="rbf").fit(ARC)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (ARC[:3], "X of UnsupervisedKernelRegression must have 4 rows or more, got 3"),
        (np.ones((10, 2)), "X of .* must have rows that differ, got 10 equal ones; there is no surface"),
        (
            np.where(np.arange(100)[:, None] == 4, np.nan, ARC),
            "X of .* must have a known entry in every row, got 1 rows",
        ),
        (
            np.where([True, False], np.nan, ARC),
            r"X of .* must have a known entry in every column, got NaN only in .*\[0\]",
        ),
        (1e200 * ARC, "X of UnsupervisedKernelRegression must"),
    ],
)
def test_rows_are_checked(X, message):
    with pytest.raises(ValueError, match=message):
        curve().fit(X)


def test_use_is_checked():
    with pytest.raises(NotFittedError):
        curve().transform(ARC)
    model = curve().fit(ARC)
    with pytest.raises(ValueError, match="Z of UnsupervisedKernelRegression must have 1 columns, .* got 2; give what"):
        model.inverse_transform(ARC)
    with pytest.raises(ValueError, match="Input Z contains NaN"):
        model.density([[np.nan]])
    assert cdist(model.inverse_transform([[1e6]]), ARC).min() < 0.3
