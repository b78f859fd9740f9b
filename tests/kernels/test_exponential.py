import os

import numpy as np
import pytest

from mercer.kernels.exponential import exp_of_negative

pytestmark = pytest.mark.uncompiled  # also run without compilation


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_compiled_exponential_equals_numpys(factor):
    x = np.random.default_rng(0).uniform(0, 700 / factor, size=(400, 400))
    expected = np.exp(-factor * x)
    result = exp_of_negative(x.copy(), factor)
    np.testing.assert_allclose(result, expected, rtol=1e-15 * 700)
    small = np.random.default_rng(1).uniform(0, 5, size=(400, 400))
    np.testing.assert_allclose(exp_of_negative(small.copy(), factor), np.exp(-factor * small), rtol=5e-16)


def test_compiled_exponential_at_the_edges():
    x = np.zeros((400, 400))
    x[0, :6] = [0.0, 1e-300, 709.0, 1e308, np.inf, np.nan]
    result = exp_of_negative(x, 1.0)
    np.testing.assert_array_equal(result[0, :5], [1.0, 1.0, 0.0, 0.0, 0.0])
    assert np.isnan(result[0, 5])
    assert np.all(result[1:] == 1)


def test_small_and_strided_arrays_are_overwritten_too():
    for x in (np.ones(3), np.ones((1000, 1000))[:, ::2], np.ones(10, dtype=np.float32)):
        result = exp_of_negative(x, 2.0)
        assert result is x
        np.testing.assert_allclose(result, np.exp(-2.0), rtol=1e-6)


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 4e-16), (np.float32, 2e-7)], ids=["double", "single"])
def test_compiled_powers_of_two(dtype, error):
    from numba import njit

    from mercer.kernels.exponential_numba import power_of_two

    @njit
    def powers(t):
        result = np.empty_like(t)
        for i in range(len(t)):
            result[i] = power_of_two(t[i])
        return result

    lowest = np.finfo(dtype).minexp
    t = np.linspace(lowest, 0, 100_001).astype(dtype)
    np.testing.assert_allclose(powers(t), np.exp2(t.astype(np.float64)), rtol=error)
    whole = np.arange(lowest, 1).astype(dtype)
    np.testing.assert_array_equal(powers(whole), np.exp2(whole))
    beyond = np.array([lowest - 1, 2 * lowest, -np.finfo(dtype).max, -np.inf], dtype=dtype)
    np.testing.assert_array_equal(powers(beyond), 0.0)


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_compiled_powers_of_two_are_for_compiled_functions():
    from mercer.kernels.exponential_numba import power_of_two

    with pytest.raises(NotImplementedError, match="power_of_two exists only inside compiled functions"):
        power_of_two(-1.0)
