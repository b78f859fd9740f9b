"""What the reports and summaries of relations say."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from mercer.plain_json import json_bytes
from mercer.plots import BoundDisplay
from mercer.plots.style import POINTS
from mercer.report.figures import drawing
from mercer.report.pages import Bar, render, versions
from mercer.tables.columns import counted
from mercer.workflows.relating import DIRECTIONS, LEVEL, Direction, RelationResult

# Directions that are drawn.
_DRAWN = 3


def relation_files(result: RelationResult, command: str) -> dict[str, bytes]:
    """The files of a relation: report and summary, and scores of the rows where there are directions."""
    files = {
        "report.html": relation_page(result, command),
        "summary.json": json_bytes(relation_summary(result, command)),
    }
    return files | ({"scores.parquet": scores_file(result)} if result.directions else {})


def scores_file(result: RelationResult) -> bytes:
    """Values of the functions of both sides for each row, and whether it was held out."""
    assert result.scores is not None
    assert result.held_out is not None
    held_out = np.zeros(len(result.rows), dtype=bool)
    held_out[result.held_out] = True
    columns: dict[str, Any] = {"row": result.paired.rows[result.rows] + 1}
    for side, scores in zip(("left", "right"), result.scores, strict=True):
        columns |= {f"{side}_{j + 1}": scores[:, j] for j in range(scores.shape[1])}
    content = io.BytesIO()
    pl.DataFrame({**columns, "held_out": held_out}).write_parquet(content)
    return content.getvalue()


def p_in_words(p_value: float) -> str:
    """A p-value for people.

    Examples
    --------
    >>> from mercer.report.relation_pages import p_in_words
    >>> p_in_words(0.00099), p_in_words(0.27)
    ('p < .001', 'p = .27')
    """
    if p_value < 0.001:
        return "p < .001"
    digits = 3 if p_value < 0.01 else 2
    return "p = " + f"{p_value:.{digits}f}".removeprefix("0")


def relation_verdict(result: RelationResult) -> str:
    """What is the case, in a sentence or two."""
    p = p_in_words(result.test.p_value)
    if not result.related:
        return f"There is no sign that the two sides share anything ({p})."
    if result.held_out is None:
        return f"The two sides are related ({p})."
    if not result.directions:
        weak = "" if result.partial else " No direction of it holds on rows that were held out: it is weak."
        return f"The two sides are related ({p}).{weak}"
    best = result.directions[0]
    n = len(result.directions)
    ways = f"{n} directions or more hold" if n == DIRECTIONS else counted(n, "direction holds", "directions hold")
    text = (
        f"The two sides are related ({p}). {ways} on rows that were held out; the strongest has a correlation of "
        f"{best.correlation:.2f} ± {best.standard_error:.2f}"
    )
    main = [side[0][0] for side in (best.left, best.right) if side and side[0][1] > 0]
    return f"{text}, and rests most on {' and '.join(main)}." if len(main) == 2 else f"{text}."


def relation_evidence(result: RelationResult) -> list[str]:
    """The numbers that the verdict rests on."""
    how = {"permutation": "by permutations of the rows", "gamma": "by the mean and variance over all permutations"}
    lines = [f"Independence: {p_in_words(result.test.p_value)}, {how[result.test.method]}."]
    bound = result.bound
    if bound is not None:
        bits = bound.value / np.log(2)
        if bound.value > 2 * np.nan_to_num(bound.standard_error):
            lines.append(
                f"They share at least {bound.value:.2f} ± {bound.standard_error:.2f} nats ({bits:.2f} bits) of "
                "information."
            )
        else:
            error = f"{round(bound.value, 2) + 0.0:.2f} ± {bound.standard_error:.2f}"
            lines.append(f"The lower bound of the information, {error} nats, is not above 0.")
        if bound.near_ceiling:
            lines.append(
                f"The bound cannot be above {bound.ceiling:.2f} nats with so few rows, and is near that: they may "
                "share much more."
            )
    return lines


def relation_text(result: RelationResult) -> str:
    """The verdict and its evidence, for a terminal."""
    return "\n".join([relation_verdict(result), *(f"- {line}" for line in relation_evidence(result))])


def relation_summary(result: RelationResult, command: str) -> dict[str, Any]:
    """All figures of a relation, for programs."""
    paired, bound = result.paired, result.bound
    return {
        "kind": "relation", "partial": result.partial, "verdict": relation_verdict(result),
        "evidence": relation_evidence(result), "related": result.related,
        "independence": {**result.test._asdict(), "level": LEVEL},
        "directions": [
            {
                "correlation": d.correlation, "standard_error": d.standard_error,
                "left": dict(d.left), "right": dict(d.right),
            }
            for d in result.directions
        ],
        "information": None if bound is None else {
            "nats": bound.value, "standard_error": bound.standard_error, "ceiling": bound.ceiling, "pairs": bound.n,
            "by_batch": {str(size): found.value for size, found in result.bounds},
        },
        "left": paired.left.name, "right": paired.right.name, "n_rows": len(result.rows),
        "n_held_out": 0 if result.held_out is None else len(result.held_out),
        "n_columns": {"left": paired.left.X.shape[1], "right": paired.right.X.shape[1]},
        "notes": result.notes, "warnings": paired.warnings, "command": command, "versions": versions(),
    }  # fmt: skip


def relation_page(result: RelationResult, command: str) -> bytes:
    """The report of a relation."""
    return render(
        "relation.html.j2",
        title=f"What {result.paired.left.name} and {result.paired.right.name} share",
        result=result,
        verdict=relation_verdict(result),
        evidence=relation_evidence(result),
        directions=[_shown(direction) for direction in result.directions[:_DRAWN]],
        pictures=pairs_picture(result) if result.directions else None,
        bound=bound_picture(result) if result.bounds else None,
        command=command,
        versions=versions(),
    )


def _shown(direction: Direction) -> dict[str, Any]:
    """A direction with bars of its columns."""
    scale = max([value for side in (direction.left, direction.right) for _, value in side], default=0.0) or 1.0

    def bars(side: tuple[tuple[str, float], ...]) -> list[Bar]:
        return [(name, 100 * min(value / scale, 1.0), f"{value:.2f}", False) for name, value in side]

    return {"direction": direction, "left": bars(direction.left), "right": bars(direction.right)}


def pairs_picture(result: RelationResult) -> Markup:
    """Values of the functions of both sides for rows that were held out, direction by direction."""
    assert result.scores is not None
    n = min(_DRAWN, len(result.directions))
    with drawing(3.1 * n + 0.3, 3.0) as picture:
        for j, ax in enumerate(picture.figure.subplots(1, n, squeeze=False)[0]):
            left, right = (scores[result.held_out, j] for scores in result.scores)
            ax.plot(left, right, "o", ms=3, color=POINTS, alpha=0.6, mew=0)
            ax.set_xlabel("left side")
            ax.set_ylabel("right side")
            ax.set_title(f"direction {j + 1}: {result.directions[j].correlation:.2f}", fontsize=9)
        return picture.svg()


def bound_picture(result: RelationResult) -> Markup:
    """The bound of the information against the number of pairs, with its ceiling."""
    with drawing(5.2, 3.4) as picture:
        sizes, bounds = zip(*result.bounds, strict=True)
        BoundDisplay(sizes=sizes, bounds=bounds).plot(picture.figure.subplots())
        return picture.svg()
