import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from mercer.components.removal import RemovedFunctions
from mercer.components.spectrum import LanczosSpectrum, dense_spectrum, nystroem_spectrum
from mercer.kernels import Gaussian, Precomputed
from mercer.kernels.gram import Gram

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 2))
K = rbf_kernel(X, gamma=0.5)
SOLVERS = {
    "dense": lambda gram, removed, k: dense_spectrum(gram, removed, k, definite=True),
    "lanczos": lambda gram, removed, k: LanczosSpectrum(gram, removed, None, definite=True, random_state=0).leading(
        k, tol=1e-13, max_iter=50
    ),
    "nystroem": lambda gram, removed, k: nystroem_spectrum(gram, X, removed, k, 90, 0),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("remove", [None, "constant", "linear"])
def test_what_components_are_made_of(solver, remove):
    """Everything that a spectrum holds, against plain NumPy."""
    removed = RemovedFunctions(remove, Gaussian()).fit(X)
    found = SOLVERS[solver](Gram(Gaussian(), X), removed, 5)
    Q = np.hstack([np.ones((90, 1)), X])[:, : removed.Q.shape[1]]
    P = np.eye(90) - Q @ np.linalg.pinv(Q)
    projected = P @ K @ P
    values, vectors = np.linalg.eigh(projected)
    values, vectors = values[::-1][:5], vectors[:, ::-1][:, :5]
    np.testing.assert_allclose(found.pairs.values, values, rtol=1e-8)
    signs = np.sign(np.sum(vectors * found.pairs.vectors, axis=0))
    np.testing.assert_allclose(found.pairs.vectors, vectors * signs, atol=1e-6)
    assert np.all(np.abs(found.pairs.values - values) <= found.pairs.errors)
    assert found.total == pytest.approx(np.trace(projected))
    # Scores of the training rows are values of the functions, less what the removed functions explain.
    scores = K[:, found.positions] @ found.coef - removed.Q @ found.offset
    np.testing.assert_allclose(scores, np.sqrt(values) * vectors * signs, atol=1e-6)
    np.testing.assert_allclose(K[:, found.positions] @ found.removed_coef, K @ removed.Q, atol=1e-8)
    np.testing.assert_allclose(found.removed_gram, removed.Q.T @ K @ removed.Q, atol=1e-8)
    mean = K.mean(axis=1) if remove else np.zeros(90)
    np.testing.assert_allclose(K[:, found.positions] @ found.mean_coef, mean, atol=1e-8)


def test_the_sum_of_eigenvalues_is_told_only_where_it_is_known():
    A = rng.normal(size=(60, 60))
    gram, removed = Gram(Precomputed(), A + A.T), RemovedFunctions(None, Precomputed()).fit(A)
    everything = np.abs(np.linalg.eigvalsh(A + A.T)).sum()
    assert dense_spectrum(gram, removed, 3, definite=False).total == pytest.approx(everything)
    lanczos = LanczosSpectrum(gram, removed, None, definite=False, random_state=0)
    assert np.isnan(lanczos.leading(3, tol=1e-8, max_iter=50).total)


def test_a_later_call_starts_from_the_vectors_of_the_earlier():
    gram, removed = Gram(Gaussian(0.1), X), RemovedFunctions("constant", Gaussian()).fit(X)
    solver = LanczosSpectrum(gram, removed, None, definite=True, random_state=0)
    first = solver.leading(3, tol=1e-10, max_iter=50)
    again = solver.leading(3, tol=1e-10, max_iter=50)
    assert again.pairs.n_iter <= first.pairs.n_iter
    assert again.pairs.history[0] <= 1e-10
