"""Values as JSON: the same bytes for the same values, without NaN, which JSON does not have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np


def json_bytes(values: Any) -> bytes:
    """Plain values as JSON, the same bytes for the same values; numbers that are none become null."""
    text = json.dumps(plain(values), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # Names of files may hold bytes that are no text: their escapes are those of JSON.
    return text.encode(errors="backslashreplace")


def plain(value: Any, digits: int | None = None) -> Any:
    """Lists, texts and numbers of Python for whatever holds such; rounded to some significant digits if asked."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry, digits) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), digits)
    if isinstance(value, list | tuple):
        return [plain(entry, digits) for entry in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        if not np.isfinite(value):
            return None
        return float(value) if digits is None else float(f"{float(value):.{digits}g}")
    return value if value is None or isinstance(value, str) else str(value)
