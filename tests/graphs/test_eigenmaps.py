import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import spectral_embedding

from mercer import DiffusionMap, LaplacianEigenmaps
from mercer.graphs import base, walk_spectrum
from mercer.kernels import Gaussian, RadialBSpline

rng = np.random.default_rng(0)
X = rng.uniform(size=(200, 2)) @ rng.normal(size=(2, 4))
TWO = np.vstack([rng.normal(size=(60, 2)), rng.normal(size=(40, 2)) + np.array([30.0, 0.0])])
AFFINITIES = {
    "neighbours": {"width": None},
    "auto": {},
    "local": {"width": "local"},
    "number": {"width": 0.3, "symmetric": "weighted"},
    "mutual": {"symmetric": "mutual", "n_neighbors": 15},
    "brute": {"neighbors": "brute"},
    "radius": {"affinity": "radius", "radius": 0.6},
    "kernel": {"affinity": Gaussian(0.3)},
}


def assert_equal_up_to_scale(actual, desired, atol):
    for a, b in zip(actual.T, desired.T, strict=True):
        a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
        np.testing.assert_allclose(a * np.sign(a @ b), b, atol=atol)


@pytest.mark.parametrize("solver", ["dense", "factor", "lanczos"])
@pytest.mark.parametrize("options", [{}, {"width": None}, {"affinity": Gaussian(0.2)}], ids=["auto", "equal", "kernel"])
def test_agrees_with_scikit_learn(options, solver):
    W = LaplacianEigenmaps(3, **options).fit(X).graph_
    W = sparse.csr_array(W)
    W = W - sparse.diags_array(W.diagonal())
    ours = LaplacianEigenmaps(3, affinity="precomputed", eigen_solver=solver).fit(W)
    theirs = spectral_embedding(
        W.toarray(), n_components=3, eigen_solver="arpack", drop_first=True, random_state=0, eigen_tol=1e-12
    )
    assert_equal_up_to_scale(ours.embedding_, theirs, 1e-6)
    assert ours.eigen_solver_ == solver
    assert ours.residuals_.max() < 1e-8


def test_coordinates_solve_the_generalised_problem():
    maps = LaplacianEigenmaps(4).fit(X)
    W = maps.graph_.toarray()
    D = np.diag(W.sum(axis=1))
    Y = maps.embedding_
    np.testing.assert_allclose((D - W) @ Y, D @ Y * maps.eigenvalues_, atol=1e-7)
    np.testing.assert_allclose(Y.T @ D @ Y / D.sum(), np.eye(4), atol=1e-9)
    np.testing.assert_allclose(D.sum(axis=0) @ Y, 0.0, atol=1e-9)
    assert np.all(np.diff(maps.eigenvalues_) >= 0)


@pytest.mark.parametrize("solver", ["dense", "factor", "lanczos"])
@pytest.mark.parametrize("name", AFFINITIES)
@pytest.mark.parametrize("make", [LaplacianEigenmaps, lambda **options: DiffusionMap(t=3, **options)])
def test_training_rows_keep_their_coordinates(make, name, solver):
    maps = make(n_components=3, eigen_solver=solver, **AFFINITIES[name])
    Z = maps.fit_transform(X)
    np.testing.assert_allclose(maps.transform(X), Z, atol=1e-8)
    np.testing.assert_array_equal(maps.transform(X[::-1]), maps.transform(X)[::-1])
    np.testing.assert_array_equal(maps.embedding_, Z)


@pytest.mark.parametrize("solver", ["dense", "factor", "lanczos"])
def test_given_weights_of_training_rows_give_their_coordinates(solver):
    W = LaplacianEigenmaps(n_neighbors=12).fit(X).graph_
    for maps in (
        LaplacianEigenmaps(5, affinity="precomputed", eigen_solver=solver),
        DiffusionMap(5, affinity="precomputed", alpha=0.5, eigen_solver=solver),
    ):
        np.testing.assert_allclose(maps.fit_transform(W), maps.transform(W), atol=1e-8)
        np.testing.assert_allclose(maps.fit_transform(W), maps.transform(W.toarray()), atol=1e-8)


