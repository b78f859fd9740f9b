"""Eigenmaps of graphs beside scikit-learn's SpectralEmbedding: time, memory, residuals, growth, new rows.

Each fit runs in a fresh process, whose peak memory it is, and is stopped after a time limit; rivals take turns and the
minimum of several rounds is taken where a round is short. Both embed the same graph: each row and its nine nearest
other ones, averaged over both directions, weights 1. The last table lists what is aimed at and what was reached.

``--small`` runs everything at a size that takes seconds. ``--solvers`` compares ways to find the eigenvectors, on
graphs of two to ten dimensions, instead; ``--clusters`` counts how often the gap in the spectrum tells the number of
clusters; ``--widths`` compares the errors of clusters whose number is given, on the same rows and on digits (USPS, if
MERCER_DATA names the folder), with equal, self-tuning and automatic weights.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

SMALL = "--small" in sys.argv
N = 3_000 if SMALL else 50_000
CLOUDS = [3_000] if SMALL else [5_000, 10_000, 20_000]
GROWTH = [2_000, 4_000] if SMALL else [5_000, 10_000, 20_000, 50_000, 100_000, 200_000]
TIME_LIMIT = 20 if SMALL else 240
# A run that takes longer than this many seconds is not repeated.
SHORT = 20
ROUNDS = 1 if SMALL else 3
N_COMPONENTS, N_NEIGHBORS = 10, 10
N_COLUMNS = 20
reached = []


def surface(n, seed=0):
    """A rolled sheet: rows on a manifold of two dimensions."""
    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n))
    sheet = np.column_stack([t * np.cos(t), 21 * rng.uniform(size=n), t * np.sin(t)])
    return sheet @ directions(3)


def cloud(n, seed=0, dimension=10):
    """A normal distribution."""
    return np.random.default_rng(seed).normal(size=(n, dimension)) @ directions(dimension)


def directions(dimension):
    """Orthogonal ones, the same for all sizes and draws."""
    return np.linalg.qr(np.random.default_rng(1).normal(size=(N_COLUMNS, N_COLUMNS)))[0][:dimension]


DATA = {
    "surface": surface,
    "cloud": cloud,
    "cloud of 3": lambda n: cloud(n, dimension=3),
    "cloud of 4": lambda n: cloud(n, dimension=4),
    "cloud of 6": lambda n: cloud(n, dimension=6),
}


def ours(X, n_components=N_COMPONENTS, **options):
    from mercer import LaplacianEigenmaps

    options = {"width": None, "symmetric": "weighted", "n_neighbors": N_NEIGHBORS - 1, **options}
    model = LaplacianEigenmaps(n_components, **options).fit(X)
    return model.embedding_, model.graph_, model


def peer(X):
    from sklearn.manifold import SpectralEmbedding

    # Its ten neighbours are the row itself and nine others.
    model = SpectralEmbedding(
        N_COMPONENTS, affinity="nearest_neighbors", n_neighbors=N_NEIGHBORS, eigen_solver="arpack", n_jobs=-1
    ).fit(X)
    return model.embedding_, model.affinity_matrix_, model


def eigenvectors_only(who, graph):
    """The second half of a fit: the graph is there."""
    if who == "mercer":
        from mercer.graphs import walk_spectrum

        return walk_spectrum(graph, N_COMPONENTS + 1, tol=1e-8)
    from sklearn.manifold import spectral_embedding

    return spectral_embedding(graph, n_components=N_COMPONENTS, eigen_solver="arpack")


def eigenvalues_and_residual(graph, embedding):
    """Rayleigh quotients of the coordinates in the symmetric Laplacian, and the largest residual, for both alike."""
    from scipy.sparse.csgraph import laplacian

    L, roots = laplacian(graph, normed=True, return_diag=True)
    V = embedding * roots[:, None]
    V /= np.linalg.norm(V, axis=0)
    products = L @ V
    values = np.sum(V * products, axis=0)
    return values.tolist(), float(np.linalg.norm(products - V * values, axis=0).max())


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def peak_memory():
    """That of this process alone; ru_maxrss would start from the parent's."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text()).group(1)) * 1024


