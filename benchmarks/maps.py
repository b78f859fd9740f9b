"""Maps beside their peers: time, neighbours kept, labels and columns of new rows.

`PrincipalManifold` and `UnsupervisedKernelRegression` with their defaults beside openTSNE, umap-learn, PaCMAP, and
t-SNE and Isomap of scikit-learn, on digits, USPS, oil flow, MNIST and single cells (where their folder is at hand:
MERCER_DATA), and on generated loops, tori, images of a thing that turns and moves, and 50,000 rows on a surface (for
which these two of scikit-learn are left out). Of each set 80 % of the rows are fitted; the others are new. Columns:

* CPU and wall seconds of the fit, after one on few rows, which loads what is compiled;
* trustworthiness, and share of the true 10 nearest neighbours that are among those on the map, of the fitted rows or
  5,000 of them;
* errors of the nearest neighbour's label, for new rows, and the share of their variance that is lost there and back:
  by `inverse_transform`, or for peers that have none by the mean of the rows of the 8 nearest on the map;
* seconds for 10,000 new rows.

Names on the command line choose sets; ``--small`` takes few rows. Peers that are not installed are left out, with a
line that says so. The last table lists what is aimed at and what was reached.
"""

from __future__ import annotations

import sys
import time
import warnings
from importlib.util import find_spec

import numpy as np

SMALL = "--small" in sys.argv
N_NEW, K = 1_000 if SMALL else 10_000, 10
# Of scikit-learn's t-SNE and Isomap, and of what is measured by all distances.
MOST_ROWS = 5_000
OURS = ("PrincipalManifold", "kernel regression")
reached = []


# Data ----------------------------------------------------------------------------------------------------------------


def digits():
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def usps():
    from mercer.datasets import load_usps

    X, y = load_usps("train")
    some = np.random.default_rng(0).permutation(len(X))[:2_000]
    return X[some], y[some]


def oil():
    from mercer.datasets import load_oil_flow

    return load_oil_flow("train")


def mnist():
    from mercer.datasets.folders import found_file

    table = np.loadtxt(found_file("manifold", "mnist_5k.csv.gz", "take 5000 of its rows, labels last"), delimiter=",")
    return table[:, :-1], table[:, -1]


def cells():
    """Gene expressions of 437 cells; labels are stages and kinds."""
    from mercer.datasets.folders import found_file

    path = found_file("manifold", "singlecell_guo2010.csv.gz", "take the table of Guo et al. (2010) from scanpy")
    table = np.loadtxt(path, delimiter=",", skiprows=1, dtype=str)
    return table[:, 1:].astype(float), table[:, 0]


