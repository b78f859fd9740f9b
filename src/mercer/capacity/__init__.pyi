"""What type checkers see of `mercer.capacity`: at run time its names are imported when they are first used."""

from mercer.capacity.certificates import (
    PacBayes,
    bernstein_bound,
    binomial_bound,
    compression_bound,
    kl_inverse,
    pac_bayes_bound,
    samples_for_promise,
    samples_to_confirm,
)
from mercer.capacity.classes import FiniteClass, KernelBall, KernelHull, Offsets, PseudoDimension, VCClass
from mercer.capacity.coding import Coding, robust_coding
from mercer.capacity.coefficients import PenalizedBasis, coefficient_radius, penalized_basis
from mercer.capacity.constrained import constrained_machine
from mercer.capacity.contributions import xi_alpha
from mercer.capacity.covers import (
    ball_entropy_number,
    ball_log_covering,
    hull_log_covering,
    lipschitz_hull_log_covering,
)
from mercer.capacity.deviations import (
    Deviation,
    deviation,
    hoeffding,
    hoeffding_samples,
    log_growth,
    rademacher_deviation,
    rademacher_samples,
    samples_needed,
    vc_deviation,
    vc_samples,
)
from mercer.capacity.eigenfunctions import Eigenfunctions, kernel_eigenfunctions
from mercer.capacity.ellipsoids import Interval, diagonal_entropy_number, ellipsoid_log_covering
from mercer.capacity.empirical import Entropies, entropies, general_deviation, greedy_log_covering
from mercer.capacity.fat import fat_log_covering, fat_log_covering_below, level_fat_factor
from mercer.capacity.filling import WaterFilling, entropy_number, log_covering, log_entropy_number, water_filling
from mercer.capacity.gram import Covering, SampleCapacity, hull_rademacher
from mercer.capacity.induced import LipschitzDomain, LossClass
from mercer.capacity.left_out import LeaveOneOut, leave_one_out
from mercer.capacity.periods import BestPeriod, best_period, wrap_error
from mercer.capacity.perturbation import eigenvalue_bound, eigenvector_bound, sin_theta_bound
from mercer.capacity.quantization import ManifoldClass, kegl_log_covering, manifold_deviation, manifold_excess
from mercer.capacity.rates import (
    EntropyRate,
    ExponentialDecay,
    PolynomialDecay,
    entropy_rate,
    gaussian_entropy_number,
    learning_rate,
)
from mercer.capacity.risk import RiskBound, RiskBounds, risk_bounds
from mercer.capacity.selection import RiskPath, structural_risk_path
from mercer.capacity.shattering import shattering_functions, shattering_margin
from mercer.capacity.sparse import interval_sparse_approximation_bound, sparse_approximation_bound
from mercer.capacity.spectra import periodic_spectrum, shell_counts
from mercer.capacity.spectrum import Spectrum
from mercer.capacity.target_contributions import (
    ContributionBound,
    TruncationErrors,
    contribution_bound,
    tail_sums,
    truncation_errors,
)

__all__ = [
    "PacBayes",
    "bernstein_bound",
    "binomial_bound",
    "compression_bound",
    "kl_inverse",
    "pac_bayes_bound",
    "samples_for_promise",
    "samples_to_confirm",
    "FiniteClass",
    "KernelBall",
    "KernelHull",
    "Offsets",
    "PseudoDimension",
    "VCClass",
    "Coding",
    "robust_coding",
    "PenalizedBasis",
    "coefficient_radius",
    "penalized_basis",
    "constrained_machine",
    "xi_alpha",
    "ball_entropy_number",
    "ball_log_covering",
    "hull_log_covering",
    "lipschitz_hull_log_covering",
    "Deviation",
    "deviation",
    "hoeffding",
    "hoeffding_samples",
    "log_growth",
    "rademacher_deviation",
    "rademacher_samples",
    "samples_needed",
    "vc_deviation",
    "vc_samples",
    "Eigenfunctions",
    "kernel_eigenfunctions",
    "Interval",
    "diagonal_entropy_number",
    "ellipsoid_log_covering",
    "Entropies",
    "entropies",
    "general_deviation",
    "greedy_log_covering",
    "fat_log_covering",
    "fat_log_covering_below",
    "level_fat_factor",
    "WaterFilling",
    "entropy_number",
    "log_covering",
    "log_entropy_number",
    "water_filling",
    "Covering",
    "SampleCapacity",
    "hull_rademacher",
    "LipschitzDomain",
    "LossClass",
    "LeaveOneOut",
    "leave_one_out",
    "BestPeriod",
    "best_period",
    "wrap_error",
    "eigenvalue_bound",
    "eigenvector_bound",
    "sin_theta_bound",
    "ManifoldClass",
    "kegl_log_covering",
    "manifold_deviation",
    "manifold_excess",
    "EntropyRate",
    "ExponentialDecay",
    "PolynomialDecay",
    "entropy_rate",
    "gaussian_entropy_number",
    "learning_rate",
    "RiskBound",
    "RiskBounds",
    "risk_bounds",
    "RiskPath",
    "structural_risk_path",
    "shattering_functions",
    "shattering_margin",
    "interval_sparse_approximation_bound",
    "sparse_approximation_bound",
    "periodic_spectrum",
    "shell_counts",
    "Spectrum",
    "ContributionBound",
    "TruncationErrors",
    "contribution_bound",
    "tail_sums",
    "truncation_errors",
]
