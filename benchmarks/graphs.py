"""Eigenmaps of graphs beside scikit-learn's SpectralEmbedding: time, memory, residuals, growth, new rows.

Each fit runs in a fresh process, whose peak memory it is, and is stopped after a time limit; rivals take turns and the
minimum of several rounds is taken where a round is short. Both embed the same graph: each row and its nine nearest
other ones, averaged over both directions, weights 1. ``--small`` runs everything at a size that takes seconds.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
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


def surface(n, seed=0):
    """A rolled sheet in 20 columns: rows on a manifold of two dimensions."""
    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n))
    sheet = np.column_stack([t * np.cos(t), 21 * rng.uniform(size=n), t * np.sin(t)])
    return sheet @ directions(3)


def cloud(n, seed=0):
    """A normal distribution of ten dimensions in 20 columns."""
    return np.random.default_rng(seed).normal(size=(n, 10)) @ directions(10)


def directions(dimension):
    """Orthogonal ones, the same for all sizes and draws."""
    return np.linalg.qr(np.random.default_rng(1).normal(size=(20, 20)))[0][:dimension]


DATA = {"surface": surface, "cloud": cloud}


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


def run_task(who, data, n):
    """Fit once in this fresh process, and report as JSON."""
    fit = {"mercer": ours, "scikit-learn": peer}[who]
    small = DATA[data](1_500)
    fit(small)  # loads what is compiled
    if data == "cloud" and n > 50_000:
        ours(small, neighbors="approximate")
    X = DATA[data](n)
    before = peak_memory()
    whole, (embedding, graph, model) = timed(lambda: fit(X))
    memory = peak_memory() - before
    eigen, _ = timed(lambda: eigenvectors_only(who, graph))
    values, residual = eigenvalues_and_residual(graph, embedding)
    how = f"{model.neighbor_method_}, {model.eigen_solver_}" if who == "mercer" else "arpack"
    report = {"seconds": whole, "eigenvectors": eigen, "memory": memory, "values": values, "residual": residual}
    print(json.dumps({**report, "how": how}))


def in_fresh_process(who, data, n):
    """The report of a fit, or None if it was stopped."""
    command = [sys.executable, __file__, *(["--small"] if SMALL else []), "--task", who, data, str(n)]
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
            report = in_fresh_process(who, data, n)
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


def compare(data, sizes):
    for n in sizes:
        best = best_of(("mercer", "scikit-learn"), data, n)
        for who, report in best.items():
            show(f"n = {n:6}  {who}", report)
        us, them = best["mercer"], best["scikit-learn"]
        if us and them:
            ratios = [them[key] / max(us[key], 1e-9) for key in ("seconds", "eigenvectors", "memory")]
            apart = np.max(np.abs(np.subtract(us["values"], them["values"])))
            print(f"{'':12}scikit-learn takes {ratios[0]:.2f} times Mercer's time, {ratios[1]:.2f} times for the "
                  f"eigenvectors, {ratios[2]:.2f} times its memory; eigenvalues differ by {apart:.0e}")  # fmt: skip
        elif us:
            print(f"{'':12}scikit-learn takes more than {TIME_LIMIT / us['seconds']:.0f} times Mercer's time")


def growth(data):
    title(f"Growth, Mercer alone, {data}")
    reports = {n: best_of(("mercer",), data, n, rounds=min(ROUNDS, 2))["mercer"] for n in GROWTH}
    for n, report in reports.items():
        show(f"n = {n:6}", report)
    done = {n: report for n, report in reports.items() if report}
    for key in ("seconds", "eigenvectors"):
        exponent = np.polyfit(np.log(list(done)), np.log([report[key] for report in done.values()]), 1)[0]
        print(f"exponent of n, {'whole fit' if key == 'seconds' else key}: {exponent:.2f}")


def new_rows():
    title("New rows: transform, with all training rows in the graph")
    for data, n in (("surface", N), ("cloud", CLOUDS[-1])):
        model = ours(DATA[data](n))[2]
        X = DATA[data](n, seed=2)
        elapsed = min(timed(lambda model=model, X=X: model.transform(X))[0] for _ in range(ROUNDS))
        print(f"{data:8} {n} rows, {n} new ones: {n / elapsed:,.0f} a second ({model.neighbor_method_})")


def automatic_width():
    from mercer.graphs import auto_width

    title('What width="auto" adds to a fit')
    X = surface(N)
    print(f"n = {N}: {min(timed(lambda: auto_width(X))[0] for _ in range(ROUNDS)):.2f} s")


if __name__ == "__main__":
    if "--task" in sys.argv:
        who, data, n = sys.argv[sys.argv.index("--task") + 1 :]
        run_task(who, data, int(n))
    else:
        title(f"A manifold of two dimensions in 20 columns, {N_NEIGHBORS} neighbours, {N_COMPONENTS} eigenvectors")
        compare("surface", [N])
        title(f"Ten dimensions in 20 columns, {N_NEIGHBORS} neighbours, {N_COMPONENTS} eigenvectors")
        compare("cloud", CLOUDS)
        new_rows()
        automatic_width()
        for data in DATA:
            growth(data)
