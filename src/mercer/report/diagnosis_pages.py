"""What the reports and summaries of diagnoses say."""

from __future__ import annotations

from typing import Any

from mercer.plain_json import json_bytes
from mercer.report.figures import denoised_picture, learning_picture
from mercer.report.pages import Bar, bars, render, rounded, versions
from mercer.workflows.diagnosing import DiagnosisResult
from mercer.workflows.promises import CONFIDENCE

_SHAPES = {"isotropic": "equal weights", "diagonal": "a weight for each column", "rotated": "weights and a rotation"}


def diagnosis_files(result: DiagnosisResult, command: str) -> dict[str, bytes]:
    """The files of a diagnosis: report and summary."""
    return {
        "report.html": diagnosis_page(result, command),
        "summary.json": json_bytes(diagnosis_summary(result, command)),
    }


def diagnosis_verdict(result: DiagnosisResult) -> str:
    """What the problem is, in a sentence."""
    return _sentence(result.verdict)


def diagnosis_text(result: DiagnosisResult) -> str:
    """The verdict and its evidence, for a terminal."""
    lines = [*result.evidence, *(() if result.outlook is None else result.outlook.lines)]
    return "\n".join([diagnosis_verdict(result), *(f"- {rounded(line)}" for line in lines)])


def diagnosis_summary(result: DiagnosisResult, command: str) -> dict[str, Any]:
    """All figures of a diagnosis, for programs."""
    model, metric, judged = result.model, result.metric, result.judged
    curve = result.learning_curve
    return {
        "kind": "diagnosis", "partial": result.partial, "verdict": result.verdict, "evidence": _evidence(result),
        "finding": None if judged is None else judged.kind,
        "unexplained": None if judged is None else {
            "share": judged.unexplained, "standard_error": judged.unexplained_error,
        },
        "noise": None if judged is None else {
            "at_least": judged.noise_low, "at_most": judged.noise_high, "standard_error": judged.noise_error,
        },
        "boosted_trees": None if judged is None else {"share": judged.trees, "standard_error": judged.trees_error},
        "dimension": model.dimension_, "log_likelihood": model.log_likelihood_,
        "noise_level": None if result.has_few_rows else model.noise_level_,
        "kernel": repr(model.kernel_), "metric": None if metric is None else metric.reason_,
        "kernels": [] if metric is None else [compared._asdict() for compared in metric.table_],
        "learning_curve": None if curve is None else {
            "rows": curve.sizes, "errors": curve.errors.mean(axis=1), "rows_there_are": curve.n,
            "expected_now": curve.forecast(curve.n), "expected_with_twice_the_rows": curve.forecast(2 * curve.n),
        },
        "promises": _promises(result),
        "columns": dict(result.columns), "table": result.problem.table.name, "target": result.problem.target.name,
        "n_rows": len(result.problem.rows), "n_columns": result.problem.X.shape[1],
        "notes": result.notes, "warnings": result.problem.warnings, "command": command, "versions": versions(),
    }  # fmt: skip


def diagnosis_page(result: DiagnosisResult, command: str) -> bytes:
    """The report of a diagnosis."""
    curve, metric = result.learning_curve, result.metric
    return render(
        "diagnosis.html.j2",
        title=f"What can be known of {result.problem.target.name}",
        result=result,
        verdict=diagnosis_verdict(result),
        evidence=_evidence(result),
        measure="deviance" if result.problem.target.classes else "variance",
        reason=None if metric is None else metric.reason_,
        kernels=_kernels(result),
        curve=None if curve is None else learning_picture(curve),
        denoised=denoised_picture(result.model, result.problem.y[result.rows], result.problem.target),
        columns=bars(result.columns),
        promises=[] if result.outlook is None else [_sentence(rounded(line)) for line in result.outlook.lines],
        command=command,
        versions=versions(),
    )


def _promises(result: DiagnosisResult) -> dict[str, Any] | None:
    outlook = result.outlook
    if outlook is None:
        return None
    return {
        "effective_dimension": outlook.effective_dimension, "rows": outlook.n,
        "leave_one_out_error": outlook.left_out_error, "rows_to_hold_out": outlook.n_to_hold_out,
        "confidence": CONFIDENCE,
    }  # fmt: skip


def _evidence(result: DiagnosisResult) -> list[str]:
    return [_sentence(rounded(line)) for line in result.evidence]


def _kernels(result: DiagnosisResult) -> list[Bar]:
    """Bars of the kernels that were compared, the best first."""
    table = [] if result.metric is None else sorted(result.metric.table_, key=lambda compared: compared.error)
    largest = max((compared.error for compared in table), default=1.0) or 1.0
    return [
        (f"{c.family}, {_SHAPES[c.shape]}", 100 * min(c.error / largest, 1.0), f"{100 * c.error:.1f} %", False)
        for c in table
    ]


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
