"""Kernel machines with a learned metric on tables, beside boosted trees.

The same rows for all: 80 % or 2,000 of them to learn from, 3,000 at most to judge by, three seeds. Regression: root
mean square error over the standard deviation of the test targets. Classes: share of errors and log loss. Means over
tables are geometric, of ratios to the best of the boosted trees. CPU seconds are of one thread.

LightGBM and CatBoost (`pip install .[peers]`) are left out with a remark where they are not installed, and so is xRFM.
"lightgbm tuned" chooses among three numbers of leaves with the rate .05 and early stopping on 20 % of the rows, and is
fitted to all of them again. The tables are read by `mercer.datasets.load_table` and `load_ida`.

`python benchmarks/tables.py` takes a quarter of an hour; `--quick` one seed; `--all-rows` the large tables as they are.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from mercer import KernelRidge, LearnedMetric
from mercer.datasets import load_ida, load_table
from mercer.machines import Calibration

TABLES = ("airfoil", "abalone", "california", "compactiv", "energy", "concrete", "autompg", "sml", "solar", "bike")
# Any machine finds the targets of these: bike's is a sum of columns. They must not carry a mean.
NEARLY_EXACT = ("bike",)
CLASSES = ("heart", "banana", "ringnorm", "waveform", "german", "image", "titanic", "twonorm")
BOOSTERS = ("hist boosting", "lightgbm", "lightgbm tuned", "catboost")
LEAVES, RATE, MOST_TREES, PATIENCE = (8, 31, 64), 0.05, 2000, 50


class TunedLightGBM:
    """The number of leaves and of trees by the error on a fifth of the rows, then all rows."""

    def __init__(self, make, metric):
        self.make, self.metric = make, metric

    def fit(self, X, y):
        """Fit four times."""
        import lightgbm

        rows = train_test_split(X, y, test_size=0.2, random_state=0)
        X_learned, X_held_out, y_learned, y_held_out = rows
        best = None
        for leaves in LEAVES:
            model = self.make(n_estimators=MOST_TREES, learning_rate=RATE, num_leaves=leaves)
            stop = lightgbm.early_stopping(PATIENCE, verbose=False)
            model.fit(X_learned, y_learned, eval_set=[(X_held_out, y_held_out)], callbacks=[stop])
            score = model.best_score_["valid_0"][self.metric]
            if best is None or score < best[0]:
                best = score, leaves, max(1, model.best_iteration_)
        _, leaves, n_trees = best
        self.model = self.make(n_estimators=n_trees, learning_rate=RATE, num_leaves=leaves).fit(X, y)
        return self

    def predict(self, X):
        """Predictions."""
        return self.model.predict(X)

    def predict_proba(self, X):
        """Probabilities of the classes."""
        return self.model.predict_proba(X)


class XRFM:
    """xRFM with its defaults, which hold a fifth of the rows out."""

    def fit(self, X, y):
        """Fit to four fifths of the rows."""
        from xrfm import xRFM

        self.scaler = StandardScaler().fit(X)
        self.mean, self.sd = y.mean(), y.std()
        rows = train_test_split(self.scaler.transform(X), (y - self.mean) / self.sd, test_size=0.2, random_state=0)
        X_learned, X_held_out, y_learned, y_held_out = (part.astype(np.float32) for part in rows)
        self.model = xRFM()
        self.model.fit(X_learned, y_learned, X_held_out, y_held_out)
        return self

    def predict(self, X):
        """Predictions."""
        return self.mean + self.sd * np.ravel(self.model.predict(self.scaler.transform(X).astype(np.float32)))


class KernelClassifier:
    """Kernel ridge regression on labels ±1, and sigmoids of its values on folds that it was not fitted to."""

    def __init__(self, metric):
        self.metric = metric

    def fit(self, X, y):
        """Fit six times."""
        self.classes, codes = np.unique(y, return_inverse=True)
        values = np.empty((len(y), len(self.classes)))
        for learned, fold in StratifiedKFold(5, shuffle=True, random_state=0).split(X, codes):
            values[fold] = self._machine(X[learned], codes[learned]).predict(X[fold])
        if len(self.classes) == 2:
            values = values[:, 1]
        self.calibration = Calibration.fit(values, codes, np.ones(len(y)), n_folds=5)
        self.machine = self._machine(X, codes)
        return self

    def _machine(self, X, codes):
        return KernelRidge(metric=self.metric).fit(X, np.where(codes[:, None] == np.unique(codes), 1.0, -1.0))

    def predict(self, X):
        """Predictions."""
        return self.classes[np.argmax(self.machine.predict(X), axis=1)]

    def predict_proba(self, X):
        """Probabilities of the classes."""
        values = self.machine.predict(X)
        return np.exp(self.calibration.log_probabilities(values[:, 1] if len(self.classes) == 2 else values))


def installed(name):
    try:
        return __import__(name)
    except ImportError as error:
        print(f"{name} is left out: {error}")
        return None


def regressors():
    found = {
        "learned metric": lambda: KernelRidge(metric="learned"),
        "isotropic": lambda: make_pipeline(StandardScaler(), KernelRidge()),
        "hist boosting": lambda: HistGradientBoostingRegressor(random_state=0),
    }
    lightgbm, catboost, xrfm = (installed(name) for name in ("lightgbm", "catboost", "xrfm"))
    if lightgbm:

        def light(**options):
            return lightgbm.LGBMRegressor(verbose=-1, n_jobs=1, random_state=0, **options)

        found["lightgbm"] = light
        found["lightgbm tuned"] = lambda: TunedLightGBM(light, "l2")
    if catboost:
        found["catboost"] = lambda: catboost.CatBoostRegressor(
            verbose=False, thread_count=1, random_seed=0, allow_writing_files=False
        )
    if xrfm:
        found["xrfm"] = XRFM
    return found


def classifiers(d):
    found = {
        "learned metric": lambda: KernelClassifier("learned"),
        "isotropic": lambda: KernelClassifier(LearnedMetric("Gaussian", groups=[list(range(d))], rotation="none")),
        "hist boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    }
    lightgbm, catboost = (installed(name) for name in ("lightgbm", "catboost"))
    if lightgbm:

        def light(**options):
            return lightgbm.LGBMClassifier(verbose=-1, n_jobs=1, random_state=0, **options)

        found["lightgbm"] = light
    if catboost:
        found["catboost"] = lambda: catboost.CatBoostClassifier(
            verbose=False, thread_count=1, random_seed=0, allow_writing_files=False
        )
    return found


def labelled(name, seed):
    """Rows, labels, and positions of training and test rows; digits as in the tables of numbers."""
    if name != "digits":
        X, y, splits = load_ida(name)
        learned, held_out = splits[min(seed, len(splits) - 1)]
        return X, y, learned, held_out[:3000]
    X, y = load_digits(return_X_y=True)
    return X, y, *rows_of(len(X), seed, 2000)


def run_classes(names, seeds):
    sums = {}
    for name in names:
        for seed in range(seeds):
            X, y, learned, held_out = labelled(name, seed)
            learners = classifiers(X.shape[1])
            for learner, make in learners.items():
                start = time.process_time()
                model = make().fit(X[learned], y[learned])
                P = model.predict_proba(X[held_out])
                wrong = np.mean(np.ravel(model.predict(X[held_out])) != y[held_out])
                loss = log_loss(y[held_out], np.clip(P, 1e-6, 1.0))
                sums.setdefault((name, learner), []).append((100 * wrong, loss, time.process_time() - start))
                if learner == "learned metric":
                    print(f"  {name} {seed}: {model.machine.metric_.reason_}")
        means = {learner: np.mean(sums[name, learner], axis=0) for learner in learners}
        cells = "".join(f"  {learner} {m[0]:.2f} {m[1]:.3f} ({m[2]:.1f} s)" for learner, m in means.items())
        print(f"{name:10}{cells}", flush=True)
    print("means of errors in % and of log losses")
    for learner in learners:
        errors, losses, _ = np.mean([np.mean(sums[name, learner], axis=0) for name in names], axis=0)
        print(f"{learner:16} {errors:.2f} {losses:.3f}")


def rows_of(n, seed, most):
    order = np.random.default_rng(seed).permutation(n)
    n_learned = min(int(0.8 * n), most)
    return order[:n_learned], order[n_learned : n_learned + 3000]


def run_regression(names, seeds, most):
    learners = regressors()
    print(f"{'nRMSE':15}{'n':>6}" + "".join(f"{name:>16}" for name in learners) + "  ratio to the best boosted trees")
    ratios, seconds = {}, {name: [] for name in learners}
    for table in names:
        X, y = load_table(table)
        errors = {name: [] for name in learners}
        for seed in range(seeds):
            learned, held_out = rows_of(len(X), seed, most)
            for name, make in learners.items():
                start = time.process_time()
                model = make().fit(X[learned], y[learned])
                predicted = model.predict(X[held_out])
                seconds[name].append(time.process_time() - start)
                errors[name].append(np.mean((predicted - y[held_out]) ** 2) / y[held_out].var())
                if name == "learned metric":
                    print(f"  {table} {seed}: {model.metric_.reason_} (penalty {model.penalty_:.1e})")
        roots = {name: np.sqrt(np.mean(values)) for name, values in errors.items()}
        best = min(roots[name] for name in BOOSTERS if name in roots)
        ratios[table] = {name: root / best for name, root in roots.items()}
        cells = "".join(f"{root:16.4f}" for root in roots.values())
        print(f"{table:15}{len(learned):6d}{cells}  {ratios[table]['learned metric']:.3f}", flush=True)
    print_means(ratios, seconds)


def print_means(ratios, seconds):
    kept = [table for table in ratios if table not in NEARLY_EXACT]
    for name in seconds:
        mean = np.exp(np.mean([np.log(ratios[table][name]) for table in kept])) if kept else np.nan
        print(f"{name:16} geometric mean of ratios {mean:.3f}, CPU seconds {np.mean(seconds[name]):.2f} in the mean")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--all-rows", action="store_true", help="learn from 80 %% of all rows")
    parser.add_argument("--classes", action="store_true", help="classification")
    parser.add_argument("--tables", nargs="*", default=None)
    options = parser.parse_args()
    seeds = 1 if options.quick else 3
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        if options.classes:
            run_classes(options.tables or (*CLASSES, "digits"), seeds)
        else:
            run_regression(options.tables or TABLES, seeds, 10**9 if options.all_rows else 2000)


if __name__ == "__main__":
    main()
