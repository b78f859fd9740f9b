"""Capacity: what a class of functions can do, and what can be promised of a function that was learned from data.

Everything is in natural logarithms. A class of functions is anything with ``log_covering(scale, n_samples)``, the
logarithm of a covering number in the maximum over n_samples points. `delta` is the probability that a bound is wrong.

The names are imported when they are first used.
"""

from __future__ import annotations

from typing import Any

# A module must not have the name of something that it defines: it would hide it.
_MODULES = {
    "certificates": (
        "PacBayes", "bernstein_bound", "binomial_bound", "compression_bound", "kl_inverse", "pac_bayes_bound",
        "samples_for_promise", "samples_to_confirm",
    ),
    "classes": ("FiniteClass", "KernelBall", "KernelHull", "Offsets", "PseudoDimension", "VCClass"),
    "coding": ("Coding", "robust_coding"),
    "coefficients": ("PenalizedBasis", "coefficient_radius", "penalized_basis"),
    "constrained": ("constrained_machine",),
    "contributions": ("xi_alpha",),
    "covers": ("ball_entropy_number", "ball_log_covering", "hull_log_covering", "lipschitz_hull_log_covering"),
    "deviations": (
        "Deviation", "deviation", "hoeffding", "hoeffding_samples", "log_growth", "rademacher_deviation",
        "rademacher_samples", "samples_needed", "vc_deviation", "vc_samples",
    ),
    "eigenfunctions": ("Eigenfunctions", "kernel_eigenfunctions"),
    "ellipsoids": ("Interval", "diagonal_entropy_number", "ellipsoid_log_covering"),
    "empirical": ("Entropies", "entropies", "general_deviation", "greedy_log_covering"),
    "fat": ("fat_log_covering", "fat_log_covering_below", "level_fat_factor"),
    "filling": ("WaterFilling", "entropy_number", "log_covering", "log_entropy_number", "water_filling"),
    "gram": ("Covering", "SampleCapacity", "hull_rademacher"),
    "induced": ("LipschitzDomain", "LossClass"),
    "left_out": ("LeaveOneOut", "leave_one_out"),
    "periods": ("BestPeriod", "best_period", "wrap_error"),
    "perturbation": ("eigenvalue_bound", "eigenvector_bound", "sin_theta_bound"),
    "quantization": ("ManifoldClass", "kegl_log_covering", "manifold_deviation", "manifold_excess"),
    "rates": (
        "EntropyRate", "ExponentialDecay", "PolynomialDecay", "entropy_rate", "gaussian_entropy_number",
        "learning_rate",
    ),
    "risk": ("RiskBound", "RiskBounds", "risk_bounds"),
    "selection": ("RiskPath", "structural_risk_path"),
    "shattering": ("shattering_functions", "shattering_margin"),
    "sparse": ("interval_sparse_approximation_bound", "sparse_approximation_bound"),
    "spectra": ("periodic_spectrum", "shell_counts"),
    "spectrum": ("Spectrum",),
    "target_contributions": (
        "ContributionBound", "TruncationErrors", "contribution_bound", "tail_sums", "truncation_errors",
    ),
}  # fmt: skip
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
