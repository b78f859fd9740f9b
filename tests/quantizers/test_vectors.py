import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from mercer import VectorQuantizer
from mercer.quantizers import weighted_medians

X, y = make_blobs(300, centers=6, cluster_std=1.5, random_state=1)
RNG = np.random.default_rng(0)


def test_the_squared_cost_is_k_means():
    ours = VectorQuantizer(6, tol=0.0, random_state=0).fit(X)
    theirs = KMeans(6, n_init=10, tol=0.0, random_state=0).fit(X)
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
