"""Kernels and the Gram engine beside their peers: time, memory, accuracy, growth.

Rivals are interleaved in one run and the minimum of several rounds is taken; memory is the peak of a fresh process.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np


def seconds(calls, rounds=5):
    """Minimum time of each call, the calls taking turns."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            result = call()
            best[name] = min(best[name], time.perf_counter() - start)
            del result
    return best


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def title(text):
    print(f"\n{text}\n{'-' * len(text)}")


def gram_time():
    from scipy.spatial.distance import cdist
    from sklearn.metrics.pairwise import rbf_kernel

    from mercer.kernels import Gaussian

    title("Gram matrix of a Gaussian kernel, 10,000 x 10,000, float64")
    n = 10_000
    for d in (8, 64):
        X, width = rows(n, d), np.sqrt(d)
        ours = Gaussian(width)
        error = np.abs(ours(X) - rbf_kernel(X, gamma=0.5 / width**2)).max()

        def by_cdist(X=X, width=width):
            r2 = cdist(X, X, "sqeuclidean")
            r2 *= -0.5 / width**2
            return np.exp(r2, out=r2)

        peer = lambda X=X, width=width: rbf_kernel(X, gamma=0.5 / width**2)  # noqa: E731
        best = seconds({"mercer": lambda X=X, ours=ours: ours(X), "scikit-learn": peer, "cdist + exp": by_cdist})
        for name, time_ in best.items():
            ratio = time_ / best["mercer"]
            print(f"d = {d:2}  {name:12} {time_:6.3f} s   {ratio:5.2f} times Mercer's time")
        # The floor: a matrix product of half the matrix, its exponentials at one per cycle and core, fresh memory.
        print(f"d = {d:2}  largest difference from scikit-learn {error:.1e}")


def growth():
    from mercer.kernels import Gaussian
    from mercer.kernels.gram import Gram

    title("How the cost grows with n (d = 20)")
    sizes = [4_000, 8_000, 16_000]
    whole, product = [], []
    for n in sizes:
        X, v = rows(n, 20), np.ones(n)
        best = seconds(
            {"whole": lambda X=X: Gaussian(4.0)(X), "product": lambda X=X, v=v: Gram(Gaussian(4.0), X) @ v}, rounds=3
        )
        whole.append(best["whole"])
        product.append(best["product"])
        print(f"n = {n:6}  matrix {best['whole']:6.3f} s   K @ v without it {best['product']:6.3f} s")
    for name, times in (("matrix", whole), ("K @ v", product)):
        print(f"exponent of n, {name}: {np.polyfit(np.log(sizes), np.log(times), 1)[0]:.2f}")


def family_time():
    from mercer.kernels import Gaussian, widths_for
    from mercer.kernels.gram import gram_family

    title("20 widths of a Gaussian kernel on 4,000 rows, d = 64")
    X = rows(4_000, 64)
    kernels = [Gaussian(width) for width in widths_for(X, 20)]

    def one_by_one():
        for kernel in kernels:
            kernel(X)

    def together():
        for _ in gram_family(kernels, X, reuse_buffer=True):
            pass

    best = seconds({"one distance matrix": together, "one by one": one_by_one}, rounds=3)
    for name, time_ in best.items():
        print(f"{name:20} {time_:6.3f} s   {time_ / best['one distance matrix']:5.2f}")


MEMORY_TASKS = {
    "nothing": "pass",
    "Gram matrix, n = 10,000, d = 8": "Gaussian(3.0)(rows(10_000, 8))",
    "Gram matrix, n = 10,000, d = 64": "Gaussian(8.0)(rows(10_000, 64))",
    "the same by scikit-learn, d = 8": "rbf_kernel(rows(10_000, 8), gamma=0.05)",
    "K @ v, n = 50,000, d = 20": "Gram(Gaussian(4.0), rows(50_000, 20)) @ np.ones(50_000)",
    "incomplete Cholesky, n = 20,000, rank 500": "incomplete_cholesky(Gaussian(4), rows(20_000, 20), rank=500, tol=0)",
}


def memory_of(task):
    """Run one task in this fresh process and report its time and peak memory."""
    from sklearn.metrics.pairwise import rbf_kernel

    from mercer.kernels import Gaussian
    from mercer.kernels.gram import Gram, incomplete_cholesky

    Gaussian()(rows(500, 2))  # loads what is compiled
    scope = dict(Gaussian=Gaussian, Gram=Gram, incomplete_cholesky=incomplete_cholesky)  # noqa: C408
    start = time.perf_counter()
    exec(MEMORY_TASKS[task], {**scope, "rbf_kernel": rbf_kernel, "rows": rows, "np": np})
    # The peak of this process alone; ru_maxrss would start from the parent's.
    status = Path("/proc/self/status").read_text()
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) * 1024
    print(json.dumps({"seconds": time.perf_counter() - start, "peak": peak}))


def memory():
    title("Peak memory of a fresh process, beyond the imports")
    base = None
    for task in MEMORY_TASKS:
        out = subprocess.run([sys.executable, __file__, "--memory", task], capture_output=True, text=True, check=True)
        result = json.loads(out.stdout.splitlines()[-1])
        if base is None:
            base = result["peak"]
            continue
        used = result["peak"] - base
        share = f"{used / 8e8:5.2f} times the result" if "10,000" in task or "same" in task else ""
        print(f"{task:42} {used / 2**20:7.0f} MiB  {result['seconds']:6.2f} s  {share}")


