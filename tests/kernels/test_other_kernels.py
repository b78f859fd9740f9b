import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import (
    chi2_kernel,
    cosine_similarity,
    laplacian_kernel,
    polynomial_kernel,
    sigmoid_kernel,
)
from sklearn.svm import SVR

from mercer.kernels import (
    L1,
    ChiSquare,
    Cosine,
    FromFunction,
    Gaussian,
    Linear,
    Polynomial,
    PowerSeries,
    Precomputed,
    ProductLaplace,
    Sigmoid,
    WeightedDegree,
    check_kernel,
)
from mercer.kernels.gram import Gram


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(25, 3))


def test_dot_product_kernels_against_scikit_learn(X):
    np.testing.assert_allclose(Linear()(X), X @ X.T, rtol=1e-13)
    np.testing.assert_allclose(Polynomial(4, 0.5)(X), polynomial_kernel(X, degree=4, gamma=1, coef0=0.5), rtol=1e-11)


def test_sigmoid_against_scikit_learn(X):
    expected = sigmoid_kernel(X, gamma=0.3, coef0=-0.5)
    np.testing.assert_allclose(Sigmoid(0.3, -0.5)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(Sigmoid(0.3, -0.5)(sparse.csr_array(X)), expected, rtol=1e-12)
    assert Sigmoid().order is None
    for kernel, message in [
        (Sigmoid(scale=0), "scale of Sigmoid must be positive, got 0"),
        (Sigmoid(offset=np.inf), "offset of Sigmoid must be a finite number, got inf; give one"),
        (Sigmoid(offset="1"), "offset of Sigmoid must be a finite number, got '1'"),
    ]:
        with pytest.raises(ValueError, match=message):
            kernel(X)


def test_cosine_against_scikit_learn(X):
    X[3] = 0.0
    expected = cosine_similarity(X)
    np.testing.assert_allclose(Cosine()(X), expected, atol=1e-14)
    np.testing.assert_allclose(Cosine()(sparse.csr_array(X)), expected, atol=1e-14)
    np.testing.assert_array_equal(Cosine().diag(X), np.arange(25) != 3)
    assert not Cosine()(X)[3].any()
    assert not Cosine().gradient(X)[3].any()
    check_kernel(Cosine(), np.delete(X, 3, axis=0))
    check_kernel(Cosine(), sparse.csr_array(np.delete(X, 3, axis=0)))


@pytest.mark.parametrize("factor", [1e-310, 1e-200, 1e200, 1e307])
def test_angles_do_not_depend_on_lengths(factor, X):
    for scaled in (factor * X, sparse.csr_array(factor * X)):
        np.testing.assert_allclose(Cosine()(scaled), Cosine()(X), atol=1e-8 if factor < 1e-300 else 1e-14)


def test_product_laplace_against_scikit_learn(X):
    np.testing.assert_allclose(ProductLaplace(width=1.25)(X), laplacian_kernel(X, gamma=0.8), rtol=1e-13)
    widths = np.array([0.5, 1.0, 4.0])
    expected = laplacian_kernel(X / widths, X[:4] / widths, gamma=1.0)
    np.testing.assert_allclose(ProductLaplace(widths)(X, X[:4]), expected, rtol=1e-13)
    np.testing.assert_allclose(ProductLaplace(2.0).spectrum([0.0, 0.5]), np.sqrt(2 / np.pi) * np.array([2.0, 1.0]))
    for kernel, message in [
        (ProductLaplace(0), "width of ProductLaplace must be positive, got 0"),
        (ProductLaplace([1.0, 2.0]), "width of ProductLaplace must be of length 3"),
        (ProductLaplace(1e-308), "must be finite, got an overflow; rescale X"),
    ]:
        with pytest.raises(ValueError, match=message):
            kernel(X)


def test_chi_square_against_scikit_learn(X):
    X = np.abs(X) * (X > -0.5)
    X[3] = 0.0
    for rows in (X, X / np.maximum(X.sum(axis=1, keepdims=True), 1e-9)):
        np.testing.assert_allclose(ChiSquare(0.7)(rows), chi2_kernel(rows, gamma=0.7), rtol=1e-12)
        np.testing.assert_allclose(ChiSquare(0.7)(rows, rows[:4]), chi2_kernel(rows, rows[:4], gamma=0.7), rtol=1e-12)
    for kernel, rows, message in [
        (ChiSquare(0.0), X, "rate of ChiSquare must be positive, got 0.0"),
        (ChiSquare(), X - 1.0, "X of ChiSquare must be non-negative, got -1.0; shift the columns"),
        (ChiSquare(), np.full((2, 3), 1e308), "must be finite, got an overflow; rescale X"),
    ]:
        with pytest.raises(ValueError, match=message):
            kernel(rows)
    with pytest.raises(ValueError, match="Y of ChiSquare must be non-negative, got -1.0"):
        ChiSquare()(X, X - 1.0)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("exp", np.exp),
        ("cosh", np.cosh),
        ("sinh", np.sinh),
        ("geometric", lambda u: 1 / (1 - u)),
        ("log", lambda u: -np.log1p(-u)),
    ],
)
def test_named_series(name, function, X):
    inner = 0.5 * Gaussian()
    np.testing.assert_allclose(PowerSeries(inner, name)(X), function(inner(X)), rtol=1e-12)


