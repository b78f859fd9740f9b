"""Where the tests find public data sets, which the project does not ship."""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[2].parent / "shared" / "data"


def use_data(monkeypatch, folder):
    """Point MERCER_DATA, unless it is set, at the data beside the project; skip the test where the set is not there."""
    home = Path(os.environ.get("MERCER_DATA") or _BESIDE)
    if not (home / folder).is_dir():
        pytest.skip(f"the data sets in {folder!r} are not here; set MERCER_DATA to the folder that holds them")
    monkeypatch.setenv("MERCER_DATA", str(home))
