"""Reports: from a table to a map, a diagnosis or a machine, with pictures and plain words.

What the command line does, from Python: read a table, call `make_map`, `diagnose_problem` or `fit_machine`, and write
the files that `map_files`, `diagnosis_files` or `machine_files` give into an `OutputFolder`.
"""

from mercer.report.diagnosis_pages import diagnosis_files
from mercer.report.learning_pages import machine_files
from mercer.report.map_pages import map_files
from mercer.report.outputs import OutputFolder
from mercer.report.relation_pages import relation_files
from mercer.tables.errors import InputError, MemoryRefusal, ModelFileError, OutputError, ReportError
from mercer.tables.pairs import PairedTables
from mercer.tables.reading import Table, read_table, table_from_frame
from mercer.tables.schema import TableSchema
from mercer.tables.targets import LearningProblem
from mercer.workflows import (
    METHODS,
    DiagnosisResult,
    MachineModel,
    MachineResult,
    MachineSettings,
    MapMethod,
    MapModel,
    MapResult,
    MapSettings,
    Progress,
    RelationResult,
    diagnose_problem,
    fit_machine,
    make_map,
    relate,
)
from mercer.workflows.model_files import (
    ModelFile,
    load_machine,
    load_map,
    load_model,
    model_bytes,
    stored_machine,
    stored_map,
)

__all__ = [
    "Table", "read_table", "table_from_frame", "TableSchema",
    "MapSettings", "MapMethod", "METHODS", "MapModel", "MapResult", "make_map", "map_files",
    "LearningProblem", "DiagnosisResult", "diagnose_problem", "diagnosis_files",
    "PairedTables", "RelationResult", "relate", "relation_files",
    "MachineSettings", "MachineModel", "MachineResult", "fit_machine", "machine_files",
    "ModelFile", "load_model", "model_bytes", "stored_map", "load_map", "stored_machine", "load_machine",
    "Progress", "OutputFolder",
    "ReportError", "InputError", "ModelFileError", "OutputError", "MemoryRefusal",
]  # fmt: skip
