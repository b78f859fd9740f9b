import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from mercer.kernels import (
    BSpline,
    Exponential,
    Gaussian,
    Linear,
    Multiquadric,
    OnColumns,
    PeriodicGaussian,
    Polynomial,
    Power,
    Precomputed,
    Product,
    Scaled,
    Sum,
    ThinPlate,
    WeightedDegree,
)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(20, 4))


def test_algebra_acts_on_gram_matrices(X):
    first, second = Gaussian(), Polynomial(2)
    K1, K2 = first(X), second(X)
    np.testing.assert_allclose((first + second)(X), K1 + K2)
    np.testing.assert_allclose((first * second)(X), K1 * K2)
    np.testing.assert_allclose((3 * first)(X), 3 * K1)
    np.testing.assert_allclose((first * 3)(X), 3 * K1)
    np.testing.assert_allclose((np.float64(3) * first)(X), 3 * K1)
    np.testing.assert_allclose((second**5)(X), K2**5)
    np.testing.assert_allclose((first.on([0, 3]) + second.on([1]))(X), first(X[:, [0, 3]]) + second(X[:, [1]]))
    np.testing.assert_allclose((first + second).diag(X), np.diagonal(K1 + K2))
    nested = (first + 2 * second) * first.on([1]) ** 2
    np.testing.assert_allclose(nested(X), (K1 + 2 * K2) * first(X[:, [1]]) ** 2)


def test_types_and_representation():
    kernel = (Gaussian(2.0) + 3 * Linear()) * Exponential().on([0])
    assert repr(kernel) == "(Gaussian(width=2.0) + 3 * Linear()) * Exponential(rate=1.0).on([0])"
    assert repr(Linear() ** 2) == "Linear() ** 2"
    assert isinstance(Linear() + Linear(), Sum)
    assert isinstance(Linear() * Linear(), Product)
    assert isinstance(2 * Linear(), Scaled)
    assert isinstance(Linear() ** 2, Power)
    assert isinstance(Linear().on([0]), OnColumns)


def test_orders_follow_the_algebra():
    assert (Gaussian() + Linear()).order == 0
    assert (Gaussian() + Multiquadric()).order == 1
    assert (ThinPlate() + Multiquadric()).order == 2
    assert (2 * ThinPlate()).order == 2
    assert ThinPlate().on([0, 1]).order == 2
    assert (Gaussian() * Multiquadric()).order is None
    assert (Multiquadric() ** 2).order is None
    assert (BSpline(2) + Gaussian()).order is None
    assert (Gaussian() * Linear()).order == 0


def test_parameters_are_nested(X):
    kernel = Gaussian(1.0) + 2.0 * Linear().on([0])
    assert kernel.get_params()["left__width"] == 1.0
    assert kernel.get_params()["right__factor"] == 2.0
    copy = clone(kernel).set_params(left__width=3.0)
    assert kernel.left.width == 1.0
    np.testing.assert_allclose(copy(X), Gaussian(3.0)(X) + 2 * Linear()(X[:, [0]]))
    grid = [clone(kernel).set_params(**setting) for setting in ParameterGrid({"left__width": [1.0, 2.0]})]
    assert [k.left.width for k in grid] == [1.0, 2.0]


def test_stationary_combinations_know_distances_and_spectra(X):
    r2 = ((X[:, None] - X) ** 2).sum(axis=-1)
    for kernel in (Gaussian() + Exponential(), Gaussian() * Exponential(), 2 * Gaussian(), Gaussian() ** 3):
        assert kernel.stationary
        np.testing.assert_allclose(kernel.of_squared_distance(r2), kernel(X), rtol=1e-10)
    total = Gaussian() + 2 * Exponential()
    assert total.has_spectrum
    expected = Gaussian().spectrum([0.5], 2) + 2 * Exponential().spectrum([0.5], 2)
    np.testing.assert_allclose(total.spectrum([0.5], 2), expected)
    assert not (Gaussian() + Linear()).stationary
    assert (Gaussian() + PeriodicGaussian()).translation_invariant
    assert not (Gaussian() + BSpline()).has_spectrum


def test_combinations_that_have_no_distance_or_spectrum():
    with pytest.raises(TypeError, match="is not a function of the distance: not both"):
        (Gaussian() + Linear()).of_squared_distance([1.0])
    with pytest.raises(TypeError, match="is not a function of the distance"):
        (2 * Linear()).of_squared_distance([1.0])
    with pytest.raises(TypeError, match="has no spectrum"):
        (Gaussian() + Linear()).spectrum([1.0])
    with pytest.raises(TypeError, match="has no spectrum"):
        (2 * Linear()).spectrum([1.0])


def test_polynomial_part_of_combinations(X):
    assert (Gaussian() + Multiquadric()).polynomial_part(X).shape == (20, 1)
    both = (ThinPlate().on([0]) + ThinPlate().on([0, 2])).polynomial_part(X)
    np.testing.assert_array_equal(both, np.column_stack([np.ones(20), X[:, 0], X[:, 2]]))
    np.testing.assert_array_equal((2 * ThinPlate()).polynomial_part(X), np.column_stack([np.ones(20), X]))
    assert WeightedDegree().polynomial_part(["ACGT", "AAAA"]).shape == (2, 0)