def images():
    """1,000 images of 24 x 24 pixels of spots that turn around and move to one side; labels are quarters of a turn."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[-1:1:24j, -1:1:24j]
    radius, place, size = np.sqrt(rng.uniform(0, 0.4, 6)), rng.uniform(0, 2 * np.pi, 6), rng.uniform(0.15, 0.35, 6)
    angles, shifts = rng.uniform(0, 2 * np.pi, 1_000), rng.uniform(-0.4, 0.4, 1_000)
    u = radius * np.cos(place + angles[:, None]) + shifts[:, None]
    v = radius * np.sin(place + angles[:, None])
    spots = np.exp(-((x.ravel() - u[..., None]) ** 2 + (y.ravel() - v[..., None]) ** 2) / size[:, None] ** 2)
    return spots.sum(axis=1) + 0.02 * rng.normal(size=(1_000, x.size)), angles // (np.pi / 2)


def rows():
    """50,000 rows of 30 columns on a curved surface, with noise; labels are quarters of its square."""
    rng = np.random.default_rng(0)
    z = rng.uniform(-1, 1, size=(50_000, 2))
    waves = np.column_stack([np.sin(a * z[:, 0] + b * z[:, 1] + c) for a, b, c in rng.normal(size=(30, 3)) * 2])
    X = waves @ rng.normal(size=(30, 30)) + rng.normal(size=(50_000, 30))
    return X, (z > 0) @ [1, 2]


def loop():
    """A thing seen from all sides, with a little noise; labels are quarters of the way around."""
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, 1_000)
    waves = np.column_stack([wave(k * angles) / k for k in range(1, 6) for wave in (np.cos, np.sin)])
    return waves @ rng.normal(size=(10, 60)) + 0.1 * rng.normal(size=(1_000, 60)), angles // (np.pi / 2)


def torus():
    from mercer.datasets import make_torus

    X, angles = make_torus(1_000, random_state=0)
    return X, np.asarray(angles)[:, 0] // (np.pi / 2)


SETS = {
    "digits": digits, "usps": usps, "oil": oil, "mnist": mnist, "cells": cells, "loop": loop, "torus": torus,
    "images": images, "rows": rows,
}  # fmt: skip


def split(X, y):
    """Rows that are fitted, and new ones, centred and divided by one number."""
    X = np.asarray(X, dtype=np.float64)
    X = (X - X.mean(axis=0)) / X.std()
    order = np.random.default_rng(0).permutation(len(X))[: 500 if SMALL else None]
    n = len(order) * 8 // 10
    return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]


# Rivals --------------------------------------------------------------------------------------------------------------


def rivals(n):
    """Names, and functions of the rows that give a map of them and a function that maps new ones, or None."""
    from sklearn.manifold import TSNE, Isomap

    from mercer import PrincipalManifold, UnsupervisedKernelRegression

    yield "PrincipalManifold", lambda X: estimator(PrincipalManifold(2, random_state=0), X)
    yield "kernel regression", lambda X: estimator(UnsupervisedKernelRegression(2, random_state=0), X)
    if is_there("openTSNE"):
        from openTSNE import TSNE as OpenTSNE

        yield "openTSNE", lambda X: embedding(OpenTSNE(random_state=0, n_jobs=1).fit(X))
    if is_there("umap", "umap-learn"):
        from umap import UMAP

        yield "UMAP", lambda X: estimator(UMAP(random_state=0, n_jobs=1), X)
    if is_there("pacmap"):
        from pacmap import PaCMAP

        yield "PaCMAP", lambda X: pacmap_of(PaCMAP(random_state=0), X)
    if n > MOST_ROWS:
        return
    yield "t-SNE", lambda X: (TSNE(random_state=0, n_jobs=1).fit_transform(X), None, None)
    yield "Isomap", lambda X: estimator(Isomap(), X)


def is_there(module, package=None):
    if not find_spec(module):
        print(f"{package or module} is not installed, and left out: pip install {package or module}")
        return False
    return True


def estimator(model, X):
    Z = model.fit_transform(X)
    back = model.inverse_transform if type(model).__module__.startswith("mercer") else None
    return np.asarray(Z), model.transform, back


def embedding(fitted):
    return np.asarray(fitted), lambda X: np.asarray(fitted.transform(X)), None


def pacmap_of(model, X):
    return np.asarray(model.fit_transform(X)), lambda new: model.transform(new, basis=X), None


# Measures ------------------------------------------------------------------------------------------------------------


def measured(fit, X, y, X_new, y_new):
    """All columns of the table, NaN where a rival cannot map new rows."""
    from sklearn.manifold import trustworthiness
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    fit(X[:200])
    wall, cpu = time.perf_counter(), time.process_time()
    Z, transform, back = fit(X)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    some = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    trust, neighbours = trustworthiness(X[some], Z[some], n_neighbors=K), shared_neighbours(X[some], Z[some])
    row = {
        "cpu": cpu, "wall": wall, "trust": trust, "neighbours": neighbours,
        "labels": np.nan, "lost": np.nan, "new rows": np.nan,
    }  # fmt: skip
    if transform is None:
        return row
    Z_new = transform(X_new)
    images = back(Z_new) if back is not None else KNeighborsRegressor(8).fit(Z, X).predict(Z_new)
    row["labels"] = 1 - KNeighborsClassifier(1).fit(Z, y).score(Z_new, y_new)
    row["lost"] = np.sum((images - X_new) ** 2) / np.sum((X_new - X.mean(axis=0)) ** 2)
    many = np.resize(X_new, (N_NEW, X.shape[1])) + 1e-3 * np.random.default_rng(0).normal(size=(N_NEW, X.shape[1]))
    start = time.perf_counter()
    transform(many)
    row["new rows"] = time.perf_counter() - start
    return row


def shared_neighbours(X, Z):
    from sklearn.neighbors import NearestNeighbors

    near = [NearestNeighbors(n_neighbors=K).fit(A).kneighbors(return_distance=False) for A in (X, Z)]
    return np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(*near, strict=True)])


def compare(name):
    print(f"\n{name}\n{'-' * len(name)}", flush=True)
    try:
        data = split(*SETS[name]())
    except FileNotFoundError as error:
        print(error)
        return
    found = {}
    for who, fit in rivals(len(data[0])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = found[who] = measured(fit, *data)
        print(f"{who:18} CPU {row['cpu']:7.2f} s, wall {row['wall']:7.2f} s   trust {row['trust']:.4f}   neighbours "
              f"{row['neighbours']:.3f}   labels {row['labels']:.3f}   lost {row['lost']:.3f}   "
              f"{N_NEW} new rows {row['new rows']:7.2f} s", flush=True)  # fmt: skip
    aims(name, found, len(data[0]))


def aims(name, found, n):
    """What each of Mercer's maps is to reach."""
    most_time = 1.0 if n <= MOST_ROWS else 0.5
    for who in OURS:
        ours = found[who]
        if "openTSNE" in found:
            theirs = found["openTSNE"]
            aim(f"{name}: CPU of {who} as a share of openTSNE's", ours["cpu"] / theirs["cpu"], most_time)
            aim(f"{name}: neighbours of {who} behind openTSNE's", theirs["neighbours"] - ours["neighbours"], 0.03)
            aim(f"{name}: trustworthiness of {who} behind openTSNE's", theirs["trust"] - ours["trust"], 0.0)
        if "UMAP" in found:
            aim(f"{name}: trustworthiness of {who} behind UMAP's", found["UMAP"]["trust"] - ours["trust"], 0.0)
        others = [rival for rival in found if rival not in OURS]
        lost = np.nanmin([found[rival]["lost"] for rival in others])
        labels = [found[rival]["labels"] for rival in others]
        aim(f"{name}: label errors of {who}, less those of the best rival", ours["labels"] - np.nanmin(labels), 0.015)
        aim(f"{name}: variance lost by {who}, less that of the best rival", ours["lost"] - lost, 0.0)


def aim(what, value, most):
    reached.append((what, value, value <= most))


def main(names):
    for name in names or SETS:
        compare(name)
    print("\nAims\n----")
    for what, value, holds in reached:
        print(f"{what:76} {value:8.3f}   {'reached' if holds else 'MISSED'}")


if __name__ == "__main__":
    main([word for word in sys.argv[1:] if not word.startswith("--")])