def test_series_with_coefficients(X):
    u = Linear()(X)
    np.testing.assert_allclose(PowerSeries(Linear(), [1, 0.5, 0, 2])(X), 1 + 0.5 * u + 2 * u**3, rtol=1e-10)


@pytest.mark.parametrize("bad", ["tan", [1, -1], [], [np.nan], [[1.0]], None, ["a"]])
def test_bad_coefficients(bad, X):
    with pytest.raises(ValueError, match="coefficients of PowerSeries must be"):
        PowerSeries(Linear(), bad)(X)


def test_series_outside_its_radius(X):
    with pytest.raises(
        ValueError, match="kernel of PowerSeries must be below 1.0 in modulus for 'log', got 1.0; scale"
    ):
        PowerSeries(Gaussian(), "log")(X)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(9), PowerSeries(Linear(), "exp")], ids=repr)
def test_overflow_is_an_error(kernel, X):
    for call in (kernel, kernel.diag):
        with pytest.raises(ValueError, match="must be finite, got an overflow; rescale X"):
            call(1e160 * X)
    with pytest.raises(ValueError, match="must be finite, got an overflow; rescale X"):
        L1()([[1e308, 1e308], [1.0, 1.0]])


def test_polynomial_parameters(X):
    with pytest.raises(ValueError, match="degree of Polynomial must be a whole number >= 1, got 0"):
        Polynomial(0)(X)
    with pytest.raises(ValueError, match="offset of Polynomial must be a positive finite number, got -1"):
        Polynomial(2, -1)(X)


def test_l1_in_feature_space(X):
    slow = np.array([[(abs(x).sum() + abs(y).sum() - abs(x - y).sum()) / 2 for y in X] for x in X])
    K = L1()(X)
    np.testing.assert_allclose(K, slow, rtol=1e-12, atol=1e-13)
    squared_distance = np.diagonal(K)[:, None] + np.diagonal(K) - 2 * K
    np.testing.assert_allclose(squared_distance, np.abs(X[:, None] - X).sum(axis=-1), atol=1e-12)


def slow_weighted_degree(x, y, degree):
    total = 0.0
    for k in range(1, degree + 1):
        beta = 2 * (degree - k + 1) / (degree * (degree + 1))
        total += beta * sum(x[i : i + k] == y[i : i + k] for i in range(len(x) - k + 1))
    return total


@pytest.mark.parametrize("degree", [1, 2, 3, 5, 20, 40])
def test_weighted_degree_equals_its_definition(degree):
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list("ACGT"), size=20, p=[0.7, 0.1, 0.1, 0.1])) for _ in range(12)]
    slow = np.array([[slow_weighted_degree(x, y, degree) for y in strings] for x in strings])
    kernel = WeightedDegree(degree)
    np.testing.assert_allclose(kernel(strings), slow, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(strings), np.diagonal(slow), rtol=1e-12)
    np.testing.assert_allclose(kernel(strings[:3], strings), slow[:3], rtol=1e-12)
    assert np.linalg.eigvalsh(kernel(strings))[0] > -1e-10


