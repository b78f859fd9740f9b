"""Features whose inner products are nearly the values of a kernel."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear, Polynomial, Precomputed, WeightedDegree
from mercer.kernels.gram import feature_map

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))


@pytest.mark.parametrize(("kernel", "rank"), [(Linear(), 3), (Polynomial(2), 10), (Gaussian(5.0), 300)])
def test_enough_features_give_the_kernel_also_at_new_rows(kernel, rank):
    features = feature_map(kernel, X, rank)
    new = RNG.normal(size=(20, 3))
    np.testing.assert_allclose(features.features(new) @ features.features(X).T, kernel(new, X), rtol=1e-7, atol=1e-7)
    assert features.rank <= rank


def test_landmarks_of_many_rows_come_from_a_sample():
    maps = [feature_map(Gaussian(1.0), X, 20, random_state=0) for _ in range(2)]
    assert len(maps[0].factor) == 80
    np.testing.assert_array_equal(maps[0].landmark_rows, maps[1].landmark_rows)
    error = np.trace(Gaussian(1.0)(X)) - np.sum(maps[0].features(X) ** 2)
    assert 0 < error < 0.6 * len(X)


def test_objects_and_matrices():
    words = ["".join(word) for word in RNG.choice(list("abc"), size=(50, 4))]
    features = feature_map(WeightedDegree(2), words, 8, random_state=0)
    assert features.features(words[:5]).shape == (5, 8)
    with pytest.raises(TypeError, match="kernel of feature_map must be a function of rows, got Precomputed"):
        feature_map(Precomputed(), np.eye(3), 2)
