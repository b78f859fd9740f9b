"""Every loss, in several settings, for the tests that hold for all of them."""

import numpy as np

from mercer.losses import (
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    HuberRows,
    Laplace,
    LaplaceRows,
    Logistic,
    Loss,
    PiecewisePolynomial,
    PolynomialLoss,
    Quantile,
    Squared,
    SquaredHinge,
    SquaredRows,
)

# The same for all samples.
UNIFORM_LOSSES: list[Loss] = [
    EpsilonInsensitive(epsilon=0.1),
    EpsilonInsensitive(epsilon=0.0),
    EpsilonInsensitive(epsilon=(0.5, 0.0)),
    Laplace(),
    Squared(),
    Squared(epsilon=0.3),
    Huber(),
    Huber(sigma=0.01),
    Huber(sigma=5.0, epsilon=(0.2, 0.7)),
    PolynomialLoss(),
    PolynomialLoss(p=1.01),
    PolynomialLoss(p=3.0, epsilon=0.2),
    PolynomialLoss(p=10.0),
    PiecewisePolynomial(),
    PiecewisePolynomial(p=4.0, sigma=0.3),
    PiecewisePolynomial(p=1.2, sigma=2.0, epsilon=(0.0, 0.4)),
    Quantile(),
    Quantile(q=0.9),
    Quantile(q=0.01, epsilon=1.0),
    Expectile(q=0.1),
    Expectile(q=0.8, epsilon=(0.1, 0.2)),
    Hinge(),
    SquaredHinge(),
    Logistic(),
]

# With an insensitivity for each of three samples.
PER_SAMPLE_LOSSES: list[Loss] = [
    EpsilonInsensitive(epsilon=np.array([0.1, 0.0, 2.0])),
    EpsilonInsensitive(epsilon=(0.5, [0.1, 0.2, 0.0])),
    Squared(epsilon=[1, 2, 3]),
    Huber(sigma=0.5, epsilon=[0.1, 0.0, 2.0]),
    PolynomialLoss(p=3.0, epsilon=([0.3, 0.2, 0.1], [0.1, 0.2, 0.3])),
    PiecewisePolynomial(p=1.5, epsilon=[0.1, 0.0, 2.0]),
    Quantile(q=0.7, epsilon=[0.1, 0.0, 2.0]),
    Expectile(q=0.7, epsilon=([0.1, 0.0, 2.0], 0.1)),
]

LOSSES = UNIFORM_LOSSES + PER_SAMPLE_LOSSES

# Of rows.
ROW_LOSSES = [SquaredRows(), HuberRows(0.7), LaplaceRows(0.2)]


def name_of(loss: Loss) -> str:
    return repr(loss)