def test_columns_of_sparse_rows_and_frames(X):
    kernel = Gaussian().on([0, 3]) + Linear().on([1])
    np.testing.assert_allclose(kernel(sparse.csr_array(X)), kernel(X), rtol=1e-10)
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = Gaussian().on(["a", "d"]) + Linear().on("b")
    np.testing.assert_allclose(named(frame), kernel(X))
    np.testing.assert_allclose(named.gradient(frame), kernel.gradient(X))


def test_columns_of_different_kinds():
    table = np.array([[1.0, "ACGT"], [2.0, "ACTT"], [3.5, "TTTT"]], dtype=object)
    kernel = Gaussian(2.0).on([0]) * WeightedDegree(2).on([1])
    expected = Gaussian(2.0)(table[:, [0]].astype(float)) * WeightedDegree(2)(list(table[:, 1]))
    np.testing.assert_allclose(kernel(table), expected)
    assert not kernel.differentiable
    with pytest.raises(TypeError, match="has no gradient"):
        kernel.gradient(table)


def test_bad_columns(X):
    with pytest.raises(ValueError, match=r"columns of OnColumns must be among the 4 columns of X, got \[7\]"):
        Gaussian().on([7])(X)
    with pytest.raises(ValueError, match=r"columns of OnColumns must be among \['a', 'b', 'c', 'd'\], got 'age'"):
        Gaussian().on("age")(pd.DataFrame(X, columns=list("abcd")))
    with pytest.raises(ValueError, match="columns of OnColumns must be positions, since X has no names, got 'age'"):
        Gaussian().on("age")(X)
    with pytest.raises(ValueError, match="columns of OnColumns must be one column or more"):
        Gaussian().on([])(X)
    with pytest.raises(ValueError, match="X of OnColumns must be a table with rows and columns"):
        Gaussian().on([0])(np.arange(3.0))


@pytest.mark.parametrize("bad", [-1, np.nan, np.inf])
def test_factors_must_not_be_negative(bad, X):
    with pytest.raises(ValueError, match="factor of Scaled must be a positive finite number"):
        (bad * Gaussian())(X)


@pytest.mark.parametrize("bad", [0, -1, 0.5, "two"])
def test_exponents_must_be_whole(bad, X):
    with pytest.raises(ValueError, match="exponent of Power must be a whole number >= 1"):
        (Gaussian() ** bad)(X)


def test_kernels_combine_only_with_kernels_and_numbers():
    with pytest.raises(TypeError, match="unsupported operand"):
        Gaussian() + 1
    with pytest.raises(TypeError, match="unsupported operand|can't multiply"):
        Gaussian() * "two"
    with pytest.raises(TypeError, match="unsupported operand|can't multiply"):
        "two" * Gaussian()


def test_a_zero_factor_gives_zero(X):
    assert np.all((0 * Gaussian())(X) == 0)


def test_columns_by_mask_slice_and_from_the_end(X):
    expected = Gaussian()(X[:, [0, 3]])
    for columns in ([True, False, False, True], [0, -1], slice(0, None, 3), np.array([0, 3])):
        kernel = Gaussian().on(columns)
        np.testing.assert_allclose(kernel(X), expected)
        np.testing.assert_allclose(kernel.gradient(X)[..., [0, 3]], Gaussian().gradient(X[:, [0, 3]]))
        assert np.all(kernel.gradient(X)[..., [1, 2]] == 0)
    repeated = Linear().on([1, 1])
    np.testing.assert_allclose(repeated(X), 2 * Linear()(X[:, [1]]))
    np.testing.assert_allclose(repeated.gradient(X)[..., 1], 2 * Linear().on([1]).gradient(X)[..., 1])


def test_sum_of_a_list(X):
    np.testing.assert_allclose(sum([Gaussian(), Linear()])(X), Gaussian()(X) + Linear()(X))


def test_overflow_in_a_combination(X):
    with pytest.raises(ValueError, match="must be finite, got an overflow"):
        (1e200 * Gaussian() * (1e200 * Gaussian()))(X)
    with pytest.raises(ValueError, match="must be finite, got an overflow"):
        (1.5e308 * Gaussian() + 1.5e308 * Gaussian())(X)


def test_properties_are_handed_on():
    assert (2 * Precomputed()).pairwise
    assert (Gaussian() + Precomputed()).pairwise
    assert Gaussian().on([0]).translation_invariant
    assert not Linear().on([0]).translation_invariant
    assert not (Gaussian() + WeightedDegree()).takes_vectors


def test_frames_whose_columns_are_in_another_order(X):
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="Y of Gaussian must have the columns of X"):
        Gaussian()(frame, frame[["b", "a", "c", "d"]])


def test_powers_of_single_values():
    assert (Gaussian() ** 6).of_squared_distance(1.0) == pytest.approx(np.exp(-3))
    assert ((Gaussian() + Gaussian()) ** 3).of_squared_distance(0.0) == 8
