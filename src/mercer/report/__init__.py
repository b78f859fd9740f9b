"""Reports: from a table to a map, a diagnosis or a machine, with pictures and plain words.

What the command line does, from Python: read a table, call `make_map`, `diagnose_problem` or `fit_machine`, and write
the files that `map_files`, `diagnosis_files` or `machine_files` give into an `OutputFolder`.
"""

from mercer.report.diagnosing import DiagnosisResult, diagnose_problem
from mercer.report.diagnosis_pages import diagnosis_files
from mercer.report.learning import MachineResult, MachineSettings, fit_machine
from mercer.report.learning_pages import machine_files
from mercer.report.machine_models import MachineModel
from mercer.report.map_models import MapModel
from mercer.report.map_pages import map_files
from mercer.report.mapping import MapResult, make_map
from mercer.report.methods import METHODS, MapMethod, MapSettings
from mercer.report.model_files import ModelFile, load_model, model_bytes
from mercer.report.outputs import OutputFolder
from mercer.report.progress import Progress
from mercer.report.stored_models import load_machine, load_map, stored_machine, stored_map
from mercer.tables.errors import InputError, MemoryRefusal, ModelFileError, OutputError, ReportError
from mercer.tables.reading import Table, read_table, table_from_frame
from mercer.tables.schema import TableSchema
from mercer.tables.targets import LearningProblem

__all__ = [
    "Table", "read_table", "table_from_frame", "TableSchema",
    "MapSettings", "MapMethod", "METHODS", "MapModel", "MapResult", "make_map", "map_files",
    "LearningProblem", "DiagnosisResult", "diagnose_problem", "diagnosis_files",
    "MachineSettings", "MachineModel", "MachineResult", "fit_machine", "machine_files",
    "ModelFile", "load_model", "model_bytes", "stored_map", "load_map", "stored_machine", "load_machine",
    "Progress", "OutputFolder",
    "ReportError", "InputError", "ModelFileError", "OutputError", "MemoryRefusal",
]  # fmt: skip
