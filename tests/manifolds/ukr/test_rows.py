import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer.kernels import L1, FromFunction, Gaussian, Linear, Multiquadric, Precomputed, ThinPlate, WeightedDegree
from mercer.manifolds.ukr.rows import DataRows, FeatureRows

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(30, 3)), RNG.normal(size=(7, 3))


def feature_distances(kernel, X, Y):
    return kernel.diag(X)[:, None] - 2 * kernel(X, Y) + kernel.diag(Y)


@pytest.mark.parametrize("kernel", [Linear(), L1(), Gaussian(1.5), Multiquadric(1.0)], ids=repr)
def test_coordinates_keep_distances_in_feature_space(kernel):
    rows = FeatureRows(kernel, X, "Owner")
    np.testing.assert_allclose(cdist(rows.points, rows.points) ** 2, feature_distances(kernel, X, X), atol=1e-8)
    points, beyond = rows.new(NEW)
    np.testing.assert_allclose(
        cdist(points, rows.points) ** 2 + beyond[:, None], feature_distances(kernel, NEW, X), atol=1e-6
    )
    weights = RNG.dirichlet(np.ones(30), size=30).T
    expected = np.sum((rows.points - weights.T @ rows.points) ** 2, axis=1)
    np.testing.assert_allclose(rows.targets.errors(weights), expected, rtol=1e-6)


def test_linear_kernel_is_data_space():
    rows, plain = FeatureRows(Linear(), X, "Owner"), DataRows(X)
    assert rows.points.shape == (30, 3)
    weights = RNG.dirichlet(np.ones(30), size=30).T
    np.testing.assert_allclose(rows.targets.errors(weights), plain.targets.errors(weights), rtol=1e-8)


def test_given_matrices():
    rows = FeatureRows(Precomputed(), Gaussian()(X), "Owner")
    points, beyond = rows.new(Gaussian()(NEW, X))
    np.testing.assert_allclose(points, FeatureRows(Gaussian(), X, "Owner").new(NEW)[0], atol=1e-6)
    assert not beyond.any()


def test_equal_rows_are_known():
    np.testing.assert_array_equal(DataRows(X).known(np.vstack([NEW[:1], X[4:6]])), [-1, 4, 5])
    words = np.array(["ACGT", "AAAA", "CCGT", "AGGT"])
    rows = FeatureRows(WeightedDegree(2), words, "Owner")
    np.testing.assert_array_equal(rows.known(["AAAA", "TTTT", "AGGT"]), [1, -1, 3])


def test_kernels_that_are_not_positive_are_refused():
    with pytest.raises(ValueError, match="feature_kernel of Owner must be positive definite, or conditionally so"):
        FeatureRows(ThinPlate(), X, "Owner")
    with pytest.raises(ValueError, match="feature_kernel of Owner must be positive definite, .* eigenvalue -"):
        FeatureRows(FromFunction(lambda x, y: float(-(x @ y)), order=None), X, "Owner")
    with pytest.raises(ValueError, match="X of Owner must have rows that differ in the feature space"):
        FeatureRows(Linear(), np.ones((10, 2)), "Owner")
