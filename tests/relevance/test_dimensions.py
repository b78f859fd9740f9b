import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from mercer import RelevantDimensions
from mercer.datasets import make_sinc
from mercer.kernels import L1, FromFunction, Gaussian, Linear, Precomputed, ThinPlate, WeightedDegree
from mercer.kernels.gram import Gram

X, y = make_sinc(100, noise=0.3, random_state=0)


def by_the_book(K, y):
    """Eigenvalues, coefficients, nll and dimension, straight from the formulas."""
    n = len(y)
    values, U = np.linalg.eigh(K)
    values, z = values[::-1], (U.T @ y)[::-1]
    usable = min(n // 2, np.count_nonzero(values > 1e-13 * values[0]))
    d = np.arange(1, usable + 1)
    s1 = np.cumsum(z**2)[d - 1] / d
    s2 = np.cumsum(z[::-1] ** 2)[::-1][d] / (n - d)
    nll = d / n * np.log(s1) + (n - d) / n * np.log(s2)
    return values, z, nll, int(d[np.argmin(nll)])


@pytest.mark.parametrize("width", [0.1, 0.5, 1.0, 1.5])
def test_one_kernel_by_the_book(width):
    kernel = Gaussian(width)
    values, z, nll, d = by_the_book(kernel(X), y)
    model = RelevantDimensions(kernel).fit(X, y)
    assert model.kernel_ is not kernel
    assert repr(model.kernel_) == repr(kernel)
    assert model.dimension_ == d
    assert model.log_likelihood_ == pytest.approx(-nll[d - 1], rel=1e-9)
    np.testing.assert_allclose(model.spectrum_[:d], values[:d], rtol=1e-9, atol=1e-14 * values[0])
    np.testing.assert_allclose(np.abs(model.coefficients_[:d]), np.abs(z[:d]), atol=1e-7)
    assert model.noise_level_ == pytest.approx(np.sum(z[d:] ** 2) / np.sum((y - y.mean()) ** 2))
    np.testing.assert_allclose(np.sum(model.coefficients_**2) + model.tail_energy_, y @ y, rtol=1e-12)
    np.testing.assert_array_equal(model.denoised_, model.projection_)


def test_family_takes_the_highest_likelihood():
    widths = np.geomspace(0.05, 1.5, 12)
    model = RelevantDimensions(widths=widths).fit(X, y)
    each = [by_the_book(Gaussian(width)(X), y) for width in widths]
    likelihoods = [-nll.min() for _, _, nll, _ in each]
    np.testing.assert_allclose(model.table_["log_likelihood"], likelihoods, rtol=1e-6)
    assert model.table_["dimension"] == [d for _, _, _, d in each]
    assert model.best_ == np.argmax(likelihoods)
    assert model.kernel_.width == widths[model.best_]
    assert pd.DataFrame(model.table_).shape == (12, 7)
    listed = RelevantDimensions([Gaussian(width) for width in widths]).fit(X, y)
    assert listed.dimension_ == model.dimension_


def test_widths_come_from_the_data():
    small, large = (RelevantDimensions().fit(scale * X, y) for scale in (1e-3, 1e3))
    assert len(small.table_["width"]) == 20
    assert small.dimension_ == large.dimension_
    assert large.kernel_.width == pytest.approx(1e6 * small.kernel_.width, rel=1e-6)


def test_leave_one_out_takes_the_least_error():
    model = RelevantDimensions(method="leave_one_out").fit(X, y)
    table = model.table_
    assert table["leave_one_out_error"][model.best_] == min(table["leave_one_out_error"])
    U = np.linalg.eigh(model.kernel_(X))[1][:, ::-1]
    errors = []
    for d in range(1, 31):
        S = U[:, :d] @ U[:, :d].T
        errors.append(np.mean(((y - S @ y) / (1 - np.diagonal(S))) ** 2))
    assert model.dimension_ == np.argmin(errors) + 1
    assert min(errors) == pytest.approx(min(table["leave_one_out_error"]))


def test_classes():
    rows, labels = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[labels]
    model = RelevantDimensions().fit(rows, names)
    assert model.projection_.shape == (150, 3)
    assert set(model.denoised_) == {"a", "b", "c"}
    assert model.noise_level_ == np.mean(model.denoised_ != names) < 0.06
    columns = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    nll = [by_the_book(model.kernel_(rows), column)[2] for column in columns.T]
    assert model.log_likelihood_ == pytest.approx(-np.mean(nll, axis=0)[model.dimension_ - 1], rel=1e-6)
    assert np.argmin(np.mean(nll, axis=0)) + 1 == model.dimension_
    signs = RelevantDimensions(Gaussian(2.0)).fit(rows[:100], 2 * labels[:100] - 1)
    assert set(signs.denoised_) == {-1, 1}
    assert signs.noise_level_ == 0


def test_labels_say_what_they_are_unless_told():
    counts = np.random.default_rng(0).poisson(50, size=100)
    assert not hasattr(RelevantDimensions(Gaussian()).fit(X, counts), "classes_")
    binary = (y > 0.3).astype(float)
    assert hasattr(RelevantDimensions(Gaussian()).fit(X, binary), "classes_")
    assert not hasattr(RelevantDimensions(Gaussian(), task="regression").fit(X, binary), "classes_")
    assert hasattr(RelevantDimensions(Gaussian()).fit(X, binary > 0), "classes_")
    objects = np.array(["yes", "no"], dtype=object)[(y > 0.3).astype(int)]
    assert hasattr(RelevantDimensions(Gaussian()).fit(X, objects), "classes_")


def test_low_rank_agrees_with_the_whole_spectrum():
    widths = np.geomspace(0.3, 1.5, 6)
    exact = RelevantDimensions(widths=widths, rank=None).fit(X, y)
    low = RelevantDimensions(widths=widths, rank=70).fit(X, y)
    assert low.table_["dimension"] == exact.table_["dimension"]
    np.testing.assert_allclose(low.table_["log_likelihood"], exact.table_["log_likelihood"], rtol=1e-6)
    np.testing.assert_allclose(low.projection_, exact.projection_, atol=1e-7)
    cut = RelevantDimensions(Gaussian(0.2), rank=10).fit(X, y)
    assert len(cut.spectrum_) == 10
    np.testing.assert_allclose(np.sum(cut.coefficients_**2) + cut.tail_energy_, y @ y, rtol=1e-12)


def test_many_rows_are_done_on_a_factor():
    rows, target = make_sinc(3500, noise=0.3, random_state=0)
    model = RelevantDimensions(Gaussian(1.0)).fit(rows, target)
    assert max(model.table_["rank"]) < 100
    np.testing.assert_allclose(model.denoised_, np.sinc(rows[:, 0]), atol=0.1)


def test_tables_and_sparse_rows():
    expected = RelevantDimensions().fit(X, y).dimension_
    assert RelevantDimensions().fit(pd.DataFrame({"x": X[:, 0]}), y).dimension_ == expected
    assert RelevantDimensions().fit(pl.DataFrame({"x": X[:, 0]}), y).dimension_ == expected
    assert RelevantDimensions().fit(sparse.csr_array(X), y).dimension_ == expected


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"kernel": "rbf"},
            TypeError,
            "kernel of RelevantDimensions must be a Kernel, a list of them or None, got 'rbf'",
        ),
        ({"kernel": []}, TypeError, "must be a Kernel, a list of them or None"),
        ({"kernel": [Gaussian(), WeightedDegree(2)]}, ValueError, "must be kernels on the same kind of rows"),
        ({"kernel": ThinPlate()}, ValueError, r"must be positive definite \(order 0\), got ThinPlate\(\) of order 2"),
        (
            {"kernel": Gaussian(), "widths": [1.0]},
            ValueError,
            "widths of RelevantDimensions must be 'auto' where a kernel",
        ),
        ({"widths": [1.0, -1.0]}, ValueError, "widths of RelevantDimensions must be 'auto' or positive numbers"),
        ({"widths": "wide"}, ValueError, "must be 'auto' or positive numbers, got 'wide'"),
        ({"method": "bic"}, ValueError, "method of RelevantDimensions must be one of .* got 'bic'"),
        ({"task": "ranking"}, ValueError, "task of RelevantDimensions must be one of .* got 'ranking'"),
        ({"rank": 0}, ValueError, "rank of RelevantDimensions must be a whole number >= 1, None or 'auto', got 0"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        RelevantDimensions(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.full(100, 3.7), "y of RelevantDimensions must be not constant"),
        (np.ones(100), "must hold two classes or more, got one class"),
        (["a"] * 100, "must hold two classes or more, got one class"),
        ([{"x": 1}] * 100, "y of RelevantDimensions must be numbers or names of classes"),
        (np.array(["a", 1] * 50, dtype=object), "must be numbers or names of classes"),
        (np.full(100, 1j), "Complex data not supported"),
        (np.r_[np.nan, y[1:]], "y contains NaN"),
        (y[:50], "inconsistent numbers of samples"),
        (None, "requires y to be passed"),
    ],
    ids=["constant", "one_class", "one_name", "objects", "mixed", "complex", "nan", "short", "none"],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        RelevantDimensions().fit(X, labels)


