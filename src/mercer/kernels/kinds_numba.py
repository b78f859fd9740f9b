"""Kinds of kernels that compiled loops know: exp(-|x - y|² / 2), exp(-Σ|x_j - y_j|) and exp(-|x - y|)."""

GAUSSIAN, CITY_BLOCK, EUCLIDEAN = range(3)
