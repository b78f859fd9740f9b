import numpy as np
import pytest

from mercer.manifolds.ukr.covering import covering


@pytest.mark.parametrize("q", [1, 2, 3])
def test_every_point_is_near_one_of_them(q):
    U = np.random.default_rng(0).normal(size=(500, q))
    chosen, number = covering(U, 0.5)
    assert len(chosen) < 500
    assert np.linalg.norm(U - U[chosen[number]], axis=1).max() <= 0.5 * np.sqrt(q)
    np.testing.assert_array_equal(number[chosen], np.arange(len(chosen)))
