from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from mercer.cli import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a command in an empty folder; no command may show a traceback, whatever happens."""
    monkeypatch.chdir(tmp_path)

    def command(*words, code=0):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert "Traceback" not in result.output
        assert result.exit_code == code, (result.exit_code, result.output, result.exception)
        return result

    return command


@pytest.fixture
def blobs(tmp_path) -> Path:
    """Two groups of rows in five columns, one of them a category, with a label."""
    path = tmp_path / "blobs.csv"
    blob_frame().write_csv(path)
    return path


def blob_frame(n=60, seed=0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 2
    numbers = {name: 3.0 * group + rng.normal(size=n) for name in ("weight", "height", "width")}
    colour = np.where(rng.uniform(size=n) < 0.2 + 0.6 * group, "red", "blue")
    return pl.DataFrame({**numbers, "colour": colour, "kind": np.where(group, "big", "small")})


def only_file_is(folder: Path, *names: str) -> None:
    """Nothing else was left in a folder, neither drafts nor halves; without any file there is no folder."""
    assert folder.exists() == bool(names)
    assert sorted(path.name for path in folder.glob("*")) == sorted(names)
