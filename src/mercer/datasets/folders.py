"""Where loaders look for files that Mercer does not ship."""

from __future__ import annotations

import os
from pathlib import Path


def found_file(folder: str, name: str, origin: str) -> Path:
    """A file in a folder of $MERCER_DATA, or else of ~/.cache/mercer; or an error that says how to get it."""
    home = os.environ.get("MERCER_DATA")
    place = (Path(home).expanduser() if home else Path.home() / ".cache" / "mercer") / folder
    if not (place / name).is_file():
        raise FileNotFoundError(
            f"{name} must be in {place}, and not found there; {origin}, and put it there, or into the folder {folder} "
            "of another folder that the environment variable MERCER_DATA names."
        )
    return place / name
