"""The leading spectrum beside dense linear algebra."""

import numpy as np
import pytest

from mercer.kernels import Exponential, Gaussian, Multiquadric, ThinPlate
from mercer.kernels.gram import Gram
from mercer.solvers.leading_spectrum import leading_spectrum
from tests.contracts.all_problems import rows

N = 60
WEIGHTS = np.geomspace(0.1, 10.0, N)
COLUMNS = {
    "none": np.empty((N, 0)),
    "constant": np.ones((N, 1)),
    "linear": np.column_stack([np.ones(N), rows(N)]),
    "dependent": np.column_stack([np.ones(N), rows(N), 2 * np.ones(N), np.zeros(N)]),
}


def projected(K, columns):
    """(1 - P) W K W (1 - P) by dense linear algebra, and 1 - P."""
    root = np.sqrt(WEIGHTS)[:, None]
    complement = np.eye(N) - root * columns @ np.linalg.pinv(root * columns, rcond=1e-12)
    return complement @ (root * K * root.T) @ complement, complement


def cases():
    for name, columns in COLUMNS.items():
        yield pytest.param(Gaussian(0.8), columns, id=f"Gaussian, {name}")
        yield pytest.param(Exponential(1.0), columns, id=f"Exponential, {name}")
        if name != "none":
            yield pytest.param(Multiquadric(0.5), columns, id=f"Multiquadric, {name}")
    yield pytest.param(ThinPlate(), COLUMNS["linear"], id="ThinPlate")
    yield pytest.param(ThinPlate(), COLUMNS["dependent"], id="ThinPlate, dependent")


@pytest.mark.parametrize(("kernel", "columns"), list(cases()))
def test_complete_rank_is_the_whole_matrix(kernel, columns):
    K = kernel(rows(N))
    expected, complement = projected(K, columns)
    for gram in (K, Gram(kernel, rows(N))):
        spectrum = leading_spectrum(gram, columns, WEIGHTS, rank=N, conditional=bool(kernel.order))
        U = spectrum.vectors
        scale = np.linalg.norm(expected, 2)
        np.testing.assert_allclose(U @ np.diag(spectrum.values) @ U.T, expected, atol=1e-10 * scale)
        np.testing.assert_allclose(U.T @ U, np.eye(len(spectrum.values)), atol=1e-3)
        np.testing.assert_allclose(spectrum.basis.T @ U, 0.0, atol=1e-3)
        V = rows(N, 3, seed=4)
        np.testing.assert_allclose(spectrum.project(V), complement @ V, atol=1e-12)
        for ridge in (1e-2, 1.0, 100.0):
            inverse = complement @ np.linalg.inv(expected + ridge * np.eye(N)) @ complement
            np.testing.assert_allclose(spectrum.solve(complement @ V, ridge), inverse @ V, atol=1e-7 / ridge)
            np.testing.assert_allclose(spectrum.inverse_diagonal(ridge), np.diagonal(inverse), atol=1e-7 / ridge)
        assert spectrum.trace_error <= 1e-10 * scale
        n_free = round(np.trace(complement))
        np.testing.assert_allclose(spectrum.mean, np.trace(expected) / n_free, rtol=1e-8)


@pytest.mark.parametrize("rank", [0, 1, 7, 20])
@pytest.mark.parametrize("kernel", [Gaussian(0.8), Exponential(1.0), Multiquadric(0.5)], ids=repr)
def test_part_of_the_spectrum_leaves_a_positive_remainder(kernel, rank):
    K, columns = kernel(rows(N)), COLUMNS["constant"]
    spectrum = leading_spectrum(K, columns, WEIGHTS, rank=rank, conditional=bool(kernel.order))
    assert spectrum.vectors.shape == (N, len(spectrum.values))
    assert len(spectrum.values) <= rank
    expected = projected(K, columns)[0]
    remainder = expected - spectrum.vectors @ np.diag(spectrum.values) @ spectrum.vectors.T
    eigenvalues = np.linalg.eigvalsh(remainder)
    assert eigenvalues[0] >= -1e-10 * eigenvalues[-1]
    assert np.trace(remainder) <= spectrum.trace_error * (1 + 1e-10)


def test_more_rank_leaves_less():
    errors = [
        leading_spectrum(Exponential(1.0)(rows(N)), COLUMNS["constant"], WEIGHTS, rank=rank).trace_error
        for rank in (0, 5, 20, 40)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] / 5


def test_repeated_rows_have_the_rank_of_the_distinct_ones():
    X = np.repeat(rows(10), 6, axis=0)
    spectrum = leading_spectrum(Exponential(1.0)(X), COLUMNS["none"], np.ones(N), rank=N)
    assert len(spectrum.values) == 10
    assert spectrum.trace_error <= 1e-12


def test_seed():
    def vectors(seed):
        gram = Exponential(1.0)(rows(N))
        return leading_spectrum(gram, COLUMNS["constant"], WEIGHTS, rank=10, random_state=seed).vectors

    np.testing.assert_array_equal(vectors(3), vectors(3))
    assert not np.allclose(vectors(3), vectors(4))


def test_single_precision():
    X = rows(N).astype(np.float32)
    spectrum = leading_spectrum(Gram(Gaussian(0.8), X), COLUMNS["constant"], WEIGHTS, rank=N)
    expected = projected(Gaussian(0.8)(X.astype(np.float64)), COLUMNS["constant"])[0]
    difference = spectrum.vectors @ np.diag(spectrum.values) @ spectrum.vectors.T - expected
    assert np.linalg.norm(difference, 2) < 1e-3 * np.linalg.norm(expected, 2)


@pytest.mark.parametrize("place", [(3, 3), (3, 5)])
def test_matrix_that_is_not_finite_has_no_spectrum(place):
    K = Gaussian(0.8)(rows(N))
    K[place] = K[place[::-1]] = np.nan
    spectrum = leading_spectrum(K, COLUMNS["constant"], WEIGHTS, rank=N)
    assert len(spectrum.values) == 0
