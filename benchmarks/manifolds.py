"""Principal manifolds beside their peers: time, growth, memory, new rows, errors on test rows.

Parts, all by default or by name on the command line: ``scale`` (a sheet in 12 columns, Mercer alone, each fit in a
fresh process, whose peak memory it is), ``new_rows``, ``oil`` (the oil flow, where its folder is at hand: MERCER_DATA;
beside ugtm and scikit-learn), ``amortized`` (the same, an encoder beside the projection) and ``curves`` (spiral, circle
and arc beside elpigraph and pcurvepy2). Peers that are not installed are left out. Every rival runs once on few rows
first, which loads what is compiled. ``--small`` runs everything at a size that takes seconds. The last table lists what
is aimed at and what was reached.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np

SMALL = "--small" in sys.argv
SIZES = [1_500, 3_000] if SMALL else [12_500, 25_000, 50_000, 100_000]
N_NEW = 10_000 if SMALL else 200_000
SPIRALS = [500, 1_000] if SMALL else [2_000, 20_000]
N_TEST = 20_000
ROUNDS = 1 if SMALL else 2
N_COLUMNS, N_NODES = 12, 49
DRAWS = 2 if SMALL else 8
# Numbers of nodes, λ and μ of elpigraph: its own stiffness and a softer one (120 nodes take minutes). Two of them are
# compared with, as found on a draw of their own: that of the least error on test rows, which favours curves that wind
# through the noise and then lie nearer to new rows than the true one, and that nearest to the true curve.
ELASTIC = [(50, 1e-2, 1e-1), (50, 1e-4, 1e-3), *([] if SMALL else [(80, 1e-2, 1e-1), (80, 1e-4, 1e-3)])]
LEAST_ERROR, NEAREST, CHOICE_SEED = "elpigraph of least error", "elpigraph next to truth", 100
reached = []


def title(text):
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def aim(what, value, holds, style="{:.2f}"):
    """Note a number that is aimed at."""
    reached.append((what, style.format(value), holds))


def timed(call, rounds=1):
    """Least time of a call, and what it returned last."""
    best = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - start)
    return best, result


def quietly(call):
    """What a call returns, without what it prints and warns of."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def installed(*packages):
    """Those of the peers that are there."""
    found = [package for package in packages if find_spec(package)]
    for package in sorted(set(packages) - set(found)):
        print(f"{package} is not installed, and left out: pip install mercer[peers]")
    return found


# A sheet of many rows ------------------------------------------------------------------------------------------------


def sheet(m, seed=0):
    from mercer.datasets import make_s_sheet

    return make_s_sheet(m, n_columns=N_COLUMNS, random_state=seed)[0]


def surface(X):
    from mercer import PrincipalManifold

    return PrincipalManifold(2, width=0.5, penalty=3e-4, n_nodes=N_NODES, random_state=0).fit(X)