@pytest.mark.parametrize("name", AFFINITIES)
@pytest.mark.parametrize("estimator", [LaplacianEigenmaps, DiffusionMap])
def test_new_rows_land_among_their_neighbours(estimator, name):
    t = rng.uniform(size=(600, 2))
    plane = rng.normal(size=(2, 4))
    maps = estimator(2, **AFFINITIES[name]).fit(t @ plane)
    new = rng.uniform(0.1, 0.9, size=(100, 2))
    nearest = np.argsort(np.sum((new[:, None] - t) ** 2, axis=2), axis=1)[:, :5]
    expected = maps.embedding_[nearest].mean(axis=1)
    error = maps.transform(new @ plane) - expected
    assert np.sqrt(np.mean(error**2)) < 0.1 * maps.embedding_.std()


def test_new_rows_by_the_formula():
    maps = LaplacianEigenmaps(2, n_neighbors=6, width=0.4).fit(X)
    new = X[:5] + 0.05
    D = np.sqrt(np.sum((new[:, None] - X) ** 2, axis=2))
    K = np.exp(-(D**2) / (2 * 0.4**2)) * (np.sort(D, axis=1)[:, [5]] >= D)
    expected = (K @ maps.embedding_) / K.sum(axis=1, keepdims=True) / (1 - maps.eigenvalues_)
    np.testing.assert_allclose(maps.transform(new), expected, rtol=1e-7)
    diffusion = DiffusionMap(2, n_neighbors=6, width=0.4, alpha=0.7, t=2).fit(X)
    K = K / np.asarray(diffusion.graph_.sum(axis=1)).ravel() ** 0.7
    expected = (K @ diffusion.embedding_) / K.sum(axis=1, keepdims=True) / (1 - diffusion.eigenvalues_)
    np.testing.assert_allclose(diffusion.transform(new), expected, rtol=1e-7)


@pytest.mark.parametrize("t", [0, 1, 2, 3, 2.5])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("affinity", ["neighbors", Gaussian(0.5)], ids=["neighbours", "kernel"])
def test_distances_are_those_of_the_random_walk(affinity, alpha, t):
    rows = X[:40]
    maps = DiffusionMap(39, affinity=affinity, n_neighbors=8, alpha=alpha, t=t).fit(rows)
    W = maps.graph_.toarray() if sparse.issparse(maps.graph_) else maps.graph_
    q = W.sum(axis=1) ** alpha
    W = W / np.outer(q, q)
    d = W.sum(axis=1)
    if t == int(t):
        walk = np.linalg.matrix_power(W / d[:, None], int(t))
    else:
        values, vectors = np.linalg.eigh(W / np.sqrt(np.outer(d, d)))
        walk = (vectors * np.abs(values) ** t) @ vectors.T * np.sqrt(d) / np.sqrt(d)[:, None]
    differences = walk[:, None] - walk
    expected = np.sum(differences**2 / (d / d.sum()), axis=2)
    Z = maps.embedding_
    np.testing.assert_allclose(np.sum((Z[:, None] - Z) ** 2, axis=2), expected, atol=1e-8 * expected.max())


def test_alpha_removes_the_density():
    t = np.sort(np.random.default_rng(0).uniform(size=600) ** 2)
    curve = np.column_stack([np.cos(2.5 * t), np.sin(2.5 * t)])
    # The first coordinate of an interval is the cosine of its length, whatever the density, if that is removed.
    length = np.cos(np.pi * (t - t[0]) / (t[-1] - t[0]))
    fits = {}
    for alpha in (0.0, 1.0):
        z = DiffusionMap(1, affinity=Gaussian(0.04), alpha=alpha).fit_transform(curve)[:, 0]
        fits[alpha] = abs(np.corrcoef(z, length)[0, 1])
    assert fits[1.0] > 0.9995
    assert 1 - fits[1.0] < 0.1 * (1 - fits[0.0])


