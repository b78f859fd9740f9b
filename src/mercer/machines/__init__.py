"""Machines: supervised estimators for any convex loss, kernel, regularizer and parametric part."""

from mercer.machines.bands import QuantileBand
from mercer.machines.calibration import Calibration
from mercer.machines.cell import CellCertificates
from mercer.machines.cells import CellMachine
from mercer.machines.classifier import SupportVectorClassifier
from mercer.machines.nu import NuSupportVectorClassifier, NuSupportVectorRegressor
from mercer.machines.one_class import OneClassMachine
from mercer.machines.reduction import Reduction, ReductionError, reduce_expansion
from mercer.machines.regressor import SupportVectorRegressor
from mercer.machines.rejection import RejectingClassifier, Rejection, RejectionCurve
from mercer.machines.ridge import KernelRidge

__all__ = [
    "SupportVectorRegressor",
    "NuSupportVectorRegressor",
    "SupportVectorClassifier",
    "Calibration",
    "NuSupportVectorClassifier",
    "OneClassMachine",
    "KernelRidge",
    "QuantileBand",
    "CellMachine",
    "CellCertificates",
    "RejectingClassifier",
    "Rejection",
    "RejectionCurve",
    "reduce_expansion",
    "Reduction",
    "ReductionError",
]
