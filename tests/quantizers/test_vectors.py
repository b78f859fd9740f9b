import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from mercer import VectorQuantizer
from mercer.quantizers import vectors, weighted_medians

X, y = make_blobs(300, centers=6, cluster_std=1.5, random_state=1)
RNG = np.random.default_rng(0)


def test_the_squared_cost_is_k_means():
    ours = VectorQuantizer(6, tol=0.0, random_state=0).fit(X)
    theirs = KMeans(6, n_init=10, tol=0.0, random_state=2).fit(X)  # with 0 it ends in a worse minimum
    assert ours.quantization_error_ * len(X) == pytest.approx(theirs.inertia_, rel=1e-9)
    order, their_order = np.lexsort(ours.cluster_centers_.T), np.lexsort(theirs.cluster_centers_.T)
    np.testing.assert_allclose(ours.cluster_centers_[order], theirs.cluster_centers_[their_order], atol=1e-9)
    from_theirs = KMeans(6, init=ours.cluster_centers_, n_init=1).fit(X)
    np.testing.assert_array_equal(from_theirs.predict(X), ours.predict(X))
    np.testing.assert_allclose(from_theirs.transform(X), ours.transform(X), atol=1e-9)


def slow_costs(rows, centres, cost, sigma):
    """All costs by loops."""
    out = np.empty((len(rows), len(centres)))
    for i, j in itertools.product(range(len(rows)), range(len(centres))):
        r = rows[i] - centres[j]
        if cost == "l1":
            out[i, j] = sum(abs(r))
        else:
            length = np.sqrt(sum(r**2))
            out[i, j] = length**2 / (2 * sigma) if length <= sigma else length - sigma / 2
    return out


def slow_fit(rows, centres, cost, sigma):
    """Alternate until nothing changes: nearest centre, and the best centre by definition or by a general minimiser."""
    for _ in range(200):
        labels = slow_costs(rows, centres, cost, sigma).argmin(axis=1)
        new = np.array(centres)
        for j in range(len(centres)):
            own = rows[labels == j]
            if cost == "l1":
                new[j] = np.median(own, axis=0)
            else:
                total = lambda c, own=own: slow_costs(own, c[None], cost, sigma).sum()  # noqa: E731
                new[j] = minimize(total, centres[j], method="BFGS", options={"gtol": 1e-9}).x
        if np.allclose(new, centres, atol=1e-9):
            break
        centres = new
    return centres, slow_costs(rows, centres, cost, sigma).min(axis=1).mean()


@pytest.mark.parametrize("cost", ["l1", "huber"])
def test_medians_and_huber_equal_a_slow_twin(cost):
    rows = RNG.standard_t(2, size=(40, 2)) + 4 * RNG.integers(0, 3, size=(40, 1))
    first = VectorQuantizer(3, cost=cost, sigma=0.8, max_iter=1, tol=0.999, n_init=1, random_state=0).fit(rows)
    centres, error = slow_fit(rows, first.cluster_centers_.copy(), cost, 0.8)
    model = first.set_params(warm_start=True, max_iter=2000, tol=1e-13).fit(rows)
    np.testing.assert_allclose(model.cluster_centers_, centres, atol=2e-4)
    assert model.quantization_error_ == pytest.approx(error, rel=1e-7)


def test_best_k_medians_of_few_numbers():
    """All ways to cut eleven numbers in three: the starts find the best."""
    x = np.sort(RNG.normal(size=11))
    cuts = itertools.combinations(range(1, 11), 2)
    best = min(sum(np.abs(part - np.median(part)).sum() for part in np.split(x, cut)) for cut in cuts)
    model = VectorQuantizer(3, cost="l1", n_init=30, random_state=0).fit(x[:, None])
    assert model.quantization_error_ == pytest.approx(best / 11)


