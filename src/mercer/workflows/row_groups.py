"""Groups of rows with next to nothing between them: how many there are, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.graphs import separate_groups

# Rows in which groups are counted, since the work grows with their square. With this fraction of the rows or more in
# the largest group, the others count as rows that lie apart.
_MOST_ROWS, _LARGEST = 1500, 0.9
# Number of groups whose sizes are reported.
_MOST_SHARES = 5


@dataclass(frozen=True)
class Groups:
    """Groups of rows with next to nothing between them.

    Attributes
    ----------
    shares : array
        Of the rows, falling.
    """

    shares: Array

    @property
    def are_many(self) -> bool:
        """Whether the rows are rather several groups than one with a few rows beside it."""
        return bool(self.shares[0] < _LARGEST)

    @property
    def words(self) -> list[str]:
        """What there is to say of them, if there are several."""
        n = len(self.shares)
        if n == 1:
            return []
        held = ", ".join(f"{100 * share:.2g}%" for share in self.shares[:_MOST_SHARES])
        more = f" and smaller shares in {n - _MOST_SHARES} more" if n > _MOST_SHARES else ""
        return [f"Between {n} groups of rows there is next to nothing: they hold {held}{more} of the rows."]


def groups_of(X: Array) -> Groups:
    """Groups of some of the rows; NaN, where entries are missing, count as zero."""
    rows = np.where(np.isnan(X), 0.0, X)
    if len(rows) > _MOST_ROWS:
        rows = rows[np.sort(np.random.default_rng(0).choice(len(rows), _MOST_ROWS, replace=False))]
    sizes = np.sort(np.bincount(separate_groups(rows)))[::-1]
    return Groups(sizes / sizes.sum())