def test_weighted_degree_takes_strings_in_many_forms():
    strings = ["ACGT", "AAGT", "TTTT"]
    expected = WeightedDegree(2)(strings)
    forms = [
        np.array(strings),
        np.array(strings, dtype=object),
        pd.Series(strings),
        pl.Series(strings),
        pd.DataFrame({"dna": strings}),
        [s.encode() for s in strings],
        np.array([[ord(letter) for letter in s] for s in strings]),
        tuple(strings),
    ]
    for form in forms:
        np.testing.assert_array_equal(WeightedDegree(2)(form), expected)


def test_weighted_degree_on_a_column_of_a_frame():
    frame = pd.DataFrame({"dna": ["ACGT", "AAGT", "TTTT"], "age": [1.0, 2.0, 4.0]})
    kernel = WeightedDegree(2).on("dna") + Gaussian(2.0).on(["age"])
    expected = WeightedDegree(2)(list(frame["dna"])) + Gaussian(2.0)(frame[["age"]])
    np.testing.assert_allclose(kernel(frame), expected)
    np.testing.assert_allclose(kernel(pl.DataFrame(frame.to_dict("list"))), expected)


@pytest.mark.parametrize(
    ("strings", "message"),
    [
        (["ACG", "AC"], "X of WeightedDegree must be strings of equal length, got '2 letters in row 1 and 3 in row 0'"),
        ([], "must be a non-empty sequence of strings"),
        ("ACGT", "must be a non-empty sequence of strings"),
        ([1.5, 2.5], "must be a non-empty sequence of strings"),
        (["", ""], "strings of one letter or more"),
        ([["A", "C"], ["G", "T"]], "must be a non-empty sequence of strings"),
    ],
)
def test_weighted_degree_bad_strings(strings, message):
    with pytest.raises(ValueError, match=message):
        WeightedDegree(2)(strings)


def test_weighted_degree_other_bad_input():
    with pytest.raises(ValueError, match="Y of WeightedDegree must be strings of 2 letters, as X, got 3"):
        WeightedDegree(2)(["AC"], ["ACG"])
    with pytest.raises(ValueError, match="degree of WeightedDegree must be a whole number >= 1, got 0"):
        WeightedDegree(0)(["AC"])
    with pytest.raises(TypeError, match=r"WeightedDegree\(degree=3\) has no gradient"):
        WeightedDegree().gradient(["AC"])


def test_precomputed(X):
    K = Gaussian()(X)
    np.testing.assert_array_equal(Precomputed()(K), K)
    np.testing.assert_array_equal(Precomputed()(K[:4], K), K[:4])
    np.testing.assert_array_equal(Precomputed().diag(K), np.diagonal(K))
    assert Precomputed()(K.astype(np.float32)).dtype == np.float32


