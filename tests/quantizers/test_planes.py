import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.decomposition import PCA

from mercer import PlaneQuantizer
from mercer.quantizers import leading_directions

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5)) @ RNG.normal(size=(5, 5))


@pytest.mark.parametrize("q", [1, 2, 5])
def test_one_plane_is_pca(q):
    model, pca = PlaneQuantizer(1, q).fit(X), PCA(q).fit(X)
    np.testing.assert_allclose(model.cluster_centers_[0], pca.mean_, atol=1e-12)
    np.testing.assert_allclose(np.abs(model.components_[0] @ pca.components_.T), np.eye(q), atol=1e-9)
    rows = model.inverse_transform(model.predict(X), model.coordinates(X))
    np.testing.assert_allclose(rows, pca.inverse_transform(pca.transform(X)), atol=1e-9)
    assert model.quantization_error_ == pytest.approx(np.mean(np.sum((X - rows) ** 2, axis=1)), rel=1e-9, abs=1e-20)


def test_one_plane_in_a_metric_diagonalises_both_matrices():
    """Example 5 of the paper: directions V with V D Vᵀ = 1 and V D cov D Vᵀ diagonal."""
    A = RNG.normal(size=(5, 5))
    D = A @ A.T + np.eye(5)
    model = PlaneQuantizer(1, 2, metric=D).fit(X)
    values, W = eigh(np.cov(X.T, bias=True), np.linalg.inv(D))  # cov w = λ D⁻¹ w
    V = (np.linalg.inv(D) @ W[:, ::-1][:, :2]).T
    np.testing.assert_allclose(np.abs(model.components_[0] @ D @ V.T), np.eye(2), atol=1e-8)
    assert model.quantization_error_ == pytest.approx(values[:3].sum())


def test_crossing_lines_are_found():
    t = RNG.uniform(-1, 1, size=(100, 1))
    directions = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 1.0], [1.0, -1.0, 0.5]])
    rows = np.vstack([t * direction for direction in directions]) + 0.01 * RNG.normal(size=(300, 3))
    model = PlaneQuantizer(3, n_init=20, random_state=0).fit(rows)
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    assert np.abs(unit @ model.components_[:, 0].T).max(axis=1).min() > 0.999
    assert model.quantization_error_ < 3 * 0.01**2


def test_local_pca_equals_a_slow_twin():
    """The fitted planes are the principal components of their rows, and rows are with the nearest plane."""
    model = PlaneQuantizer(3, 2, tol=0.0, random_state=0).fit(X)
    errors = np.empty((len(X), 3))
    for code in range(3):
        own = PCA(2).fit(X[model.labels_ == code])
        np.testing.assert_allclose(np.abs(model.components_[code] @ own.components_.T), np.eye(2), atol=1e-6)
        errors[:, code] = np.linalg.norm(X - own.inverse_transform(own.transform(X)), axis=1)
    np.testing.assert_array_equal(errors.argmin(axis=1), model.labels_)
    np.testing.assert_allclose(model.transform(X), errors, atol=1e-6)


@pytest.mark.parametrize(("n", "d", "q"), [(50, 4, 2), (3, 10, 2), (1, 6, 3), (0, 4, 2), (4, 4, 4)])
def test_directions_are_orthonormal_and_leading(n, d, q):
    rows = RNG.normal(size=(n, d))
    V = leading_directions(rows, q)
    np.testing.assert_allclose(V @ V.T, np.eye(q), atol=1e-12)
    captured = np.sort(np.linalg.svd(rows, compute_uv=False) ** 2)[::-1][:q].sum() if n else 0.0
    assert np.sum((rows @ V.T) ** 2) == pytest.approx(captured)
    assert np.all(V[np.arange(q), np.abs(V).argmax(axis=1)] > 0)
