"""Starts: latent coordinates of the rows before there is a map."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import shortest_path
from sklearn.impute import KNNImputer
from sklearn.manifold import locally_linear_embedding
from sklearn.utils import check_array
from sklearn.utils.extmath import svd_flip

from mercer.arrays import Array
from mercer.graphs import LaplacianEigenmaps, NeighbourSearch, parts_of, shortest_links
from mercer.manifolds.latent.space import LatentSpace
from mercer.threads import single_threaded_blas

STARTS = ("pca", "isomap", "eigenmaps")
# Components beyond those that are needed at least, among which coordinates are chosen.
_SPARE = 4
# A component is new if the coordinates before it explain no more than this share of its variance.
_EXPLAINED = 0.5


def filled(X: Array, some: Array | None = None) -> Array:
    """Rows with missing entries replaced by means over near rows, of some if these are given; only as a start."""
    holes = np.flatnonzero(np.isnan(X).any(axis=1))
    if not len(holes):
        return X
    imputer = KNNImputer(n_neighbors=5, keep_empty_features=True).fit(X if some is None else X[some])
    X = X.copy()
    X[holes] = imputer.transform(X[holes])
    return X


def given_coordinates(init: Any, shape: tuple[int, int], owner: str) -> Array:
    """Coordinates of the rows that a user wants to start from, checked."""
    if np.shape(init) != shape:
        raise ValueError(
            f"init of {owner} must be of shape {shape}, coordinates of the rows, got {np.shape(init) or init!r}; or "
            "take 'auto'."
        )
    return np.asarray(check_array(init, dtype=np.float64, input_name="init"))


def start_coordinates(
    X: Array, space: LatentSpace, method: str, *, n_neighbors: int = 8, n_landmarks: int = 300
) -> Array:
    """Coordinates in a latent space for the rows of X.

    Components of the rows (principal, of Isomap, eigenfunctions of a graph, or locally linear) are taken in their order
    but for those that the ones already taken explain, as the second eigenfunction of a long strip is a square of the
    first. A circle takes two, for their angle, and an interval one, scaled to its range. Circles come first.

    Parameters
    ----------
    X : array of shape (m, d)
        Rows without missing entries.
    space : LatentSpace
        The latent space.
    method : {"pca", "isomap", "eigenmaps", "lle"}
        Where components are from; "lle" is locally linear embedding [Roweis2000]_.
    n_neighbors : int
        Of the graphs, whose parts are joined by the shortest links; for "lle" they are not, and coordinates of rows in
        different parts then say nothing.
    n_landmarks : int
        Rows at most that Isomap computes shortest paths from.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifolds import LatentSpace, start_coordinates
    >>> t = np.linspace(0, 5, 200)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> z = start_coordinates(X, LatentSpace(("interval",)), "isomap")[:, 0]
    >>> bool(np.abs(np.corrcoef(z, t)[0, 1]) > 0.999)
    True
    """
    with single_threaded_blas:
        # Principal components of intervals are taken as they are: the plane that they span is the start.
        choosy = method != "pca" or bool(space.is_circle.any())
        return _assembled(_components(X, space, method, n_neighbors, n_landmarks), space, choosy=choosy)


def _components(X: Array, space: LatentSpace, method: str, n_neighbors: int, n_landmarks: int) -> Array:
    n_components = min(space.n_dims + int(space.is_circle.sum()) + _SPARE, len(X) - 1)
    n_neighbors = min(n_neighbors, len(X) - 1)
    if method == "pca":
        return _principal(X)
    if method == "isomap":
        return _isomap(X, n_components, n_neighbors, n_landmarks)
    if method == "lle":
        return _locally_linear(X, n_components, n_neighbors)
    with warnings.catch_warnings():  # of graphs in several parts, which are joined
        warnings.simplefilter("ignore", UserWarning)
        graph = LaplacianEigenmaps(n_components, n_neighbors=n_neighbors, width=None)
        return np.asarray(graph.fit_transform(X))


def _principal(X: Array) -> Array:
    U, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    U, _ = svd_flip(U, Vt)
    return np.asarray(U * s)


def _isomap(X: Array, n_components: int, n_neighbors: int, n_landmarks: int) -> Array:
    """Classical scaling of the lengths of shortest paths between landmarks; other rows by their paths to these."""
    landmarks, paths = _landmark_paths(_joined_graph(X, n_neighbors), min(n_landmarks, len(X)))
    squares = np.square(paths, out=paths)
    B = squares[:, landmarks]
    mean = B.mean(axis=0)
    B = -0.5 * (B - mean - mean[:, None] + mean.mean())
    values, vectors = np.linalg.eigh(B)
    kept = np.argsort(-values)[:n_components]
    values = np.maximum(values[kept], 1e-12 * abs(values[kept[0]]) + np.finfo(np.float64).tiny)
    pseudoinverse = vectors[:, kept] / np.sqrt(values)
    return _signed(-0.5 * (squares.T @ pseudoinverse - mean @ pseudoinverse))


def _locally_linear(X: Array, n_components: int, n_neighbors: int) -> Array:
    options = {"n_neighbors": n_neighbors, "n_components": n_components, "random_state": 0}
    X = np.pad(
        X, ((0, 0), (0, max(0, n_components - X.shape[1])))
    )  # scikit-learn finds no more components than columns
    with warnings.catch_warnings():  # of matrices that are singular where parts are not joined
        warnings.simplefilter("ignore")
        try:
            return _signed(locally_linear_embedding(X, **options)[0])
        except ValueError:  # iterations did not converge
            return _signed(locally_linear_embedding(X, eigen_solver="dense", **options)[0])


def _signed(components: Array) -> Array:
    """Components whose largest entries are positive."""
    signs = np.sign(components[np.argmax(np.abs(components), axis=0), np.arange(components.shape[1])])
    return np.asarray(components * np.where(signs == 0, 1.0, signs))


def _joined_graph(X: Array, n_neighbors: int) -> sparse.csr_array:
    """Distances between rows that are neighbours of each other, and along the shortest links between parts.

    Neighbours in one direction alone are left out: they are what short-circuits the whorls of a noisy spiral.
    """
    m = len(X)
    distances, indices = NeighbourSearch(X).of_rows(n_neighbors)
    # Rows that are equal are neighbours, too, which a distance of zero would deny.
    least = np.finfo(np.float64).tiny + 1e-12 * float(distances.max())
    entries = (np.maximum(distances, least).ravel(), (np.repeat(np.arange(m), n_neighbors), indices.ravel()))
    graph = sparse.csr_array(entries, shape=(m, m))
    graph = sparse.csr_array(graph.minimum(graph.T))
    part = parts_of(graph)
    if part.max() > 0:
        i, j, lengths = shortest_links(X, part)
        graph = graph + sparse.csr_array((np.maximum(lengths, least), (i, j)), shape=(m, m))
    return sparse.csr_array(graph)


def _landmark_paths(graph: sparse.csr_array, n_landmarks: int) -> tuple[Array, Array]:
    """Landmarks, and the lengths of the shortest paths from them to all rows."""
    m = graph.shape[0]
    if n_landmarks == m:
        return np.arange(m), shortest_path(graph, directed=False)
    landmarks = np.linspace(0, m - 1, n_landmarks).astype(int)
    return landmarks, shortest_path(graph, directed=False, indices=landmarks)


def _assembled(components: Array, space: LatentSpace, *, choosy: bool) -> Array:
    """Coordinates from components: angles of two of them on circles, their ranges on intervals."""
    Z = np.zeros((len(components), space.n_dims))
    waiting = list(range(components.shape[1]))
    taken = np.ones((len(components), 1))
    for c in np.argsort(~space.is_circle, kind="stable"):
        if not waiting:
            break
        first = _next_new(components, waiting, taken, choosy)
        if space.is_circle[c]:
            second = _next_new(components, waiting, taken, choosy) if waiting else first
            u, v = (components[:, i] / max(components[:, i].std(), 1e-300) for i in (first, second))
            Z[:, c] = np.arctan2(v, u) / np.pi
            harmonics = [wave(n * np.pi * Z[:, c]) for n in (1, 2, 3) for wave in (np.cos, np.sin)]
        else:
            low, high = components[:, first].min(), components[:, first].max()
            Z[:, c] = (2 * components[:, first] - low - high) / (high - low) if high > low else 0.0
            harmonics = [np.cos(n * np.pi / 2 * (Z[:, c] + 1)) for n in (1, 2, 3, 4)]
        # Products as well: functions of all coordinates so far.
        new = np.column_stack([np.ones(len(Z)), *harmonics])
        taken = np.einsum("ia,ib->iab", taken, new).reshape(len(Z), -1)
    return space.inside(Z)


def _next_new(components: Array, waiting: list[int], taken: Array, choosy: bool) -> int:
    """Take the first component that the coordinates so far do not explain, or else the first of all."""
    if choosy and taken.shape[1] > 1:
        for i in waiting:
            target = components[:, i] - components[:, i].mean()
            fitted = taken @ np.linalg.lstsq(taken, target, rcond=None)[0]
            if np.sum((target - fitted) ** 2) > (1 - _EXPLAINED) * np.sum(target**2):
                waiting.remove(i)
                return i
    return waiting.pop(0)