def test_time_by_itself():
    for k in (1, 3, 6):
        maps = DiffusionMap(k, t="auto", alpha=0.0).fit(X)
        theta = walk_spectrum(maps.graph_, k + 2).values
        shrunk = (theta[k + 1] / theta[1]) ** np.array([maps.t_, maps.t_ - 1])
        first = theta[1] ** np.array([maps.t_, maps.t_ - 1])
        assert maps.t_ == int(maps.t_) >= 1
        assert shrunk[0] <= 0.1 or first[0] <= 0.1
        assert maps.t_ == 1 or (shrunk[1] > 0.1 and first[1] > 0.1)
    assert DiffusionMap(39, n_neighbors=5, t="auto").fit(X[:40]).t_ == 1.0
    assert DiffusionMap(1, affinity="precomputed", t="auto").fit(np.ones((4, 4)) - np.eye(4)).t_ == 1.0
    ring = np.linspace(0, 2 * np.pi, 80, endpoint=False)
    circle = DiffusionMap(1, n_neighbors=2, width=None, t="auto").fit(np.column_stack([np.cos(ring), np.sin(ring)]))
    assert 0.09 < (1 - circle.eigenvalues_[0]) ** circle.t_ < 0.11
    assert DiffusionMap(t=2.5).fit(X).t_ == 2.5


def test_parts_are_joined_by_the_shortest_links():
    maps = LaplacianEigenmaps(2, n_neighbors=5)
    with pytest.warns(UserWarning, match="LaplacianEigenmaps has 2 connected parts .* joined by the shortest links"):
        maps.fit(TWO)
    assert maps.n_parts_ == 2
    np.testing.assert_array_equal(np.bincount(maps.part_of_), [60, 40])
    crossing = maps.graph_[:60, 60:]
    assert crossing.nnz == 1
    i, j = crossing.nonzero()
    D = np.sqrt(np.sum((TWO[:60, None] - TWO[60:]) ** 2, axis=2))
    assert D[i, j] == D.min()
    sides = maps.embedding_[:, 0] > 0
    assert len(set(sides[:60])) == len(set(sides[60:])) == 1
    np.testing.assert_allclose(maps.transform(TWO), maps.embedding_, atol=1e-8)


@pytest.mark.parametrize(
    "options", [{}, {"affinity": "radius", "radius": 2.2}, {"affinity": RadialBSpline(1, width=2.0)}]
)
@pytest.mark.parametrize("estimator", [LaplacianEigenmaps, DiffusionMap])
def test_parts_one_by_one(estimator, options):
    rows = np.vstack([TWO, [[-40.0, 0.0]]]) if options else TWO
    each = estimator(2, n_neighbors=5, disconnected="each", **options)
    with pytest.warns(UserWarning, match="connected parts .* each was embedded on its own"):
        Z = each.fit_transform(rows)
    largest = estimator(2, n_neighbors=5, disconnected="largest", **options)
    with pytest.warns(UserWarning, match="only the largest, of 60 rows, was embedded: the others are NaN"):
        only = largest.fit_transform(rows)
    first = np.arange(60)
    assert_equal_up_to_scale(Z[first], only[first], 1e-7)
    assert np.all(np.isnan(only[60:]))
    assert np.all(np.isfinite(Z))
    W = sparse.csr_array(each.graph_)[60:100][:, 60:100]
    alone = estimator(2, affinity="precomputed").fit(W)
    assert_equal_up_to_scale(Z[60:100], alone.embedding_, 1e-7)
    np.testing.assert_allclose(np.abs(Z[60:100]).max(axis=0), np.abs(alone.embedding_).max(axis=0), rtol=1e-7)
    for maps in (each, largest):
        np.testing.assert_allclose(maps.transform(rows), maps.embedding_, atol=1e-8)
        assert np.isfinite(maps.transform([[0.1, 0.0]])).all()
    assert np.isfinite(each.transform([[30.0, 0.1]])).all()
    with pytest.warns(UserWarning, match="gives NaN to new rows: 1 are nearest to connected parts that were not embed"):
        new = largest.transform([[30.0, 0.1], [0.1, 0.0]])
    np.testing.assert_array_equal(np.isnan(new), [[True] * 2, [False] * 2])
    if options:
        np.testing.assert_array_equal(Z[100], 0.0)