def test_precomputed_bad_input(X):
    K = Gaussian()(X)
    with pytest.raises(ValueError, match=r"X of Precomputed must be a square matrix, got 'shape \(4, 25\)'"):
        Precomputed()(K[:4])
    asymmetric = K.copy()
    asymmetric[0, 1] += 0.1
    with pytest.raises(ValueError, match="X of Precomputed must be a symmetric matrix"):
        Precomputed()(asymmetric)
    with pytest.raises(ValueError, match="X of Precomputed must be of 25 columns, one for each row of Y"):
        Precomputed()(K[:4, :20], K)
    K[0, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        Precomputed()(K)


def test_from_function_on_pairs_tables_and_objects(X):
    expected = np.tanh(0.1 * X @ X.T)
    pairs = FromFunction(lambda x, y: np.tanh(0.1 * x @ y), order=None)
    tables = FromFunction(lambda A, B: np.tanh(0.1 * A @ B.T), order=None, vectorized=True)
    for kernel in (pairs, tables):
        np.testing.assert_allclose(kernel(X), expected, rtol=1e-12)
        np.testing.assert_allclose(kernel(X[:3], X), expected[:3], rtol=1e-12)
        np.testing.assert_allclose(kernel.diag(X), np.diagonal(expected), rtol=1e-12)
        assert kernel.order is None
    np.testing.assert_allclose(FromFunction(sigmoid_kernel, vectorized=True)(X), sigmoid_kernel(X))
    rows = sparse.csr_array(X)
    np.testing.assert_allclose(FromFunction(lambda A, B: (A @ B.T).toarray(), vectorized=True)(rows), X @ X.T)
    assert FromFunction(lambda x, y: float(x["a"] * y["a"]))([{"a": 2}, {"a": 3}])[0, 1] == 6


def test_from_function_bad_input(X):
    with pytest.raises(ValueError, match="function of FromFunction must be symmetric"):
        FromFunction(lambda x, y: x[0] - y[1])(X)
    with pytest.raises(
        ValueError, match="function of FromFunction must be a function that returns one number for a pair"
    ):
        FromFunction(lambda x, y: x * y)(X)
    with pytest.raises(ValueError, match="function of FromFunction must be a function that returns a matrix"):
        FromFunction(lambda A, B: 1.0, vectorized=True)(X)
    with pytest.raises(ValueError, match="function of FromFunction must be finite"):
        FromFunction(lambda x, y: np.nan)(X)
    for bad in (3, "text"):
        with pytest.raises(ValueError, match="X of FromFunction must be a sequence of objects"):
            FromFunction(lambda x, y: 1.0)(bad)
    for bad in ([], np.array(1.0)):
        with pytest.raises(ValueError, match="X of FromFunction must be a sequence of at least one object"):
            FromFunction(lambda x, y: 1.0)(bad)


def test_kernels_serve_scikit_learn_as_callables(X):
    y = X[:, 0]
    ours = SVR(kernel=Gaussian(1.0)).fit(X, y).predict(X)
    np.testing.assert_allclose(ours, SVR(kernel="rbf", gamma=0.5).fit(X, y).predict(X), atol=1e-8)


def test_tables_of_letters():
    letters = np.array([[0, 1, 2], [0, 1, 3]], dtype=np.uint32)
    letters.flags.writeable = False
    np.testing.assert_allclose(WeightedDegree(1)(letters), [[3.0, 2.0], [2.0, 3.0]])
    np.testing.assert_allclose(
        Gram(WeightedDegree(1), ["AB", "AA", "BB"]).block(slice(0, 3, 2)), [[2, 1, 1], [1, 0, 2]]
    )
    for bad in (np.array([[0], [2**32]]), np.array([[-1]]), np.empty((0, 3), dtype=int)):
        with pytest.raises(ValueError, match="must be a non-empty table of numbers from 0"):
            WeightedDegree(1)(bad)


def test_lists_are_tables_for_vectorized_functions(X):
    np.testing.assert_allclose(FromFunction(sigmoid_kernel, vectorized=True)(X.tolist()), sigmoid_kernel(X))


@pytest.mark.parametrize("shape", [(900, 700), (900, 20), (20, 900), (900, 3)])
@pytest.mark.parametrize("n_vectors", [1, 8, 9])
@pytest.mark.parametrize("n_dims", [1, 6, 40])
def test_compiled_products_of_product_laplace_are_those_of_distances(shape, n_vectors, n_dims):
    rng = np.random.default_rng(0)
    X, Y = (rng.normal(size=(n, n_dims)) for n in shape)
    width, V = rng.uniform(1.0, 3.0, size=n_dims) * n_dims, rng.normal(size=(shape[1], n_vectors))
    K = np.exp(-cdist(X / width, Y / width, "cityblock"))
    np.testing.assert_allclose(ProductLaplace(width)(X, Y), K, atol=2e-15)
    np.testing.assert_allclose(Gram(ProductLaplace(width), X, Y) @ V, K @ V, atol=2e-15 * np.abs(V).sum(axis=0).max())
    square = np.exp(-cdist(X / width, X / width, "cityblock"))
    np.testing.assert_allclose(Gram(ProductLaplace(width), X) @ X[:, :1], square @ X[:, :1], atol=1e-11)
