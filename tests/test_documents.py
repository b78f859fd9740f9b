"""The documents keep their promises: code blocks run, examples draw, references exist."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [page for page in DOCUMENTS if "```python" in page.read_text() and page.stem != "CONTRIBUTING"]
PRINTED = {"how-it-works": ["is not the squared loss", "optimal True"], "kernels": ["passes:"], "machines": ["optimal"]}


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_code_of_a_page_runs(page, capsys):
    scope = {}
    for block in python_blocks(page):
        exec(compile(block, page.name, "exec"), scope)
    printed = capsys.readouterr().out
    for words in PRINTED.get(page.stem, []):
        assert words in printed


def test_pages_with_code_are_found():
    assert {page.stem for page in PAGES} >= {"README", "kernels", "machines", "diagnosis", "maps"}


def test_commands_of_the_readme_exist():
    from typer.main import get_command

    from mercer.cli import app

    lines = re.findall(r"^\$ mercer (.*)$", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert {line.split()[0] for line in lines} == set(get_command(app).commands)
    for line in lines:
        name, *words = line.split("#")[0].split()
        get_command(app).commands[name].make_context(name, words)


def test_links_of_the_pages_lead_somewhere():
    for page in DOCUMENTS:
        for target in re.findall(r"\]\(([A-Za-z:/._-]{3,})\)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), (page.name, target)


def test_kernel_of_the_contributing_guide_passes():
    import numpy as np

    from mercer.kernels import Stationary, check_kernel

    (code,) = python_blocks(ROOT / "CONTRIBUTING.md")
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
