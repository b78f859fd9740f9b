"""Handwritten digits of the US postal service, read from a file that the user has."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.datasets.folders import found_file

_SUBSETS = ("train", "test")


def load_usps(subset: str = "train") -> tuple[Array, Array]:
    """Images of handwritten digits, 16 x 16 pixels, from envelopes.

    Mercer does not ship the data. The file is looked for in the folder `usps` of the folder that the environment
    variable MERCER_DATA names, or else of `~/.cache/mercer`.

    Parameters
    ----------
    subset : {"train", "test"}
        7291 or 2007 rows.

    Returns
    -------
    X : array of shape (n, 256)
        Pixels from -1 (paper) to 1 (ink), row after row.
    y : array of shape (n,)
        Digits.

    Notes
    -----
    File `usps.npz` with arrays `X_train`, `y_train`, `X_test`, `y_test`, the pixels being whole numbers, a thousand
    times their value. The set is the "ZIP code" data of Hastie, Tibshirani and Friedman's book.

    Examples
    --------
    >>> from mercer.datasets import load_usps
    >>> X, y = load_usps("test")  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (2007, 256)
    """
    if not isinstance(subset, str) or subset not in _SUBSETS:
        raise ValueError(f"subset of load_usps must be one of {_SUBSETS}, got {subset!r}; choose one.")
    origin = (
        "take the 'ZIP code' data of 'The Elements of Statistical Learning', and save X_train, y_train, X_test and "
        "y_test with numpy.savez, pixels times 1000 as whole numbers"
    )
    with np.load(found_file("usps", "usps.npz", origin)) as file:
        return file[f"X_{subset}"] / 1000.0, file[f"y_{subset}"].astype(np.int64)
