"""Oil flow in a pipe, read from files that the user has."""

from __future__ import annotations

import gzip

import numpy as np

from mercer.arrays import Array
from mercer.datasets.folders import found_file

_SUBSETS = {"train": "Trn", "validation": "Vdn", "test": "Tst"}


def load_oil_flow(subset: str = "train") -> tuple[Array, Array]:
    """Twelve measurements of the flow of oil, water and gas in a pipe, and which of three kinds of flow it is.

    Mercer does not ship the data. The files are looked for in the folder `oilflow` of the folder that the environment
    variable MERCER_DATA names, or else of `~/.cache/mercer`.

    Parameters
    ----------
    subset : {"train", "validation", "test"}
        Each has 1000 rows.

    Returns
    -------
    X : array of shape (1000, 12)
        Measurements by gamma densitometry.
    y : array of shape (1000,)
        Kind of flow: 0 homogeneous, 1 annular, 2 stratified.

    Notes
    -----
    Files `DataTrn.txt.gz`, `DataTrnLbls.txt.gz` and so on: compressed text, rows of numbers. The set is the
    "3 Phase Data" of Aston University's neural computing research group.

    Examples
    --------
    >>> from mercer.datasets import load_oil_flow
    >>> X, y = load_oil_flow("test")  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (1000, 12)
    """
    if not isinstance(subset, str) or subset not in _SUBSETS:
        raise ValueError(f"subset of load_oil_flow must be one of {tuple(_SUBSETS)}, got {subset!r}; choose one.")
    return _numbers(f"Data{_SUBSETS[subset]}"), _numbers(f"Data{_SUBSETS[subset]}Lbls").argmax(axis=1)


def _numbers(name: str) -> Array:
    origin = "take the '3 Phase Data' of Aston University and compress each of its files with gzip"
    with gzip.open(found_file("oilflow", f"{name}.txt.gz", origin), "rt") as file:
        return np.loadtxt(file)
