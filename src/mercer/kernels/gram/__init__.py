"""The Gram engine: matrices, products, rows and low-rank factors, within bounded memory and on all cores."""

from mercer.kernels.gram.columns import Columns, columns_of, shifted_columns_of
from mercer.kernels.gram.family import gram_family
from mercer.kernels.gram.feature_maps import feature_map
from mercer.kernels.gram.landmarks import choose_landmarks
from mercer.kernels.gram.low_rank import LowRank, incomplete_cholesky, nystroem
from mercer.kernels.gram.matrix import FormedMatrix, GramMatrix, NoMatrix, as_gram_matrix
from mercer.kernels.gram.operator import Gram
from mercer.kernels.gram.rows import RowCache
from mercer.kernels.gram.single import single_precision_error, single_precision_product

__all__ = [
    "GramMatrix",
    "FormedMatrix",
    "NoMatrix",
    "as_gram_matrix",
    "Gram",
    "RowCache",
    "Columns",
    "columns_of",
    "shifted_columns_of",
    "single_precision_product",
    "single_precision_error",
    "gram_family",
    "LowRank",
    "incomplete_cholesky",
    "nystroem",
    "choose_landmarks",
    "feature_map",
]
