"""Workflows: what the commands do, from a table to a map, a diagnosis or a machine, without pages and files.

Each workflow reads a prepared table, chooses and fits models, checks them on rows that were held out, and returns a
frozen result. `mercer.report` turns results into pages; `mercer.workflows.model_files` turns models into files.
"""

from mercer.workflows.diagnosing import DiagnosisResult, diagnose_problem
from mercer.workflows.learning import MachineResult, MachineSettings, fit_machine
from mercer.workflows.machine_models import MachineModel
from mercer.workflows.map_models import MapModel
from mercer.workflows.mapping import MapResult, make_map
from mercer.workflows.methods import METHODS, MapMethod, MapSettings
from mercer.workflows.progress import Progress
from mercer.workflows.relating import RelationResult, relate

__all__ = [
    "MapSettings", "MapMethod", "METHODS", "MapModel", "MapResult", "make_map",
    "DiagnosisResult", "diagnose_problem",
    "MachineSettings", "MachineModel", "MachineResult", "fit_machine",
    "RelationResult", "relate",
    "Progress",
]  # fmt: skip
