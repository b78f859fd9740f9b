"""Kernel machines on wide and on sparse rows, on many classes and on given matrices, beside scikit-learn and intelex.

Rivals are interleaved and the minimum of several rounds is taken; rivals that take many seconds run once. With two
classes Mercer is asked for the smallest gap of its rivals, with ten for 1e-3: scikit-learn solves 45 small problems
there, of two classes each, and Mercer ten large ones. The digits are read as `mercer.datasets.load_usps` says; without
them those of scikit-learn, with noise, take their place. `python benchmarks/machines_wide.py` takes two minutes.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).parent))
from machines_scale import gap_of, timed, title

from mercer import SupportVectorClassifier
from mercer.datasets import load_usps
from mercer.kernels import Gaussian, Linear, Precomputed
from mercer.kernels.gram import Gram
from mercer.losses import Hinge
from mercer.problems import KernelProgram
from mercer.regularizers import RKHSNorm

_ROUNDS, _LONG = 3, 5.0  # rounds; and seconds beyond which a rival runs once


def digits():
    rng = np.random.default_rng(0)
    try:
        return load_usps()
    except FileNotFoundError:
        X, y = load_digits(return_X_y=True)
        chosen = rng.integers(len(X), size=7_000)
        return np.tile(X[chosen] / 16, 4) + 0.3 * rng.normal(size=(7_000, 256)), y[chosen]


def noise(m=10_000, n_columns=100):
    """Two classes in a cloud without structure: nearly all samples become support vectors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n_columns))
    score = np.sin(2 * X @ rng.normal(size=n_columns) / np.sqrt(n_columns)) + 0.5 * X[:, 0] * X[:, 1]
    return X, np.where(score + 0.3 * rng.normal(size=m) > 0, 1, -1)


def words(m=4_000, n_columns=20_000, density=0.003):
    """Texts as sets of words, of which one in ten tells the class."""
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(
        sparse.random(m, n_columns, density=density, format="csr", random_state=rng, data_rvs=np.ones)
    )
    telling = rng.normal(size=n_columns) * (rng.random(n_columns) < 0.1)
    score = X @ telling + 0.3 * rng.normal(size=m)
    return X / np.sqrt(density * n_columns), np.where(score > 0, 1, -1)


def gaussian(X):
    """A Gaussian of the width that scikit-learn calls 'scale', and its `gamma`."""
    width = float(np.sqrt(X.shape[1] * X.var() / 2))
    return Gaussian(width), {"gamma": 0.5 / width**2}


def compare(name, X, y, C, kernel, options):
    from sklearnex.svm import SVC as FastSVC

    two = len(np.unique(y)) == 2
    rivals = {"intelex": FastSVC, "scikit-learn": SVC} if not sparse.issparse(X) else {"scikit-learn": SVC}
    best, gaps, machines = {}, {}, {}
    if two:
        gram = X if isinstance(kernel, Precomputed) else Gram(kernel, X)
        problem = KernelProgram.build(RKHSNorm().penalty(gram, np.ones((len(y), 1))), y.astype(float), Hinge(), C)
    for _ in range(_ROUNDS):
        for rival, make in rivals.items():
            if best.get(rival, 0.0) < _LONG:
                seconds, machines[rival] = timed(make(C=C, **options).fit, X, y)
                best[rival] = min(best.get(rival, np.inf), seconds)
            if two and rival not in gaps:
                gaps[rival] = gap_of(problem, machines[rival].support_, _dense(machines[rival].dual_coef_)[0])
        tol = min(gaps.values()) if two else 1e-3
        seconds, machines["Mercer"] = timed(SupportVectorClassifier(kernel, C=C, tol=tol).fit, X, y)
        best["Mercer"] = min(best.get("Mercer", np.inf), seconds)
    gaps["Mercer"] = np.max(machines["Mercer"].gap_)
    shown = "   ".join(f"{r} {best[r]:.2f}" + (f" ({gaps[r]:.0e})" if r in gaps else "") for r in best)
    ratios = ", ".join(f"{rival} {best[rival] / best['Mercer']:.1f}" for rival in rivals)
    predictions = {rival: timed(machine.predict, X) for rival, machine in machines.items()}
    again = ", ".join(f"{rival} {predictions[rival][0] / predictions['Mercer'][0]:.1f}" for rival in rivals)
    equal = min(np.mean(predictions[rival][1] == predictions["Mercer"][1]) for rival in rivals)
    print(f"{name}, C = {C:g}: {shown}   times Mercer: {ratios}; predict: {again}; equal {equal:.4f}", flush=True)


def _dense(values):
    return values.toarray() if sparse.issparse(values) else values


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    title(f"fit: seconds (relative gap), minimum of {_ROUNDS}; predict the same rows: ratios; share of equal classes")
    X, y = digits()
    odd = np.where(y % 2, 1, -1)
    compare("compiled functions are loaded", X[:1_000], odd[:1_000], 1.0, *gaussian(X))
    for C in (1.0, 10.0, 100.0):
        compare(f"odd or even digit, {X.shape}", X, odd, C, *gaussian(X))
    for C in (1.0, 10.0):
        compare(f"ten digits, {X.shape}", X, y, C, *gaussian(X))
    kernel, options = gaussian(X)
    compare("odd or even digit, the matrix given", kernel(X), odd, 10.0, Precomputed(), {"kernel": "precomputed"})
    X, y = noise()
    for C in (1.0, 100.0):
        compare(f"noise, {X.shape}", X, y, C, *gaussian(X))
    X, y = words()
    for C in (1.0, 10.0):
        compare(f"words, sparse, {X.shape}", X, y, C, Linear(), {"kernel": "linear"})
