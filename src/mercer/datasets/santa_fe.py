"""The series of the Santa Fe time series competition, read from files that the user has."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from mercer.arrays import Array

_NAMES = ("A", "D")


def load_santa_fe(name: str = "A") -> tuple[Array, Array]:
    """A series of the Santa Fe time series competition, and how it went on.

    Mercer does not ship the data, since nobody has stated a licence for it. The files are looked for in the folder
    `santafe` of the folder that the environment variable MERCER_DATA names, or else of `~/.cache/mercer`.

    Parameters
    ----------
    name : {"A", "D"}
        A: intensity of a far-infrared laser, 1000 whole numbers, and 100 to be forecast. D: a particle in a potential
        with four wells, computed, with drifting parameters, 100,000 values, and 500 to be forecast.

    Returns
    -------
    series : array
        What the competitors were given.
    continuation : array
        What they had to forecast.

    Notes
    -----
    Files `SantaFe.A.txt.gz`, `SantaFe.A.cont.txt.gz`, `SantaFe.D.txt.gz`, `SantaFe.D.cont.txt.gz`: compressed text, one
    value in each line. The R package TSPred has the series under these names. The competition is described in
    [Weigend1994]_.

    Examples
    --------
    >>> from mercer.datasets import load_santa_fe
    >>> series, continuation = load_santa_fe("A")  # doctest: +SKIP
    >>> series.shape, continuation.shape  # doctest: +SKIP
    ((1000,), (100,))
    """
    if name not in _NAMES:
        raise ValueError(f"name of load_santa_fe must be one of {_NAMES}, got {name!r}; the other series are not read.")
    home = os.environ.get("MERCER_DATA")
    folder = (Path(home).expanduser() if home else Path.home() / ".cache" / "mercer") / "santafe"
    files = [folder / f"SantaFe.{name}{part}.txt.gz" for part in ("", ".cont")]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise FileNotFoundError(
            f"{' and '.join(missing)} must be in {folder}, and not found there; take the series SantaFe.{name} and "
            f"SantaFe.{name}.cont of the Santa Fe time series competition (Weigend and Gershenfeld 1994) from the R "
            "package TSPred, write each as gzip-compressed text with one value in each line, and put the files there, "
            "or into the folder santafe of another folder that the environment variable MERCER_DATA names."
        )
    series, continuation = (np.loadtxt(file, ndmin=1) for file in files)
    return series, continuation
