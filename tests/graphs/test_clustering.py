import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.mixture import GaussianMixture

from mercer import LaplacianEigenmaps, SpectralClustering
from mercer.datasets import load_usps
from mercer.graphs import eigengaps, walk_spectrum
from mercer.kernels import Gaussian
from tests.datasets.folders import use_data

rng = np.random.default_rng(0)
BLOBS, BLOB = make_blobs(200, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
APART = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(20, 2)) + 50, rng.normal(size=(25, 2)) - 50])


def circles(noise, seed, n=400):
    return make_circles(n, factor=0.4, noise=noise, random_state=seed)


def moons(noise, seed, n=400):
    return make_moons(n, noise=noise, random_state=seed)


@pytest.mark.parametrize("width", [None, "auto", "local"])
@pytest.mark.parametrize("noise", [0.03, 0.045, 0.06])
@pytest.mark.parametrize("make", [circles, moons])
def test_circles_and_moons_without_error(make, noise, width):
    for seed in range(3):
        X, y = make(noise, seed)
        labels = SpectralClustering(2, width=width, random_state=0).fit_predict(X)
        assert adjusted_rand_score(y, labels) == 1.0


@pytest.mark.parametrize(("make", "noise"), [(circles, 0.03), (circles, 0.06), (moons, 0.03), (moons, 0.05)])
def test_the_gap_finds_both(make, noise):
    for seed in range(4):
        X, y = make(noise, seed)
        clustering = SpectralClustering(random_state=0).fit(X)
        assert clustering.n_clusters_ == 2
        assert adjusted_rand_score(y, clustering.labels_) == 1.0
        assert len(clustering.eigenvalues_) == 21
        new, y_new = make(noise, seed + 100)
        assert adjusted_rand_score(y_new, clustering.predict(new)) == 1.0


def test_the_gap_finds_as_many_as_there_are():
    for k in (1, 3, 5):
        centres = 12 * np.stack([np.cos(2 * np.pi * np.arange(k) / k), np.sin(2 * np.pi * np.arange(k) / k)], axis=1)
        X, y = make_blobs(300, centers=centres, random_state=0)
        clustering = SpectralClustering(random_state=0).fit(X)
        assert clustering.n_clusters_ == k
        assert adjusted_rand_score(y, clustering.labels_) == 1.0


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_gaps(dimension):
    m = np.arange(21)
    one = 0.3 * (m / 20) ** (2 / dimension)
    gaps = eigengaps(one)
    np.testing.assert_allclose(gaps[0], min(np.log(16) * 2 / dimension, np.log(2000 / 20 ** (2 / dimension))))
    np.testing.assert_allclose(gaps[1:], np.log(m[2:] / m[1:-1]) * 2 / dimension)
    assert gaps.argmax() + 1 == 1
    two = np.repeat(one, 2)[:21]  # twice the same cluster
    assert eigengaps(two).argmax() + 1 == 2
    np.testing.assert_array_equal(eigengaps(np.zeros(3)), 0.0)
    np.testing.assert_allclose(eigengaps([-1e-17, 0.5]), [np.log(256.0)])


@pytest.mark.parametrize("lam", [[0.0], [], [[0.0, 1.0]], [0.0, np.nan]])
def test_gaps_need_two_eigenvalues(lam):
    with pytest.raises(
        ValueError, match="lam of eigengaps must be two finite numbers or more, got .*; give eigenvalues"
    ):
        eigengaps(lam)


def clustering_error(y, labels):
    """The share of rows outside of the cluster of their class, the best one-to-one choice of clusters."""
    counts = contingency_matrix(y, labels)
    return 1 - counts[linear_sum_assignment(-counts)].sum() / len(y)


@pytest.mark.parametrize("width", [None, "auto", "local"])
def test_clusters_of_unequal_density_in_many_dimensions(width):
    """Pairs in the dense cluster are at distance 1.4, neighbours in the other two at 12."""
    y = np.repeat([0, 1, 2], 300)
    for seed in range(3):
        draw = np.random.default_rng(seed)
        centres = 8 * np.linalg.qr(draw.normal(size=(100, 3)))[0].T
        rows = centres[y] + np.array([0.1, 1.0, 1.0])[y, None] * draw.normal(size=(900, 100))
        labels = SpectralClustering(3, width=width, random_state=0).fit_predict(rows)
        assert clustering_error(y, labels) == 0.0


