"""Model files: maps and machines on disk, which run nothing when they are opened and are checked before use."""

from mercer.workflows.model_files.files import ModelFile, load_model, model_bytes
from mercer.workflows.model_files.stored import load_machine, load_map, stored_machine, stored_map

__all__ = ["ModelFile", "load_model", "model_bytes", "stored_map", "load_map", "stored_machine", "load_machine"]
