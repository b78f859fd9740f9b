"""What type checkers see of `mercer.capacity`: at run time its names are imported when they are first used."""

from mercer.capacity.classes import FiniteClass, KernelBall, KernelHull, Offsets, PseudoDimension, VCClass
from mercer.capacity.covers import (
    ball_entropy_number,
    ball_log_covering,
    hull_log_covering,
    lipschitz_hull_log_covering,
)
from mercer.capacity.deviations import (
    Deviation,
    deviation,
    fat_log_covering,
    hoeffding,
    hoeffding_samples,
    log_growth,
    rademacher_deviation,
    rademacher_samples,
    samples_needed,
    vc_deviation,
    vc_samples,
)
from mercer.capacity.ellipsoids import Interval, diagonal_entropy_number, ellipsoid_log_covering
from mercer.capacity.filling import WaterFilling, entropy_number, log_covering, log_entropy_number, water_filling
from mercer.capacity.gram import Covering, SampleCapacity, hull_rademacher
from mercer.capacity.left_out import LeaveOneOut, leave_one_out
from mercer.capacity.spectra import periodic_spectrum, shell_counts
from mercer.capacity.spectrum import Spectrum

__all__ = [
    "FiniteClass",
    "KernelBall",
    "KernelHull",
    "Offsets",
    "PseudoDimension",
    "VCClass",
    "ball_entropy_number",
    "ball_log_covering",
    "hull_log_covering",
    "lipschitz_hull_log_covering",
    "Deviation",
    "deviation",
    "fat_log_covering",
    "hoeffding",
    "hoeffding_samples",
    "log_growth",
    "rademacher_deviation",
    "rademacher_samples",
    "samples_needed",
    "vc_deviation",
    "vc_samples",
    "Interval",
    "diagonal_entropy_number",
    "ellipsoid_log_covering",
    "WaterFilling",
    "entropy_number",
    "log_covering",
    "log_entropy_number",
    "water_filling",
    "Covering",
    "SampleCapacity",
    "hull_rademacher",
    "LeaveOneOut",
    "leave_one_out",
    "periodic_spectrum",
    "shell_counts",
    "Spectrum",
]
