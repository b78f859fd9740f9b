import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, sigmoid_kernel
from sklearn.svm import SVR

from mercer.kernels import L1, FromFunction, Gaussian, Linear, Polynomial, PowerSeries, Precomputed, WeightedDegree
from mercer.kernels.gram import Gram


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(25, 3))


def test_dot_product_kernels_against_scikit_learn(X):
    np.testing.assert_allclose(Linear()(X), X @ X.T, rtol=1e-13)
    np.testing.assert_allclose(Polynomial(4, 0.5)(X), polynomial_kernel(X, degree=4, gamma=1, coef0=0.5), rtol=1e-11)


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
