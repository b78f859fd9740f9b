"""The documents keep their promises: code blocks run, examples draw, references exist."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_readme_code_runs(capsys, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    scope = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), scope)
    printed = capsys.readouterr().out
    assert "passes:" in printed
    assert "optimal" in printed


def test_kernel_of_the_contributing_guide_passes():
    import numpy as np

    from mercer.kernels import Stationary, check_kernel

    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL)
    scope = {"Stationary": Stationary}
    exec(compile(code, "CONTRIBUTING.md", "exec"), scope)
    check_kernel(scope["Cauchy"](width=0.7), np.random.default_rng(0).normal(size=(30, 1)))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_draw_a_picture(example, tmp_path, monkeypatch, capsys):
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", [str(example), str(picture)])
    runpy.run_path(str(example), run_name="__main__")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "picture:" in capsys.readouterr().out


def test_every_reference_is_in_the_bibliography():
    known = set(re.findall(r"@\w+\{(\w+),", (ROOT / "docs/references.bib").read_text()))
    cited = {key for path in (ROOT / "src").rglob("*.py") for key in re.findall(r"\[(\w+)\]_", path.read_text())}
    assert cited
    assert cited <= known


def test_import_is_lazy():
    code = (
        "import sys, mercer; assert 'sklearn' not in sys.modules; "
        "mercer.kernels.Gaussian; assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_names_are_refused():
    import mercer

    assert "kernels" in dir(mercer)
    with pytest.raises(AttributeError, match="module 'mercer' has no attribute 'magic'"):
        mercer.magic  # noqa: B018
