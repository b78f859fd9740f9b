"""Unsupervised kernel regression: the evidence for its defaults, on generated data whose truth is known.

Parts, all by default or by name on the command line: ``neighbours`` (how many latent neighbours are left out: mean
squared distance of the surface from the true one, or share of new rows whose nearest neighbour on the map is of another
class), ``structure`` (the same for the number by default, which depends on the rows, beside the one by their number
alone, and none: tables of many columns, near a surface or not) and ``widths`` (of `DensityClassifier`: test errors in
the plane). ``--small`` takes one draw of each set.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

SMALL = "--small" in sys.argv
N_DRAWS = 1 if SMALL else 3
N_NEIGHBOURS = [0, 2, 3, 5, 7, 10, 15, 20]
# Rows of each set in the plane, and its test rows.
SIZES, N_TEST = [100, 300] if SMALL else [100, 300, 1_000], 3_000
DENSE = np.linspace(0.0, 1.0, 4_000)


def along_rays(radii, angles):
    return radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])


def curves_and_sheets(draw):
    """Names, rows, numbers of coordinates, and points close together on the true curve or surface."""
    from mercer.datasets import make_arc, make_s_sheet, make_spiral

    spiral, arc = along_rays(0.2 + DENSE, 4 * np.pi * DENSE), along_rays(np.ones_like(DENSE), 4.0 * DENSE)
    for n in (150, 300, 1_000):
        yield f"spiral, {n} x 0.05", make_spiral(n, random_state=draw)[0], 1, spiral
    for n, noise in [(100, 0.1), (300, 0.1), (1_000, 0.1), (300, 0.2), (1_000, 0.2)]:
        yield f"arc, {n} x {noise}", make_arc(n, angle=4.0, noise=noise, random_state=draw)[0], 1, arc
    sheet = make_s_sheet(20_000, noise=0.0, random_state=0)[0]
    for n, noise in [(150, 0.05), (300, 0.05), (300, 0.1), (1_000, 0.05), (1_000, 0.1)]:
        yield f"S-sheet, {n} x {noise}", make_s_sheet(n, noise=noise, random_state=draw)[0], 2, sheet


def patches(n, draw, n_classes=8, n_columns=10):
    """Classes that are patches of three dimensions each, one more than the map has: they must be torn or folded."""
    rng = np.random.default_rng(0)
    centres = 0.6 * rng.normal(size=(n_classes, n_columns))
    axes = 1.5 / np.sqrt(n_columns) * rng.normal(size=(n_classes, 3, n_columns))
    rng = np.random.default_rng(1 + draw)
    y, t = rng.integers(n_classes, size=n), rng.uniform(-1, 1, size=(n, 3))
    return centres[y] + np.einsum("ij,ijk->ik", t, axes[y]) + 0.1 * rng.normal(size=(n, n_columns)), y


def sheet_of_many_columns(n, noise, draw, n_columns=12):
    """Rows, and points close together on the true sheet, which is turned as they are."""
    from mercer.datasets import make_s_sheet

    flat, turned = (make_s_sheet(n, n_columns=d, noise=0.0, random_state=draw)[0] for d in (3, n_columns))
    turn = np.linalg.lstsq(flat, turned, rcond=None)[0]
    X = make_s_sheet(n, n_columns=n_columns, noise=noise, random_state=draw)[0]
    return X, make_s_sheet(20_000, noise=0.0, random_state=0)[0] @ turn


def clusters(n, draw, n_classes=10, n_columns=20):
    """Classes that are nothing but noise around their centres."""
    centres = np.random.default_rng(0).normal(size=(n_classes, n_columns))
    rng = np.random.default_rng(1 + draw)
    y = rng.integers(n_classes, size=n)
    return centres[y] + 0.7 * rng.normal(size=(n, n_columns)), y


def factors(n, draw, n_dims, n_columns, noise, n_classes=10):
    """Classes that are normal in so many dimensions each, with centres near each other, and noise."""
    rng = np.random.default_rng(0)
    centres = 0.15 * rng.normal(size=(n_classes, n_columns))
    axes = rng.normal(size=(n_classes, n_dims, n_columns)) / np.sqrt(n_dims)
    rng = np.random.default_rng(1 + draw)
    y, t = rng.integers(n_classes, size=n), rng.normal(size=(n, n_dims))
    return centres[y] + np.einsum("ij,ijk->ik", t, axes[y]) + noise * rng.normal(size=(n, n_columns)), y


def cells(n, draw, n_dims=4, n_columns=30, n_classes=10):
    """Classes that are cells of one smooth manifold of four dimensions, a little apart."""
    rng = np.random.default_rng(0)
    axes, phases = rng.normal(size=(n_dims, n_columns)), rng.uniform(0, 2 * np.pi, n_columns)
    centres = rng.uniform(-1, 1, size=(n_classes, n_dims))
    rng = np.random.default_rng(1 + draw)
    t = rng.uniform(-1, 1, size=(4 * n, n_dims))
    distances = np.linalg.norm(t[:, None] - centres, axis=2)
    nearest = np.sort(distances, axis=1)
    kept = np.flatnonzero(nearest[:, 1] - nearest[:, 0] > 0.1)[:n]
    X = np.sin(np.pi * t[kept] @ axes / np.sqrt(n_dims) + phases)
    return X + 0.1 * rng.normal(size=X.shape), distances[kept].argmin(axis=1)


def fitted(X, q, n_excluded):
    from mercer import UnsupervisedKernelRegression

    out = {"n_excluded": n_excluded} if n_excluded else {"objective": "leave_one_out"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return UnsupervisedKernelRegression(q, init="isomap", random_state=0, **out).fit(X)


def distance_from_truth(model, truth):
    """Mean squared distance of a curve between its ends, or of a surface at its latent points."""
    from scipy.spatial import cKDTree

    Z = model.embedding_
    if Z.shape[1] == 1:
        Z = np.linspace(Z.min(), Z.max(), 1_000)[:, None]
    return np.mean(cKDTree(truth).query(model.inverse_transform(Z))[0] ** 2)


def neighbours():
    print("\nNeighbours left out: squared distance from the truth in 10^-4, and errors on new rows in %")
    print(f"{'':22}" + "".join(f"{K:8}" for K in N_NEIGHBOURS), flush=True)
    for draws in zip(*map(curves_and_sheets, range(N_DRAWS)), strict=True):
        values = [[1e4 * distance_from_truth(fitted(X, q, K), truth) for K in N_NEIGHBOURS] for _, X, q, truth in draws]
        show(draws[0][0], values)
    for n in (500, 1_000):
        values = []
        for draw in range(N_DRAWS):
            X, y = patches(2 * n, draw)
            values.append([error_of_neighbours(fitted(X[:n], 2, K), X, y) for K in N_NEIGHBOURS])
        show(f"patches, {n}", values)


def error_of_neighbours(model, X, y):
    """Of the nearest neighbours on a map of the first rows, in %, for the others."""
    from sklearn.neighbors import KNeighborsClassifier

    n = len(model.embedding_)
    return 100 * (1 - KNeighborsClassifier(1).fit(model.embedding_, y[:n]).score(model.transform(X[n:]), y[n:]))


def structure():
    from mercer.manifolds.ukr.settings import automatic_n_excluded

    print("\nNeighbours left out of rows of many columns, by their number / by default; squared distance from truth")
    print("in 10^-4 (sheets), or errors on new rows in %: none left out / by their number / by default", flush=True)
    sheets = [(1_000, 0.02), (1_000, 0.1), (2_000, 0.05)]
    judged = {
        f"sheet, {n} x {noise}": (n, lambda n, draw, noise=noise: sheet_of_many_columns(n, noise, draw))
        for n, noise in sheets
    }
    for name, n, draw_of in [
        ("clusters", 1_000, clusters), ("patches", 2_000, patches), ("cells", 1_000, cells),
        ("4 factors", 1_000, lambda n, draw: factors(n, draw, 4, 20, 0.1)),
        ("10 factors", 1_000, lambda n, draw: factors(n, draw, 10, 40, 0.3)),
        ("10 factors", 2_000, lambda n, draw: factors(n, draw, 10, 40, 0.3)),
    ]:  # fmt: skip
        judged[f"{name}, {n}"] = n, lambda n, draw, draw_of=draw_of: draw_of(n + 2_000, draw)
    for name, (n, draw_of) in judged.items():
        values, by_number = [], automatic_n_excluded(n, 2)
        for draw in range(N_DRAWS):
            X, truth = draw_of(n, draw)
            models = [fitted(X[:n], 2, K) for K in (0, by_number, "auto")]
            judge = distance_from_truth if truth.ndim == 2 else lambda model, y, X=X: error_of_neighbours(model, X, y)
            scale = 1e4 if truth.ndim == 2 else 1.0
            values.append([by_number, models[-1].n_excluded_, *(scale * judge(model, truth) for model in models)])
        show(name, values)


def show(name, values):
    """Medians over draws."""
    print(f"{name:22}" + "".join(f"{value:8.1f}" for value in np.median(values, axis=0)), flush=True)


def plane(n, draw):
    """Names, and rows in the plane with their classes."""
    from sklearn.datasets import make_blobs, make_circles, make_moons

    rng = np.random.default_rng(draw)
    for noise in (0.1, 0.2, 0.3):
        yield f"moons, {noise}", *make_moons(n, noise=noise, random_state=draw)
    for n_classes, spread in [(3, 1.0), (3, [0.3, 1.0, 2.0]), (6, 1.5)]:
        X, y = make_blobs(n, centers=n_classes, cluster_std=spread, center_box=(-5, 5), random_state=draw)
        yield f"{n_classes} blobs, {spread}", X, y
    yield "rings", *make_circles(n, noise=0.1, factor=0.5, random_state=draw)
    t, y = rng.uniform(size=n), rng.integers(2, size=n)
    yield "two spirals", along_rays(0.2 + t, 4 * np.pi * t + np.pi * y) + 0.05 * rng.normal(size=(n, 2)), y
    X = rng.uniform(size=(n, 2))
    yield "checkerboard", X, np.floor(4 * X).sum(axis=1).astype(int) % 2
    island = rng.integers(30, size=n)
    yield "islands", 6 * rng.normal(size=(30, 2))[island] + 0.3 * rng.normal(size=(n, 2)), island % 3


def widths():
    from mercer import DensityClassifier

    print("\nWidths of DensityClassifier: test errors in %")
    rules = ("auto", "likelihood")
    for n in SIZES:
        table = {}
        for draw in range(N_DRAWS):
            for name, X, y in plane(n + N_TEST, draw):
                some = np.random.default_rng(draw).permutation(len(X))
                train, test = some[:n], some[n:]
                errors = [
                    100 * (1 - DensityClassifier(width=rule).fit(X[train], y[train]).score(X[test], y[test]))
                    for rule in rules
                ]
                table.setdefault(name, []).append(errors)
        print(f"{f'{n} rows':22}" + "".join(f"{rule:>12}" for rule in rules))
        means = {name: np.mean(errors, axis=0) for name, errors in table.items()}
        for name, errors in {**means, "mean": np.mean(list(means.values()), axis=0)}.items():
            print(f"{name:22}" + "".join(f"{error:12.2f}" for error in errors), flush=True)


PARTS = {"neighbours": neighbours, "structure": structure, "widths": widths}

if __name__ == "__main__":
    for part in [word for word in sys.argv[1:] if not word.startswith("--")] or PARTS:
        PARTS[part]()