def run_fit(who, data, n):
    """Fit once in this fresh process, and report as JSON."""
    fit = {"mercer": ours, "scikit-learn": peer}[who]
    fit(DATA[data](1_500))  # loads what is compiled
    X = DATA[data](n)
    before = peak_memory()
    whole, (embedding, graph, model) = timed(lambda: fit(X))
    memory = peak_memory() - before
    eigen, _ = timed(lambda: eigenvectors_only(who, graph))
    values, residual = eigenvalues_and_residual(graph, embedding)
    how = f"{model.neighbor_method_}, {model.eigen_solver_}" if who == "mercer" else "arpack"
    report = {"seconds": whole, "eigenvectors": eigen, "memory": memory, "values": values, "residual": residual}
    print(json.dumps({**report, "how": how}))


def run_solver(name, data, n):
    """Find eigenvectors once in this fresh process, and report as JSON."""
    from mercer.graphs import NeighbourAffinity, degrees
    from mercer.graphs.laplacian import scaled
    from mercer.threads import single_threaded_blas

    W = NeighbourAffinity(N_NEIGHBORS - 1, None, "weighted").fit(DATA[data](n))
    root = np.sqrt(degrees(W))
    S = scaled(W, 1 / root, 1 / root)
    before = peak_memory()
    with single_threaded_blas:  # for all alike: most are faster so
        seconds, (values, vectors) = timed(lambda: SOLVERS[name](S, N_COMPONENTS + 1))
    residual = float(np.linalg.norm(S @ vectors - vectors * values, axis=0).max())
    print(json.dumps({"seconds": seconds, "memory": peak_memory() - before, "residual": residual}))


def by_mercer(method):
    def solve(S, k):
        from mercer.solvers import leading_eigenpairs

        pairs, _ = leading_eigenpairs(S, k, method=method, tol=1e-8)
        return pairs.values, pairs.vectors

    return solve


def by_lobpcg(factored):
    """LOBPCG, plain or preconditioned by the factor that Mercer's method "factor" works with."""

    def solve(S, k):
        from scipy import sparse
        from scipy.sparse.linalg import LinearOperator, lobpcg, splu

        n, inverse = S.shape[0], None
        if factored:
            options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
            factor = splu(sparse.csc_array((1 + 1e-5) * sparse.eye_array(n) - S), **options)
            inverse = LinearOperator((n, n), matvec=factor.solve, matmat=factor.solve, dtype=np.float64)
        start = np.random.default_rng(0).normal(size=(n, k + 5))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what has not converged is seen by its residual
            values, vectors = lobpcg(S, start, M=inverse, tol=1e-8, maxiter=500, largest=True)
        first = np.argsort(-values)[:k]
        return values[first], vectors[:, first]

    return solve


def by_chebyshev(S, k, spare=10, degree=40, most=60):
    """Subspace iteration, each step filtered by a Chebyshev polynomial that is small from -1 to the last Ritz value."""
    V = np.linalg.qr(np.random.default_rng(0).normal(size=(S.shape[0], k + spare)))[0]
    cut = 0.0
    for _ in range(most):
        half, middle = 0.5 * (cut + 1.0), 0.5 * (cut - 1.0)
        before, now = V, (S @ V - middle * V) / half
        for _ in range(degree - 1):
            before, now = now, 2.0 / half * (S @ now - middle * now) - before
        V = np.linalg.qr(now)[0]
        products = S @ V
        values, rotation = np.linalg.eigh(V.T @ products)
        values, rotation = values[::-1], rotation[:, ::-1]
        V, products, cut = V @ rotation, products @ rotation, values[-1]
        if np.linalg.norm(products[:, :k] - V[:, :k] * values[:k], axis=0).max() <= 1e-8:
            break
    return values[:k], V[:, :k]


SOLVERS = {
    "factor": by_mercer("factor"),
    "lanczos": by_mercer("lanczos"),
    "lobpcg": by_lobpcg(factored=False),
    "lobpcg + factor": by_lobpcg(factored=True),
    "chebyshev": by_chebyshev,
}


