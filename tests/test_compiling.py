"""Compiled functions are made when they are called, once for a user, and who waits is told."""

import ast
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numba import float32, float64, void

import mercer
from mercer.compiled_numba import FAST, PLAIN, compiled, read_only
from mercer.compiling import watch_compilation
from mercer.warm_up import warm_up


def double_of(t):
    return void(read_only(t, 1), t[::1])


@pytest.fixture
def double(monkeypatch, tmp_path):
    monkeypatch.setattr("mercer.compiled_numba._place_of_code", lambda: tmp_path)

    @compiled(*[double_of(t) for t in (float32, float64)], **FAST)
    def double(x, out):
        """Write 2 x."""
        for i in range(len(x)):
            out[i] = 2 * x[i]

    return double


def test_each_precision_is_compiled_at_its_first_call(double):
    told = []
    with watch_compilation(lambda: told.append(len(told))):
        assert told == []
        for kind, n_told in ((np.float32, 1), (np.float32, 1), (np.float64, 2)):
            x, out = np.arange(3.0).astype(kind), np.empty(3, kind)
            double(x, out)
            assert len(told) == n_told
            np.testing.assert_array_equal(out, [0, 2, 4])
            assert out.dtype == kind
    assert double.__name__ == "double"
    assert double.__doc__ == "Write 2 x."


def test_arrays_that_are_only_read_may_be_read_only(double):
    x, out = np.arange(3.0), np.empty(3)
    x.setflags(write=False)
    double(x, out)
    np.testing.assert_array_equal(out, [0, 2, 4])


def test_nothing_is_compiled_for_other_types(double):
    with pytest.raises(KeyError):
        double(np.arange(3), np.arange(3))

    @compiled(void(float64[::1]), **PLAIN)
    def clear(x):
        x[:] = 0.0

    with pytest.raises(TypeError, match="No matching definition"):
        clear(np.ones(3, np.float32))


def test_who_no_longer_watches_is_not_told(double):
    told = []
    with watch_compilation(lambda: told.append(1)):
        pass
    double(np.arange(3.0), np.empty(3))
    assert told == []


COUNT = """
import numpy as np
from mercer.compiling import watch_compilation
from mercer.kernels.sequence_numba import weighted_degree_tile
told = []
letters = np.zeros((2, 3), np.uint32)
with watch_compilation(lambda: told.append(1)):
    assert weighted_degree_tile(letters, letters, np.array([0.0, 1.0])).tolist() == [[3.0, 3.0], [3.0, 3.0]]
print(len(told))
"""


def n_compiled(sources, cache):
    environment = {**os.environ, "PYTHONPATH": str(sources), "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", COUNT], env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_machine_code_outlives_installations(tmp_path):
    sources, cache = Path(mercer.__file__).parents[1], tmp_path / "cache"
    assert n_compiled(sources, cache) == 1
    assert n_compiled(sources, cache) == 0
    # Another installation of the same sources, made at another time.
    other = tmp_path / "other"
    shutil.copytree(sources / "mercer", other / "mercer", ignore=shutil.ignore_patterns("__pycache__"))
    for file in other.rglob("*.py"):
        os.utime(file, (1e9, 1e9))
    assert n_compiled(other, cache) == 0
    # Other sources.
    with (other / "mercer" / "kernels" / "sequence_numba.py").open("a") as file:
        file.write("# changed\n")
    assert n_compiled(other, cache) == 1
    assert n_compiled(sources, cache) == 0


def test_machine_code_that_nobody_used_for_a_month_is_removed(tmp_path, monkeypatch):
    from mercer import compiled_numba

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    now, day = time.time(), 24 * 3600
    for age in (40, 31, 29, 3, 0):
        monkeypatch.setattr(compiled_numba, "_digest_of_sources", lambda age=age: f"{age}-days")
        place = compiled_numba._place_of_code.__wrapped__()
        os.utime(place, (now - age * day, now - age * day))
    compiled_numba._place_of_code.__wrapped__()
    left = sorted(folder.name for folder in (tmp_path / "mercer" / "compiled").iterdir())
    assert left == ["0-days", "29-days", "3-days"]


def test_code_that_cannot_be_kept_still_runs(double, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.FunctionCache.save_overload", full)
    out = np.empty(3)
    double(np.arange(3.0), out)
    np.testing.assert_array_equal(out, [0, 2, 4])


def test_without_a_folder_numba_finds_one(tmp_path, monkeypatch):
    from mercer import compiled_numba

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert compiled_numba._place_of_code.__wrapped__() is None


@pytest.mark.slow
def test_all_functions_can_be_compiled_ahead(capsys):
    n_functions = warm_up()
    assert n_functions > 30
    assert "compiling, once" in capsys.readouterr().err


def test_compiled_modules_import_from_compiled_modules_alone():
    """They are loaded late, by modules that are there already: to import these back would be a circle."""
    package = Path(mercer.__file__).parent
    for source in package.rglob("*_numba.py"):
        tree = ast.parse(source.read_text())
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        own = {name for name in imported if name.startswith("mercer") and not name.endswith("_numba")}
        assert own <= ({"mercer.compiling"} if source.name == "compiled_numba.py" else set()), source
