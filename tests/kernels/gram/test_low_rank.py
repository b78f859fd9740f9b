import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_approximation import Nystroem

from mercer.kernels import BSpline, Gaussian, Linear, Multiquadric, Polynomial, Precomputed, WeightedDegree
from mercer.kernels.gram import choose_landmarks, incomplete_cholesky, nystroem


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(300, 2))


def slow_cholesky(K, rank):
    """Textbook pivoted Cholesky on the whole matrix."""
    K, L, pivots = K.copy(), np.zeros((len(K), rank)), []
    for step in range(rank):
        pivot = int(np.argmax(np.diagonal(K)))
        L[:, step] = K[:, pivot] / np.sqrt(K[pivot, pivot])
        K -= np.outer(L[:, step], L[:, step])
        pivots.append(pivot)
    return L, pivots, np.trace(K)


def test_equals_the_textbook(X):
    L, pivots, error = slow_cholesky(Gaussian()(X), 30)
    low_rank = incomplete_cholesky(Gaussian(), X, rank=30, tol=0.0)
    # Equal diagonal entries at the start leave the first pivot open, not what follows.
    assert list(low_rank.landmarks) == pivots
    np.testing.assert_allclose(low_rank.factor, L, atol=1e-9)
    np.testing.assert_allclose(low_rank.trace_error, error, rtol=1e-8)
    assert low_rank.trace == 300


@pytest.mark.parametrize("tol", [0.1, 1e-3, 1e-6, 1e-9])
def test_reaches_its_tolerance_and_states_the_true_error(X, tol):
    low_rank = incomplete_cholesky(Gaussian(), X, tol=tol)
    K = Gaussian()(X)
    assert low_rank.relative_error <= tol
    np.testing.assert_allclose(
        low_rank.trace_error, np.trace(K - low_rank.factor @ low_rank.factor.T), rtol=1e-8, atol=1e-12 * 300
    )
    assert np.linalg.eigvalsh(K - low_rank.factor @ low_rank.factor.T)[0] > -1e-10
    v = np.ones(300)
    np.testing.assert_allclose(low_rank @ v, low_rank.factor @ (low_rank.factor.T @ v))


def test_features_of_new_rows(X):
    new = 0.5 * np.random.default_rng(1).normal(size=(20, 2))
    for low_rank in (incomplete_cholesky(Gaussian(), X, tol=1e-8), nystroem(Gaussian(), X, 120, random_state=0)):
        np.testing.assert_allclose(low_rank.features(X), low_rank.factor, atol=1e-3)
        np.testing.assert_allclose(low_rank.features(new) @ low_rank.factor.T, Gaussian()(new, X), atol=1e-3)
    exact = incomplete_cholesky(Gaussian(), X, rank=20)
    np.testing.assert_allclose(exact.features(X), exact.factor, atol=1e-9)


def test_rank_deficient_matrices_end_early(X):
    low_rank = incomplete_cholesky(Linear(), np.repeat(X, 2, axis=0), tol=0.0)
    assert low_rank.rank == 2
    assert low_rank.relative_error < 1e-12
    zero = incomplete_cholesky(Linear(), np.zeros((5, 2)))
    assert zero.rank == 0
    assert zero.trace_error == 0
    assert zero.relative_error == 0
    assert zero.features(np.zeros((3, 2))).shape == (3, 0)


def test_other_objects():
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list("ACGT"), size=10)) for _ in range(40)]
    low_rank = incomplete_cholesky(WeightedDegree(3), strings, rank=20, tol=0.0)
    np.testing.assert_allclose(low_rank.features(strings), low_rank.factor, atol=1e-9)
    K = WeightedDegree(3)(strings)
    given = incomplete_cholesky(Precomputed(), K, rank=20, tol=0.0)
    np.testing.assert_allclose(given.factor, low_rank.factor, atol=1e-9)
    np.testing.assert_allclose(given.features(K), given.factor, atol=1e-9)


def test_callback_progress_and_interrupt(X, capsys):
    errors = []
    stopped = incomplete_cholesky(
        Gaussian(), X, tol=0.0, verbose=True, callback=lambda step, error: errors.append(error) or step == 10
    )
    assert stopped.rank == 10
    assert np.all(np.diff(errors) < 0)
    np.testing.assert_allclose(errors[-1], stopped.relative_error, rtol=1e-10)
    assert "Incomplete Cholesky" in capsys.readouterr().err

    def interrupt(step, error):
        if step == 7:
            raise KeyboardInterrupt

    assert incomplete_cholesky(Gaussian(), X, tol=0.0, callback=interrupt).rank == 7


def test_an_interrupt_before_the_first_column_is_passed_on(X):
    class Interrupted(Gaussian):
        def _tile(self, left, right):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        incomplete_cholesky(Interrupted(), X)