@pytest.mark.parametrize("draws", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_digits_one_two_three(draws, monkeypatch):
    """The example of the notes on representation learning."""
    use_data(monkeypatch, "usps")
    X, y = (np.concatenate(parts) for parts in zip(load_usps("train"), load_usps("test"), strict=True))
    for seed in range(draws):
        draw = np.random.default_rng(seed)
        rows = np.concatenate([draw.choice(np.flatnonzero(y == digit), 700, replace=False) for digit in (1, 2, 3)])
        labels = SpectralClustering(3, random_state=0).fit_predict(X[rows])
        assert clustering_error(y[rows], labels) < 0.05
        Z = LaplacianEigenmaps(2).fit_transform(X[rows])
        assert clustering_error(y[rows], KMeans(3, n_init=10, random_state=0).fit_predict(Z)) < 0.05


def test_points_are_those_of_the_walk():
    clustering = SpectralClustering(3, random_state=0).fit(BLOBS)
    W = clustering.graph_.toarray()
    d = W.sum(axis=1)
    values, vectors = np.linalg.eigh(W / np.sqrt(np.outer(d, d)))
    points = (vectors / np.sqrt(d)[:, None])[:, :-4:-1] * np.sqrt(values[:-4:-1])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    # Points are known up to the signs of coordinates.
    np.testing.assert_allclose(clustering.embedding_ @ clustering.embedding_.T, points @ points.T, atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(clustering.embedding_, axis=1), 1.0)
    np.testing.assert_allclose(clustering.eigenvalues_, 1 - values[:-5:-1], atol=1e-9)


@pytest.mark.parametrize(
    "clusterer",
    [
        None,
        KMeans(3, random_state=0),
        AgglomerativeClustering(3),
        GaussianMixture(3, reg_covar=1e-4, random_state=0),
        DBSCAN(eps=0.3),
    ],
)
@pytest.mark.parametrize("options", [{}, {"affinity": "radius", "radius": 1.8}, {"affinity": Gaussian(1.0)}])
def test_any_clusterer_and_new_rows(clusterer, options):
    rows, y = BLOBS[:150], BLOB[:150]
    clustering = SpectralClustering(3, clusterer=clusterer, random_state=0, **options).fit(rows)
    assert adjusted_rand_score(y, clustering.labels_) > 0.95
    np.testing.assert_array_equal(
        clustering.predict(rows[clustering.labels_ >= 0]), clustering.labels_[clustering.labels_ >= 0]
    )
    near = np.array([[0.1, 0.2], [5.9, 0.1], [0.1, 6.1]])
    expected = [clustering.labels_[np.argmin(np.sum((rows - row) ** 2, axis=1))] for row in near]
    np.testing.assert_array_equal(clustering.predict(near), expected)
    assert clusterer is None or clustering.clusterer_ is not clusterer


def test_noise_is_no_cluster_of_new_rows():
    clustering = SpectralClustering(3, clusterer=DBSCAN(eps=0.01, min_samples=10)).fit(BLOBS)
    assert set(clustering.labels_) > {-1}
    assert -1 not in clustering.predict(BLOBS + 0.01)
    nothing = SpectralClustering(3, clusterer=DBSCAN(min_samples=500)).fit(BLOBS)
    np.testing.assert_array_equal(nothing.predict(BLOBS[:3] + 0.01), -1)


def test_parts_are_clusters():
    truth = np.repeat([0, 1, 2], [30, 20, 25])
    for n_clusters in ("auto", 3):
        clustering = SpectralClustering(n_clusters, n_neighbors=6, random_state=0).fit(APART)
        assert clustering.n_parts_ == clustering.n_clusters_ == 3
        assert adjusted_rand_score(truth, clustering.labels_) == 1.0
        np.testing.assert_array_equal(np.bincount(clustering.part_of_), [30, 25, 20])
        np.testing.assert_allclose(clustering.eigenvalues_[:3], 0.0, atol=1e-14)
        assert clustering.eigenvalues_[3] > 0.01
        np.testing.assert_array_equal(clustering.predict(APART + 0.01), clustering.labels_)
    more = SpectralClustering(5, n_neighbors=6, random_state=0).fit(APART)
    assert len(set(more.labels_)) == 5
    assert all(len(set(truth[more.labels_ == label])) == 1 for label in range(5))
    merged = np.concatenate([walk_spectrum(more.graph_[p][:, p], 6).values for p in np.split(np.arange(75), [30, 50])])
    np.testing.assert_allclose(more.eigenvalues_, np.sort(1 - merged)[:6], atol=1e-9)


def test_fewer_clusters_than_parts_are_joined():
    clustering = SpectralClustering(2, n_neighbors=6, random_state=0)
    with pytest.warns(UserWarning, match="SpectralClustering has 3 connected parts .* joined by the shortest links"):
        clustering.fit(np.vstack([APART[:50], APART[50:] + np.array([60.0, 50.0])]))
    assert clustering.n_parts_ == 3
    assert len(set(clustering.labels_[:30]) | set(clustering.labels_[50:])) == 1
    assert not set(clustering.labels_[:30]) & set(clustering.labels_[30:50])
    with pytest.raises(
        ValueError, match="X of SpectralClustering must be .* in one part .* ask for 3 clusters or more"
    ):
        SpectralClustering(2, affinity="precomputed").fit(np.kron(np.eye(3), np.ones((4, 4))))


def test_rows_on_their_own_are_clusters():
    W = np.zeros((12, 12))
    W[:5, :5] = W[5:10, 5:10] = 1.0
    clustering = SpectralClustering(affinity="precomputed", random_state=0).fit(W)
    assert clustering.n_clusters_ == clustering.n_parts_ == 4
    assert adjusted_rand_score([0] * 5 + [1] * 5 + [2, 3], clustering.labels_) == 1.0
    np.testing.assert_array_equal(clustering.predict(W[:10]), clustering.labels_[:10])
    many = SpectralClustering(affinity="precomputed", random_state=0).fit(sparse.block_diag([np.ones((3, 3))] * 40))
    assert many.n_clusters_ == 40
    assert adjusted_rand_score(np.repeat(np.arange(40), 3), many.labels_) == 1.0


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_a_graph_without_edges_has_no_gap(stored):
    with pytest.raises(ValueError, match="n_clusters of SpectralClustering must be a number for a graph without edges"):
        SpectralClustering(affinity="precomputed").fit(stored(np.eye(6)))
    with pytest.raises(ValueError, match="edges between rows, got 'auto'; give one, or larger weights"):
        SpectralClustering(width=1e-200).fit(BLOBS)
    every = SpectralClustering(6, affinity="precomputed", random_state=0).fit(stored(np.eye(6)))
    assert len(set(every.labels_)) == len(every.eigenvalues_) == 6
    with pytest.raises(ValueError, match="one part to be joined, got 6 parts.* ask for 6 clusters or more"):
        SpectralClustering(2, affinity="precomputed").fit(stored(np.eye(6)))


def test_rows_without_neighbours_are_not_clustered():
    clustering = SpectralClustering(3, affinity="radius", radius=1.8, random_state=0).fit(BLOBS)
    with (
        pytest.warns(UserWarning, match="SpectralClustering gives NaN to new rows: 1 have no neighbour in the graph"),
        pytest.raises(ValueError, match="X of SpectralClustering must have neighbours in the graph to be clustered"),
    ):
        clustering.predict([[100.0, 100.0]])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_clusters": 0}, ValueError, "n_clusters of SpectralClustering must be from 1 to 200 for 200 rows, got 0"),
        ({"n_clusters": 201}, ValueError, "n_clusters of SpectralClustering must be from 1 to 200 .* ask for fewer"),
        ({"n_clusters": 2.0}, ValueError, "n_clusters of SpectralClustering must be 'auto' or a whole number >= 1"),
        ({"n_clusters": True}, ValueError, "n_clusters of SpectralClustering must be 'auto' or a whole number >= 1"),
        ({"n_clusters": "many"}, ValueError, "n_clusters of SpectralClustering must be 'auto' or a whole number"),
        ({"clusterer": "kmeans"}, TypeError, "clusterer of SpectralClustering must be an estimator with fit_predict"),
    ],
)
def test_bad_parameters_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        SpectralClustering(**options).fit(BLOBS)
