"""Rows some of whose entries may be missing: what a manifold can be fitted to, and what can be projected on it."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.quantizers import check_magnitude

# Fourth powers of the entries of X must be numbers.
LIMIT = 1e70


def check_known_rows(X: Array, owner: str, what: str, *, training: bool) -> None:
    """Refuse rows of which nothing is known, too large ones, and to fit to also unknown columns and equal rows.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows; NaN where an entry is missing.
    owner, what : str
        The class that complains, and what it is to find.
    training : bool
        Whether it is to be fitted to the rows.
    """
    missing = np.isnan(X)
    if missing.all(axis=1).any():
        raise ValueError(
            f"X of {owner} must have a known entry in every row, got {int(missing.all(axis=1).sum())} rows of NaN; "
            "leave them out."
        )
    if training and missing.all(axis=0).any():
        raise ValueError(
            f"X of {owner} must have a known entry in every column, got NaN only in columns "
            f"{np.flatnonzero(missing.all(axis=0)).tolist()}; leave them out."
        )
    if training and not np.any(np.nanmax(X, axis=0) > np.nanmin(X, axis=0)):
        raise ValueError(f"X of {owner} must have rows that differ, got {len(X)} equal ones; there is no {what}.")
    check_magnitude(X, owner, LIMIT)