@pytest.mark.parametrize("method", ["random", "kmeans++", "leverage"])
def test_nystroem_equals_its_definition(X, method):
    low_rank = nystroem(Gaussian(), X, 25, method=method, random_state=0)
    K = Gaussian()(X)
    landmarks = low_rank.landmarks
    assert len(np.unique(landmarks)) == 25
    expected = K[:, landmarks] @ np.linalg.pinv(K[np.ix_(landmarks, landmarks)], rcond=1e-12) @ K[landmarks]
    np.testing.assert_allclose(low_rank.factor @ low_rank.factor.T, expected, atol=1e-6)
    np.testing.assert_allclose(low_rank.trace_error, np.trace(K - expected), rtol=1e-5)
    again = nystroem(Gaussian(), X, 25, method=method, random_state=0)
    np.testing.assert_array_equal(again.landmarks, landmarks)


def test_nystroem_with_given_landmarks_equals_scikit_learn(X):
    peer = Nystroem(kernel="rbf", gamma=0.5, n_components=20, random_state=0).fit(X)
    low_rank = nystroem(Gaussian(), X, peer.component_indices_)
    features = peer.transform(X)
    np.testing.assert_allclose(low_rank.factor @ low_rank.factor.T, features @ features.T, atol=1e-8)


def test_good_landmarks_beat_random_ones():
    """A dense cluster and a few far points: uniform samples miss the far points."""
    rng = np.random.default_rng(0)
    X = np.vstack([0.3 * rng.normal(size=(2000, 2)), 3 * rng.normal(size=(100, 2)) + 6])
    error = {
        method: np.mean([nystroem(Gaussian(), X, 40, method=method, random_state=s).trace_error for s in range(5)])
        for method in ("random", "kmeans++", "leverage")
    }
    assert error["kmeans++"] < 0.6 * error["random"]
    assert error["leverage"] < 0.6 * error["random"]


@pytest.mark.parametrize("method", ["random", "kmeans++", "leverage"])
@pytest.mark.parametrize("random_state", [None, 3, np.random.default_rng(0), np.random.RandomState(0)])
def test_landmarks_are_distinct_even_among_duplicates(method, random_state):
    X = np.ones((12, 2))
    for n_landmarks in (1, 5, 12):
        chosen = choose_landmarks(Gaussian(), X, n_landmarks, method=method, random_state=random_state)
        assert len(np.unique(chosen)) == n_landmarks


def test_bad_input(X):
    for function in (incomplete_cholesky, nystroem):
        for kernel in (Multiquadric(), BSpline(2)):
            with pytest.raises(ValueError, match=r"must be positive definite \(order 0\), got"):
                function(kernel, X)
    with pytest.raises(ValueError, match="rank of incomplete_cholesky must be a whole number >= 1, got 0"):
        incomplete_cholesky(Gaussian(), X, rank=0)
    with pytest.raises(ValueError, match=r"tol of incomplete_cholesky must be in \[0, 1\), got 2"):
        incomplete_cholesky(Gaussian(), X, tol=2)
    with pytest.raises(ValueError, match="rank of incomplete_cholesky must be a whole number >= 1, got 2.5"):
        incomplete_cholesky(Gaussian(), X, rank=2.5)
    with pytest.raises(ValueError, match="n_landmarks must be a whole number from 1 to the 300 rows, got 301"):
        nystroem(Gaussian(), X, 301)
    with pytest.raises(ValueError, match="landmarks must hold whole numbers"):
        nystroem(Gaussian(), X, [0.7, 1.2])
    with pytest.raises(ValueError, match="landmarks of nystroem must be one row or more"):
        nystroem(Gaussian(), X, [])
    with pytest.raises(ValueError, match="method of choose_landmarks must be one of"):
        choose_landmarks(Gaussian(), X, 3, method="best")


def test_indefinite_matrices_are_found_out():
    indefinite = np.array([[1.0, 3.0], [3.0, 1.0]])
    for factorise in (incomplete_cholesky, lambda kernel, K: nystroem(kernel, K, [0, 1])):
        with pytest.raises(ValueError, match="must be positive definite on X to be factorised"):
            factorise(Precomputed(), indefinite)


def test_float32_rounding_is_not_taken_for_rank(X):
    X = X.astype(np.float32)
    for low_rank in (incomplete_cholesky(Polynomial(3), X, tol=0.0), nystroem(Polynomial(3), X, 50, random_state=0)):
        assert low_rank.rank == 10
        K = Polynomial(3)(X.astype(np.float64))
        true = np.trace(K) - np.sum(low_rank.factor**2)
        assert abs(true - low_rank.trace_error) < 1e-5 * np.trace(K)


def test_masks_and_sparse_formats(X):
    mask = np.zeros(300, dtype=bool)
    mask[[3, 50, 70]] = True
    np.testing.assert_array_equal(nystroem(Gaussian(), X, mask).landmarks, [3, 50, 70])
    dense = incomplete_cholesky(Gaussian(), X, rank=5, tol=0.0)
    from_sparse = incomplete_cholesky(Gaussian(), sparse.coo_matrix(X), rank=5, tol=0.0)
    np.testing.assert_allclose(from_sparse.features(sparse.coo_matrix(X)), dense.factor, atol=1e-8)


def test_overflow_is_an_error(X):
    with pytest.raises(ValueError, match="must be finite, got an overflow"):
        incomplete_cholesky(Polynomial(3), 1e60 * X)
