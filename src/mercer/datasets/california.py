"""House values in California, read from a file that the user has."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.datasets.folders import found_file


def load_california_housing() -> tuple[Array, Array]:
    """Median house values of 20,640 districts of California in 1990, and eight columns that explain them.

    Mercer does not ship the data. The file is looked for in the folder `regression` of the folder that the environment
    variable MERCER_DATA names, or else of `~/.cache/mercer`.

    Returns
    -------
    X : array of shape (20640, 8)
        The columns, unscaled.
    y : array of shape (20640,)
        House values.

    Notes
    -----
    A file `california_housing.csv.gz` with one line of names and the target in the last column. Pace and Barry, "Sparse
    spatial autoregressions", Statistics and Probability Letters 33 (1997).

    Examples
    --------
    >>> from mercer.datasets import load_california_housing
    >>> X, y = load_california_housing()  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (20640, 8)
    """
    origin = (
        "write the columns and the target of sklearn.datasets.fetch_california_housing, with a line of names, to it"
    )
    table = np.loadtxt(found_file("regression", "california_housing.csv.gz", origin), delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]
