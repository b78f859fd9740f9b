"""Every kernel, in several settings, for the tests that hold for all of them."""

import numpy as np
from numpy.typing import NDArray

from mercer.kernels import (
    L1,
    Anova,
    BSpline,
    ChiSquare,
    Cosine,
    DampedOscillator,
    Dirichlet,
    Exponential,
    FromFunction,
    Gaussian,
    InverseMultiquadric,
    Kernel,
    Linear,
    Matern,
    Multiquadric,
    PeriodicGaussian,
    Periodized,
    Polynomial,
    PowerSeries,
    ProductLaplace,
    RadialBSpline,
    RationalQuadratic,
    Sigmoid,
    ThinPlate,
)


def min_of_columns(x, y):
    """A positive definite function of two vectors (histogram intersection on shifted data)."""
    return float(sum(min(a, b) for a, b in zip(x + 10, y + 10, strict=True)))


# Kernels on vectors, each valid for two columns.
VECTOR_KERNELS: list[Kernel] = [
    Gaussian(width=0.7),
    Gaussian(width=[1.0, 0.4]),
    Exponential(rate=0.8),
    Exponential(rate=[0.5, 2.0]),
    DampedOscillator(scale=0.9),
    InverseMultiquadric(offset=0.8),
    Matern(nu=1.5, width=0.8),
    Matern(nu=2.5, width=[0.5, 2.0]),
    RationalQuadratic(width=0.7, alpha=0.5),
    RationalQuadratic(width=[0.7, 2.0], alpha=3.0),
    BSpline(degree=1, width=0.9),
    BSpline(degree=3, width=[0.9, 2.0]),
    BSpline(degree=5),
    RadialBSpline(degree=1, width=0.9),
    RadialBSpline(degree=3, width=0.5),
    RadialBSpline(degree=1, width=1.5, n_dims=4),
    PeriodicGaussian(width=0.5),
    PeriodicGaussian(width=[0.3, 3.0], period=[2.0, 7.0]),
    Dirichlet(order=3),
    Dirichlet(order=2, period=[2.0, 3.0]),
    Periodized(Gaussian(width=0.4), period=2.0),
    Periodized(BSpline(degree=3, width=0.3), period=2.0),
    Linear(),
    Polynomial(degree=3, offset=1.0),
    Polynomial(degree=2, offset=0.0),
    PowerSeries(0.1 * Linear(), "exp"),
    PowerSeries(0.1 * Linear(), "cosh"),
    PowerSeries(0.5 * Gaussian(), "log"),
    PowerSeries(Linear(), [1.0, 0.0, 2.0]),
    Multiquadric(offset=0.5),
    Multiquadric(offset=0.0),
    ThinPlate(),
    L1(),
    ProductLaplace(width=0.8),
    ProductLaplace(width=[0.4, 3.0]),
    Anova(share=0.4, width=0.8),
    Anova(share=[0.1, 20.0], width=[0.4, 3.0]),
    Anova(share=0.3, width=1.5, nu=0.5),
    Cosine(),
    ChiSquare(rate=0.7),
    FromFunction(min_of_columns),
    Gaussian() + Linear(),
    Gaussian() + Multiquadric(),
    Gaussian() * Polynomial(degree=2),
    2.5 * ThinPlate(),
    Gaussian(width=2.0) ** 3,
    Gaussian(width=0.8).on([1]),
    Gaussian().on([1]) + ThinPlate().on([0]),
    Exponential().on(0) * Linear().on([0, 1]),
    ChiSquare().on(0) + 0.5 * Cosine(),
]

# Kernels that make no promise of positivity.
INDEFINITE_KERNELS: list[Kernel] = [
    Sigmoid(scale=0.5, offset=-0.3),
    Sigmoid() * Gaussian(),
    BSpline(degree=2, width=1.5),
    Multiquadric() * Gaussian(),
]

STATIONARY_KERNELS = [kernel for kernel in VECTOR_KERNELS if kernel.stationary]


def rows_for(kernel: Kernel, n: int, seed: int = 0) -> NDArray[np.float64]:
    """Rows of two columns that the kernel takes."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X if kernel.takes_negative else np.abs(X)


def name_of(kernel: Kernel) -> str:
    return repr(kernel)
