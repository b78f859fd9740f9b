"""Reports of diagnoses and machines in a real browser."""

import numpy as np
import polars as pl
import pytest

from mercer.report import (
    LearningProblem,
    MachineSettings,
    diagnose_problem,
    diagnosis_files,
    fit_machine,
    machine_files,
    table_from_frame,
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(80, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=80)
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "kind": np.where(y > 0, "up", "down")})
    problems = {
        name: LearningProblem.read(table_from_frame(frame), name, drop=(other,))
        for name, other in (("y", "kind"), ("kind", "y"))
    }
    files = {
        "numbers": diagnosis_files(diagnose_problem(problems["y"]), "mercer diagnose"),
        "classes": diagnosis_files(diagnose_problem(problems["kind"]), "mercer diagnose"),
        "machine": machine_files(fit_machine(problems["y"], MachineSettings(band=0.8)), "mercer fit"),
        "classifier": machine_files(fit_machine(problems["kind"]), "mercer fit"),
    }
    folder = tmp_path_factory.mktemp("pages")
    for name, content in files.items():
        (folder / f"{name}.html").write_bytes(content["report.html"])
    return folder


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "numbers",
            ["Which kernel", "What more data would do", "Which columns matter", "The target without its noise"],
        ),
        ("classes", ["Which kernel", "components are relevant"]),
        ("machine", ["Held-out y is predicted to ±", "The band for 80% holds", "certified distance"]),
        ("classifier", ["of held-out rows get the right kind", "predicted up"]),
    ],
)
def test_pages_open_without_errors(browser, pages, name, words):
    page, said = browser.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((pages / f"{name}.html").as_uri())
    text = page.locator("body").inner_text()
    for word in words:
        assert word in text
    assert said == []
    page.close()
