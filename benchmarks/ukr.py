"""Unsupervised kernel regression: time of gradients and fits, errors on test rows, beside its peers.

Parts, all by default or by name on the command line: ``gradients`` (of the dense and of the sparse objective, beside
what they cannot do without, and their growth; Mercer alone), ``usps`` (500 steps on the digit "2" of the paper),
``oil`` (whole fits of the oil flow, and errors of classifiers on the map), ``new_rows``, ``large`` (whole fits of
20,000 and 100,000 rows, beside one of 3,000 of them), and ``peers`` (maps of oil flow, digits and USPS: nearest
neighbours of test rows, and how far these are from what their places stand for; beside UMAP, openTSNE, PaCMAP and
scikit-learn's Isomap). Data that are not at hand (MERCER_DATA) and peers that are not installed are left out.
``--small`` runs everything at a size that takes a few minutes, most of them for UMAP to compile. The last table lists
what is aimed at and what was reached.
"""

from __future__ import annotations

import contextlib
import io
import resource
import sys
import time
import warnings
from importlib.util import find_spec

import numpy as np

SMALL = "--small" in sys.argv
N_ROWS = 1_000 if SMALL else 3_000
SIZES = [2_000, 4_000] if SMALL else [3_000, 12_500, 25_000, 50_000, 100_000]
N_COLUMNS = 12
# Rows within reach of the quartic kernel. A fit of the oil flow (1000 rows) has 50 and with 10 neighbours out 100, one
# of the spiral (300 rows) 13 and 27; time is proportional to it, so that the ratio to the dense gradient depends on it.
N_NEIGHBOURS, MORE_NEIGHBOURS = 50, [100, 200]
ROUNDS = 3 if SMALL else 15
N_STEPS = 50 if SMALL else 500
N_NEW = 2_000 if SMALL else 20_000
N_NEW_OF_LARGE = 3_000
LARGE_SIZES = [1_000, 4_000, 8_000] if SMALL else [3_000, 20_000, 100_000]
# Rows that the maps of the peers are fitted to, and test rows.
N_TRAIN, N_TEST = (300, 300) if SMALL else (2_000, 2_000)
# Test rows that are sent there and back: UMAP takes tenths of a second for each row of 256 columns.
N_BACK = 20 if SMALL else 100
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


# Gradients -----------------------------------------------------------------------------------------------------------


def sheet(n, n_neighbours=N_NEIGHBOURS):
    """Rows on a sheet, and latent points near the true ones, at the scale of a fit."""
    from mercer.datasets import make_s_sheet

    X, Z = make_s_sheet(n, n_columns=N_COLUMNS, random_state=0)
    area = np.prod(np.ptp(Z, axis=0))
    Z = Z * np.sqrt(np.pi * n / (n_neighbours * area))
    return X, Z + 0.05 * np.random.default_rng(0).normal(size=Z.shape)


def floor_of_gradient(n, d):
    """Time of the matrix products of a dense gradient, Kᵀ[Y, 1] and H[Y, 1]ᵀ, and of one exponential for each pair."""
    from mercer.kernels.exponential import exp_of_negative

    rng = np.random.default_rng(0)
    K, G = rng.random((n, n)), np.empty((n, n))
    F, H = rng.random((n, d + 1)), rng.random((n, d + 1))
    products = timed(lambda: (np.dot(K, F), np.dot(H, F.T, out=G)), ROUNDS)[0]
    np.copyto(G, K)
    return products, timed(lambda: exp_of_negative(G, 1.0), ROUNDS)[0]


