"""Relevant dimensions beside a grid search: time, test errors, and many rows.

The rival chooses among the same 20 widths, and 10 values of C, by 5-fold cross-validation of scikit-learn's SVR. Beside
it: the width that `RelevantDimensions` chooses, verdict included, with a kernel ridge regression whose penalty is the
best of its leave-one-out path ("chosen width"), and least squares on the relevant components ("components").
Data: the classification sets of Rätsch, labels ±1, where the folder is at hand (MERCER_DATA); each with 1000 training
rows, or as many as its divisions have.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR

from mercer import KernelPCClassifier, KernelRidge, RelevantDimensions
from mercer.datasets import load_ida
from mercer.kernels import widths_for

SETS = ("banana", "german", "heart", "image", "ringnorm", "titanic", "twonorm", "waveform")


def title(text):
    print(f"\n{text}\n{'-' * len(text)}")


def seconds(run):
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def synthetic(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.sign(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n))


def grid_search(X, y):
    gammas = 1 / (2 * widths_for(X) ** 2)
    return GridSearchCV(SVR(), {"gamma": gammas, "C": np.logspace(-2, 3, 10)}, cv=5).fit(X, y)


def ours(X, y):
    """The width that `RelevantDimensions` chooses, with its verdict; a kernel ridge regression at that width."""
    return KernelRidge(RelevantDimensions().fit(X, y).kernel_).fit(X, y)


def compare(X, y, train, test):
    """Seconds and test errors, in per cent, of the three: the quick ones are timed three times."""
    error = lambda values: 100 * np.mean(np.sign(values) != y[test])  # noqa: E731
    quick = {"chosen width": lambda: ours(X[train], y[train]), "components": lambda: components(X[train], y[train])}
    spent, errors = {}, {}
    for _ in range(3):
        for name, run in quick.items():
            elapsed, model = seconds(run)
            spent[name] = min(spent.get(name, np.inf), elapsed)
            errors[name] = error(model.predict(X[test]))
    spent["grid search"], search = seconds(lambda: grid_search(X[train], y[train]))
    errors["grid search"] = error(search.predict(X[test]))
    for name in quick:
        faster, share = spent["grid search"] / spent[name], errors[name] / errors["grid search"]
        print(f"   {name:13} {spent[name]:6.2f} s, {faster:4.0f} times as fast; error {errors[name]:5.2f} %, "
              f"{share:.3f} of the rival's", flush=True)  # fmt: skip


def components(X, y):
    return KernelPCClassifier().fit(X, y)


def choice_of_width(n=1000):
    title(f"Choosing among 20 widths, n = {n}, beside a grid search")
    X, y = synthetic(n + 2000)
    compare(X, y, slice(n), slice(n, None))


def benchmark_sets(names):
    title("Sets of Rätsch, first division")
    for name in names:
        try:
            X, y, splits = load_ida(name)
        except FileNotFoundError as error:
            print(error)
            return
        train, test = splits[0][0][:1000], splits[0][1]
        print(f"{name}, n = {len(train)}")
        compare(X, np.where(y == np.unique(y)[1], 1.0, -1.0), train, test)


def many_rows(n=20_000, rank=1000):
    title(f"n = {n}, 20 widths, factors of rank {rank}")
    X, y = synthetic(n)
    spent, model = seconds(lambda: RelevantDimensions(rank=rank).fit(X, y))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{spent:.0f} s, at most {memory:.2f} GiB, dimension {model.dimension_}, noise {100 * model.noise_level_:.1f} %"
    )


if __name__ == "__main__":
    many_rows()
    choice_of_width()
    benchmark_sets(sys.argv[1:] or SETS)
