"""Kernel components beside their peers: time, memory, accuracy, growth.

Rivals are interleaved in one run and the minimum of several rounds is taken; memory is the peak of a fresh process.
``--small`` runs everything at a size that takes seconds.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np

SMALL = "--small" in sys.argv
N = 3_000 if SMALL else 20_000
N_LARGE = 6_000 if SMALL else 100_000
SIZES = [1_500, 3_000] if SMALL else [5_000, 10_000, 20_000]
ROUNDS = 2 if SMALL else 3
WIDTH = 4.0


def seconds(calls, rounds=ROUNDS):
    """Minimum time of each call, the calls taking turns, and what the last of them returned."""
    best, results = dict.fromkeys(calls, np.inf), {}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            results[name] = call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best, results


def rows(n, d=20, seed=0):
    """Three clouds, stretched: some directions matter more than others."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.linspace(1.5, 0.5, d) + 2.0 * rng.integers(3, size=(n, 1)) * np.eye(d)[0]


def title(text):
    print(f"\n{text}\n{'-' * len(text)}")


def ours(n, **options):
    from mercer import KernelPCA
    from mercer.kernels import Gaussian

    return KernelPCA(10, kernel=Gaussian(WIDTH), random_state=0, **options).fit(rows(n))


def peer(n, eigen_solver="arpack"):
    from sklearn.decomposition import KernelPCA

    gamma = 0.5 / WIDTH**2
    return KernelPCA(10, kernel="rbf", gamma=gamma, eigen_solver=eigen_solver, random_state=0).fit(rows(n))


def exact():
    title("Kernel PCA, 10 components, Gaussian kernel, d = 20")
    times = {"mercer": [], "scikit-learn, arpack": []}
    for n in SIZES:
        calls = {"mercer": lambda n=n: ours(n, eigen_solver="lanczos"), "scikit-learn, arpack": lambda n=n: peer(n)}
        best, models = seconds(calls, rounds=ROUNDS if n < 20_000 else 2)
        reference = models["scikit-learn, arpack"].eigenvalues_
        error = np.max(np.abs(models["mercer"].eigenvalues_ / reference - 1))
        ratio = best["scikit-learn, arpack"] / best["mercer"]
        print(f"n = {n:6}  mercer {best['mercer']:6.2f} s ({models['mercer'].n_iter_} products)   scikit-learn "
              f"{best['scikit-learn, arpack']:6.2f} s   {ratio:5.2f} times Mercer's   "
              f"eigenvalues differ by {error:.0e}")  # fmt: skip
        for name, values in times.items():
            values.append(best[name])
    for name, values in times.items():
        print(f"exponent of n, {name}: {np.polyfit(np.log(SIZES), np.log(values), 1)[0]:.2f}")


def accuracy():
    title(f"Other spectra, n = {SIZES[0]}: products needed, eigenvalues against LAPACK")
    from mercer import KernelPCA
    from mercer.kernels import Exponential, Gaussian, Multiquadric, Polynomial, ThinPlate

    X = rows(SIZES[0])
    for kernel in (Gaussian(1.0), Gaussian(16.0), Exponential(0.1), Polynomial(3), Multiquadric(), ThinPlate()):
        dense = KernelPCA(10, kernel=kernel, eigen_solver="dense").fit(X)
        lanczos = KernelPCA(10, kernel=kernel, eigen_solver="lanczos", random_state=0).fit(X)
        error = np.max(np.abs(lanczos.eigenvalues_ / dense.eigenvalues_ - 1))
        print(f"{kernel!r:35} {lanczos.n_iter_:3} products   relative error {error:.0e}, wanted {lanczos.tol:.0e}")


MEMORY_TASKS = {
    "nothing": "pass",
    f"mercer, n = {N:,}": f"ours({N}, eigen_solver='lanczos')",
    f"scikit-learn arpack, n = {N:,}": f"peer({N})",
    f"mercer, n = {N_LARGE:,}": f"ours({N_LARGE}, eigen_solver='lanczos')",
    f"mercer, 500 landmarks, n = {N_LARGE:,}": f"ours({N_LARGE}, n_landmarks=500)",
}


def memory_of(task):
    """Run one task in this fresh process and report its time and peak memory."""
    ours(500), peer(500)  # loads what is compiled
    start = time.perf_counter()
    exec(MEMORY_TASKS[task], {"ours": ours, "peer": peer})
    # The peak of this process alone; ru_maxrss would start from the parent's.
    status = Path("/proc/self/status").read_text()
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) * 1024
    print(json.dumps({"seconds": time.perf_counter() - start, "peak": peak}))


def memory():
    title("Peak memory of a fresh process, beyond the imports")
    base, used = None, []
    for task in MEMORY_TASKS:
        command = [sys.executable, __file__, *(["--small"] if SMALL else []), "--memory", task]
        out = subprocess.run(command, capture_output=True, text=True, check=True)
        result = json.loads(out.stdout.splitlines()[-1])
        if base is None:
            base = result["peak"]
            continue
        used.append(result["peak"] - base)
        print(f"{task:42} {used[-1] / 2**20:7.0f} MiB  {result['seconds']:6.2f} s")
    print(f"scikit-learn's memory is {used[1] / used[0]:.1f} times Mercer's")


