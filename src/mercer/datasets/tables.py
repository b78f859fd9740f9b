"""Tables with one number to predict, read from files that the user has."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from mercer.arrays import Array
from mercer.datasets.folders import found_file

_FILES = {
    "abalone": "abalone.data.gz",
    "airfoil": "airfoil.txt.gz",
    "autompg": "autompg.csv.gz",
    "bike": "bike.csv.gz",
    "california": "california_housing.csv.gz",
    "compactiv": "compactiv_keel.dat.gz",
    "concrete": "concrete.csv.gz",
    "energy": "energy.csv.gz",
    "sml": "sml.csv.gz",
    "solar": "solar.csv.gz",
}


def load_table(name: str = "airfoil") -> tuple[Array, Array]:
    """A table of numbers with a target, one of those on which regression is often compared.

    Mercer does not ship the data. The file is looked for in the folder `regression` of the folder that the environment
    variable MERCER_DATA names, or else of `~/.cache/mercer`.

    Parameters
    ----------
    name : str
        "abalone", "airfoil", "autompg", "bike", "california", "compactiv", "concrete", "energy", "sml" or "solar".

    Returns
    -------
    X : array of shape (n, n_columns)
        The columns, unscaled; the sex of abalone is three columns of zeros and ones.
    y : array of shape (n,)
        The target.

    Notes
    -----
    Files as they are published, compressed, with the target in the last column: `abalone.data.gz` and `airfoil.txt.gz`
    of the UCI repository, `compactiv_keel.dat.gz` of KEEL, `california_housing.csv.gz` as for
    `load_california_housing`, and `concrete.csv.gz` and so on without a line of names.

    Examples
    --------
    >>> from mercer.datasets import load_table
    >>> X, y = load_table("airfoil")  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (1503, 5)
    """
    if name not in _FILES:
        raise ValueError(f"name of load_table must be one of {tuple(_FILES)}, got {name!r}; others are not read.")
    path = found_file("regression", _FILES[name], f"take the table {name} of the UCI repository, or KEEL's compactiv")
    if name == "abalone":
        return _with_sex(path)
    delimiter = None if name == "airfoil" else ","
    table = np.loadtxt(path, delimiter=delimiter, comments="@", skiprows=1 if name == "california" else 0)
    return table[:, :-1], table[:, -1]


def _with_sex(path: Path) -> tuple[Array, Array]:
    with gzip.open(path, "rt") as file:
        rows = [line.split(",") for line in file if line.strip()]
    sex = [[float(row[0] == letter) for letter in "MFI"] for row in rows]
    numbers = np.array([row[1:] for row in rows], dtype=np.float64)
    return np.hstack([sex, numbers[:, :-1]]), numbers[:, -1]