def test_metric_is_a_change_of_coordinates():
    D = np.array([[4.0, 1.0], [1.0, 2.0]])
    L = np.linalg.cholesky(D)
    for cost in ("squared", "huber"):
        inside = VectorQuantizer(4, cost=cost, metric=D, n_init=1, random_state=0).fit(X)
        outside = VectorQuantizer(4, cost=cost, n_init=1, random_state=0).fit(X @ L)
        np.testing.assert_array_equal(inside.labels_, outside.labels_)
        np.testing.assert_allclose(inside.cluster_centers_ @ L, outside.cluster_centers_, atol=1e-9)
    r = X[:5, None] - inside.cluster_centers_
    np.testing.assert_allclose(inside.transform(X[:5]) ** 2, np.einsum("ikj,jl,ikl->ik", r, D, r))


def test_outliers_move_means_and_not_the_others():
    """One gross outlier in twenty near one of two groups: the mean of its group moves by 2, the others hardly."""
    groups = np.vstack([RNG.normal(0, 1, size=(100, 2)), RNG.normal([12, 0], 1, size=(100, 2))])
    outliers = np.column_stack([RNG.normal(0, 1, 5), np.full(5, 40.0)])
    rows = np.vstack([groups, outliers])
    start = KMeans(2, init=np.array([[0.0, 0.0], [12.0, 0.0]]), n_init=1).fit(groups)
    moved = {}
    for cost in ("squared", "l1", "huber"):
        model = VectorQuantizer(2, cost=cost, n_init=1, random_state=0).fit(groups)
        model.set_params(warm_start=True).fit(rows)
        distance = np.linalg.norm(start.cluster_centers_[:, None] - model.cluster_centers_, axis=2).min(axis=1)
        moved[cost] = distance.max()
    assert moved["squared"] > 1.5
    assert max(moved["l1"], moved["huber"]) < 0.3


def test_codes_go_back_to_points():
    model = VectorQuantizer(6, n_init=1, random_state=0).fit(X)
    points = model.inverse_transform(model.predict(X))
    np.testing.assert_array_equal(points, model.cluster_centers_[model.labels_])
    assert np.mean(np.sum((X - points) ** 2, axis=1)) == pytest.approx(model.quantization_error(X))


def test_weighted_medians():
    rows = RNG.normal(size=(25, 3))
    weight = RNG.integers(1, 4, size=25)
    expected = np.median(np.repeat(rows, weight, axis=0), axis=0)
    np.testing.assert_allclose(weighted_medians(rows, weight.astype(float)), expected)
    np.testing.assert_allclose(weighted_medians(rows[:24], np.ones(24)), np.median(rows[:24], axis=0))


@pytest.mark.parametrize("max_iter", [1, 3, 10, 11, 25])
@pytest.mark.filterwarnings("ignore:VectorQuantizer was still improving:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cost", ["squared", "l1", "huber"])
def test_iterations_are_counted_and_limited(cost, max_iter):
    rows = RNG.normal(size=(400, 2))
    model = VectorQuantizer(20, cost=cost, max_iter=max_iter, tol=0.0, n_init=3, random_state=0).fit(rows)
    assert 1 <= model.n_iter_ <= max_iter
    if model.status_ == "max_iter" and cost != "squared":  # whose last ten may end before
        assert model.n_iter_ == max_iter
    if cost == "squared" and max_iter < 10:
        # As many iterations of KMeans from the same start lead to the same points.
        start = VectorQuantizer(20, init=rows[:20], max_iter=max_iter, tol=0.0).fit(rows)
        theirs = KMeans(20, init=rows[:20], n_init=1, max_iter=max_iter, tol=0.0)
        theirs.fit(rows)
        np.testing.assert_allclose(start.cluster_centers_, theirs.cluster_centers_, atol=1e-12)
        assert start.n_iter_ == theirs.n_iter_


def test_the_warning_tells_the_iterations():
    rows = np.random.default_rng(5).normal(size=(2000, 2))
    with pytest.warns(ConvergenceWarning, match="was still improving after 12 iterations"):
        VectorQuantizer(50, max_iter=12, tol=0.0, n_init=1, random_state=0).fit(rows)


