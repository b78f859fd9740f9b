"""Table 2.3 of Smola's thesis "Learning with Kernels": the best ν and ε for noise with density ∝ exp(-|ξ|^p)."""

import pytest

from mercer.losses import optimal_epsilon, optimal_nu

NU = [1, 0.5405, 0.2909, 0.1898, 0.1384, 0.1080, 0.0881, 0.0743, 0.0641, 0.0563]
EPSILON = [0, 0.6120, 1.1180, 1.3583, 1.4844, 1.5576, 1.6035, 1.6339, 1.6551, 1.6704]


@pytest.mark.parametrize(("p", "nu", "epsilon"), list(zip(range(1, 11), NU, EPSILON, strict=True)))
def test_table_2_3(p, nu, epsilon):
    assert round(optimal_nu(p), 4) == nu
    assert round(optimal_epsilon(p), 4) == epsilon