def low_rank():
    from scipy.linalg import cholesky, solve_triangular
    from sklearn.kernel_approximation import Nystroem

    from mercer.kernels import Gaussian
    from mercer.kernels.gram import incomplete_cholesky, nystroem

    title("Low rank, n = 20,000, d = 20, rank 500")
    X, width = rows(20_000, 20), 4.0
    kernel = Gaussian(width)
    low = incomplete_cholesky(kernel, X, rank=500, tol=0)
    # The true error, without the factor: tr K - tr(K_np K_pp^-1 K_pn) from the pivots alone.
    to_pivots = kernel(X, X[low.landmarks])
    root = solve_triangular(cholesky(kernel(X[low.landmarks]), lower=True), to_pivots.T, lower=True)
    true = np.sum(kernel.diag(X) - np.einsum("ij,ij->j", root, root))
    print(f"trace error reported {low.trace_error:.6f}, true {true:.6f}: relative difference "
          f"{abs(low.trace_error / true - 1):.1e}")  # fmt: skip

    def peer():
        model = Nystroem(kernel="rbf", gamma=0.5 / width**2, n_components=500, random_state=0).fit(X)
        return model.transform(X)

    calls = {
        "incomplete Cholesky": lambda: incomplete_cholesky(kernel, X, rank=500, tol=0).factor,
        **{
            f"Nyström {method}": lambda method=method: nystroem(kernel, X, 500, method=method, random_state=0).factor
            for method in ("random", "kmeans++", "leverage")
        },
        "scikit-learn Nystroem": peer,
    }
    best = seconds(calls, rounds=3)
    for name, call in calls.items():
        error = 1 - np.sum(call() ** 2) / len(X)
        ratio = best[name] / best["scikit-learn Nystroem"]
        print(f"{name:22} {best[name]:6.2f} s  {ratio:5.2f} of scikit-learn's time   relative trace error {error:.4f}")


def accuracy():
    from mercer.kernels import (
        BSpline,
        DampedOscillator,
        Dirichlet,
        Exponential,
        Gaussian,
        InverseMultiquadric,
        Multiquadric,
        PeriodicGaussian,
        Periodized,
        RadialBSpline,
        ThinPlate,
        check_kernel,
    )

    title("Spectra against quadrature (largest relative error over d = 1, 2, 3)")
    for kernel in (Gaussian(0.7), Exponential(0.8), DampedOscillator(0.9), InverseMultiquadric(0.8), BSpline(3, 0.9),
                   RadialBSpline(1, 0.9), RadialBSpline(3, 0.5), Multiquadric(0.5), ThinPlate()):  # fmt: skip
        errors = [check_kernel(kernel, rows(40, d)).errors["spectrum"] for d in (1, 2, 3)]
        print(f"{kernel!r:55} {max(errors):.1e}")

    title("Eigenvalues of periodic kernels against 65,536 points (largest relative error)")
    n = 2**16
    for kernel in (PeriodicGaussian(0.3, 2.0), Dirichlet(11, 2.0), Periodized(Gaussian(0.3), 2.0),
                   Periodized(Exponential(2.0), 2.0), Periodized(DampedOscillator(0.1), 2.0),
                   Periodized(BSpline(3, 0.17), 2.0)):  # fmt: skip
        first = kernel((np.arange(n) * 2.0 / n)[:, None], [[0.0]])[:, 0]
        fine, coarse = np.fft.fft(first).real * 2 / n, np.fft.fft(first[::2]).real * 4 / n
        index = np.arange(1, 12)
        index = index[kernel.eigenvalues(index) > 1e-9 * kernel.eigenvalues(index).max()]
        discrete = (4 * fine[index] - coarse[index]) / 3  # removes the h² error of kernels with a kink
        print(f"{kernel!r:75} {np.max(np.abs(discrete / kernel.eigenvalues(index) - 1)):.1e}")

    title("check_kernel rejects")

    class NoPolynomials(ThinPlate):
        order = 0

    sigmoid = lambda x, y: float(np.tanh(x @ y - 1))  # noqa: E731
    for kernel in (BSpline(2), sigmoid, NoPolynomials()):
        try:
            check_kernel(kernel, rows(50, 2))
            print(f"NOT REJECTED: {kernel!r}")
        except ValueError as error:
            print(f"yes: {error}")


def import_time():
    title("Import, minimum of 7 fresh processes")

    def once(statement):
        code = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)

    statements = ("import sklearn.svm", "import mercer", "import mercer.kernels")
    times = {statement: np.inf for statement in statements}  # noqa: C420
    for _ in range(7):
        for statement in statements:
            times[statement] = min(times[statement], once(statement))
    for statement, time_ in times.items():
        print(f"{statement:25} {time_:6.3f} s   {time_ / times['import sklearn.svm']:5.2f} of sklearn.svm")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        memory_of(sys.argv[2])
    else:
        gram_time()
        memory()
        growth()
        family_time()
        low_rank()
        accuracy()
        import_time()
