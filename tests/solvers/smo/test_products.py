"""Products that start from a known one."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.kernels.gram import FormedMatrix, Gram
from mercer.losses import Huber
from mercer.solvers.smo.products import Products, products_of
from tests.contracts.all_problems import make, rows

N = 40


@pytest.mark.parametrize("ratio", [1.0, 10.0])
@pytest.mark.parametrize("n_changed", [0, 1, 10, 39])
@pytest.mark.parametrize("in_memory", [True, False])
def test_products_that_start_from_a_known_one(n_changed, in_memory, ratio):
    X = rows(N)
    K = Gaussian(0.8)(X)
    products = Products(FormedMatrix(K) if in_memory else Gram(Gaussian(0.8), X), np.zeros(N))
    rng = np.random.default_rng(0)
    B = rng.normal(size=N)
    assert not products.knows(B)
    np.testing.assert_allclose(products.times(B), K @ B, rtol=1e-12)
    changed = ratio * B
    changed[rng.permutation(N)[:n_changed]] += rng.normal(size=n_changed)
    assert products.knows(changed) == (n_changed == 0 if in_memory else n_changed <= 10)
    np.testing.assert_allclose(products.times(changed), K @ changed, rtol=0, atol=1e-13 * ratio)
    np.testing.assert_allclose(products.times(B), K @ B, rtol=0, atol=1e-13 * ratio)


def test_zero_is_no_multiple():
    products = Products(FormedMatrix(Gaussian(0.8)(rows(N))), np.zeros(N))
    products.times(np.zeros(N))
    assert products.knows(np.zeros(N))
    assert not products.knows(np.ones(N))


def test_targets_have_a_memory_of_their_own():
    program = make(Huber(0.2))
    twofold = program.with_weights((2 * program.C_below, 2 * program.C_above))
    assert products_of(program) is products_of(twofold)
    other = make(Huber(0.2))
    other.kept.update(program.kept)
    assert products_of(other) is not products_of(program)
