import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer import GenerativeTopographicMap, PrincipalManifold
from mercer.datasets import make_arc, make_s_sheet, make_spiral, make_torus
from mercer.kernels import Gaussian, Periodized, ThinPlate
from mercer.manifolds import Length, fit_manifold
from mercer.manifolds.principal import training
from mercer.regularizers import as_map_penalty
from tests.manifolds.latent.test_starts import alignment

BOX = np.linspace(-1, 1, 1000)[:, None]


def arc(angle=4.0):
    t = np.linspace(0, angle, 1000)
    return np.column_stack([np.cos(t), np.sin(t)])


def distance_to(truth, model):
    """Mean squared distance of the points of a curve from the true one."""
    return np.mean(cdist(model.inverse_transform(BOX), truth).min(axis=1) ** 2)


def test_spiral():
    t = np.linspace(0, 1, 2000)
    truth = (0.2 + t)[:, None] * np.column_stack([np.cos(4 * np.pi * t), np.sin(4 * np.pi * t)])
    for seed in (0, 2):
        X, t = make_spiral(300, random_state=seed)
        model = PrincipalManifold(1, width=0.2, penalty=3e-4, init="isomap").fit(X)
        assert abs(spearmanr(model.embedding_[:, 0], t)[0]) >= 0.99
        assert distance_to(truth, model) < 0.0005
        assert abs(model.arc_length([[1.0]])[0] - 8.85) < 0.5


@pytest.mark.parametrize("seed", range(3))
def test_closed_curve(seed):
    X, t = make_arc(300, noise=0.1, random_state=seed)
    model = PrincipalManifold(1, topology="circle", width=0.5, penalty=1e-3, random_state=0).fit(X)
    radius = np.linalg.norm(model.inverse_transform(BOX), axis=1)
    assert abs(radius.mean() - 1) < 0.02
    np.testing.assert_allclose(model.inverse_transform([[-1.0]]), model.inverse_transform([[1.0]]), atol=1e-10)
    np.testing.assert_allclose(model.tangent([[-1.0]]), model.tangent([[1.0]]), atol=1e-6)
    assert alignment(np.pi * model.embedding_[:, 0], t) > 0.97
    np.testing.assert_allclose(model.inverse_transform([[0.3]]), model.inverse_transform([[2.3]]), atol=1e-10)


def test_torus():
    X, _ = make_torus(800, random_state=0)
    model = PrincipalManifold(2, topology="circle", width=0.4, penalty=1e-4, init="isomap").fit(X)
    F = model.inverse_transform(np.random.default_rng(0).uniform(-1, 1, size=(500, 2)))
    tube = np.hypot(np.hypot(F[:, 0], F[:, 1]) - 1, F[:, 2])
    assert abs(tube.mean() - 0.5) < 0.02
    assert tube.std() < 0.05
    # How often the coordinates go around while one angle does: a matrix that can be inverted in whole numbers.
    around, zero = np.linspace(-np.pi, np.pi, 200), np.zeros(200)
    windings = []
    for a, b in ((around, zero), (zero, around)):
        loop = np.column_stack([(1 + 0.5 * np.cos(b)) * np.cos(a), (1 + 0.5 * np.cos(b)) * np.sin(a), 0.5 * np.sin(b)])
        steps = np.diff(model.transform(loop), axis=0)
        windings.append(np.sum((steps + 1) % 2 - 1, axis=0) / 2)
    np.testing.assert_allclose(windings, np.round(windings), atol=1e-3)
    assert abs(round(np.linalg.det(np.round(windings)))) == 1


def test_auto_start_takes_the_best():
    X, _ = make_torus(400, random_state=0)
    options = {"topology": "circle", "width": 0.5, "penalty": 1e-4, "tol": 1e-3}
    automatic = PrincipalManifold(2, **options).fit(X)
    pca = PrincipalManifold(2, init="pca", **options).fit(X)
    assert automatic.init_ != "pca"
    assert automatic.objective_ < pca.objective_


