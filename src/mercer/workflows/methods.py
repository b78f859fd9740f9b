"""The kinds of maps that `mercer map` can make: what to fit, and what it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA

from mercer.arrays import Array
from mercer.components import KernelPCA
from mercer.graphs import LaplacianEigenmaps
from mercer.manifolds import PrincipalManifold, UnsupervisedKernelRegression

# Neighbours in the graph of eigenmaps: with fewer, single rows are mapped far away.
_NEIGHBOURS = 15
# Kernel principal components are computed from all rows up to this number, else from as many landmarks.
_MOST_ROWS = 1000
# A manifold that is fitted again to most of its rows starts from their places.
_SETTLED_ITERATIONS = 30
# With more rows unsupervised kernel regression takes minutes, and is compared only if that is asked for.
_MOST_COMPARED_ROWS = 20_000


@dataclass(frozen=True)
class MapSettings:
    """What the user asks of a map.

    Attributes
    ----------
    method : str
        "auto", or a name of `METHODS`.
    dim : int, "auto" or None
        Number of coordinates. None: two, or one where the rows lie along a closed loop.
    topology : "auto", "interval", "circle" or tuple of the last two
        Of the coordinates of a principal manifold; "auto" chooses for each by held-out likelihood.
    seed : int
        Of everything that is drawn.
    thorough : bool
        Whether "auto" also compares the maps that are seldom better than the others, or slow for so many rows.
    """

    method: str = "auto"
    dim: int | str | None = None
    topology: Any = "auto"
    seed: int = 0
    thorough: bool = False

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates, unless it is chosen."""
        return 2 if self.dim is None else int(self.dim)


@dataclass(frozen=True)
class MapMethod:
    """A kind of map.

    Attributes
    ----------
    name, words : str
        What the user calls it, and what the report does.
    make : callable
        make(settings, n_rows) gives the estimator.
    settled : callable
        settled(estimator, rows) gives one that is fitted to these of its training rows without any further choice.
    takes_missing : bool
        Whether rows may have missing entries.
    bytes_needed : callable
        bytes_needed(n_rows, n_columns): memory of a fit.
    work : callable
        work(n_rows): about how long a fit takes beside the others.
    n_calls : int
        About how often a fit calls back; 0 if it does not.
    silent : float
        About the fraction of a fit that is over when it calls back first.
    thorough : bool
        Whether it is compared to others only if that is asked for.
    most_rows : float
        Of more rows it takes long, so that it is compared only if that is asked for.
    """

    name: str
    words: str
    make: Callable[[MapSettings, int], Any]
    settled: Callable[[Any, Array], Any]
    takes_missing: bool
    bytes_needed: Callable[[int, int], float]
    work: Callable[[int], float] = lambda n: 0.02 + 0.05 * (n / 1000) ** 2
    n_calls: int = 0
    silent: float = 0.0
    thorough: bool = False
    most_rows: float = np.inf

    @property
    def fitting(self) -> str:
        """What is done first, in words."""
        return f"fitting {self.words}"

    @property
    def measuring(self) -> str:
        """What is done then."""
        return f"measuring {self.words}"

    def plan(self, n_rows: int) -> dict[str, float]:
        """Both, and about how long they take."""
        work = self.work(n_rows)
        return {self.fitting: work, self.measuring: 0.05 * work + 0.02 + 0.08 * (n_rows / 1000) ** 2}


def _unchanged(estimator: Any, rows: Array) -> Any:
    return clone(estimator)


def _principal_components(settings: MapSettings, n_rows: int) -> PCA:
    return PCA(settings.n_coordinates, random_state=settings.seed)


def _manifold(settings: MapSettings, n_rows: int) -> PrincipalManifold:
    dim = "auto" if settings.dim == "auto" else settings.n_coordinates
    return PrincipalManifold(dim, topology=settings.topology, random_state=settings.seed)


def _settled_manifold(estimator: PrincipalManifold, rows: Array) -> PrincipalManifold:
    return PrincipalManifold(
        estimator.embedding_.shape[1], kernel=estimator.kernel_, penalty=estimator.penalty_,
        topology=estimator.topology_, assignment=estimator.assignment_, init=estimator.embedding_[rows],
        max_iter=_SETTLED_ITERATIONS, random_state=estimator.random_state,
    )  # fmt: skip


def _kernel_regression(settings: MapSettings, n_rows: int) -> UnsupervisedKernelRegression:
    return UnsupervisedKernelRegression(settings.n_coordinates, random_state=settings.seed)


def _settled_kernel_regression(estimator: UnsupervisedKernelRegression, rows: Array) -> UnsupervisedKernelRegression:
    settled: UnsupervisedKernelRegression = clone(estimator)
    return settled.set_params(
        init=estimator.embedding_[rows], n_excluded=estimator.n_excluded_ or "auto", optimizer="rprop",
        max_iter=_SETTLED_ITERATIONS,
    )  # fmt: skip


def _kernel_pca(settings: MapSettings, n_rows: int) -> KernelPCA:
    landmarks = None if n_rows <= _MOST_ROWS else _MOST_ROWS
    return KernelPCA(
        settings.n_coordinates, n_landmarks=landmarks, fit_inverse_transform=True, random_state=settings.seed
    )


def _eigenmaps(settings: MapSettings, n_rows: int) -> LaplacianEigenmaps:
    return LaplacianEigenmaps(settings.n_coordinates, n_neighbors=min(_NEIGHBOURS, n_rows - 1))


# In the order in which they are fitted; a new kind of map is one more of these.
METHODS: dict[str, MapMethod] = {
    method.name: method
    for method in (
        MapMethod(
            "pca", "principal components", _principal_components, _unchanged, False,
            lambda n, d: 24.0 * n * d + 16.0 * d * d,
        ),
        MapMethod(
            "manifold", "a principal manifold", _manifold, _settled_manifold, True,
            lambda n, d: 40.0 * n * d + 3e8, lambda n: 1.3 + 0.9 * n / 1000, 30,
        ),
        MapMethod(
            "ukr", "unsupervised kernel regression", _kernel_regression, _settled_kernel_regression, True,
            lambda n, d: 60.0 * n * d + 5e8, lambda n: 0.2 + 1.5 * n / 1000, 130, 0.8,
            most_rows=_MOST_COMPARED_ROWS,
        ),
        MapMethod(
            "kpca", "kernel principal components", _kernel_pca, _unchanged, False,
            lambda n, d: 24.0 * n * d + 24.0 * n * min(n, _MOST_ROWS), lambda n: 0.02 + 0.3 * (n / 1000) ** 1.5,
            thorough=True,
        ),
        MapMethod(
            "eigenmaps", "Laplacian eigenmaps", _eigenmaps, _unchanged, False,
            lambda n, d: 40.0 * n * d + 2000.0 * n, thorough=True,
        ),
    )
}  # fmt: skip


def methods_in_words(names: Iterable[str]) -> str:
    """What the report calls some kinds of maps, one after the other."""
    return ", ".join(METHODS[name].words for name in names)
