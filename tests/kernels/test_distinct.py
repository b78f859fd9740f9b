import numpy as np
import pytest
from scipy import sparse

from mercer.kernels import distinct_rows

ROWS = np.array([[1.0, 0.0], [2.0, 3.0], [1.0, -0.0], [2.0, 3.0], [5.0, 0.0]])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.asfortranarray, lambda X: X.astype(int)])
def test_rows_of_numbers(form):
    first, group = distinct_rows(form(ROWS))
    assert first.tolist() == [0, 1, 4]
    assert group.tolist() == [0, 1, 0, 1, 2]


def test_sparse_rows_with_stored_zeros_and_repeated_entries():
    plain = sparse.csr_array(ROWS)
    stored = sparse.csr_array((np.r_[plain.data, 0.0], np.r_[plain.indices, 1], np.r_[plain.indptr[:-1], 7]), (5, 2))
    assert distinct_rows(stored)[1].tolist() == [0, 1, 0, 1, 2]


def test_words_and_other_objects():
    assert distinct_rows(["b", "a", "b"])[1].tolist() == [0, 1, 0]
    assert distinct_rows(np.array([["b"], ["b"]], dtype=object))[1].tolist() == [0, 1]
    assert distinct_rows([[1], [1, 2], [1]])[1].tolist() == [0, 1, 2]
