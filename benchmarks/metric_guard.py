"""What a learned metric loses where few rows have nothing to learn from: beside one length for all columns.

81 small cases: nine tables of regression with 170 and 400 rows, and nine sets of classes, whose labels ±1 are predicted
as numbers; three seeds. The excess is the root mean square error on other rows over that of the better of the two
machines: 1 where the learned metric is not behind. Means are geometric; the aim is 1.01.

`python benchmarks/metric_guard.py` takes three minutes; `--cases` shows each case, `--tables` takes some.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from mercer import KernelRidge, LearnedMetric
from mercer.datasets import load_table
from tables import CLASSES, NEARLY_EXACT, TABLES, labelled

ROWS, MOST_CLASS_ROWS, SEEDS = (170, 400), 400, 3


def cases(names):
    """Name, rows and targets to learn from, and those to judge by."""
    for name in names:
        for seed in range(SEEDS):
            if name in (*CLASSES, "digits"):
                X, y, learned, held_out = labelled(name, seed)
                classes = np.unique(y)
                Y = np.where(y[:, None] == classes[1:] if len(classes) == 2 else y[:, None] == classes, 1.0, -1.0)
                learned = learned[:MOST_CLASS_ROWS]
                yield name, True, (X[learned], Y[learned]), (X[held_out], Y[held_out])
                continue
            X, y = load_table(name)
            for n in ROWS:
                order = np.random.default_rng(seed).permutation(len(X))
                n_learned = min(n, int(0.8 * len(X)))
                learned, held_out = order[:n_learned], order[n_learned : n_learned + 3000]
                yield f"{name} {n}", False, (X[learned], y[learned]), (X[held_out], y[held_out])


def errors(learned, held_out):
    """Root mean square errors of a learned metric, and of one length for all columns."""
    d = learned[0].shape[1]
    equal = LearnedMetric("Gaussian", groups=[list(range(d))], rotation="none")
    models = [KernelRidge(metric=metric).fit(*learned) for metric in ("learned", equal)]
    values = [np.mean((model.predict(held_out[0]) - held_out[1]) ** 2) ** 0.5 for model in models]
    return *values, models[0].metric_.reason_.split(":")[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", action="store_true", help="show each case")
    parser.add_argument("--tables", nargs="*", default=None)
    options = parser.parse_args()
    names = options.tables or [*(name for name in TABLES if name not in NEARLY_EXACT), *CLASSES, "digits"]
    found = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for name, is_class, learned, held_out in cases(names):
            metric, equal, reason = errors(learned, held_out)
            found.append((is_class, metric / min(metric, equal), metric / equal))
            if options.cases:
                print(f"{name:16} {metric:9.4f} {equal:9.4f} {metric / equal:.3f} {reason}", flush=True)
    kinds, excess, ratio = np.array(found).T
    for title, chosen in (("all", kinds >= 0), ("regression", kinds == 0), ("classes", kinds == 1)):
        if chosen.any():
            means = [np.exp(np.log(values[chosen]).mean()) for values in (excess, ratio)]
            print(f"{title:10} {chosen.sum():3d} cases: excess {means[0]:.4f}, learned over equal {means[1]:.4f}")


if __name__ == "__main__":
    main()
