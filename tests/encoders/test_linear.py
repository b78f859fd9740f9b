"""Linear encoders and decoders."""

import numpy as np
import pytest

from mercer.encoders import best_decoder, best_encoder

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(200, 5)) @ np.diag([3.0, 2.0, 1.0, 0.5, 0.2]) @ np.linalg.qr(RNG.normal(size=(5, 5)))[0]
COV = np.cov(ROWS, rowvar=False)
VALUES, VECTORS = np.linalg.eigh(COV)
LEADING = VECTORS[:, :2:-1].T


def risk(M, W, cov=COV):
    """E||x - M W x||²."""
    rest = np.eye(len(cov)) - M @ W
    return np.trace(rest @ cov @ rest.T)


def test_alternation_leads_to_principal_components():
    M = RNG.normal(size=(5, 2))
    for _ in range(100):
        M = best_decoder(best_encoder(M), COV)
    np.testing.assert_allclose(M @ best_encoder(M), LEADING.T @ LEADING, atol=1e-8)
    assert risk(M, best_encoder(M)) == pytest.approx(VALUES[:3].sum(), abs=1e-8)


def test_any_invertible_matrix_before_the_components_changes_nothing():
    W = RNG.normal(size=(2, 2)) @ LEADING
    np.testing.assert_allclose(best_decoder(W, COV) @ W, LEADING.T @ LEADING, atol=1e-10)


def test_the_decoder_is_the_regression_on_the_codes():
    W = RNG.normal(size=(2, 5))
    X = ROWS - ROWS.mean(axis=0)
    np.testing.assert_allclose(best_decoder(W, COV), np.linalg.lstsq(X @ W.T, X, rcond=None)[0].T, atol=1e-10)


def test_the_transpose_of_an_orthonormal_encoder_is_not_its_best_decoder():
    cov, w = np.diag([4.0, 1.0]), np.array([[np.cos(np.pi / 6), np.sin(np.pi / 6)]])
    assert risk(w.T, w, cov) == pytest.approx(1.75)
    assert risk(best_decoder(w, cov), w, cov) == pytest.approx(16 / 13)


def test_the_transpose_of_an_orthonormal_decoder_is_its_best_encoder():
    M = np.linalg.qr(RNG.normal(size=(5, 2)))[0]
    np.testing.assert_allclose(best_encoder(M), M.T, atol=1e-12)


def test_second_moments_serve_rows_that_are_not_centred():
    X = ROWS + 3.0
    W = RNG.normal(size=(2, 5))
    expected = np.linalg.lstsq(X @ W.T, X, rcond=None)[0].T
    np.testing.assert_allclose(best_decoder(W, X.T @ X / len(X)), expected, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_units_do_not_matter(scale):
    W = RNG.normal(size=(2, 5))
    np.testing.assert_allclose(best_decoder(W, scale * COV), best_decoder(W, COV), atol=1e-10)
    np.testing.assert_allclose(best_decoder(scale * W, COV) * scale, best_decoder(W, COV), atol=1e-10)


def test_dependent_rows_and_constant_columns_add_nothing():
    W = np.vstack([LEADING, LEADING[0], np.zeros(5)])
    np.testing.assert_allclose(best_decoder(W, COV) @ W, LEADING.T @ LEADING, atol=1e-10)
    np.testing.assert_array_equal(best_decoder(W, np.zeros((5, 5))), np.zeros((5, 4)))
    cov = np.pad(COV, (0, 1))
    W = np.hstack([LEADING, [[7.0], [8.0]]])
    np.testing.assert_allclose(best_decoder(W, cov)[:5], LEADING.T, atol=1e-10)
    np.testing.assert_array_equal(best_encoder(np.zeros((5, 2))), np.zeros((2, 5)))


def test_more_codes_than_columns_lose_nothing():
    W = RNG.normal(size=(7, 5))
    assert risk(best_decoder(W, COV), W) == pytest.approx(0.0, abs=1e-10)


def test_matrices_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="W of best_decoder must have the 5 columns of cov, got 3"):
        best_decoder(np.eye(3), COV)
    with pytest.raises(ValueError, match="cov of best_decoder must be a symmetric matrix"):
        best_decoder(LEADING, RNG.normal(size=(5, 5)))
    with pytest.raises(ValueError, match="no negative eigenvalue"):
        best_decoder(LEADING, -COV)
    with pytest.raises(ValueError, match="NaN"):
        best_encoder([[np.nan]])