def peak_memory():
    """That of this process alone; ru_maxrss would start from the parent's."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text()).group(1)) * 1024


def run_fit(m):
    """Fit once in this fresh process, and report as JSON."""
    quietly(lambda: surface(sheet(1_000)))
    X = sheet(m)
    before = peak_memory()
    elapsed, model = timed(lambda: quietly(lambda: surface(X)))
    memory = (peak_memory() - before) / X.nbytes
    print(json.dumps({"seconds": elapsed, "memory": memory, "iterations": model.n_iter_, "status": model.status_}))


def scale():
    title(f"A sheet in {N_COLUMNS} columns, {N_NODES} nodes, Mercer alone")
    spent = []
    for m in SIZES:
        command = [sys.executable, __file__, *(["--small"] if SMALL else []), "--fit", str(m)]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(ROUNDS)]
        report = min((json.loads(run.stdout.splitlines()[-1]) for run in runs), key=lambda r: r["seconds"])
        spent.append(report["seconds"])
        print(f"m = {m:6} {report['seconds']:7.2f} s, {report['iterations']:3} iterations ({report['status']}), "
              f"{report['memory']:.2f} times the data", flush=True)  # fmt: skip
    exponent = np.polyfit(np.log(SIZES), np.log(spent), 1)[0]
    print(f"exponent of m: {exponent:.2f}")
    aim(f"m = {m}: at most 120 s", spent[-1], spent[-1] <= 120)
    aim(f"exponent of m from {SIZES[0]} to {m} at most 1.1", exponent, exponent <= 1.1)
    aim(f"m = {m}: at most 4 times the memory of the data", report["memory"], report["memory"] <= 4)


def new_rows():
    title(f"Projection of {N_NEW} new rows, {N_COLUMNS} columns, {N_NODES} nodes")
    model, X = quietly(lambda: surface(sheet(SIZES[0]))), sheet(N_NEW, seed=1)
    model.transform(X[:1_000])
    rate = N_NEW / timed(lambda: model.transform(X), rounds=3)[0]
    print(f"{rate:,.0f} a second")
    aim("at least 50,000 new rows a second", rate, rate >= 50_000, "{:,.0f}")


# Oil flow ------------------------------------------------------------------------------------------------------------


def maps_of_oil():
    """Rivals by name: each makes a model of two coordinates."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import Isomap

    from mercer import GenerativeTopographicMap, PrincipalManifold

    surfaces = {
        "quick": {"width": 0.5, "penalty": 1e-3, "n_nodes": N_NODES, "init": "pca", "tol": 1e-3},
        "width 1": {"width": 1.0, "penalty": 1e-5, "n_nodes": N_NODES, "init": "pca", "annealing": 3},
        "width .33": {"width": 0.33, "penalty": 1e-3, "n_nodes": N_NODES, "init": "pca"},
        "automatic": {"random_state": 0},
    }
    yield "PCA", lambda: PCA(2)
    yield "Isomap", lambda: Isomap(n_components=2)
    for name, options in surfaces.items():
        yield f"manifold, {name}", lambda options=options: PrincipalManifold(2, **options)
    yield "GTM, quick", lambda: GenerativeTopographicMap(2, n_grid=12, tol=1e-2)
    yield "GTM", lambda: GenerativeTopographicMap(2)
    if installed("ugtm"):
        from ugtm import eGTM

        yield "ugtm", lambda: eGTM()


def oil():
    from sklearn.neighbors import KNeighborsClassifier

    from mercer.datasets import load_oil_flow

    title("Oil flow: fit to 1000 rows, map of 1000 test rows, error of their nearest neighbours on the map")
    try:
        (X, y), (X_test, y_test) = load_oil_flow("train"), load_oil_flow("test")
    except FileNotFoundError as error:
        print(error)
        return
    found = {}
    for name, make in maps_of_oil():
        quietly(lambda make=make: make().fit(X[:200]))
        elapsed, model = timed(lambda make=make: quietly(lambda: make().fit(X)), rounds=ROUNDS)
        neighbour = KNeighborsClassifier(1).fit(quietly(lambda model=model: model.transform(X)), y)
        error = round(1 - neighbour.score(quietly(lambda model=model: model.transform(X_test)), y_test), 6)
        found[name] = elapsed, error
        print(f"{name:21} {elapsed:7.2f} s   {100 * error:5.1f} %", flush=True)
    if "ugtm" not in found:
        return
    theirs, their_error = found["ugtm"]
    as_good = min(spent for name, (spent, error) in found.items() if _is_ours(name) and error <= their_error)
    aim("oil flow: time at the error of ugtm, as a share of its", as_good / theirs, as_good <= theirs)
    best = [spent for name, (spent, error) in found.items() if _is_ours(name) and error <= 0.015]
    share = min(best, default=np.inf) / theirs
    aim("oil flow: an error of 1.5 % in at most 10 times its time", share, share <= 10)


def amortized():
    """`AmortizedMap` of a manifold beside its own projection, which searches for every row."""
    from mercer import AmortizedMap, PrincipalManifold
    from mercer.datasets import load_oil_flow

    title("Oil flow: coordinates of new rows by projection, and by an encoder with steps")
    try:
        (X, _), (T, _) = load_oil_flow("train"), load_oil_flow("test")
    except FileNotFoundError as error:
        print(error)
        return
    many = np.tile(T, (10, 1))

    def measured(transform):
        loss = np.mean(np.sum((T - manifold.inverse_transform(transform(T))) ** 2, axis=1))
        return len(many) / timed(lambda: transform(many), rounds=3)[0], loss

    for steps in (0, 1, "auto", 10):
        model = AmortizedMap(PrincipalManifold(2, random_state=0), steps=steps).fit(X)
        manifold = model.estimator_
        rate, loss = measured(model.transform)
        print(f"encoder, steps={steps!s:5} {rate:10,.0f} rows a second, error {loss:.4f}")
        if steps == "auto":
            own_rate, own_loss = measured(manifold.transform)
            print(f"projection          {own_rate:10,.0f} rows a second, error {own_loss:.4f}")
            aim("rate of the encoder as a multiple of the projection's", rate / own_rate, rate >= 2.5 * own_rate)
            aim("and its error as a multiple", loss / own_loss, loss <= 1.05 * own_loss, "{:.3f}")


