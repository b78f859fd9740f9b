"""The choice of a manifold on some of the rows, and its fit to all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.manifolds.latent.maps import LatentBasis
from mercer.manifolds.latent.space import PERIOD, LatentSpace, latent_space
from mercer.manifolds.latent.starts import filled, start_coordinates
from mercer.manifolds.principal.choice.candidates import Candidate
from mercer.manifolds.principal.missing import PartlyKnown
from mercer.manifolds.principal.model_choice import PENALTIES, ModelChoice
from mercer.manifolds.principal.settings import OWNER, Settings, is_auto


@dataclass(frozen=True)
class ChoosingTuning:
    """Numbers of the choice, set by `benchmarks/manifold_defaults.py`; tuples are by the number of coordinates.

    Attributes
    ----------
    most_components : int
        Most coordinates that are tried.
    n_neighbors, n_landmarks : tuple of tuples of int, int
        Of the graphs of Isomap that manifolds are started from.
    cells_per_width, cells : float, pair of int
        Cells of surfaces for each width of the kernel in the fit to all rows, and the fewest and most along a
        coordinate.
    """

    most_components: int = 3
    n_neighbors: tuple[tuple[int, ...], ...] = ((5, 8, 12), (8,), (8,))
    n_landmarks: int = 150
    cells_per_width: float = 2.0
    cells: tuple[int, int] = (22, 36)


_TUNING = ChoosingTuning()


def choice_of(settings: Settings, rows: PartlyKnown, some: Array, penalty: float, soft: bool, rng: Any) -> ModelChoice:
    """The choice of what settings leave open.

    Parameters
    ----------
    settings, rows : Settings, PartlyKnown
        Of the estimator.
    some : array of int
        Positions of the rows to choose on.
    penalty : float
        λ, if it is not left open.
    soft : bool
        Whether fits are soft.
    rng : RandomState
        Chooses the rows that are held out.
    """
    X, left = rows.X, settings.left_open
    m, some_rows = len(X), filled(X[some])
    numbers = range(1, min(_TUNING.most_components, X.shape[1]) + 1)
    return ModelChoice(
        rows.judged[some],
        some_rows,
        cache(lambda space, width: settings.basis_for(space, m, width)),
        partial(_starts, settings, m, some, some_rows),
        [_spaces(settings, q) for q in (numbers if settings.n_components is None else [settings.n_components])],
        None if "width" in left else ["auto" if settings.width is None else settings.width],
        PENALTIES if "penalty" in left else [penalty],
        soft=soft,
        drops_circles=isinstance(settings.init, str) and {"width", "topology"} <= set(left),
        verbose=settings.verbose,
        callback=settings.callback,
        random_state=rng,
    )


def setting_for_all(settings: Settings, m: int, best: Candidate, n_some: int) -> tuple[LatentBasis, float]:
    """The basis and the penalty for m rows, given the best manifold of some of them."""
    share, q, basis, width = n_some / m, best.n_components, best.map.basis, best.width
    if "width" in settings.left_open and q > 1:
        # More rows show finer structure; curves are smooth, and a smaller penalty is all that they need.
        width = width * share ** (1.0 / (q + 4))
        basis = settings.basis_for(best.space, m, width)
    if q == 2 and not isinstance(width, str):
        most = int(np.clip(np.ceil(_TUNING.cells_per_width * PERIOD / np.min(width)), *_TUNING.cells))
        basis = basis.with_cells(most)
    # The same prior for all rows as for some: a penalty on the sum of the costs, not on their mean.
    return basis, best.penalty * share


def _spaces(settings: Settings, q: int) -> list[LatentSpace]:
    """Latent spaces to choose from; coordinates of a product may change places."""
    if not is_auto(settings.topology):
        return [latent_space(settings.topology, q, OWNER)]
    return [LatentSpace(("circle",) * n + ("interval",) * (q - n)) for n in range(q + 1)]


def _starts(settings: Settings, m: int, some: Array, some_rows: Array, space: LatentSpace) -> dict[str, Array]:
    """Coordinates of some of the rows, by the names of starts."""
    init = settings.init
    if not isinstance(init, str):
        return {"given": settings.given_start(space, m)[some]}
    if init != "auto":
        return {init: start_coordinates(some_rows, space, init)}
    numbers = _TUNING.n_neighbors[min(space.n_dims, len(_TUNING.n_neighbors)) - 1]
    starts = {
        f"isomap-{n}": start_coordinates(some_rows, space, "isomap", n_neighbors=n, n_landmarks=_TUNING.n_landmarks)
        for n in numbers
    }
    return {**starts, "pca": start_coordinates(some_rows, space, "pca")}
