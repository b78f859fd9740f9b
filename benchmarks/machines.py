"""Kernel machines beside generic convex solvers: iterations, time, certified gap.

Peers solve the same epsilon-insensitive program through qpsolvers, each in its best formulation: the split dual with 2n
variables and a dense matrix, or B and a bound of its modulus with sparse constraints. Rivals are interleaved and the
minimum of several rounds is taken.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from qpsolvers import Problem, solve_problem
from scipy import sparse
from scipy.linalg import cho_factor
from sklearn.svm import SVR

from mercer.kernels import Gaussian
from mercer.kernels.gram import incomplete_cholesky
from mercer.losses import (
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Laplace,
    Logistic,
    PiecewisePolynomial,
    PolynomialLoss,
    Quantile,
    Squared,
    SquaredHinge,
)
from mercer.problems import KernelProgram
from mercer.regularizers import RKHSNorm
from mercer.solvers import InteriorPoint, SolverResult


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.sinc(X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=n)


def program(gram, y, loss, C):
    return KernelProgram.build(RKHSNorm().penalty(gram, np.ones((len(y), 1))), y, loss, C)


def title(text):
    print(f"\n{text}\n{'-' * len(text)}")


def iterations():
    title("Iterations to relative gap 1e-8, n = 1000 (widths .25, 1, 3 and C = 1, 100, 1e4)")
    X, y = data(1000)
    worst = {}
    for loss in (EpsilonInsensitive(0.1), Laplace(), PolynomialLoss(1.5), Huber(0.3), Quantile(0.3)):
        counts = []
        for width in (0.25, 1.0, 3.0):
            K = Gaussian(width)(X)
            for C in (1.0, 100.0, 1e4):
                problem = program(K, y, loss, C)
                result = InteriorPoint().solve(problem, tol=1e-8)
                certificate = problem.certificate(result)
                counts.append(result.n_iter if certificate.holds(1e-8) else np.inf)
        worst[repr(loss)] = max(counts)
        print(f"{loss!r:45} {counts}   most {max(counts)}")


def dual_of_twice_the_size(K, y, epsilon, C):
    """The split dual: (α, α*) with box and equality, P = [[K, -K], [-K, K]]."""
    n = len(y)
    P = np.block([[K, -K], [-K, K]])
    q = np.concatenate([epsilon - y, epsilon + y])
    A = np.concatenate([np.ones(n), -np.ones(n)])[None]
    return Problem(P + 1e-12 * np.eye(2 * n), q, None, None, A, np.zeros(1), np.zeros(2 * n), np.full(2 * n, C))


def dual_with_moduli(K, y, epsilon, C):
    """The same with B and s >= |B|: only n variables are in the dense block; sparse constraints."""
    n = len(y)
    P = sparse.block_diag([sparse.csc_matrix(np.triu(K) + np.triu(K, 1).T), sparse.csc_matrix((n, n))], format="csc")
    q = np.concatenate([-y, np.full(n, epsilon)])
    eye = sparse.identity(n, format="csc")
    G = sparse.vstack([sparse.hstack([eye, -eye]), sparse.hstack([-eye, -eye])], format="csc")
    A = sparse.csc_matrix(np.concatenate([np.ones(n), np.zeros(n)])[None])
    bounds = np.full(n, C)
    return Problem(
        P, q, G, np.zeros(2 * n), A, np.zeros(1), np.concatenate([-bounds, -bounds]), np.concatenate([bounds, bounds])
    )


def best_offset(problem, B):
    """The offset with the least primal value: the middle of the residuals that the optimality conditions leave."""
    from scipy.optimize import minimize_scalar

    centre = float(np.median(problem.y - problem.fitted(B, np.zeros(1))))
    return minimize_scalar(
        lambda b: problem.primal(B, np.array([b])), bracket=(centre - 0.1, centre + 0.1), tol=1e-12
    ).x


def peers(n, rounds=2, width=1.0, C=10.0, epsilon=0.1):
    title(f"n = {n}, width {width}, C = {C}: time to relative gap 1e-8 (minimum of {rounds} rounds)")
    X, y = data(n)
    kernel = Gaussian(width)
    K = kernel(X)
    exact = program(K, y, EpsilonInsensitive(epsilon), C)

    def low_rank():
        factor = incomplete_cholesky(kernel, X, tol=1e-10)
        return InteriorPoint().solve(program(factor, y, EpsilonInsensitive(epsilon), C), tol=1e-9)

    def generic(build, solver, **options):
        qp = build(K, y, epsilon, C)

        def run():
            solution = solve_problem(qp, solver=solver, **options)
            if solution.x is None:
                return None
            B = solution.x[:n] - solution.x[n:] if build is dual_of_twice_the_size else solution.x[:n]
            return SolverResult("optimal", np.clip(B, -C, C), np.array([best_offset(exact, B)]), 0.0, 0.0, 0)

        return run

    rivals = {
        "Mercer, dense": lambda: InteriorPoint().solve(exact, tol=1e-8),
        "Mercer, low rank": low_rank,
        "clarabel, n + n": generic(dual_with_moduli, "clarabel"),
        "piqp, 2n dense": generic(dual_of_twice_the_size, "piqp"),
        "osqp, n + n": generic(dual_with_moduli, "osqp", eps_abs=1e-8, eps_rel=1e-8, max_iter=20_000, time_limit=20.0),
    }
    best, results = dict.fromkeys(rivals, np.inf), {}
    for _ in range(rounds):
        for name, run in rivals.items():
            start = time.perf_counter()
            results[name] = run()
            best[name] = min(best[name], time.perf_counter() - start)
    start = time.perf_counter()
    SVR(kernel="precomputed", C=C, epsilon=epsilon, tol=1e-6).fit(K, y)
    svr = time.perf_counter() - start
    start = time.perf_counter()
    cho_factor(K + np.eye(n), lower=True)
    floor = time.perf_counter() - start
    for name, seconds in best.items():
        gap = exact.certificate(results[name]).relative_gap if results[name] is not None else np.nan
        print(f"{name:18} {seconds:8.3f} s   {seconds / best['Mercer, dense']:7.2f} of dense   certified gap {gap:.1e}")
    print(f"{'scikit-learn SVR':18} {svr:8.3f} s   {svr / best['Mercer, dense']:7.2f} of dense   (tol 1e-6)")
    n_iter = results["Mercer, dense"].n_iter
    print(f"floor: {n_iter + 1} Cholesky factorisations of {floor:.3f} s = {(n_iter + 1) * floor:.3f} s")
    generic_best = min(seconds for name, seconds in best.items() if not name.startswith("Mercer"))
    print(f"fastest generic solver / Mercer dense {generic_best / best['Mercer, dense']:.1f}, "
          f"/ low rank {generic_best / best['Mercer, low rank']:.1f}")  # fmt: skip


def other_losses(n=2000, rounds=2):
    title(f"Other losses, n = {n}: time relative to the epsilon-insensitive loss")
    X, y = data(n)
    K = Gaussian(1.0)(X)
    losses = [EpsilonInsensitive(0.1), Laplace(), Squared(), Huber(0.3), PolynomialLoss(1.05), PolynomialLoss(1.5),
              PolynomialLoss(4.0), PiecewisePolynomial(1.5, 0.3), Quantile(0.3), Expectile(0.3),
              Hinge(), SquaredHinge(), Logistic()]  # fmt: skip
    targets = {False: y, True: np.where(y > np.median(y), 1.0, -1.0)}
    best = [np.inf] * len(losses)
    for _ in range(rounds):
        for i, loss in enumerate(losses):
            start = time.perf_counter()
            InteriorPoint().solve(program(K, targets[loss.classification], loss, 10.0), tol=1e-8)
            best[i] = min(best[i], time.perf_counter() - start)
    for loss, seconds in zip(losses, best, strict=True):
        print(f"{loss!r:50} {seconds:7.3f} s   {seconds / best[0]:5.2f}")


def growth():
    title("How the cost grows with n")
    sizes, dense, low = [500, 1000, 2000, 4000], [], []
    for n in sizes:
        X, y = data(n)
        K = Gaussian(1.0)(X)
        start = time.perf_counter()
        InteriorPoint().solve(program(K, y, EpsilonInsensitive(0.1), 10.0), tol=1e-8)
        dense.append(time.perf_counter() - start)
        start = time.perf_counter()
        factor = incomplete_cholesky(Gaussian(1.0), X, tol=1e-10)
        InteriorPoint().solve(program(factor, y, EpsilonInsensitive(0.1), 10.0), tol=1e-8)
        low.append(time.perf_counter() - start)
        print(f"n = {n:5}   dense {dense[-1]:7.3f} s   low rank {low[-1]:7.3f} s (rank {factor.rank})")
    for name, times in (("dense", dense), ("low rank", low)):
        print(f"exponent of n, {name}: {np.polyfit(np.log(sizes), np.log(times), 1)[0]:.2f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    iterations()
    peers(1000)
    peers(2000)
    other_losses()
    growth()
