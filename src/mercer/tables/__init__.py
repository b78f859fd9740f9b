"""Tables: from files to rows of numbers, with what was done to them in words."""

from mercer.tables.errors import InputError, MemoryRefusal, ModelFileError, OutputError, ReportError
from mercer.tables.pairs import PairedTables
from mercer.tables.reading import Table, read_table, table_from_frame
from mercer.tables.schema import TableSchema
from mercer.tables.targets import LearningProblem

__all__ = [
    "Table", "read_table", "table_from_frame", "TableSchema", "LearningProblem", "PairedTables",
    "ReportError", "InputError", "ModelFileError", "OutputError", "MemoryRefusal",
]  # fmt: skip
