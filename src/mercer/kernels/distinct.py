"""Which rows are the same."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from mercer.arrays import Array


def distinct_rows(X: Any) -> tuple[Array, Array]:
    """Positions where each distinct row is first seen, and for each row which of these it is.

    Rows of numbers, and strings; other objects count as distinct.

    Examples
    --------
    >>> from mercer.kernels import distinct_rows
    >>> distinct_rows(["AC", "GT", "AC"])
    (array([0, 1]), array([0, 1, 0]))
    """
    if sparse.issparse(X):
        used = sparse.csr_array(X)
        used.sum_duplicates()
        used.eliminate_zeros()
        spans = list(pairwise(used.indptr))
        keys: Any = [used.indices[i:j].tobytes() + used.data[i:j].tobytes() for i, j in spans]
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub":
        keys = [row.tobytes() for row in np.ascontiguousarray(X) + 0.0]  # -0 is 0
    else:
        keys = [x if isinstance(x, str | bytes) else i for i, x in enumerate(X)]
    first: dict[Any, int] = {}
    group = np.array([first.setdefault(key, len(first)) for key in keys], dtype=np.intp)
    return np.unique(group, return_index=True)[1], group