def in_fresh_process(task, who, data, n):
    """The report of a fit or a solver, or None if it was stopped."""
    command = [sys.executable, __file__, *(["--small"] if SMALL else []), "--task", task, who, data, str(n)]
    try:
        out = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return None
    if out.returncode:
        # Such as not enough memory.
        print(f"{who}, n = {n}: {out.stderr.splitlines()[-1] if out.stderr else out.returncode}")
        return None
    return json.loads(out.stdout.splitlines()[-1])


def best_of(rivals, data, n, rounds=ROUNDS):
    """The report of the fastest fit of each rival, the rivals taking turns."""
    best = {}
    for number in range(rounds):
        for who in rivals:
            if number and (best[who] is None or best[who]["seconds"] > SHORT):
                continue
            report = in_fresh_process("fit", who, data, n)
            if number and report:
                eigen = min(report["eigenvectors"], best[who]["eigenvectors"])
                report = min(report, best[who], key=lambda r: r["seconds"]) | {"eigenvectors": eigen}
            best[who] = report or best.get(who)
    return best


def title(text):
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def show(name, report):
    if report is None:
        print(f"{name:26} stopped after {TIME_LIMIT} s", flush=True)
        return
    rest = max(report["seconds"] - report["eigenvectors"], 0.0)
    print(f"{name:26} {report['seconds']:7.2f} s: neighbours {rest:6.2f}, eigenvectors {report['eigenvectors']:7.2f}   "
          f"{report['memory'] / 2**20:6.0f} MiB   residual {report['residual']:.0e}   ({report['how']})",
          flush=True)  # fmt: skip


def aim(what, value, holds, style="{:.2f}"):
    """Note a number that is aimed at."""
    reached.append((what, style.format(value), holds))


def compare(data, sizes, times_as_fast):
    for n in sizes:
        best = best_of(("mercer", "scikit-learn"), data, n)
        for who, report in best.items():
            show(f"n = {n:6}  {who}", report)
        us, them = best["mercer"], best["scikit-learn"]
        where = f"{data}, n = {n}"
        aim(f"{where}: residual at most 1e-8", us["residual"], us["residual"] <= 1e-8, "{:.0e}")
        ratio = (them["seconds"] if them else TIME_LIMIT) / us["seconds"]
        aim(f"{where}: at least {times_as_fast} times as fast", ratio, ratio >= times_as_fast,
            "{:.1f}" if them else "more than {:.0f}")  # fmt: skip
        if them:
            ratios = [them[key] / max(us[key], 1e-9) for key in ("seconds", "eigenvectors", "memory")]
            apart = np.max(np.abs(np.subtract(us["values"], them["values"])))
            print(f"{'':12}scikit-learn takes {ratios[0]:.2f} times Mercer's time, {ratios[1]:.2f} times for the "
                  f"eigenvectors, {ratios[2]:.2f} times its memory; eigenvalues differ by {apart:.0e}")  # fmt: skip
            aim(f"{where}: no more memory, as a share of theirs", 1 / ratios[2], ratios[2] >= 1)
        else:
            print(f"{'':12}scikit-learn takes more than {ratio:.0f} times Mercer's time")


def growth(data, exponent_aimed_at=None):
    title(f"Growth, Mercer alone, {data}")
    # Sizes take turns, so that a slow minute of the machine does not fall on one of them.
    rounds = [{n: best_of(("mercer",), data, n, rounds=1)["mercer"] for n in GROWTH} for _ in range(ROUNDS)]
    done = {}
    for n in GROWTH:
        reports = [round_[n] for round_ in rounds if round_[n]]
        done |= {n: min(reports, key=lambda report: report["seconds"])} if reports else {}
        show(f"n = {n:6}", done.get(n))
    for key in ("seconds", "eigenvectors"):
        exponent = np.polyfit(np.log(list(done)), np.log([report[key] for report in done.values()]), 1)[0]
        print(f"exponent of n, {'whole fit' if key == 'seconds' else key}: {exponent:.2f}")
        if key == "seconds" and exponent_aimed_at:
            what = f"{data}: exponent of n from {GROWTH[0]} to {GROWTH[-1]} at most {exponent_aimed_at}"
            aim(what, exponent, exponent <= exponent_aimed_at)