@pytest.mark.parametrize("cost", ["squared", "l1", "huber"])
def test_given_starts(cost):
    start = X[:6]
    given = VectorQuantizer(6, cost=cost, init=start).fit(X)
    called = VectorQuantizer(6, cost=cost, init=lambda rows, k, random_state: rows[:k], n_init=2).fit(X)
    frame = VectorQuantizer(6, cost=cost, init=start.tolist()).fit(X)
    for model in (called, frame):
        np.testing.assert_allclose(model.cluster_centers_, given.cluster_centers_, atol=1e-12)
    if cost == "squared":
        theirs = KMeans(6, init=start, n_init=1, tol=0.0).fit(X)
        np.testing.assert_allclose(given.cluster_centers_, theirs.cluster_centers_, atol=1e-9)
    drawn = VectorQuantizer(6, cost=cost, init="random", n_init=20, random_state=0).fit(X)
    spread = VectorQuantizer(6, cost=cost, random_state=0).fit(X)
    assert drawn.quantization_error_ == pytest.approx(spread.quantization_error_, rel=0.05)
    # A start that has converged goes nowhere.
    again = VectorQuantizer(6, cost=cost, init=spread.cluster_centers_, tol=1e-4).fit(X)
    np.testing.assert_allclose(again.cluster_centers_, spread.cluster_centers_, atol=0.05)
    metric = np.array([[4.0, 1.0], [1.0, 2.0]])
    if cost != "l1":
        inside = VectorQuantizer(6, cost=cost, metric=metric, init=start).fit(X)
        L = np.linalg.cholesky(metric)
        outside = VectorQuantizer(6, cost=cost, init=start @ L).fit(X @ L)
        np.testing.assert_array_equal(inside.labels_, outside.labels_)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ("best", r"init of VectorQuantizer must be one of \('k-means\+\+', 'random'\), got 'best'"),
        (None, "init of VectorQuantizer must be one of .* got None"),
        (X[:5], r"init of VectorQuantizer must give points of shape \(6, 2\), got shape \(5, 2\); give one row"),
        (lambda rows, k, random_state: rows[:k, :1], r"init of VectorQuantizer must give points of shape \(6, 2\)"),
        (np.full((6, 2), np.nan), "Input init contains NaN"),
    ],
)
def test_bad_starts_are_refused(init, message):
    with pytest.raises(ValueError, match=message):
        VectorQuantizer(6, init=init).fit(X)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("cost", ["squared", "l1", "huber"])
def test_sparse_rows_are_the_same_rows(cost, container):
    rows = np.where(RNG.uniform(size=(200, 12)) < 0.3, RNG.normal(1.0, 1.0, size=(200, 12)), 0.0)
    rows[:5] = rows[5]
    weight = RNG.uniform(0.5, 2.0, size=200)
    options = {"cost": cost, "sigma": 0.7, "n_init": 2, "random_state": 0}
    dense = VectorQuantizer(8, **options).fit(rows, sample_weight=weight)
    model = VectorQuantizer(8, **options).fit(container(rows), sample_weight=weight)
    np.testing.assert_allclose(model.cluster_centers_, dense.cluster_centers_, atol=1e-6)
    np.testing.assert_allclose(model.transform(container(rows)), dense.transform(rows), atol=1e-6)
    np.testing.assert_array_equal(model.predict(container(rows)), model.predict(rows))
    assert model.quantization_error_ == pytest.approx(dense.quantization_error_)
    assert model.transform(container(rows.astype(np.float32))).dtype == np.float32
    np.testing.assert_allclose(model.transform(container(model.cluster_centers_)).diagonal(), 0.0)


def test_medians_of_sparse_rows_are_taken_for_a_few_columns_at_a_time(monkeypatch):
    rows = np.where(RNG.uniform(size=(50, 9)) < 0.7, RNG.normal(size=(50, 9)), 0.0)
    monkeypatch.setattr(vectors, "_ENTRIES_AT_ONCE", 101)
    model = VectorQuantizer(1, cost="l1", n_init=1).fit(sparse.csr_array(rows))
    np.testing.assert_allclose(model.cluster_centers_[0], np.median(rows, axis=0))


def test_sparse_rows_have_no_metric():
    with pytest.raises(ValueError, match="metric of VectorQuantizer must be None for sparse rows, got"):
        VectorQuantizer(2, metric=np.eye(2)).fit(sparse.csr_array(X))
    with pytest.raises(ValueError, match=r"X of VectorQuantizer must be at most 1e\+150"):
        VectorQuantizer(2).fit(sparse.csr_array(1e200 * X))