def test_rows_without_weights_are_parts_of_their_own():
    W = np.zeros((8, 8))
    W[:6, :6] = rng.uniform(0.5, 1, size=(6, 6))
    W = W + W.T
    for estimator in (LaplacianEigenmaps, DiffusionMap):
        with pytest.warns(UserWarning, match="3 connected parts"):
            Z = estimator(2, affinity="precomputed", disconnected="each").fit_transform(W)
        np.testing.assert_array_equal(Z[6:], 0.0)
        with pytest.warns(UserWarning, match="3 connected parts"):
            Z = estimator(2, affinity="precomputed", disconnected="largest").fit_transform(W)
        assert np.isfinite(Z[:6]).all()
        assert np.isnan(Z[6:]).all()
        with pytest.raises(ValueError, match="must be the affinity of a graph in one part to be joined, got 3 parts"):
            estimator(2, affinity="precomputed").fit(W)


def test_new_rows_without_neighbours_are_reported():
    maps = LaplacianEigenmaps(2, affinity="radius", radius=0.8).fit(X)
    with pytest.warns(
        UserWarning, match="LaplacianEigenmaps gives NaN to new rows: 1 have no neighbour in the graph\\."
    ):
        Z = maps.transform(np.vstack([X[:2], X[:1] + 100.0]))
    np.testing.assert_array_equal(np.isnan(Z), [[False] * 2, [False] * 2, [True] * 2])
    assert np.isfinite(LaplacianEigenmaps(2).fit(X).transform(X[:1] + 100.0)).all()


def test_coordinates_without_an_eigenvalue_are_unknown_elsewhere():
    star = np.zeros((6, 6))
    star[0, 1:] = star[1:, 0] = 1.0
    maps = LaplacianEigenmaps(2, affinity="precomputed").fit(star)
    with pytest.warns(UserWarning, match="gives NaN to new rows: columns 0, 1 belong to θ = 0 and are known at"):
        assert np.isnan(maps.transform(star)).all()
    diffusion = DiffusionMap(2, affinity="precomputed", alpha=0.0).fit(star)
    np.testing.assert_allclose(diffusion.transform(star), diffusion.embedding_, atol=1e-8)


@pytest.mark.parametrize("estimator", [LaplacianEigenmaps, DiffusionMap])
def test_going_back(estimator):
    u = np.random.default_rng(0).uniform(size=(1500, 2))
    surface = np.column_stack([u, 0.3 * np.sin(3 * u[:, 0])])
    maps = estimator(2, n_neighbors=10).fit(surface)
    back = maps.inverse_transform(maps.embedding_)
    assert np.sqrt(np.mean(np.sum((back - surface) ** 2, axis=1))) < 0.05 * np.sqrt(np.sum(surface.var(axis=0)))
    sparse_maps = estimator(2, n_neighbors=10).fit(sparse.csr_array(X))
    dense_maps = estimator(2, n_neighbors=10).fit(X)
    Z = dense_maps.embedding_[:7]
    np.testing.assert_allclose(
        sparse_maps.inverse_transform(sparse_maps.embedding_[:7]), dense_maps.inverse_transform(Z), atol=1e-6
    )
    few = estimator(1, n_neighbors=2).fit(X[:4])
    assert few.inverse_transform([[100.0]]).shape == (1, 4)


def test_going_back_where_rows_are_equal_or_left_out():
    twice = np.repeat(rng.normal(size=(30, 2)), 12, axis=0)
    kernel = LaplacianEigenmaps(2, affinity=Gaussian(1.0)).fit(twice)
    np.testing.assert_allclose(kernel.inverse_transform(kernel.embedding_), twice, atol=1e-6)
    with pytest.warns(UserWarning, match="connected parts"):
        largest = LaplacianEigenmaps(2, n_neighbors=5, disconnected="largest").fit(TWO)
    assert np.all(largest.inverse_transform(largest.embedding_[:60])[:, 0] < 10)


def test_what_has_not_converged_is_reported(monkeypatch):
    monkeypatch.setattr(
        base, "walk_spectrum", lambda W, k, *, method, tol: walk_spectrum(W, k, method="lanczos", tol=tol, max_iter=1)
    )
    line = np.arange(2000.0)[:, None]
    maps = LaplacianEigenmaps(6, n_neighbors=2, width=None, eigen_solver="lanczos")
    with pytest.warns(
        ConvergenceWarning, match="eigenvectors of LaplacianEigenmaps have residuals up to .* raise n_nei"
    ):
        maps.fit(line)
    assert maps.embedding_.shape == (2000, 6)
    assert maps.residuals_.max() > 1e-8
