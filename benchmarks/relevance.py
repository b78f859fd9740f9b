"""Relevant dimensions beside a grid search: time, test errors, and many rows.

The rival chooses among the same 20 widths, and 10 values of C, by 5-fold cross-validation of scikit-learn's SVR.
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

from mercer import KernelPCClassifier, RelevantDimensions
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


def choice_of_width(n=1000):
    title(f"Choosing among 20 widths, n = {n}: with the verdict, for prediction alone, and by grid search")
    X, y = synthetic(n + 2000)
    train, test = slice(n), slice(n, None)
    verdict, _ = seconds(lambda: RelevantDimensions().fit(X[train], y[train]))
    alone, model = seconds(lambda: KernelPCClassifier().fit(X[train], y[train]))
    grid, search = seconds(lambda: grid_search(X[train], y[train]))
    error, rival = 1 - model.score(X[test], y[test]), np.mean(np.sign(search.predict(X[test])) != y[test])
    print(f"RelevantDimensions {verdict:6.2f} s   KernelPCClassifier {alone:6.2f} s   grid search {grid:7.1f} s")
    print(f"grid search / RelevantDimensions {grid / verdict:.0f}, / KernelPCClassifier {grid / alone:.0f}")
    print(f"test error {100 * error:.2f} % against {100 * rival:.2f} %")


def benchmark_sets(names):
    title("Sets of Rätsch, first division: test error of both, in per cent, and the ratio of their times")
    for name in names:
        try:
            X, y, splits = load_ida(name)
        except FileNotFoundError as error:
            print(error)
            return
        train, test = splits[0][0][:1000], splits[0][1]
        ours, model = min(
            (seconds(lambda X=X, y=y, train=train: KernelPCClassifier().fit(X[train], y[train])) for _ in range(3)),
            key=lambda run: run[0],
        )
        theirs, search = seconds(lambda X=X, y=y, train=train: grid_search(X[train], y[train].astype(float)))
        error = 100 * (1 - model.score(X[test], y[test]))
        rival = 100 * np.mean(np.sign(search.predict(X[test])) != y[test])
        print(f"{name:9} n = {len(train):4}   ours {error:5.2f}   grid search {rival:5.2f}   "
              f"ratio {error / rival:.3f}   times as fast {theirs / ours:5.0f}", flush=True)  # fmt: skip


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
