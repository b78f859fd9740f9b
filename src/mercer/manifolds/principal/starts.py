"""The best of several starts, by a few iterations of the fit from each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mercer.arrays import Array
from mercer.manifolds.latent.maps import LatentBasis
from mercer.manifolds.latent.starts import STARTS, start_coordinates
from mercer.manifolds.principal.fitting import fit_manifold
from mercer.manifolds.principal.result import ManifoldFit
from mercer.running import Run, Status, Step, Stopping, raise_if_interrupted

# Iterations that each of several starts gets.
_SHORT = 10


def best_start(
    X: Array, some_rows: Array, basis: LatentBasis, penalty: float, methods: Sequence[str] = STARTS, **options: Any
) -> tuple[str, ManifoldFit]:
    """The method whose start has the least objective after a few iterations, and the fit so far.

    Ctrl-C ends the comparison with those that there are, if any; the fit then has the status "interrupted".

    Parameters
    ----------
    X : array of shape (m, d)
        Rows, with NaN where entries are missing.
    some_rows : array of shape (m, d)
        The same without missing entries.
    basis, penalty, options
        Of `fit_manifold`; max_iter is 10 by default.
    methods : sequence of str
        Names of starts.
    """
    options = {"max_iter": _SHORT, **options}
    with Run[tuple[str, ManifoldFit]](Stopping(), "Starts") as run:
        for method in methods:
            fit = fit_manifold(X, start_coordinates(some_rows, basis.space, method), basis, penalty, **options)
            run.see(Step((method, fit), fit.objective))
            raise_if_interrupted(fit.status)
    best, fit = run.state
    return best, replace(fit, status=run.status) if run.status == Status.INTERRUPTED else fit
