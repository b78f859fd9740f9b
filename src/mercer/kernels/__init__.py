"""Kernels: what "similar" means.

A kernel is called on data and gives a Gram matrix; kernels add, multiply, scale, take powers, and restrict themselves
to columns. ``mercer.kernels.gram`` holds the engine for products, rows and low-rank factors of large matrices.
"""

from mercer.kernels import gram
from mercer.kernels.absolute import L1, ProductLaplace
from mercer.kernels.algebra import OnColumns, Power, Product, Scaled, Sum
from mercer.kernels.anova import Anova
from mercer.kernels.base import Kernel
from mercer.kernels.checks import KernelReport, check_kernel
from mercer.kernels.columnwise import ColumnProduct
from mercer.kernels.conditional import Multiquadric, ThinPlate
from mercer.kernels.distinct import distinct_rows
from mercer.kernels.dot_product import Cosine, Linear, Polynomial, PowerSeries, Sigmoid
from mercer.kernels.expectations import expected_features, expected_moments, expected_products, smoothed_kernel
from mercer.kernels.given import FromFunction, Precomputed
from mercer.kernels.histogram import ChiSquare
from mercer.kernels.matern import Matern, RationalQuadratic
from mercer.kernels.periodic import Dirichlet, PeriodicGaussian, Periodized
from mercer.kernels.sequence import WeightedDegree
from mercer.kernels.splines import BSpline, RadialBSpline
from mercer.kernels.stationary import DampedOscillator, Exponential, Gaussian, InverseMultiquadric, Stationary
from mercer.kernels.widths import median_distance, widths_for

__all__ = [
    "Kernel", "Stationary", "ColumnProduct",
    "Gaussian", "Exponential", "Matern", "RationalQuadratic", "DampedOscillator", "InverseMultiquadric",
    "BSpline", "RadialBSpline",
    "PeriodicGaussian", "Dirichlet", "Periodized",
    "Linear", "Polynomial", "PowerSeries", "Cosine", "Sigmoid",
    "Multiquadric", "ThinPlate",
    "L1", "ProductLaplace", "Anova", "ChiSquare", "WeightedDegree", "FromFunction", "Precomputed",
    "Sum", "Product", "Scaled", "Power", "OnColumns",
    "check_kernel", "KernelReport", "median_distance", "widths_for", "distinct_rows", "gram",
    "expected_features", "expected_moments", "expected_products", "smoothed_kernel",
]  # fmt: skip
