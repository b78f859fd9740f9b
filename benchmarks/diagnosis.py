"""Diagnoses beside the truth: noise, errors on other rows, forecasts and verdicts.

Generated tables have a known noise and a known verdict, and as many other rows as one likes. Visible tables are read by
`mercer.datasets.load_table`: 30 % of the rows, 3,000 at most, are other rows. The true error is that of kernel ridge
regression in the metric of the diagnosis, learned from all rows that were diagnosed, on the other rows. Rivals on the
other rows: HistGradientBoosting, and LightGBM and CatBoost where they are installed.

Printed for each table: CPU seconds, the noise that is quoted with its standard error, the truth, the lowest error of
a rival, the error that is expected now, the true one and their ratio, the forecast for twice the rows and what twice
the rows bring where it can be known, and the verdict. Errors are shares of the variance, in per cent.

`python benchmarks/diagnosis.py` takes ten minutes; names of tables as arguments choose some of them.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from mercer import LearnedMetric
from mercer.datasets import load_table
from mercer.report import LearningProblem, diagnose_problem, table_from_frame
from mercer.workflows.held_out import MOST_FITTED, ridge_values

TABLES = ("airfoil", "abalone", "california", "compactiv", "energy", "concrete", "autompg", "sml", "solar", "bike")
MOST_OTHER_ROWS = 3000


def smooth(X):
    return np.sin(3 * X[:, 0]) + X[:, 1] ** 2


def few_columns(X):
    return np.sin(3 * X[:, 2]) * X[:, 5] + X[:, 7]


def additive(X):
    return np.abs(X[:, 0]) + np.sin(4 * X[:, 1]) + np.exp(X[:, 2]) / 2 + X[:, 3]


def friedman(X):
    Z = (X + 1) / 2
    return 10 * np.sin(np.pi * Z[:, 0] * Z[:, 1]) + 20 * (Z[:, 2] - 0.5) ** 2 + 10 * Z[:, 3] + 5 * Z[:, 4]


def linear(X):
    return X @ np.arange(1, X.shape[1] + 1)


def rough(X):
    return np.abs((4 * X[:, 0]) % 2 - 1) + np.abs((4 * X[:, 1]) % 2 - 1)


def waves(X):
    return np.sin(6 * X[:, 0]) * np.cos(6 * X[:, 1]) + np.sin(6 * X[:, 2])


def product(X):
    return np.sin(5 * X[:, 0]) * np.sin(5 * X[:, 1]) + np.sin(5 * X[:, 2]) * np.sin(5 * X[:, 3])


def nothing(X):
    return np.zeros(len(X))


def trees(X):
    """Boxes along many columns, which no smooth kernel likes."""
    rng = np.random.default_rng(1)
    values = np.zeros(len(X))
    for _ in range(12):
        columns = rng.choice(X.shape[1], 2, replace=False)
        edges = rng.uniform(-0.6, 0.6, size=2)
        values += rng.choice([-2.0, 2.0]) * np.all(X[:, columns] > edges, axis=1)
    return values


def steps(X):
    return np.where(X[:, 0] > 0.2, 2.0, 0.0) + np.where(X[:, 1] > -0.3, 1.0, 0.0) + (X[:, 2] > 0) * (X[:, 3] > 0.1)


# Name: function, rows, columns, share of the noise in the variance, and verdicts that are right.
GENERATED = {
    "smooth, 300 rows": (smooth, 300, 2, 0.3, ("noisy",)),
    "smooth, 2000 rows": (smooth, 2000, 2, 0.5, ("noisy",)),
    "smooth, 6000 rows": (smooth, 6000, 4, 0.2, ("noisy",)),
    "smooth, no noise": (smooth, 1000, 2, 0.0, ("clean",)),
    "few columns, noisy": (few_columns, 2000, 15, 0.4, ("noisy",)),
    "few columns, many rows": (few_columns, 12000, 20, 0.3, ("noisy",)),
    "few columns, few rows": (few_columns, 300, 15, 0.4, ("noisy", "more data helps")),
    "additive, noisy": (additive, 2000, 6, 0.3, ("noisy",)),
    "additive, clean": (additive, 3000, 6, 0.02, ("clean",)),
    "friedman, noisy": (friedman, 1000, 10, 0.2, ("noisy",)),
    "linear, noisy": (linear, 500, 5, 0.6, ("noisy",)),
    "linear, very noisy": (linear, 2000, 5, 0.8, ("noisy",)),
    "rough, noisy": (rough, 3000, 2, 0.25, ("noisy",)),
    "waves, no noise": (waves, 800, 3, 0.0, ("more data helps",)),
    "product, no noise": (product, 1500, 4, 0.0, ("more data helps",)),
    "product, some noise": (product, 1000, 4, 0.05, ("more data helps",)),
    "nothing, 500 rows": (nothing, 500, 5, 1.0, ("nothing found",)),
    "nothing, 3000 rows": (nothing, 3000, 10, 1.0, ("nothing found",)),
    "boxes, 2000 rows": (trees, 2000, 30, 0.05, ("kernel wrong",)),
    "steps, 1500 rows": (steps, 1500, 12, 0.05, ("kernel wrong",)),
}


def generated(name, n_other=4000):
    """Rows, targets, the same of other rows, as many rows more, and the noise; the variance of the targets is one."""
    function, n, d, noise, verdicts = GENERATED[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    X = rng.uniform(-1, 1, size=(2 * n + n_other, d))
    signal = function(X)
    spread = signal.std()
    y = (np.sqrt(1 - noise) * signal / spread if spread > 0 else signal) + np.sqrt(noise) * rng.normal(size=len(X))
    return (X[:n], y[:n]), (X[2 * n :], y[2 * n :]), (X[: 2 * n], y[: 2 * n]), noise, verdicts


def visible(name):
    X, y = load_table(name)
    order = np.random.default_rng(0).permutation(len(y))
    n_other = min(int(0.3 * len(y)), MOST_OTHER_ROWS)
    other, rows = order[:n_other], order[n_other:]
    return (X[rows], y[rows]), (X[other], y[other]), None, None, None


def boosters():
    """Rivals by name."""
    found = {"hist boosting": lambda: HistGradientBoostingRegressor(random_state=0)}
    try:
        from lightgbm import LGBMRegressor

        found["lightgbm"] = lambda: LGBMRegressor(n_jobs=1, verbose=-1, random_state=0)
    except ImportError:
        print("LightGBM is not installed.")
    try:
        from catboost import CatBoostRegressor

        found["catboost"] = lambda: CatBoostRegressor(thread_count=1, verbose=0, random_state=0)
    except ImportError:
        print("CatBoost is not installed.")
    return found


def problem_of(X, y):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    return LearningProblem.read(table_from_frame(pl.DataFrame(columns | {"y": y})), "y", task="regression")


def true_losses(metric, problem, other):
    """Squared errors on other rows after learning from all rows of the problem, or as many as can be."""
    rows, target = np.random.default_rng(0).permutation(len(problem.X))[:MOST_FITTED], problem.target
    frame = pl.DataFrame({f"x{j}": other[0][:, j] for j in range(other[0].shape[1])})
    new_rows = metric.transform(np.nan_to_num(problem.schema.matrix(frame)[0]))
    values = ridge_values(metric, metric.transform(problem.X[rows]), problem.y[rows][:, None], new_rows)[:, 0]
    return (values - (other[1] - target.center) / target.scale) ** 2


def rival_losses(rivals, rows, other):
    with threadpool_limits(1, "openmp"):
        values = [make().fit(*rows).predict(other[0]) for make in rivals.values()]
    return min(((value - other[1]) ** 2 / rows[1].var() for value in values), key=np.mean)


def standard_error(losses):
    return losses.std() / np.sqrt(len(losses))


def row_of(name, rivals):
    """Diagnose one table and print how far it is from the truth; which promises it broke."""
    rows, other, more, noise, verdicts = generated(name) if name in GENERATED else visible(name)
    problem = problem_of(*rows)
    start = time.process_time()
    result = diagnose_problem(problem)
    seconds = time.process_time() - start
    judged = result.judged
    truth = true_losses(result.metric, problem, other)
    rival = rival_losses(rivals, rows, other)
    best = min(truth, rival, key=np.mean)
    ratio = judged.now / truth.mean()
    broken = []
    if noise is not None and judged.noise_high < noise - 2 * judged.noise_error:
        broken.append("noise too low")
    if best.mean() < judged.noise_low - 2 * standard_error(best):
        broken.append("low end too high")
    # Noise-free functions of which hardly anything is left have no error to be near to.
    if not 0.75 <= ratio <= 1.25 and truth.mean() > 1e-3:
        broken.append("now off")
    if verdicts is not None and judged.kind not in verdicts:
        broken.append(f"verdict, should be {' or '.join(verdicts)}")
    later = ""
    if more is not None:
        twice = problem_of(*more)
        metric = LearnedMetric(refine_rows=2000).fit(twice.X, twice.y)
        later = f" (true {100 * true_losses(metric, twice, other).mean():.2f})"
    low, high = (100 * value for value in judged.later)
    print(
        f"{name:24} {seconds:5.1f} s  noise {100 * judged.noise_low:5.2f} .. {100 * judged.noise_high:5.2f} ± "
        f"{100 * judged.noise_error:4.2f} (true {'?' if noise is None else format(100 * noise, '.0f')}, rival "
        f"{100 * rival.mean():5.2f})  now {100 * judged.now:5.2f} (true {100 * truth.mean():5.2f} ± "
        f"{100 * standard_error(truth):4.2f}, ratio {ratio:4.2f})  twice {low:.2f} .. {high:.2f}{later}  {judged.kind}"
        + "".join(f"  ! {what}" for what in broken), flush=True,
    )  # fmt: skip
    return broken


def main(names):
    rivals = boosters()
    failed = {name: broken for name in names if (broken := row_of(name, rivals))}
    print(f"\n{len(names) - len(failed)} of {len(names)} tables keep every promise")
    for name, broken in failed.items():
        print(f"   {name}: {', '.join(broken)}")


if __name__ == "__main__":
    main(sys.argv[1:] or [*GENERATED, *TABLES])
