"""Capacity: time of entropy numbers, of covers of a sample, and of the other bounds; and that bounds are not too small.

Entropy numbers are asked for up to log2 n = 1e8 and in up to 20 dimensions. Covers of the functions on n rows are
compared with the one eigenproblem that they need.
"""

from __future__ import annotations

import time

import numpy as np

from mercer.capacity import (
    KernelBall,
    SampleCapacity,
    best_period,
    contribution_bound,
    deviation,
    kernel_eigenfunctions,
    log_covering,
    log_entropy_number,
    periodic_spectrum,
    samples_needed,
    shattering_margin,
)
from mercer.kernels import Exponential, Gaussian

LN2 = np.log(2)


def title(text):
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def milliseconds(run, repeats=5):
    """Least time of several, in milliseconds, and the result."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        best = min(best, time.perf_counter() - start)
    return 1e3 * best, result


def entropy_numbers():
    title("Entropy numbers of a Gaussian kernel of width 1 and period 2π, spectrum included")
    for d in (1, 2, 3, 5, 10, 20):
        spent = []
        for bits in (1e2, 1e4, 1e6, 1e8):
            elapsed, value = milliseconds(
                lambda d=d, bits=bits: log_entropy_number(
                    periodic_spectrum(Gaussian(1.0), 2 * np.pi, n_dims=d), bits * LN2
                )
            )
            spent.append(f"{bits:.0e}: {elapsed:7.2f} ms (ln ε = {value:.6g})")
        print(f"d = {d:2}   " + "   ".join(spent), flush=True)
    elapsed, value = milliseconds(lambda: log_entropy_number(periodic_spectrum(Exponential(1.0), 10.0), 1e6 * LN2))
    print(f"exp(-r), period 10, log2 n = 1e6: {elapsed:.1f} ms (ln ε = {value:.4f})")


def covers():
    title("Covering numbers and what is made of them")
    spectrum = periodic_spectrum(Gaussian(1.0), 8.0)
    for epsilon in (1e-1, 1e-4, 1e-8):
        elapsed, value = milliseconds(lambda epsilon=epsilon: log_covering(spectrum, epsilon))
        print(f"ln N({epsilon:.0e}) = {value:8.2f}   {elapsed:6.2f} ms")
    ball = KernelBall(1.0, spectrum=spectrum)
    elapsed, found = milliseconds(lambda: deviation(ball, 10**6, 0.05, loss_range=2.0))
    print(f"deviation on 1e6 rows {found.value:.4f}   {elapsed:.0f} ms")
    elapsed, n = milliseconds(lambda: samples_needed(ball, 0.1, 0.05, loss_range=2.0))
    print(f"samples for a deviation of .1: {n}   {elapsed:.0f} ms")
    elapsed, best = milliseconds(lambda: best_period(Gaussian(1.0), 2.0, log_n=20 * LN2, coefficient_norm=10.0))
    print(f"best period {best.period:.4f}   {elapsed:.0f} ms")


def samples():
    title("Covers of the functions on n rows, beside the eigenproblem")
    rng = np.random.default_rng(0)
    for n in (500, 1000, 2000):
        K = Gaussian(0.5)(rng.uniform(-1, 1, size=(n, 3)))
        alone, _ = milliseconds(lambda K=K: np.linalg.eigh(K), repeats=2)
        elapsed, capacity = milliseconds(lambda K=K: SampleCapacity.of(K), repeats=2)
        first, _ = milliseconds(lambda capacity=capacity: capacity.log_covering(0.1), repeats=1)
        each, found = milliseconds(lambda capacity=capacity: capacity.log_covering(0.05), repeats=3)
        print(
            f"n = {n:4}   eigenproblem {alone:6.0f} ms   capacity {elapsed:6.0f} ms   first cover {first:5.0f} ms   "
            f"next {each:5.0f} ms   ln N = {found.value:.1f} ({found.method})",
            flush=True,
        )


def others():
    title("Shattering margins, eigenfunctions, contributions")
    for m in (6, 10, 14):
        K = Gaussian(1.0)(np.arange(float(m))[:, None])
        elapsed, margin = milliseconds(lambda K=K: shattering_margin(K), repeats=1)
        print(f"margin of {m:2} points {margin:.5f}   {elapsed:6.0f} ms")
    kernel = Gaussian(0.7)
    elapsed, found = milliseconds(lambda: kernel_eigenfunctions(kernel))
    print(f"eigenfunctions: {len(found.eigenvalues)} at {len(found.nodes)} nodes   {elapsed:.0f} ms")
    X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 1))
    target = np.r_[1.0, -2.0, 0.5, np.zeros(len(found.eigenvalues) - 3)]
    elapsed, bound = milliseconds(
        lambda: contribution_bound(kernel(X), found.eigenvalues, found(X), target, 0.1), repeats=1
    )
    vectors = np.linalg.eigh(kernel(X))[1][:, ::-1]
    actual = np.abs(vectors.T @ (found(X) @ (found.eigenvalues * target))) / np.sqrt(len(X))
    print(f"contributions of 1000 rows: {elapsed:.0f} ms; bound / actual of the first five: "
          + ", ".join(f"{b / a:.3g}" for a, b in zip(actual[:5], bound.values[:5], strict=True)))  # fmt: skip


if __name__ == "__main__":
    entropy_numbers()
    covers()
    samples()
    others()