@pytest.mark.parametrize("q", [1, 2])
def test_large_penalties_give_principal_components(q):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * [3, 2, 1, 0.5] @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    model = PrincipalManifold(q, linear_part=True, width=0.5, penalty=1e6, init="pca", tol=1e-9).fit(X)
    pca = PCA(q).fit(X)
    expected = pca.inverse_transform(pca.transform(X))
    np.testing.assert_allclose(model.inverse_transform(model.embedding_), expected, atol=1e-4)
    np.testing.assert_allclose(model.quantization_error(X), np.mean(np.sum((X - expected) ** 2, axis=1)), rtol=1e-4)
    assert model.linear_coef_.shape == (q, 4)
    curved = PrincipalManifold(q, linear_part=True, width=0.5, penalty=1e-3, init="pca").fit(X)
    assert curved.quantization_error(X) < model.quantization_error(X)


def test_length_regularizer():
    X, _ = make_arc(200, angle=3.0, noise=0.05, random_state=0)
    model = PrincipalManifold(1, regularizer="length", penalty=1e-2, init="isomap", tol=1e-9, max_iter=2000).fit(X)
    K, F = model.kernel_(model.nodes_), model.inverse_transform(model.nodes_)
    integral = np.sum(np.diff(F, axis=0) ** 2 / np.diff(model.nodes_, axis=0))
    np.testing.assert_allclose(np.sum(model.dual_coef_ * (K @ model.dual_coef_)), integral, rtol=1e-8)
    speed = np.linalg.norm(np.diff(F, axis=0), axis=1) / np.diff(model.nodes_[:, 0])
    np.testing.assert_allclose(speed, speed.mean(), rtol=0.05)
    np.testing.assert_allclose(model.arc_length([[-1.0], [1.0]]), [0, 2 * speed.mean()], rtol=1e-3)


def test_huber_cost_bears_outliers():
    clean, _ = make_arc(400, angle=4.0, noise=0.05, random_state=0)
    rng = np.random.default_rng(1)
    dirty = clean.copy()
    dirty[rng.choice(400, 40, replace=False)] += 3 * rng.normal(size=(40, 2))
    model = PrincipalManifold(1, width=0.5, cost="huber").fit(dirty)
    best = PrincipalManifold(1, width=0.5, penalty=3e-4).fit(clean)
    squared = PrincipalManifold(1, width=0.5, penalty=3e-4).fit(dirty)
    error = {m: np.mean(m.distance_to_manifold(clean) ** 2) for m in (best, model, squared)}
    assert error[model] < 2 * error[best] < error[squared]
    absolute = PrincipalManifold(1, width=0.5, cost="l1").fit(dirty)
    assert np.mean(absolute.distance_to_manifold(clean) ** 2) < 2 * error[best]


@pytest.mark.parametrize("regularizer", ["l1", "group_l1"])
def test_sparse_regularizers_use_few_nodes(regularizer):
    X, _ = make_arc(200, angle=3.0, noise=0.05, random_state=0)
    model = PrincipalManifold(1, regularizer=regularizer, width=0.3, penalty=1e-2, n_nodes=20, init="isomap")
    model.fit(X)
    assert model.status_ == "optimal"
    assert np.mean(model.dual_coef_ == 0) > 0.3
    assert model.quantization_error(X) < 0.02


def test_fills_missing_entries():
    X, _ = make_s_sheet(400, n_columns=8, noise=0.05, random_state=0)
    missing = np.random.default_rng(0).random(X.shape) < 0.2
    holes = np.where(missing, np.nan, X)
    model = PrincipalManifold(2, width=0.5, penalty=1e-3, init="eigenmaps").fit(holes)
    error = np.mean((model.inverse_transform(model.transform(holes)) - X)[missing] ** 2)
    means = np.where(missing, np.nanmean(holes, axis=0), X)
    assert error < 0.1 * np.mean((means - X)[missing] ** 2)
    for rank in (1, 2, 3, 4):
        completed = means.copy()
        for _ in range(100):
            pca = PCA(rank).fit(completed)
            completed[missing] = pca.inverse_transform(pca.transform(completed))[missing]
        assert error < np.mean((completed - X)[missing] ** 2)