def new_rows():
    title("New rows: transform, with all training rows in the graph")
    for data, n in (("surface", N), ("cloud", CLOUDS[-1])):
        model = ours(DATA[data](n))[2]
        X = DATA[data](n, seed=2)
        rate = n / min(timed(lambda model=model, X=X: model.transform(X))[0] for _ in range(ROUNDS))
        print(f"{data:8} {n} rows, {n} new ones: {rate:,.0f} a second ({model.neighbor_method_})", flush=True)
        aim(f"{data}, n = {n}: at least 50,000 new rows a second", rate, rate >= 50_000, "{:,.0f}")


def automatic_width():
    from mercer.graphs import auto_width

    title('What width="auto" adds to a fit')
    X = surface(N)
    print(f"n = {N}: {min(timed(lambda: auto_width(X))[0] for _ in range(ROUNDS)):.2f} s")


def compare_solvers():
    """Why leading_eigenpairs factors graphs like curves and surfaces, and runs Lanczos on all others."""
    title(f"Ways to find {N_COMPONENTS + 1} eigenvectors to a residual of 1e-8")
    print(f"{'':24}" + "".join(f"{name:>26}" for name in SOLVERS))
    sizes = [3_000] if SMALL else [5_000, 20_000, 50_000]
    for data in ("surface", "cloud of 3", "cloud of 4", "cloud of 6", "cloud"):
        for n in sizes:
            cells = []
            for name in SOLVERS:
                r = in_fresh_process("solver", name, data, n)
                cell = r and f"{r['seconds']:6.2f} s {r['memory'] / 2**20:5.0f} MiB {r['residual']:.0e}"
                cells.append(cell or "stopped")
            print(f"{data:12} n = {n:6} " + "".join(f"{cell:>26}" for cell in cells), flush=True)