def test_text_is_no_number_for_regression():
    with pytest.raises(ValueError, match="y of RelevantDimensions must be finite numbers"):
        RelevantDimensions(task="regression").fit(X, ["a", "b"] * 50)


def test_too_few_rows():
    with pytest.raises(ValueError, match=r"3 sample\(s\).* a minimum of 4 is required"):
        RelevantDimensions().fit(X[:3], y[:3])
    with pytest.raises(ValueError, match="X of RelevantDimensions must have 4 rows or more, got 3"):
        RelevantDimensions(WeightedDegree(2)).fit(["AC", "GT", "AA"], y[:3])
    assert RelevantDimensions().fit(X[:4], y[:4]).dimension_ <= 2
    assert RelevantDimensions(L1()).fit(X, y).dimension_ >= 1


def test_dimension_does_not_depend_on_rounding():
    K = Gaussian(3.0)(X)
    rng = np.random.default_rng(0)
    found = set()
    for _ in range(10):
        noise = 1e-15 * rng.normal(size=K.shape)
        model = RelevantDimensions(Precomputed()).fit(K + noise + noise.T, y)
        assert model.spectrum_[model.dimension_ - 1] > 1e-13 * model.spectrum_[0]
        found.add(model.dimension_)
    assert len(found) == 1


def test_ctrl_c_is_not_taken_for_a_small_rank(monkeypatch):
    block, calls = Gram.block, []

    def interrupted(self, *arguments):
        calls.append(self)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return block(self, *arguments)

    monkeypatch.setattr(Gram, "block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        RelevantDimensions(Gaussian(0.2), rank=100).fit(X, y)


def test_a_matrix_in_single_precision_on_a_factor():
    """Its rounding is not taken for components."""
    K = Gaussian(2.0)(X)
    whole, factor = (RelevantDimensions(Precomputed(), rank=r).fit(K.astype(np.float32), y) for r in (None, 60))
    assert factor.dimension_ == whole.dimension_
    assert len(factor.spectrum_) < 40


def test_a_kernel_that_is_zero():
    for rank in (None, 10):
        with pytest.raises(ValueError, match=r"Linear.* must be positive definite on X to have relevant dimensions"):
            RelevantDimensions(Linear(), rank=rank).fit(np.zeros((60, 1)), y[:60])


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_labels_whose_squares_are_no_numbers(scale):
    with pytest.raises(ValueError, match="y of RelevantDimensions must be of a size between 1e-140 and 1e"):
        RelevantDimensions().fit(X, scale * y)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_labels_of_another_unit(scale):
    one, other = (RelevantDimensions(Gaussian(1.0)).fit(X, s * y) for s in (1.0, scale))
    assert (one.dimension_, one.noise_level_) == (other.dimension_, pytest.approx(other.noise_level_))


def test_a_second_fit_forgets_the_classes_of_the_first():
    model = RelevantDimensions(Gaussian(1.0)).fit(X, y > 0)
    assert model.classes_.tolist() == [False, True]
    assert not hasattr(model.fit(X, y), "classes_")


def test_objects_of_unequal_length():
    words = [[1.0] * (1 + i % 3) for i in range(60)]
    kernel = FromFunction(lambda a, b: float(np.exp(-((len(a) - len(b)) ** 2))))
    model = RelevantDimensions(kernel).fit(words, [len(word) + 0.0 for word in words])
    assert model.noise_level_ < 1e-6


def test_held_out_labels_that_are_all_the_same():
    rare = np.zeros(60)
    rare[[7, 31]] = 1.0
    curve = RelevantDimensions(Gaussian(1.0), task="regression").fit(X[:60], rare).diagnosis_.learning_curve
    assert np.isfinite(curve.errors).all()


def test_progress_bar(capsys):
    RelevantDimensions([Gaussian(1.0), Gaussian(2.0)], verbose=True).fit(X, y)
    assert "2/2" in capsys.readouterr().err


def test_kernels_looked_at_together_are_those_looked_at_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=80)
    kernels = [Gaussian(width) for width in (0.1, 0.5, 1.0, 5.0)]
    together = RelevantDimensions(kernels).fit(X, y).table_
    for i, kernel in enumerate(kernels):
        alone = RelevantDimensions(kernel).fit(X, y).table_
        assert together["width"][i] == kernel.width
        assert together["dimension"][i] == alone["dimension"][0]
        for name in ("noise_level", "log_likelihood", "leave_one_out_error"):
            np.testing.assert_allclose(together[name][i], alone[name][0], rtol=1e-9)