def _is_ours(name):
    return name.startswith(("manifold", "GTM"))


# Curves --------------------------------------------------------------------------------------------------------------


def curves_to_fit():
    """Names, generators with a number of rows and a seed, numbers of draws by sizes, and whether curves are closed."""
    from mercer.datasets import make_arc, make_spiral

    few, many = SPIRALS
    yield "spiral", lambda n, seed: make_spiral(n, random_state=seed)[0], {few: DRAWS, many: 1}, False
    yield "circle", lambda n, seed: make_arc(n, random_state=seed)[0], {few: DRAWS}, True
    yield "arc", lambda n, seed: make_arc(n, angle=1.5 * np.pi, random_state=seed)[0], {few: DRAWS}, False


def true_curve(name):
    """Points of the curve that rows are drawn from."""
    t = np.linspace(0, 1, 2_001)
    radius, angle = {"spiral": (0.2 + t, 4 * np.pi * t), "circle": (1 + 0 * t, 2 * np.pi * t)}.get(
        name, (1 + 0 * t, 1.5 * np.pi * t)
    )
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def by_manifold(X, closed, **parameters):
    """A function that gives squared distances of rows, as those of all rivals."""
    from mercer import PrincipalManifold

    topology = "circle" if closed else "interval"
    model = PrincipalManifold(1, topology=topology, random_state=0, **parameters).fit(X)
    return lambda rows: model.distance_to_manifold(rows) ** 2


def by_curve(X, closed):
    from mercer import PrincipalCurve

    model = PrincipalCurve(closed=closed, init="isomap").fit(X)
    return lambda rows: np.sum((rows - model.inverse_transform(model.transform(rows))) ** 2, axis=1)


def by_elpigraph(X, closed, setting):
    import elpigraph

    nodes, bending, stretching = setting
    fit = elpigraph.computeElasticPrincipalCircle if closed else elpigraph.computeElasticPrincipalCurve
    graph = fit(X, nodes, Lambda=bending, Mu=stretching)[0]
    return _squares_to_segments(graph["NodePositions"], graph["Edges"][0])


def _squares_to_segments(points, edges):
    from mercer.manifolds import Polyline

    return lambda X: np.min([Polyline(points[edge]).project(X)[1] for edge in edges], axis=0)


def by_pcurvepy2(X, closed):
    from pcurvepy2 import PrincipalCurve

    curve = PrincipalCurve()
    curve.fit(X)
    return _squares_to_segments(curve.points, [[i, i + 1] for i in range(len(curve.points) - 1)])


def elastic_rivals(make, n, closed, truth):
    """Settings of elpigraph on a draw of its own: that of the least error on test rows, and that next to the truth."""
    X, X_test = make(n, CHOICE_SEED), make(N_TEST, CHOICE_SEED + 1)
    fits = {setting: quietly(lambda setting=setting: by_elpigraph(X, closed, setting)) for setting in ELASTIC}
    chosen = {
        LEAST_ERROR: min(ELASTIC, key=lambda setting: fits[setting](X_test).mean()),
        NEAREST: min(ELASTIC, key=lambda setting: fits[setting](truth).mean()),
    }
    for who, (nodes, bending, stretching) in chosen.items():
        print(f"{who}: {nodes} nodes, Lambda {bending:g}, Mu {stretching:g}", flush=True)
    if chosen[NEAREST] == chosen[LEAST_ERROR]:
        del chosen[NEAREST]
    return {who: lambda X, closed, setting=setting: by_elpigraph(X, closed, setting) for who, setting in chosen.items()}