def rows_in_clusters(n, seed):
    """Names, rows, and the cluster that each was drawn from, -1 being none."""
    from sklearn.datasets import make_blobs, make_circles, make_moons

    rng = np.random.default_rng(seed)
    corners = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
    part = np.repeat([0, 1, 2], [n // 3, n // 3, n - 2 * (n // 3)])
    few = np.repeat([0, 1, 2], [7 * n // 10, 2 * n // 10, n - 9 * n // 10])
    noise = rng.uniform(-4, 12, size=(n // 20, 2))
    spread = np.array([0.3, 1.0, 2.0])[part, None]
    yield "moons", *make_moons(n, noise=0.06, random_state=seed)
    yield "noisy moons", *make_moons(n, noise=0.1, random_state=seed)
    yield "circles", *make_circles(n, factor=0.4, noise=0.06, random_state=seed)
    yield "blobs", corners[part] + rng.normal(size=(n, 2)), part
    yield "blobs that touch", 0.5 * corners[part] + rng.normal(size=(n, 2)), part
    yield "of unequal size", corners[few] + rng.normal(size=(n, 2)), few
    yield "of unequal density", 1.5 * corners[part] + spread * rng.normal(size=(n, 2)), part
    background = np.append(part, np.full(len(noise), -1))
    yield "with background", np.vstack([corners[part] + rng.normal(size=(n, 2)), noise]), background
    yield "four in 10-D", *make_blobs(n, n_features=10, centers=4, center_box=(-4, 4), random_state=seed)
    for dimension in (1, 2, 5):
        yield f"one, {dimension}-D", rng.normal(size=(n, dimension)), np.zeros(n, dtype=int)
        yield f"one uniform, {dimension}-D", rng.uniform(size=(n, dimension)), np.zeros(n, dtype=int)


def digits(wanted, seed, n=700):
    """Rows of some digits of the USPS set, as many of each, drawn at random."""
    from mercer.datasets import load_usps

    X, y = (np.concatenate(both) for both in zip(load_usps("train"), load_usps("test"), strict=True))
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.choice(np.flatnonzero(y == digit), n, replace=False) for digit in wanted])
    return X[rows], y[rows]


def clustering_error(y, labels):
    """The share of rows outside of the cluster of their class; clusters are assigned to classes as well as can be."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics.cluster import contingency_matrix

    counts = contingency_matrix(y[y >= 0], labels[y >= 0])
    return 1 - counts[linear_sum_assignment(-counts)].sum() / np.sum(y >= 0)


def compare_widths():
    title("Errors of clusters whose number is given, in percent: mean over draws, and the largest")
    from mercer import SpectralClustering

    widths = (None, "local", "auto")
    errors = {}
    draws = [draw for seed in range(2 if SMALL else 8) for n in (200, 600) for draw in rows_in_clusters(n, seed)]
    try:
        for seed in range(2 if SMALL else 20):
            draws.append(("digits 1, 2, 3", *digits((1, 2, 3), seed)))
        for wanted in ((0, 1, 4, 7), (3, 5, 8), (0, 6, 9)):
            draws.append((f"digits {', '.join(map(str, wanted))}", *digits(wanted, 0, n=500)))
    except FileNotFoundError as error:
        print(error)
    for name, X, y in draws:
        k = len(np.unique(y[y >= 0]))
        if k == 1:
            continue
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*connected parts")
            labels = [SpectralClustering(k, width=width, random_state=0).fit_predict(X) for width in widths]
        errors.setdefault(name, []).append([100 * clustering_error(y, found) for found in labels])
    print(f"{'':20} " + " ".join(f"{f'width={width!r}':>16}" for width in widths))
    for name, found in errors.items():
        cells = zip(np.mean(found, axis=0), np.max(found, axis=0), strict=True)
        print(f"{name:20} " + " ".join(f"{mean:8.1f}{most:8.1f}" for mean, most in cells), flush=True)


def largest_after_floor(lam):
    """The rule without a curve: what is below a thousandth of the last eigenvalue counts as that much."""
    return 1 + int(np.argmax(np.diff(np.log(np.maximum(lam, 1e-3 * lam[-1])))))


def count_clusters():
    title("How often the gap tells the number of clusters; beside it: a floor alone, the largest difference")
    from mercer import SpectralClustering

    rules = (largest_after_floor, lambda lam: 1 + int(np.argmax(np.diff(lam))))
    right = {}
    for seed in range(2 if SMALL else 8):
        for n in (200, 600):
            for name, X, y in rows_in_clusters(n, seed):
                k = len(np.unique(y[y >= 0]))
                for width in ("auto", "local"):
                    model = SpectralClustering(width=width, random_state=0).fit(X)
                    found = [model.n_clusters_, *(rule(model.eigenvalues_) for rule in rules)]
                    right.setdefault(name, {}).setdefault(width, []).append([answer == k for answer in found])
    right["mean"] = {
        width: [np.mean([np.mean(kind[width], axis=0) for kind in right.values()], axis=0)]
        for width in ("auto", "local")
    }
    for name, widths in right.items():
        shares = (f'width="{width}" ' + " ".join(f"{100 * share:4.0f} %" for share in np.mean(hits, axis=0))
                  for width, hits in widths.items())  # fmt: skip
        print(f"{name:20} " + "     ".join(shares))


def main():
    title(f"A manifold of two dimensions in {N_COLUMNS} columns, {N_NEIGHBORS} neighbours, {N_COMPONENTS} eigenvectors")
    compare("surface", [N], times_as_fast=1)
    title(f"Ten dimensions in {N_COLUMNS} columns, {N_NEIGHBORS} neighbours, {N_COMPONENTS} eigenvectors")
    compare("cloud", CLOUDS, times_as_fast=10)
    new_rows()
    automatic_width()
    growth("surface", exponent_aimed_at=1.2)
    growth("cloud")
    title("Aims")
    for what, value, holds in reached:
        print(f"{what:65} {value:>12}   {'reached' if holds else 'MISSED'}")


if __name__ == "__main__":
    if "--task" in sys.argv:
        task, who, data, n = sys.argv[sys.argv.index("--task") + 1 :]
        {"fit": run_fit, "solver": run_solver}[task](who, data, int(n))
    elif "--solvers" in sys.argv:
        compare_solvers()
    elif "--clusters" in sys.argv:
        count_clusters()
    elif "--widths" in sys.argv:
        compare_widths()
    else:
        main()
