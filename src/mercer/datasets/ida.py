"""Rätsch's benchmark sets for classification, read from files that the user has."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.datasets.folders import found_file

_NAMES = ("banana", "german", "heart", "image", "ringnorm", "titanic", "twonorm", "waveform")


def load_ida(name: str = "banana") -> tuple[Array, Array, list[tuple[Array, Array]]]:
    """A two-class benchmark set of Rätsch, with its divisions into training and test set.

    Mercer does not ship the data, since nobody has stated a licence for it. The file is looked for in the folder `ida`
    of the folder that the environment variable MERCER_DATA names, or else of `~/.cache/mercer`.

    Parameters
    ----------
    name : str
        "banana", "german", "heart", "image", "ringnorm", "titanic", "twonorm" or "waveform".

    Returns
    -------
    X : array of shape (n, n_columns)
        All rows.
    y : array of shape (n,)
        Labels -1 and 1.
    splits : list of pairs of arrays
        Positions of training and of test rows, for each division; scikit-learn takes such a list as `cv`.

    Notes
    -----
    Files `banana.npz` and so on, with arrays `X`, `t`, `train` and `test`, the last two with one row of positions for
    each division. The sets are those of Rätsch, Onoda and Müller, "Soft margins for AdaBoost", Machine Learning 42
    (2001).

    Examples
    --------
    >>> from mercer.datasets import load_ida
    >>> X, y, splits = load_ida("banana")  # doctest: +SKIP
    >>> X.shape, len(splits[0][0])  # doctest: +SKIP
    ((5300, 2), 400)
    """
    if name not in _NAMES:
        raise ValueError(f"name of load_ida must be one of {_NAMES}, got {name!r}; the other sets are not read.")
    origin = (
        f"take the set {name} of Rätsch's benchmark repository and write its arrays X, t (-1 or 1), train and test "
        "(positions from 0, one row for each division) with numpy.savez"
    )
    with np.load(found_file("ida", f"{name}.npz", origin)) as file:
        splits = list(zip(file["train"].astype(np.intp), file["test"].astype(np.intp), strict=True))
        return file["X"].astype(np.float64), file["t"].astype(int), splits