def lifted(X, n_columns, noise):
    """The same rows turned in a space of more columns, with noise in all of them."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))[0][: X.shape[1]]
    return X @ turn + noise * rng.normal(size=(len(X), n_columns))


@pytest.mark.parametrize("noise", [0.02, 0.1])
@pytest.mark.parametrize(
    ("make", "n_components", "n_columns"),
    [
        pytest.param(make_arc, 1, 2, id="arc", marks=pytest.mark.slow),
        pytest.param(make_arc, 1, 5, id="arc-5", marks=pytest.mark.slow),
        pytest.param(make_spiral, 1, 6, id="spiral-6"),
        pytest.param(make_s_sheet, 2, 8, id="sheet-8", marks=pytest.mark.slow),
    ],
)
def test_imputes_better_than_principal_components_and_means(make, n_components, n_columns, noise):
    options = {"angle": 4.0} if make is make_arc else {}
    X = lifted(make(400, noise=0.0, random_state=0, **options)[0], n_columns, noise)
    missing = np.random.default_rng(0).random(X.shape) < 0.2
    missing[missing.all(axis=1), 0] = False
    holes = np.where(missing, np.nan, X)
    filled = PrincipalManifold(n_components, random_state=0).fit(holes).impute(holes)
    np.testing.assert_allclose(filled[~missing], X[~missing], rtol=1e-12)
    error = np.mean((filled - X)[missing] ** 2)
    means = np.where(missing, np.nanmean(holes, axis=0), X)
    assert error < np.mean((means - X)[missing] ** 2)
    for rank in range(1, min(n_columns, 5)):
        completed = means.copy()
        for _ in range(100):
            pca = PCA(rank).fit(completed)
            completed[missing] = pca.inverse_transform(pca.transform(completed))[missing]
        assert error < np.mean((completed - X)[missing] ** 2)


def test_single_precision_is_kept():
    X, _ = make_arc(100, angle=3.0, noise=0.05, random_state=0)
    model = PrincipalManifold(1, width=0.5, penalty=1e-3, init="isomap")
    Z = model.fit_transform(X.astype(np.float32))
    assert Z.dtype == model.transform(X.astype(np.float32)).dtype == model.inverse_transform(Z).dtype == np.float32
    assert model.impute(X.astype(np.float32)).dtype == np.float32
    assert model.transform(X).dtype == model.inverse_transform(model.transform(X)).dtype == np.float64
    np.testing.assert_allclose(Z, clone(model).fit_transform(X), atol=1e-4)


def test_interruption_of_the_starts(monkeypatch):
    from mercer.manifolds.principal import starts

    def interrupted(X, space, method, **options):
        if method != "pca":
            raise KeyboardInterrupt
        return start_coordinates(X, space, method, **options)

    start_coordinates = starts.start_coordinates
    monkeypatch.setattr(starts, "start_coordinates", interrupted)
    X, _ = make_arc(100, angle=2.0, noise=0.05, random_state=0)
    model = PrincipalManifold(1, width=0.5, penalty=1e-3).fit(X)
    assert model.status_ == "interrupted"
    assert model.init_ == "pca"
    assert model.transform(X).shape == (100, 1)


def test_both_ways_and_geometry():
    X, _ = make_s_sheet(300, random_state=0)
    model = PrincipalManifold(2, width=(0.4, 0.8), penalty=1e-3, init="isomap").fit(X)
    Z = model.transform(X)
    np.testing.assert_allclose(Z, model.embedding_, atol=1e-4)
    F = model.inverse_transform(Z)
    np.testing.assert_allclose(model.distance_to_manifold(X), np.linalg.norm(X - F, axis=1), atol=1e-6)
    np.testing.assert_allclose(model.quantization_error(X), np.mean(np.sum((X - F) ** 2, axis=1)), rtol=1e-6)
    assert model.score(X) == -model.quantization_error(X)
    T, G = model.tangent(Z), model.metric(Z)
    assert T.shape == (300, 2, 3)
    np.testing.assert_allclose(G, np.einsum("iac,ibc->iab", T, T))
    inner = np.abs(Z).max(axis=1) < 1 - 1e-9  # at a minimum inside, residuals are normal to the manifold
    np.testing.assert_allclose(np.einsum("iac,ic->ia", T, X - F)[inner], 0, atol=1e-4)
    assert model.get_feature_names_out().tolist() == ["principalmanifold0", "principalmanifold1"]
    with pytest.raises(ValueError, match="n_components of PrincipalManifold must be 1 for a length, got 2"):
        model.arc_length(Z)


def test_given_start_kernel_and_annealing():
    X, t = make_arc(200, noise=0.05, random_state=0)
    given = PrincipalManifold(
        1, topology="circle", kernel=Periodized(Gaussian(0.4), period=2.0), penalty=3e-4, init=t[:, None] / np.pi
    )
    given.fit(X)
    assert given.init_ == "given"
    assert given.quantization_error(X) < 0.004
    annealed = PrincipalManifold(1, width=0.3, penalty=1e-5, annealing=3, init="isomap").fit(X)
    assert annealed.penalty_ == pytest.approx(1e-5)


def test_warm_start_and_max_iter():
    X, _ = make_spiral(200, random_state=0)
    model = PrincipalManifold(1, width=0.2, penalty=3e-4, init="isomap", warm_start=True, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 iterations; raise max_iter"):
        model.fit(X)
    first = model.objective_
    assert model.status_ == "max_iter"
    model.set_params(max_iter=300).fit(X)
    assert model.init_ == "warm_start"
    assert model.objective_ <= first
    assert model.status_ == "optimal"


def test_samples_grow_to_all_rows(monkeypatch):
    X, t = make_arc(2000, angle=4.0, noise=0.05, random_state=0)
    sizes = []

    def counted(rows, *arguments, **options):
        sizes.append(len(rows))
        return fit_manifold(rows, *arguments, **options)

    monkeypatch.setattr(training, "fit_manifold", counted)
    monkeypatch.setattr(training, "TUNING", training.TrainingTuning(start_rows=60))
    model = PrincipalManifold(1, width=0.5, penalty=3e-4, init="isomap", random_state=0).fit(X)
    assert sizes == [60, 125, 500]
    assert abs(spearmanr(model.embedding_[:, 0], t)[0]) > 0.99


def test_many_rows_start_from_a_sample():
    X, t = make_arc(4000, angle=4.0, noise=0.05, random_state=0)
    fits = [PrincipalManifold(1, width=0.5, penalty=3e-4, random_state=0).fit(X) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].embedding_, fits[1].embedding_)
    assert abs(spearmanr(fits[0].embedding_[:, 0], t)[0]) > 0.99


def test_constant_columns_are_kept():
    X, _ = make_arc(100, angle=3.0, random_state=0)
    X = np.column_stack([X, np.full(100, 7.0)])
    model = PrincipalManifold(1, width=0.3, penalty=3e-4, init="isomap").fit(X)
    np.testing.assert_allclose(model.inverse_transform(BOX)[:, 2], 7.0, atol=1e-6)


def test_fewer_rows_than_nodes():
    X, _ = make_s_sheet(20, random_state=0)
    assert len(PrincipalManifold(2, tol=1e-3).fit(X).nodes_) <= 20
    with pytest.raises(ValueError, match="n_nodes of PrincipalManifold must be at most the number of rows, 20, got 49"):
        PrincipalManifold(2, n_nodes=49).fit(X)


def test_refuses_bad_rows():
    X, _ = make_arc(50, random_state=0)
    model = PrincipalManifold(1, width=0.2, penalty=3e-4, init="pca").fit(X)
    with pytest.raises(ValueError, match="X of PrincipalManifold must have rows that differ, got 50 equal ones"):
        PrincipalManifold(1).fit(np.ones((50, 2)))
    holes = X.copy()
    holes[3] = np.nan
    for use in (PrincipalManifold(1).fit, model.transform):
        with pytest.raises(ValueError, match="X of PrincipalManifold must have a known entry in every row, got 1 rows"):
            use(holes)
    holes = X.copy()
    holes[:, 1] = np.nan
    with pytest.raises(ValueError, match=r"a known entry in every column, got NaN only in columns \[1\]"):
        PrincipalManifold(1).fit(holes)
    with pytest.raises(ValueError, match="at most the number of columns, n_features=2, got 3"):
        PrincipalManifold(3).fit(X)


def test_refuses_points_outside():
    X, _ = make_arc(50, angle=3.0, random_state=0)
    model = PrincipalManifold(1, width=0.2, penalty=3e-4, init="pca").fit(X)
    for use in (model.inverse_transform, model.tangent, model.arc_length):
        with pytest.raises(ValueError, match=r"Z of PrincipalManifold must be within \[-1, 1\] .* got \[1.5\]"):
            use([[0.0], [1.5]])
    with pytest.raises(ValueError, match="Z of PrincipalManifold must have 1 columns, one for each coordinate, got 2"):
        model.inverse_transform([[0.0, 0.0]])
    with pytest.raises(ValueError, match=r"init of PrincipalManifold must be within \[-1, 1\]"):
        PrincipalManifold(1, init=np.linspace(0, 2, 50)[:, None]).fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components of PrincipalManifold must be a whole number >= 1, got 0"),
        ({"topology": "sphere"}, "topology of PrincipalManifold must be 'interval', 'circle' or a tuple of 1"),
        ({"topology": "circle", "kernel": Gaussian()}, "must have period 2 in coordinate 0, which is a circle"),
        ({"kernel": Gaussian(), "width": 0.3}, "width of PrincipalManifold must be 'auto' if a kernel is given"),
        ({"width": -1.0}, "width of PrincipalManifold must be a number > 0, got -1.0"),
        ({"width": [0.3, 0.3]}, "width of PrincipalManifold must be a number or 1 of them"),
        ({"n_nodes": 1}, "n_nodes of PrincipalManifold must be a whole number >= 2"),
        ({"n_nodes": (5, 5)}, "n_nodes of PrincipalManifold must be a tuple of 1 numbers"),
        ({"n_components": 2, "n_nodes": 50}, "n_nodes of PrincipalManifold must be a power 2 of .* take 49"),
        ({"penalty": 0.0}, "penalty of PrincipalManifold must be a number > 0, got 0.0"),
        ({"cost": "cubic"}, "cost of PrincipalManifold must be one of .* got 'cubic'"),
        ({"cost": "huber", "sigma": -1}, "sigma of PrincipalManifold must be a number > 0, got -1"),
        ({"regularizer": "l3"}, "regularizer of PrincipalManifold must be one of .* got 'l3'"),
        ({"regularizer": "length", "topology": "circle"}, "regularizer of PrincipalManifold must be another"),
        ({"regularizer": "l1", "kernel": ThinPlate()}, "kernel of PrincipalManifold must be positive definite for reg"),
        ({"kernel": "gaussian"}, "kernel of PrincipalManifold must be a Kernel or None, got 'gaussian'"),
        ({"linear_part": "yes"}, "linear_part of PrincipalManifold must be True or False, got 'yes'"),
        ({"linear_part": True, "topology": "circle"}, "linear_part of PrincipalManifold must be False on circles"),
        ({"init": "random"}, "init of PrincipalManifold must be 'auto', one of .* got 'random'"),
        ({"init": np.zeros((3, 1))}, r"init of PrincipalManifold must be of shape \(60, 1\)"),
        ({"init": None}, r"init of .* must be of shape \(60, 1\), coordinates of the rows, got None; or take 'auto'"),
        ({"init": np.full((60, 1), np.nan)}, "Input init contains NaN"),
        ({"tol": 0}, "tol of PrincipalManifold must be a number > 0, got 0"),
        ({"max_iter": 0}, "max_iter of PrincipalManifold must be a whole number >= 1, got 0"),
        ({"annealing": -1}, "annealing of PrincipalManifold must be a whole number >= 0, got -1"),
    ],
)
def test_refuses_bad_parameters(parameters, message):
    X, _ = make_arc(60, random_state=0)
    with pytest.raises(ValueError, match=message):
        PrincipalManifold(**{"n_components": 1, **parameters}).fit(X)


@pytest.mark.parametrize("assignment", ["hard", "soft"])
def test_a_warm_start_has_the_parameters_that_were_set_since(assignment):
    X, _ = make_arc(60, noise=0.05, random_state=0)
    model = PrincipalManifold(1, width=0.4, penalty=1e-3, assignment=assignment, warm_start=True).fit(X)
    model.set_params(penalty=0.1, width=0.8, n_nodes=7).fit(X)
    assert (model.init_, model.penalty_, model.kernel_.width, len(model.nodes_)) == ("warm_start", 0.1, 0.8, 7)
    if assignment == "hard":
        np.testing.assert_allclose(model.objective_, clone(model).fit(X).objective_, rtol=1e-2)
    basis = model.fit_.map.basis
    assert model.fit(X).fit_.map.basis is basis


@pytest.mark.parametrize("regularizer", ["l1", "group_l1", "l2", "length"])
@pytest.mark.parametrize("width", [0.4, "auto"])
def test_a_warm_start_may_have_another_regularizer(regularizer, width):
    X, _ = make_arc(40, noise=0.05, random_state=0)
    model = PrincipalManifold(1, width=width, penalty=1e-3, tol=1e-3, warm_start=True).fit(X)
    model.set_params(regularizer=regularizer, width="auto" if regularizer == "length" else width).fit(X)
    assert isinstance(model.kernel_, Length) == (regularizer == "length")
    norm = as_map_penalty(regularizer).of_map(model.dual_coef_, model.kernel_(model.nodes_))
    np.testing.assert_allclose(model.objective_, model.quantization_error(X) + 1e-3 * norm, rtol=1e-6)


@pytest.mark.parametrize("callback", [3, "print"])
def test_callbacks_that_cannot_be_called_are_refused_before_the_fit(callback):
    X, _ = make_arc(60, random_state=0)
    with pytest.raises(TypeError, match="callback of PrincipalManifold must be callable or None, got"):
        PrincipalManifold(1, callback=callback).fit(X)


@pytest.mark.parametrize("scale", [1e300, 1e100, 1e-300])
@pytest.mark.parametrize(
    "model",
    [PrincipalManifold(1, width=0.5, penalty=1e-3), GenerativeTopographicMap(1)],
    ids=lambda model: type(model).__name__,
)
def test_units_in_which_squares_are_no_numbers(model, scale):
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(ValueError, match="take another unit"):
        clone(model).fit(scale * X)


def test_equal_rows_of_numbers_that_rounding_makes_differ():
    with pytest.raises(ValueError, match="got 60 equal ones; there is no map"):
        GenerativeTopographicMap(1).fit(np.full((60, 3), 0.1))


def test_it_does_not_matter_where_the_rows_lie():
    X = np.random.default_rng(0).normal(size=(60, 3))
    near, far = (PrincipalManifold(1, width=0.5, penalty=1e-3, init="pca").fit(X + shift) for shift in (0.0, 1e8))
    np.testing.assert_allclose(far.quantization_error(X + 1e8), near.quantization_error(X), rtol=1e-5)
    np.testing.assert_allclose(
        far.inverse_transform(near.embedding_) - 1e8, near.inverse_transform(near.embedding_), atol=1e-4
    )
    np.testing.assert_allclose(far.intercept_ - 1e8, near.intercept_, atol=1e-4)


@pytest.mark.parametrize(
    "method", ["transform", "inverse_transform", "impute", "tangent", "metric", "arc_length", "sample"]
)
def test_methods_before_a_fit(method):
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(PrincipalManifold(1), method)(np.zeros((1, 1)))