def approximate():
    from sklearn.decomposition import PCA
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    from mercer import KernelPCA
    from mercer.kernels import Gaussian

    n_draws = 10
    title(f"Approximate components, n = {N}, fit and transform, variance missed: mean of {n_draws} draws of landmarks")
    X = rows(N)
    exact_values = ours(N, eigen_solver="lanczos").eigenvalues_

    def mercer(m, seed):
        return KernelPCA(10, kernel=Gaussian(WIDTH), n_landmarks=m, random_state=seed).fit_transform(X)

    def pipeline(m, seed):
        landmarks = Nystroem(gamma=0.5 / WIDTH**2, n_components=m, random_state=seed)
        return make_pipeline(landmarks, PCA(10, random_state=seed)).fit_transform(X)

    for m in (100, 300, 1000):
        runs = {"mercer": [], "Nystroem + PCA": []}
        for seed in range(n_draws):
            for name, call in (("mercer", mercer), ("Nystroem + PCA", pipeline)):
                start = time.perf_counter()
                Z = call(m, seed)
                runs[name].append((time.perf_counter() - start, 1 - np.sum(Z**2) / exact_values.sum()))
        best = {name: min(spent for spent, _ in found) for name, found in runs.items()}
        for name, found in runs.items():
            missed = np.array([error for _, error in found])
            ratio = best[name] / best["Nystroem + PCA"]
            print(f"{m:5} landmarks  {name:15} {best[name]:6.2f} s  {ratio:5.2f} of its time"
                  f"   missed {missed.mean():.2e} ± {missed.std() / np.sqrt(n_draws):.0e}", flush=True)  # fmt: skip


def preimages():
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA

    from mercer import KernelPCA
    from mercer.datasets import load_usps

    title("Noisy digits cleaned: mean squared error of a pixel, best over the number of components")
    shuffled = np.random.default_rng(0).permutation
    digits = shuffled(load_digits().data / 16.0)
    sets = {"digits": (digits[:1000], digits[1000:1200])}
    try:
        sets["USPS"] = (shuffled(load_usps("train")[0])[:1000], shuffled(load_usps("test")[0])[:200])
    except FileNotFoundError as error:
        print(f"USPS is left out: {error}")
    for (name, (train, clean)), noise in product(sets.items(), (0.0, 0.25, 0.5)):
        noisy = clean + noise * np.random.default_rng(1).normal(size=clean.shape)

        def error(model, noisy=noisy, clean=clean):
            return np.mean((model.inverse_transform(model.transform(noisy)) - clean) ** 2)

        counts = (4, 8, 16, 32, 64)
        print(f"{name} with noise {noise}   linear PCA {min(error(PCA(k).fit(train)) for k in counts):.4f}", end="")
        models = [KernelPCA(k).fit(train) for k in counts]
        for method in ("auto", "fixed_point", "distance", "ridge"):
            print(f"   {method} {min(error(m.set_params(preimage=method)) for m in models):.4f}", end="", flush=True)
        print()


def features():
    from mercer import KernelFeatureAnalysis, KernelPCA
    from mercer.kernels import Gaussian
    from mercer.kernels.gram import incomplete_cholesky

    n = 1_500 if SMALL else 5_000
    title(f"Share of the variance explained per kernel evaluation at a new row, n = {n}")
    X = rows(n, d=5)
    kernel = Gaussian(2.0)
    K = kernel(X)
    K -= K.mean(axis=0)
    total = np.trace(K) - K.mean(axis=1).sum()

    def explained(landmarks):
        """By all functions of some rows."""
        values = kernel(X, X[landmarks])
        whitening = np.linalg.pinv(np.linalg.cholesky(kernel(X[landmarks]) + 1e-12 * np.eye(len(landmarks)))).T
        centred = (values - values.mean(axis=0)) @ whitening
        return np.sum(centred**2) / total

    rng = np.random.default_rng(0)
    for k in (5, 10, 20, 40, 80):
        start = time.perf_counter()
        analysis = KernelFeatureAnalysis(k, kernel=kernel, random_state=0).fit(X)
        elapsed = time.perf_counter() - start
        pca = KernelPCA(k, kernel=kernel, random_state=0).fit(X)
        pivots = incomplete_cholesky(kernel, X, rank=k, tol=0.0).landmarks
        chance = np.mean([explained(rng.choice(n, k, replace=False)) for _ in range(5)])
        print(f"{k:3} evaluations: feature analysis {n * analysis.explained_variance_.sum() / total:.3f} "
              f"({elapsed:.2f} s)   pivoted Cholesky {explained(pivots):.3f}   random rows {chance:.3f}   "
              f"kernel PCA, {n} evaluations for {k} components, {pca.explained_variance_ratio_.sum():.3f}")  # fmt: skip


if __name__ == "__main__":
    if "--memory" in sys.argv:
        memory_of(sys.argv[sys.argv.index("--memory") + 1])
    else:
        exact()
        memory()
        accuracy()
        approximate()
        preimages()
        features()
