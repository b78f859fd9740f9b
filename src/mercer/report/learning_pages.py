"""What the reports and summaries of machines say."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from mercer.plain_json import json_bytes
from mercer.report.effects import Effect, effects
from mercer.report.figures import effects_picture, prediction_picture
from mercer.report.pages import Bar, bars, render, rounded, versions
from mercer.tables.columns import counted
from mercer.workflows.learning import MachineResult
from mercer.workflows.model_files.files import model_bytes
from mercer.workflows.model_files.stored import stored_machine
from mercer.workflows.scores import CLEAR, FEWEST_HELD_OUT

# Columns whose effects are drawn.
_MOST_EFFECTS = 6


def machine_files(result: MachineResult, command: str) -> dict[str, bytes]:
    """The files of a machine: model, report and summary."""
    return {
        "model.skops": model_bytes(stored_machine(result.model)),
        "report.html": machine_page(result, command),
        "summary.json": json_bytes(machine_summary(result, command)),
    }


def machine_summary(result: MachineResult, command: str) -> dict[str, Any]:
    """All figures of a machine, for programs."""
    machine = result.model.machine
    return {
        "kind": "machine", "partial": result.partial, "verdict": machine_verdict(result),
        "task": result.problem.target.task,
        "error": result.error, "error_of_guessing": result.guess_error, "error_of_boosted_trees": result.trees_error,
        "n_held_out": result.held_out.height, "promise": _promise(result),
        "leave_one_out_error": result.left_out_error,
        "bounds": [] if result.bounds is None else [asdict(bound) for bound in result.bounds.bounds],
        "standard_errors_better_than_guessing": result.gain,
        "log_loss": result.log_loss, "log_loss_of_boosted_trees": result.trees_log_loss,
        "boosted_trees_are_better": result.trees_are_better, "metric": _metric_summary(result),
        "coverage": result.coverage, "band": result.settings.band, "kernel": repr(result.kernel),
        "loss": repr(result.loss), "C": result.C, "reason_of_loss": result.reason, "transform": _transform(result),
        "n_support_vectors": len(machine.support_), "gap": machine.gap_,
        "status": machine.status_,
        "table": result.problem.table.name, "target": result.problem.target.name,
        "n_rows": len(result.problem.rows), "n_columns": result.problem.X.shape[1],
        "notes": result.problem.notes, "warnings": result.warnings, "command": command,
        "seed": result.settings.seed, "versions": versions(),
    }  # fmt: skip


def machine_verdict(result: MachineResult) -> str:
    """How good it is, in a sentence."""
    name, gain = result.problem.target.name, 1.0 - result.error / result.guess_error if result.guess_error else 0.0
    unit, n_held_out = result.problem.target.unit, result.held_out.height
    if result.problem.target.classes is None:
        text = (
            f"Held-out {name} is predicted to ± {result.error:.3g}{unit} (guessing the mean: ± "
            f"{result.guess_error:.3g}{unit})."
        )
    else:
        text = (
            f"{100 * (1 - result.error):.1f}% of held-out rows get the right {name} (guessing the largest class: "
            f"{100 * (1 - result.guess_error):.1f}%)."
        )
    text += _promised(result)
    if np.isfinite(result.trees_error):
        trees = result.trees_error
        text += " Boosted trees (scikit-learn's HistGradientBoosting) have " + (
            f"± {trees:.3g}{unit}." if result.problem.target.classes is None else f"{100 * (1 - trees):.1f}%."
        )
    if np.isfinite(result.log_loss):
        text += f" The log loss of its probabilities is {result.log_loss:.3g}"
        text += f" (boosted trees: {result.trees_log_loss:.3g})." if np.isfinite(result.trees_log_loss) else "."
    text += _said_of_transform(result)
    if result.trees_are_better:
        text += " The trees are better than this machine, by more than chance: prefer them for this table."
    if n_held_out < FEWEST_HELD_OUT:
        rows = counted(n_held_out, "row was", "rows were")
        text += f" Only {rows} held out: whether that is better than guessing is unclear."
    elif abs(result.gain) < CLEAR:
        text += (
            " That is within two standard errors of guessing: whether it is better is unclear. Ask `mercer "
            "diagnose` why."
        )
    elif gain < 0.05:
        text += " That is hardly better than guessing: ask `mercer diagnose` why."
    if np.isfinite(result.coverage):
        text += f" The band for {100 * (result.settings.band or 0):.3g}% holds {100 * result.coverage:.1f}% of them."
    return text


def _promised(result: MachineResult) -> str:
    """What can be promised of new rows, and the leave-one-out error, where they are known."""
    text = "" if result.promise is None else f" Held-out rows: {result.promise.text}."
    if _left_out(result):
        text += f" Leave-one-out error of the stored machine: {_left_out(result)}."
    return text


def _left_out(result: MachineResult) -> str:
    """The leave-one-out error, if it is known."""
    if not np.isfinite(result.left_out_error):
        return ""
    error, target = result.left_out_error, result.problem.target
    return f"± {error:.3g}{target.unit}" if target.classes is None else f"{100 * error:.1f}% wrong"


def _promise(result: MachineResult) -> dict[str, Any] | None:
    promise = result.promise
    if promise is None:
        return None
    return {
        "n_wrong": promise.n_wrong, "n": promise.n, "below": promise.bound, "confidence": promise.confidence,
    }  # fmt: skip


def _said_of_transform(result: MachineResult) -> str:
    """What function of the target was learned, and what predictions are; nothing if it is the target itself."""
    made = _transform(result)
    if made is None:
        return ""
    return (
        f" {made['formula']} was learned, which is more likely on rows that "
        f"were left out; predictions are {made['predicts']}s in the units of the table."
    )


def _transform(result: MachineResult) -> dict[str, Any] | None:
    target = result.model.target
    if target.transform.kind == "none":
        return None
    return {
        "kind": target.transform.kind, "unit": target.transform.unit, "formula": target.transform.formula(target.name),
        "predicts": "mean" if target.errors else "median",
    }  # fmt: skip


def _metric_summary(result: MachineResult) -> dict[str, Any] | None:
    learned = result.learned
    if learned is None:
        return None
    pairs = [{"columns": [left, right], "share": share} for left, right, share in learned.pairs]
    return {"reason": learned.reason, "importance": dict(learned.columns), "interactions": pairs}


def machine_page(result: MachineResult, command: str) -> bytes:
    """The report of a machine."""
    target, held_out = result.problem.target, result.held_out
    picture, confusion, interval = None, None, None
    if target.classes is None:
        names = [f"{target.name}_low", f"{target.name}_high"]
        interval = held_out.select(names).to_numpy() if names[0] in held_out.columns else None
        picture = prediction_picture(
            held_out["truth"].to_numpy(), held_out[target.name].to_numpy(), interval, target.name
        )
    else:
        pairs = list(zip(held_out["truth"], held_out[target.name], strict=True))
        confusion = [(true, [pairs.count((true, guess)) for guess in target.classes]) for true in target.classes]
    curves = _effects(result)
    return render(
        "machine.html.j2",
        title=f"Predicting {target.name}",
        result=result,
        summary=machine_summary(result, command),
        picture=picture,
        interval=interval is not None,
        confusion=confusion,
        classes=target.classes,
        promised=_left_out(result),
        kernel=rounded(repr(result.kernel)),
        importance=_importance(result),
        effects=effects_picture(curves) if curves else None,
        of_probability=_of_probability(result),
        loss=rounded(repr(result.loss)),
        gap=float(np.max(result.model.machine.gap_)),
        command=command,
        versions=versions(),
    )


def _importance(result: MachineResult) -> list[Bar]:
    """Bars of the columns, by how much the prediction changes with them."""
    return bars([] if result.learned is None else result.learned.columns)


def _effects(result: MachineResult) -> list[Effect]:
    """Effects of the most important columns."""
    columns = [] if result.learned is None else [name for name, value in result.learned.columns if value > 0]
    return effects(result.model, result.problem.X, columns[:_MOST_EFFECTS], result.settings.seed)


def _of_probability(result: MachineResult) -> str:
    """What effects are means of."""
    target = result.problem.target
    if target.classes is None:
        return f"prediction of {target.name}"
    return f"probability of {target.classes[1]}" if len(target.classes) == 2 else "probability of each class"