def gradients():
    from mercer.manifolds.ukr.problem import LatentProblem
    from mercer.manifolds.ukr.targets import data_targets
    from mercer.threads import allowed_threads

    def gradient_time(density_kernel, X, Z, n_excluded=0, rounds=ROUNDS):
        objective = LatentProblem(data_targets(X), density_kernel, n_excluded).evaluator()
        objective.value_and_gradient(Z)
        steps = iter(range(1, 1_000_000))
        # Each gradient is at other points, which are so near that lists of neighbours stay what they are.
        return timed(lambda: objective.value_and_gradient(Z + 1e-9 * next(steps)), rounds)[0]

    title(f"One gradient, {N_ROWS} rows, {N_COLUMNS} columns, about {N_NEIGHBOURS} rows within reach")
    X, Z = sheet(N_ROWS)
    products, exponentials = floor_of_gradient(N_ROWS, N_COLUMNS)
    # The products use all threads of BLAS; one exponential runs on one thread, and could run on all.
    least = products + exponentials / allowed_threads()
    dense, sparse = (gradient_time(kernel, X, Z) for kernel in ("gaussian", "quartic"))
    for what, spent in [("products", products), ("exponentials, one thread", exponentials), ("gaussian", dense),
                        ("gaussian, 10 neighbours out", gradient_time("gaussian", X, Z, 10)), ("quartic", sparse),
                        ("quartic, 10 neighbours out", gradient_time("quartic", X, Z, 10))]:  # fmt: skip
        print(f"{what:30} {1e3 * spent:8.2f} ms", flush=True)
    for n_neighbours in MORE_NEIGHBOURS:
        spent = gradient_time("quartic", *sheet(N_ROWS, n_neighbours))
        print(f"{f'quartic, {n_neighbours} within reach':30} {1e3 * spent:8.2f} ms: {dense / spent:.1f} times as fast")
    aim("dense gradient at most 3 times its products and exponentials", dense / least, dense <= 3 * least)
    aim(
        f"quartic gradient ({N_NEIGHBOURS} rows in reach) at least 5 times as fast", dense / sparse, dense >= 5 * sparse
    )

    title(f"Growth of the quartic gradient, {N_COLUMNS} columns")
    spent = []
    for n in SIZES:
        X, Z = sheet(n)
        spent.append(gradient_time("quartic", X, Z, rounds=max(3, ROUNDS // 3)))
        objective = LatentProblem(data_targets(X), "quartic").evaluator()
        first = timed(lambda objective=objective, Z=Z: objective.value_and_gradient(Z))[0]
        print(f"N = {n:6} {1e3 * spent[-1]:8.2f} ms, {1e3 * first:8.2f} ms with new lists", flush=True)
    exponent = np.polyfit(np.log(SIZES), np.log(spent), 1)[0]
    print(f"exponent of N: {exponent:.2f}")
    aim(f"exponent of N from {SIZES[0]} to {SIZES[-1]} at most 1.15", exponent, exponent <= 1.15)


# Fits ----------------------------------------------------------------------------------------------------------------


def quietly(call):
    """What a call returns, without what it prints and warns of."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        return call()


def at_hand(load):
    """What a loader returns, or None and a line that says what is missing."""
    try:
        return load()
    except FileNotFoundError as error:
        print(error)


def surface(X, **options):
    from mercer import UnsupervisedKernelRegression

    return quietly(lambda: UnsupervisedKernelRegression(2, random_state=0, **options).fit(X))


def usps():
    from mercer.datasets import load_usps

    title(f'USPS "2": {N_STEPS} steps of RPROP for the leave-one-out error, from LLE with 12 neighbours')
    data = at_hand(load_usps)
    if data is None:
        return
    X = data[0][data[1] == 2][: 300 if SMALL else None]
    # What the paper reached with 731 rows, from 83.5.
    for kernel, published in [("gaussian", 50.9), ("quartic", 51.5)]:
        options = {"density_kernel": kernel, "objective": "leave_one_out", "init": "lle-12", "optimizer": "rprop"}
        surface(X[:100], max_iter=2, **options)
        elapsed, model = timed(lambda options=options: surface(X, max_iter=N_STEPS, tol=1e-12, **options))
        print(f"{kernel:10} {elapsed:7.2f} s, {model.n_iter_} steps: {model.history_[0]:.2f} -> {model.objective_:.2f}")
        aim(f'USPS "2", {kernel}: at most 15 s', elapsed, elapsed <= 15)
        aim(f'USPS "2", {kernel}: error at most {published}', model.objective_, model.objective_ <= published)


def oil():
    from sklearn.neighbors import KNeighborsClassifier

    from mercer import DensityClassifier
    from mercer.datasets import load_oil_flow
    from mercer.kernels import L1

    title("Oil flow: whole fits to 1000 rows, errors of 1000 test rows by densities of classes and nearest neighbours")
    data = at_hand(lambda: (*load_oil_flow("train"), *load_oil_flow("test")))
    if data is None:
        return
    X, y, X_test, y_test = (part[: 300 if SMALL else None] for part in data)
    rivals = {
        "default": {}, "default, L1": {"feature_kernel": L1()}, "default, quartic": {"density_kernel": "quartic"},
        "leave one out": {"objective": "leave_one_out"},
        "leave one out, L1": {"objective": "leave_one_out", "feature_kernel": L1()},
    }  # fmt: skip
    for name, options in rivals.items():
        surface(X[:100], **options)
        elapsed, model = timed(lambda options=options: surface(X, **options))
        Z, Z_test = model.embedding_, model.transform(X_test)
        density, nearest = (
            100 * (1 - classifier.fit(Z, y).score(Z_test, y_test))
            for classifier in (DensityClassifier(), KNeighborsClassifier(1))
        )
        print(f"{name:20} {elapsed:7.2f} s from {model.init_:12} {model.n_iter_:3} steps, {model.n_pieces_:3} pieces: "
              f"{density:4.1f} % {nearest:4.1f} %", flush=True)  # fmt: skip
        if name.startswith("default") and "quartic" not in name:
            aim(f"oil flow, {name}: at most 15 s", elapsed, elapsed <= 15)
            aim(f"oil flow, {name}: error by densities at most 1.0 %", density, density <= 1.0 + 1e-9)
            aim(f"oil flow, {name}: error of neighbours at most 1.2 %", nearest, nearest <= 1.2 + 1e-9)


def new_rows():
    from mercer.datasets import make_s_sheet

    title(f"Projection of {N_NEW} new rows, {N_COLUMNS} columns, on surfaces through 1000")
    X, X_new = (make_s_sheet(n, n_columns=N_COLUMNS, random_state=seed)[0] for seed, n in enumerate([1_000, N_NEW]))
    for kernel in ("gaussian", "quartic"):
        model = surface(X, density_kernel=kernel, init="isomap-12")
        model.transform(X_new[:100])
        rate = N_NEW / timed(lambda model=model: model.transform(X_new), 3)[0]
        print(f"{kernel:10} {rate:8,.0f} a second", flush=True)
        aim(f"{kernel}: at least 5,000 new rows a second", rate, rate >= 5_000, "{:,.0f}")


def large():
    from mercer.datasets import make_s_sheet

    title(f"Whole fits with the quartic kernel, {N_COLUMNS} columns, by default; errors of {N_NEW_OF_LARGE} new rows")
    X, truth = make_s_sheet(LARGE_SIZES[-1] + N_NEW_OF_LARGE, n_columns=N_COLUMNS, random_state=0)
    X, X_new, places = X[: LARGE_SIZES[-1]], X[LARGE_SIZES[-1] :], truth[LARGE_SIZES[-1] :]
    surface(X[:500], density_kernel="quartic")
    seconds, errors, explained_by = [], [], []
    for n in LARGE_SIZES:
        told = []
        start = time.perf_counter()
        model = surface(X[:n], density_kernel="quartic", callback=lambda *_: told.append(time.perf_counter()))  # noqa: B023
        seconds.append(time.perf_counter() - start)
        spent, Z = timed(lambda model=model: model.transform(X_new))
        errors.append(np.mean(np.sum((X_new - model.inverse_transform(Z)) ** 2, axis=1)))
        explained_by.append(np.mean([explained(Z, t) for t in places.T]))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        a_step = (told[-1] - told[0]) / max(len(told) - 1, 1)
        print(f"N = {n:6}: {seconds[-1]:4.0f} s from {model.init_}, {len(told)} steps on all rows of {a_step:.2f} s, "
              f"{memory:.2f} GiB, {model.n_pieces_} pieces; new rows: {len(Z) / spent:,.0f} a second, squared distance "
              f"{errors[-1]:.5f}, R² of the true place {explained_by[-1]:.4f}", flush=True)  # fmt: skip
    exponent = np.log(seconds[-1] / seconds[1]) / np.log(LARGE_SIZES[-1] / LARGE_SIZES[1])
    print(f"exponent of N from {LARGE_SIZES[1]:,} rows: {exponent:.2f}")
    aim(f"{LARGE_SIZES[1]:,} rows: minutes at most 1", seconds[1] / 60, seconds[1] <= 60)
    aim(f"{LARGE_SIZES[-1]:,} rows: minutes at most 5", seconds[-1] / 60, seconds[-1] <= 300)
    aim(f"{LARGE_SIZES[-1]:,} rows: GiB at most 2", memory, memory <= 2)
    aim("squared distance of new rows as a share of that of fewest", errors[-1] / errors[0], errors[-1] <= errors[0])
    lost = explained_by[0] - explained_by[-1]
    aim("R² of the true place lost to that of fewest at most .005", lost, lost <= 0.005, "{:.4f}")


def explained(Z, t):
    """Share of the variance of t that the nearest neighbours on a map explain."""
    from sklearn.neighbors import KNeighborsRegressor

    half = len(Z) // 2
    return KNeighborsRegressor(5).fit(Z[:half], t[:half]).score(Z[half:], t[half:])


# Peers ---------------------------------------------------------------------------------------------------------------


def by_scikit_learn(model):
    """A map: latent points of its rows, where new rows are on it, and, if it runs backwards, what places stand for."""
    return model.embedding_, model.transform, getattr(model, "inverse_transform", None)


def by_pca(X):
    from sklearn.decomposition import PCA

    model = PCA(2).fit(X)
    return model.transform(X), model.transform, model.inverse_transform


def by_isomap(X):
    from sklearn.manifold import Isomap

    return by_scikit_learn(Isomap(n_components=2, n_neighbors=10).fit(X))


def by_umap(X):
    from umap import UMAP

    return by_scikit_learn(UMAP(random_state=0).fit(X))


def by_opentsne(X):
    from openTSNE import TSNE

    embedding = TSNE(random_state=0).fit(X)
    return np.asarray(embedding), embedding.transform, None


def by_pacmap(X):
    from pacmap import PaCMAP

    model = PaCMAP(n_components=2, random_state=0)
    return model.fit_transform(X), lambda X_new: model.transform(X_new, basis=X), None


def maps():
    """Rivals by name, without those that are not installed."""
    yield "Mercer", lambda X: by_scikit_learn(surface(X))
    yield "Mercer, quartic", lambda X: by_scikit_learn(surface(X, density_kernel="quartic"))
    yield "Mercer, leave one out", lambda X: by_scikit_learn(surface(X, objective="leave_one_out"))
    yield "PCA", by_pca
    yield "Isomap", by_isomap
    for name, package, fit in [
        ("UMAP", "umap", by_umap), ("openTSNE", "openTSNE", by_opentsne), ("PaCMAP", "pacmap", by_pacmap)
    ]:  # fmt: skip
        if find_spec(package):
            yield name, fit
        else:
            print(f"{name} is not installed, and left out: pip install mercer[peers]")


def tables():
    """Names, and training and test rows with their classes."""
    from sklearn.datasets import load_digits

    from mercer.datasets import load_oil_flow, load_usps

    digits = load_digits(return_X_y=True)
    yield "oil flow", lambda: (*load_oil_flow("train"), *load_oil_flow("test"))
    yield "digits", lambda: (*(part[:1_000] for part in digits), *(part[1_000:] for part in digits))
    yield "USPS", lambda: (*load_usps("train"), *load_usps("test"))


def peers():
    rivals = dict(maps())
    for name, load in tables():
        title(
            f"{name}: seconds of fit and of transform, error of neighbours on the map, squared distance there and back"
        )
        data = at_hand(load)
        if data is not None:
            X, y, X_test, y_test = data
            compare(name, rivals, X[:N_TRAIN], y[:N_TRAIN], X_test[:N_TEST], y_test[:N_TEST])


def compare(where, rivals, X, y, X_test, y_test):
    """All maps of one table."""
    from sklearn.neighbors import KNeighborsClassifier

    errors, distances = {}, {}
    for who, fit in rivals.items():
        quietly(lambda fit=fit: fit(X[:100]))
        elapsed, (Z, transform, inverse_transform) = timed(lambda fit=fit: quietly(lambda: fit(X)))
        spent, Z_test = timed(lambda transform=transform: quietly(lambda: np.asarray(transform(X_test))))
        errors[who] = 100 * (1 - KNeighborsClassifier(1).fit(Z, y).score(Z_test, y_test))
        back = ""
        if inverse_transform is not None:
            images = quietly(lambda: inverse_transform(Z_test[:N_BACK]))  # noqa: B023
            distances[who] = np.mean(np.sum((X_test[:N_BACK] - images) ** 2, axis=1))
            back = f"{distances[who]:9.4g}"
        print(f"{who:22} {elapsed:7.2f} s {spent:7.2f} s   {errors[who]:5.1f} % {back}", flush=True)
    best = min(error for who, error in errors.items() if not who.startswith("Mercer"))
    least = min(value for who, value in distances.items() if not who.startswith("Mercer"))
    for who, what in (("Mercer", where), ("Mercer, leave one out", f"{where}, leave one out")):
        error, share = errors[who], distances[who] / least
        aim(f"{what}: error at most that of the best peer, {best:.1f} %", error, error <= best + 1e-9)
        aim(f"{what}: squared distance as a share of the best peer's", share, share <= 1)


PARTS = {"gradients": gradients, "usps": usps, "oil": oil, "new_rows": new_rows, "large": large, "peers": peers}


def main(names):
    for name in names or PARTS:
        PARTS[name]()
    title("Aims")
    for what, value, holds in reached:
        print(f"{what:65} {value:>12}   {'reached' if holds else 'MISSED'}")


if __name__ == "__main__":
    main([word for word in sys.argv[1:] if not word.startswith("--")])