def curves():
    peers = installed("elpigraph", "pcurvepy2")
    for name, make, draws, closed in curves_to_fit():
        truth = true_curve(name)
        title(f"{name}: squared distances of {N_TEST} test rows, and of the true curve; means over draws")
        rivals = {
            "PrincipalManifold": by_manifold,
            "  soft": lambda X, closed: by_manifold(X, closed, assignment="soft"),
            "  hard": lambda X, closed: by_manifold(X, closed, assignment="hard"),
            "PrincipalCurve": by_curve,
        }
        if "elpigraph" in peers:
            rivals |= elastic_rivals(make, min(draws), closed, truth)
        for n, n_draws in draws.items():
            if "pcurvepy2" in peers and not closed and n == min(draws):
                rivals["pcurvepy2"] = by_pcurvepy2
            compare_curves(f"{name}, n = {n}", make, n, n_draws, truth, closed, rivals)
            rivals.pop("pcurvepy2", None)  # takes a minute for many rows


def compare_curves(where, make, n, n_draws, truth, closed, rivals):
    """Errors on test rows less that of the true curve, and distances of the true curve.

    A curve that winds through the noise is nearer to test rows than the true one is, so that no rival has to be better
    than the true curve; how far each is from that tells which of them winds. A fit of p parameters to n rows that aims
    at the true curve, as a soft one does, has an error of about 1 + p/n of its; one that aims at the least error goes
    on beyond the ends, and lies outward of bends. Standard errors are those over draws, of training and test rows, or
    for a single draw those over test rows.
    """
    from mercer.manifolds import Polyline

    found = {who: [] for who in rivals}
    excess = {who: [] for who in rivals}
    least = []
    for draw in range(n_draws):
        X, X_test = make(n, draw), make(N_TEST, 1_000 + draw)
        squares = Polyline(truth).project(X_test)[1]
        least.append(squares.mean())
        for who, fit in rivals.items():
            if draw == 0:
                quietly(lambda fit=fit, X=X: fit(X[:: len(X) // 200], closed))
            elapsed, squares_of = timed(lambda fit=fit, X=X: quietly(lambda: fit(X, closed)))
            more = squares_of(X_test) - squares
            excess[who].append(more if n_draws == 1 else more.mean(keepdims=True))
            found[who].append((elapsed, more.mean(), squares_of(truth).mean()))
    unit = np.mean(least)
    print(f"{where:20} {'true curve':25}             {unit:.5f}")
    for who, rows in found.items():
        elapsed, more, distance = np.mean(rows, axis=0)
        share, error = 100 * more / unit, 100 * _standard_error(excess[who]) / unit
        print(f"{where:20} {who:25} {elapsed:7.2f} s   {unit + more:.5f} ({share:+.2f} ± {error:.2f} %)"
              f"   {distance:.6f}", flush=True)  # fmt: skip
    for theirs in (LEAST_ERROR, NEAREST):
        if theirs in rivals:
            _aims_beside(where, theirs, found, excess, unit)


def _aims_beside(where, theirs, found, excess, unit):
    """The default beside a setting of elpigraph: errors to within a standard error of the difference."""
    (ours_spent, ours, our_distance), (spent, more, distance) = (
        np.mean(found[who], axis=0) for who in ("PrincipalManifold", theirs)
    )
    # That of the true curve is 0.
    other = excess[theirs] if more > 0 else [0.0 * rows for rows in excess[theirs]]
    error = _standard_error([a - b for a, b in zip(excess["PrincipalManifold"], other, strict=True)])
    what = f"{where}: beside {theirs},"
    aim(f"{what} % of error above its and the true curve's", 100 * (ours - max(more, 0.0)) / unit,
        ours - max(more, 0.0) <= error, f"{{:+.2f}} ± {100 * error / unit:.2f}")  # fmt: skip
    aim(f"{what} distance of the true curve as a share", our_distance / distance, our_distance <= distance)
    aim(f"{what} time as a share", ours_spent / spent, ours_spent <= spent)


def _standard_error(excess):
    """Of the mean over draws, or over the rows of a single one."""
    values = np.concatenate(excess)
    return values.std(ddof=1) / np.sqrt(len(values))


PARTS = {"scale": scale, "new_rows": new_rows, "oil": oil, "amortized": amortized, "curves": curves}


def main(names):
    for name in names or PARTS:
        PARTS[name]()
    title("Aims")
    for what, value, holds in reached:
        print(f"{what:86} {value:>14}   {'reached' if holds else 'MISSED'}")


if __name__ == "__main__":
    if "--fit" in sys.argv:
        run_fit(int(sys.argv[sys.argv.index("--fit") + 1]))
    else:
        main([word for word in sys.argv[1:] if not word.startswith("--")])
