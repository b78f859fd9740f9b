"""What can be said of the error of machines: time and truth of leave-one-out by spans and paths, and choices by them.

Every part prints its aim. ``python benchmarks/capacity_risk.py [large | path | truth | choice]``; the sets are those of
`load_ida` and `load_usps`.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from mercer import SupportVectorClassifier, SupportVectorRegressor
from mercer.capacity import leave_one_out, structural_risk_path
from mercer.datasets import load_ida, load_usps
from mercer.kernels import Gaussian, widths_for

# Sets of classes: rows to learn from.
SETS = {
    "banana": 400, "heart": 170, "twonorm": 400, "waveform": 400, "german": 500, "image": 600, "usps 3-8": 600,
    "usps 0-1": 600,
}  # fmt: skip
CS = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]
N_WIDTHS = 7


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def title(text):
    print(f"\n{text}\n{'-' * len(text)}")


def aim(words, met):
    print(f"aim: {words}: {'met' if met else 'missed'}")


def usps_pair(first, second, n, seed=0):
    parts = [load_usps(subset) for subset in ("train", "test")]
    X, y = (np.concatenate(values) for values in zip(*parts, strict=True))
    rows = np.flatnonzero((y == first) | (y == second))
    order = np.random.default_rng(seed).permutation(rows)
    return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]


def table(name):
    """Rows to learn from and to test on, in units of standard deviations."""
    if name.startswith("usps"):
        return usps_pair(int(name[-3]), int(name[-1]), SETS[name])
    X, y, splits = load_ida(name)
    train, test = splits[0]
    order = np.random.default_rng(0).permutation(train)[: SETS[name]]
    center, scale = X[order].mean(axis=0), X[order].std(axis=0)
    scale[scale == 0] = 1.0
    X = (X - center) / scale
    return X[order], y[order], X[test], y[test]


def large(n=20_000):
    title(f"Span of {n:,} rows beside the fit")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n) > 0, 1, -1)
    warm = SupportVectorClassifier(Gaussian(1.5)).fit(X[:1000], y[:1000])
    leave_one_out(warm, X[:1000], y[:1000])
    fit, machine = timed(lambda: SupportVectorClassifier(Gaussian(1.5)).fit(X, y))
    span, found = timed(lambda: leave_one_out(machine, X, y))
    free = int(np.sum(np.abs(machine.dual_coef_) < 1.0 - 1e-9))
    print(f"fit {fit:.2f} s, span {span:.2f} s; {len(machine.support_):,} support vectors, {free:,} of them free")
    print(f"leave-one-out error by the span {found.error:.4f}")
    aim("span within the time of the fit", span <= fit)


def path(n=500):
    title(f"Exact leave-one-out of {n} rows: the path beside refits")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    labels, numbers = np.where(f + 0.3 * rng.normal(size=n) > 0, 1, -1), f + 0.3 * rng.normal(size=n)
    for name, machine, y in (
        ("hinge", SupportVectorClassifier(Gaussian(1.0)), labels),
        ("ε-insensitive", SupportVectorRegressor(Gaussian(1.0)), numbers),
    ):
        machine.fit(X, y)
        leave_one_out(machine, X, y, method="path")  # compiled
        by_path, exact = timed(lambda machine=machine, y=y: leave_one_out(machine, X, y, method="path"))
        by_refits, refits = timed(lambda machine=machine, y=y: leave_one_out(machine, X, y, method="refit"))
        own_refits, _ = timed(lambda machine=machine, y=y: refits_as_users_do(machine, X, y))
        difference = np.abs(exact.predictions - refits.predictions).max()
        print(
            f"{name:14} path {by_path:.3f} s; refits to the last digits {by_refits:.1f} s, with the default tolerance "
            f"{own_refits:.1f} s: ratios 1/{by_refits / by_path:.0f} and 1/{own_refits / by_path:.0f}; largest "
            f"difference of predictions {difference:.1e}, {exact.changed.mean():.0%} of the rows free or bind others"
        )
        aim("path in less than a twentieth of the time", by_path < own_refits / 20)


def refits_as_users_do(machine, X, y):
    """One fit with the default tolerance for each support vector."""
    for i in machine.support_:
        rest = np.arange(len(y)) != i
        clone(machine).fit(X[rest], y[rest]).predict(X[[i]])


def chosen_by_cv(X, y):
    """Width and C by 5-fold cross-validation as scikit-learn does it, and the time."""
    widths = widths_for(X, N_WIDTHS)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    grid = {"kernel__width": list(map(float, widths)), "C": CS}
    search = GridSearchCV(SupportVectorClassifier(Gaussian()), grid, cv=folds, refit=False)
    seconds, _ = timed(lambda: search.fit(X, y))
    best = search.best_params_
    return seconds, best["kernel__width"], best["C"]


def chosen_by_paths(X, y):
    """The same with one regularization path for each fold and width."""
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    errors = {}
    start = time.perf_counter()
    for width in widths_for(X, N_WIDTHS):
        total = np.zeros(len(CS))
        for train, test in folds:
            machines = SupportVectorClassifier(Gaussian(float(width))).regularization_path(X[train], y[train], CS)
            total += [np.sum(machine.predict(X[test]) != y[test]) for machine in machines]
        errors |= {(float(width), C): value for C, value in zip(CS, total, strict=True)}
    return time.perf_counter() - start, *min(errors, key=errors.__getitem__)


def chosen_by_span(X, y):
    """Width and C by the span along a path for each width."""
    start, best = time.perf_counter(), (np.inf, np.inf)
    for width in widths_for(X, N_WIDTHS):
        machines = SupportVectorClassifier(Gaussian(float(width))).regularization_path(X, y, CS)
        path = structural_risk_path(machines, X, y)
        value = (path.criteria["span"][path.best], path.norms[path.best])
        if value < best:
            best, choice = value, (float(width), CS[path.best])
    return time.perf_counter() - start, *choice


def tested(X, y, X_test, y_test, width, C):
    return float(np.mean(SupportVectorClassifier(Gaussian(width), C=C).fit(X, y).predict(X_test) != y_test))


def truth():
    title("Span beside exact leave-one-out, at the width and C that cross-validation chooses")
    close = 0
    for name in SETS:
        X, y, _, _ = table(name)
        _, width, C = chosen_by_paths(X, y)
        machine = SupportVectorClassifier(Gaussian(width), C=C).fit(X, y)
        span, exact = leave_one_out(machine, X, y).error, leave_one_out(machine, X, y, method="path").error
        close += abs(span - exact) <= 0.01
        print(f"{name:9} width {width:6.3g}  C {C:5g}  span {span:.4f}  exact {exact:.4f}  {span - exact:+.4f}")
    aim(f"within .01 on five of the eight sets ({close})", close >= 5)


def choice():
    title("Width and C by the span, beside 5-fold cross-validation (scikit-learn's grid search, and by paths)")
    differences, ratios, path_ratios = [], [], []
    for name in SETS:
        X, y, X_test, y_test = table(name)
        span_time, *by_span = chosen_by_span(X, y)
        cv_time, *by_cv = chosen_by_cv(X, y)
        path_time, *_ = chosen_by_paths(X, y)
        errors = [tested(X, y, X_test, y_test, *chosen) for chosen in (by_span, by_cv)]
        differences.append(errors[0] - errors[1])
        ratios.append(span_time / cv_time)
        path_ratios.append(span_time / path_time)
        print(
            f"{name:9} test error: span {errors[0]:.4f}, cross-validation {errors[1]:.4f}; time: span {span_time:.1f} s"
            f" = {ratios[-1]:.2f} of grid search = {path_ratios[-1]:.2f} of paths in folds"
        )
    mean, ratio = float(np.mean(differences)), float(np.exp(np.mean(np.log(ratios))))
    error = float(np.std(differences, ddof=1) / np.sqrt(len(differences)))
    print(f"mean difference of test errors {mean:+.4f}, standard error {error:.4f}; mean ratio of times {ratio:.2f}")
    aim("no worse than cross-validation in the mean, within a standard error", mean <= error)
    aim("in a fifth of its time", ratio <= 0.2)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parts = {"large": large, "path": path, "truth": truth, "choice": choice}
    for part in sys.argv[1:] or parts:
        parts[part]()
