"""The order of samples in which near ones are near."""

import numpy as np
import pytest

from mercer.kernels import Exponential, Gaussian
from mercer.kernels.gram import Gram, columns_of
from mercer.solvers.smo.axis import leading_axis


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Exponential(1.0)], ids=repr)
@pytest.mark.parametrize("as_matrix", [False, True])
def test_its_median_cuts_a_line_of_samples_in_two(kernel, as_matrix):
    place = np.random.default_rng(0).permutation(600) / 200
    X = np.stack([place, -place], axis=1)
    axis = leading_axis(columns_of(kernel(X) if as_matrix else Gram(kernel, X), memory=2**22), 600)
    same = np.mean((axis > np.median(axis)) == (place > np.median(place)))
    assert max(same, 1 - same) > 0.95


def test_it_is_about_the_first_kernel_principal_component():
    X = np.random.default_rng(1).normal(size=(200, 2)) * [3.0, 0.5]
    K = Gaussian(2.0)(X)
    axis = leading_axis(columns_of(K, memory=2**20), 200)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    component = np.linalg.eigh(centred)[1][:, -1]
    assert abs(np.corrcoef(axis, component)[0, 1]) > 0.8


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_samples_and_equal_ones(n):
    axis = leading_axis(columns_of(np.ones((n, n)), memory=2**20), n)
    assert axis.shape == (n,)
    np.testing.assert_allclose(axis, 0.0, atol=1e-12)
