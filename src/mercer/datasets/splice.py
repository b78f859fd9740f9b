"""Splice junctions in DNA, read from a file that the user has."""

from __future__ import annotations

import gzip

import numpy as np

from mercer.arrays import Array
from mercer.datasets.folders import found_file


def load_splice() -> tuple[Array, Array]:
    """Sequences of 60 letters of DNA around a place that may be a splice junction.

    Mercer does not ship the data. The file is looked for in the folder `dna` of the folder that the environment
    variable MERCER_DATA names, or else of `~/.cache/mercer`.

    Returns
    -------
    sequences : array of str
        3190 strings of the letters A, C, G, T; 15 of them hold codes for unknown letters.
    labels : array of str
        "EI" (exon to intron), "IE" (intron to exon) or "N" (neither).

    Notes
    -----
    File `splice_uci_letters.csv.gz`: compressed text, a line "label,sequence", and then one such pair in each line. The
    set is "Molecular Biology (Splice-junction Gene Sequences)" of the UCI repository.

    Examples
    --------
    >>> from mercer.datasets import load_splice
    >>> sequences, labels = load_splice()  # doctest: +SKIP
    >>> sequences[0][:8], labels[0]  # doctest: +SKIP
    ('AGACCCGC', 'EI')
    """
    origin = (
        "take the splice-junction gene sequences of the UCI repository, write gzip-compressed text with the line "
        "'label,sequence' and then one such pair in each line"
    )
    with gzip.open(found_file("dna", "splice_uci_letters.csv.gz", origin), "rt") as file:
        pairs = [line.strip().split(",") for line in file if line.strip()][1:]
    return np.array([sequence for _, sequence in pairs]), np.array([label for label, _ in pairs])
