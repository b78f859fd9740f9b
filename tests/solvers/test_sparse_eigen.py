import numpy as np
import pytest
from scipy import sparse

from mercer.graphs import NeighbourAffinity
from mercer.solvers import leading_eigenpairs

rng = np.random.default_rng(0)
METHODS = ("dense", "factor", "lanczos")


def normalised(W):
    root = np.sqrt(np.asarray(W.sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1 / root) @ W @ sparse.diags_array(1 / root))


def ring(m):
    return sparse.csr_array(sparse.diags([0.5, 0.5, 0.5, 0.5], [-1, 1, 1 - m, m - 1], shape=(m, m)))


def product_graph(m, dimension):
    """A torus: multiple eigenvalues."""
    S = ring(m)
    for _ in range(dimension - 1):
        S = sparse.kron(S, sparse.eye_array(m)) + sparse.kron(sparse.eye_array(S.shape[0]), ring(m))
    return sparse.csr_array(S / dimension)


ONE_PART = NeighbourAffinity(6, "auto").fit(rng.normal(size=(40, 2)))
SIDES = (rng.uniform(size=(160, 170)) < 0.1) + 0.01
SIDES = np.pad(SIDES, ((0, 10), (0, 0)), constant_values=0.5)
GRAPHS = {
    "surface": normalised(NeighbourAffinity(8, "auto").fit(rng.uniform(size=(500, 2)))),
    "space": normalised(NeighbourAffinity(8).fit(rng.normal(size=(400, 8)))),
    "curve": normalised(NeighbourAffinity(2).fit(np.arange(350.0)[:, None])),
    "torus": product_graph(20, 2),
    "torus_3": product_graph(7, 3),
    "equal_parts": normalised(sparse.block_diag([ONE_PART] * 12, format="csr")),
    "cliques": normalised(sparse.block_diag([np.ones((12, 12)) - np.eye(12)] * 30, format="csr")),
    "two_sides": normalised(sparse.csr_array(np.block([[0 * SIDES, SIDES], [SIDES.T, 0 * SIDES]]))),
}


@pytest.mark.parametrize("tol", [1e-6, 1e-10])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", GRAPHS)
def test_agrees_with_numpy(name, method, tol):
    S = GRAPHS[name]
    values, vectors = np.linalg.eigh(S.toarray())
    for k in (1, 12):
        pairs, used = leading_eigenpairs(S, k, method=method, tol=tol)
        assert used == method
        assert pairs.status == "optimal"
        np.testing.assert_allclose(pairs.values, values[::-1][:k], atol=tol)
        np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(k), atol=1e-7)
        residuals = np.linalg.norm(S @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
        np.testing.assert_allclose(pairs.errors, residuals, atol=1e-14)
        assert residuals.max() <= tol
        outside = vectors[:, values < values[-k] - 1e-3]
        assert np.abs(outside.T @ pairs.vectors).max() < 1e3 * tol


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_deterministic_with_fixed_signs(method):
    first, second = (leading_eigenpairs(GRAPHS["surface"], 5, method=method)[0] for _ in range(2))
    np.testing.assert_array_equal(first.vectors, second.vectors)
    largest = np.argmax(np.abs(first.vectors), axis=0)
    assert np.all(first.vectors[largest, np.arange(5)] > 0)


def test_all_pairs_dense_matrices_and_the_choice_of_a_method():
    S = GRAPHS["space"]
    n = S.shape[0]
    for method in METHODS:
        assert leading_eigenpairs(S, n, method=method)[1] == "dense"
        np.testing.assert_allclose(
            leading_eigenpairs(S.toarray(), 3, method=method)[0].values, np.linalg.eigvalsh(S.toarray())[:-4:-1]
        )
    assert leading_eigenpairs(S, 3)[1] == "lanczos"
    assert leading_eigenpairs(S.toarray(), 3)[1] == "lanczos"
    assert leading_eigenpairs(S, 100)[1] == "dense"
    assert leading_eigenpairs(GRAPHS["surface"], 3)[1] == "factor"
    assert leading_eigenpairs(GRAPHS["curve"], 3)[1] == "factor"
    assert leading_eigenpairs(ring(200), 3)[1] == "dense"


@pytest.mark.parametrize("method", ["factor", "lanczos"])
def test_what_has_not_converged_says_so(method):
    S = product_graph(18, 3) if method == "lanczos" else GRAPHS["equal_parts"]
    pairs, _ = leading_eigenpairs(S, 25 if method == "lanczos" else 40, method=method, max_iter=1)
    k = len(pairs.values)
    assert pairs.status == "max_iter"
    assert pairs.errors.max() > 1e-9
    assert np.all(np.diff(pairs.values) <= 0)
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(k), atol=1e-8)
    residuals = np.linalg.norm(S @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    np.testing.assert_allclose(pairs.errors, residuals, atol=1e-12)


def test_an_accuracy_beyond_rounding_is_not_claimed():
    assert leading_eigenpairs(GRAPHS["surface"], 3, tol=1e-18)[0].status == "max_iter"


@pytest.mark.parametrize(
    ("k", "options", "message"),
    [
        (0, {}, "k of leading_eigenpairs must be from 1 to 400, got 0; the matrix has no more pairs"),
        (401, {}, "k of leading_eigenpairs must be from 1 to 400, got 401"),
        (3, {"method": "arpack"}, "method of leading_eigenpairs must be one of .*, got 'arpack'; 'auto' chooses"),
        (3, {"method": None}, "method of leading_eigenpairs must be one of"),
        (3, {"tol": 0.0}, "tol of leading_eigenpairs must be a number > 0, got 0.0; it bounds the residuals"),
        (3, {"tol": True}, "tol of leading_eigenpairs must be a number > 0, got True"),
        (3, {"max_iter": 0}, "max_iter of leading_eigenpairs must be a whole number >= 1, got 0"),
        (3, {"max_iter": 2.5}, "max_iter of leading_eigenpairs must be a whole number >= 1, got 2.5"),
    ],
)
def test_bad_arguments_are_refused(k, options, message):
    with pytest.raises(ValueError, match=message):
        leading_eigenpairs(GRAPHS["space"], k, **options)
