"""The four forms of a Gram matrix have the same face."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.kernels.gram import FormedMatrix, Gram, GramMatrix, NoMatrix, as_gram_matrix, incomplete_cholesky

X = np.random.default_rng(0).normal(size=(30, 2))
K = Gaussian()(X)
FORMS = {
    "formed": FormedMatrix(K),
    "operator": Gram(Gaussian(), X),
    "low rank": incomplete_cholesky(Gaussian(), X, tol=1e-13),
    "none": NoMatrix(30),
}
WHOLE = slice(None)
SOME = np.array([4, 0, 7])


@pytest.mark.parametrize("form", FORMS)
def test_products_entries_and_columns_are_those_of_the_matrix(form):
    matrix, expected = FORMS[form], np.zeros((30, 30)) if form == "none" else K
    assert matrix.shape == (30, 30)
    assert matrix.dtype == np.float64
    for V in (X[:, 0], X):
        np.testing.assert_allclose(matrix @ V, expected @ V, atol=1e-9)
        np.testing.assert_allclose(matrix.columns(SOME) @ V[:3], expected[:, SOME] @ V[:3], atol=1e-9)
    np.testing.assert_allclose(matrix.diagonal(), expected.diagonal(), atol=1e-9)
    for rows, columns in ((SOME, SOME[:2]), (WHOLE, SOME), (SOME, WHOLE), (slice(2, 5), slice(1, 9))):
        np.testing.assert_allclose(matrix.block(rows, columns), expected[rows][:, columns], atol=1e-9)
    np.testing.assert_allclose(matrix.block(SOME), expected[SOME], atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_in_memory_is_said(form):
    matrix = FORMS[form]
    assert (matrix.formed is not None, matrix.factor is not None, matrix.is_zero, matrix.in_memory) == (
        form == "formed", form == "low rank", form == "none", form != "operator",
    )  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_coefficients_expand_the_function_with_the_values_of_the_product(form):
    B = X[:, 1]
    a = FORMS[form].coefficients(B)
    if form != "none":
        np.testing.assert_allclose(K @ a, FORMS[form] @ B, atol=1e-5)
    assert FORMS[form].error == (FORMS[form].trace_error if form == "low rank" else 0.0)


@pytest.mark.parametrize("form", FORMS)
def test_the_form_for_products_is_the_same_matrix(form):
    np.testing.assert_allclose(FORMS[form].for_products(2**20) @ X, FORMS[form] @ X, atol=1e-12)


def test_arrays_and_none_are_wrapped_and_matrices_kept():
    for matrix in FORMS.values():
        assert as_gram_matrix(matrix, 30) is matrix
    assert as_gram_matrix(K, 30).formed is K
    assert as_gram_matrix(None, 30).shape == (30, 30)
    assert {type(matrix) for matrix in FORMS.values()} == set(GramMatrix.__subclasses__())


def test_a_matrix_in_memory_is_an_array_where_one_is_wanted():
    matrix = FormedMatrix(K)
    assert np.asarray(matrix) is K
    assert np.array(matrix) is not K
    assert np.asarray(matrix, dtype=np.float32).dtype == np.float32
    np.testing.assert_allclose(np.linalg.eigvalsh(matrix), np.linalg.eigvalsh(K))
