"""Cleaning noisy rows."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelDenoiser
from mercer.datasets import make_arc
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)) @ np.array([[2.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 0.2]]) + [1.0, -2.0, 0.0]
ARC = make_arc(200, random_state=0)[0]


@parametrize_with_checks([KernelDenoiser(0.3), KernelDenoiser(0.5, kernel=Gaussian(1.0), penalty=0.1)])
@pytest.mark.filterwarnings("ignore:.*exceeds the variance:UserWarning")
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("noise", [0.7, [0.7, 0.2, 1.0]])
def test_with_a_large_penalty_it_is_the_ridge_regression_of_the_rows_on_themselves(noise):
    model = KernelDenoiser(noise, kernel=Gaussian(2.0), penalty=1e14).fit(X)
    C = X - X.mean(axis=0)
    ridge = np.linalg.solve(C.T @ C + len(X) * np.diag(np.broadcast_to(np.square(noise), 3)), C.T @ C)
    np.testing.assert_allclose(model.transform(X), X.mean(axis=0) + C @ ridge, atol=1e-10)


def test_it_is_the_limit_of_regressions_on_noisy_copies():
    kernel, share, s = Gaussian(0.8), 0.01, 0.3
    rows = ARC[:40]
    model = KernelDenoiser(s, kernel=kernel, penalty=share, n_landmarks=15).fit(rows)
    nodes, rng = model.rows_, np.random.default_rng(1)
    x = np.tile(rows, (5000, 1))
    y = x + s * rng.normal(size=x.shape)
    # Columns of the kernel part have the norm of the space, in which the penalty is (α, K α).
    K = kernel(nodes)
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-8 * values.sum()
    F = kernel(y, nodes) @ (vectors[:, kept] / np.sqrt(values[kept]))
    F -= F.mean(axis=0)
    Y = y - y.mean(axis=0)
    left = F - Y @ np.linalg.lstsq(Y, F, rcond=None)[0]
    target = x - x.mean(axis=0)
    cov = left.T @ left / len(x)
    A = np.linalg.solve(cov + share * np.trace(cov) * np.eye(len(cov)), left.T @ target / len(x))
    B = np.linalg.lstsq(Y, target - F @ A, rcond=None)[0]
    np.testing.assert_allclose(model.transform(y[:200]), x.mean(axis=0) + Y[:200] @ B + F[:200] @ A, atol=0.02)


def test_gaussian_rows_shrink_as_the_posterior_mean_says():
    rows = 2.0 * np.random.default_rng(0).normal(size=(20_000, 1))
    model = KernelDenoiser(1.0, n_landmarks=20).fit(rows)
    y = np.linspace(-4, 4, 9)[:, None]
    np.testing.assert_allclose(model.transform(y), 0.8 * y, atol=0.06)
    assert model.error_ == pytest.approx(0.8, rel=0.03)  # s² λ / (λ + s²)


def test_tweedie_holds_for_two_points():
    # E(x | y) = tanh(y / s²) for x = -1 or 1; kernel functions come near.
    rows = np.repeat([[-1.0], [1.0]], 50, axis=0)
    model = KernelDenoiser(0.6, kernel=Gaussian(1.0), penalty=0.0).fit(rows)
    y = np.linspace(-1.5, 1.5, 7)[:, None]
    assert np.abs(model.transform(y) - np.tanh(y / 0.36)).max() < 0.25


def test_the_error_is_that_of_noisy_rows_that_were_not_seen():
    rows, new = make_arc(1000, random_state=1)[0], make_arc(2000, random_state=2)[0]
    model = KernelDenoiser(0.3).fit(rows)
    noisy = new + 0.3 * np.random.default_rng(3).normal(size=new.shape)
    error = np.mean(np.sum((model.transform(noisy) - new) ** 2, axis=1))
    assert model.error_ == pytest.approx(error, rel=0.06)
    cov = np.cov(rows, rowvar=False)
    linear = np.trace(cov) - np.trace(cov @ np.linalg.solve(cov + 0.09 * np.eye(2), cov))
    assert error < 0.8 * linear


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale):
    expected = KernelDenoiser(0.3).fit(ARC).transform(ARC)
    ours = KernelDenoiser(0.3 * scale).fit(scale * ARC).transform(scale * ARC) / scale
    np.testing.assert_allclose(ours, expected, atol=1e-6)


def test_a_shift_of_all_rows_shifts_the_answer():
    expected = KernelDenoiser(0.3, penalty=1e-3).fit(ARC).transform(ARC)
    shifted = KernelDenoiser(0.3, penalty=1e-3).fit(ARC + 1000.0).transform(ARC + 1000.0)
    np.testing.assert_allclose(shifted - 1000.0, expected, atol=1e-6)


def test_constant_columns_stay_and_equal_rows_give_themselves():
    rows = np.column_stack([ARC, np.full(len(ARC), 7.0)])
    cleaned = KernelDenoiser(0.2, kernel=Gaussian(1.0), penalty=1e-3).fit(rows).transform(rows)
    np.testing.assert_allclose(cleaned[:, 2], 7.0, atol=1e-8)
    same = KernelDenoiser(0.2).fit(np.ones((4, 2)))
    np.testing.assert_allclose(same.transform([[5.0, 1.0]]), 1.0, atol=1e-12)


def test_noise_beyond_all_rows_leaves_the_mean_with_a_warning():
    with pytest.warns(UserWarning, match="hardly more than their mean"):
        model = KernelDenoiser(1e3).fit(ARC)
    noisy = ARC + 1e3 * RNG.normal(size=ARC.shape)
    assert np.abs(model.transform(noisy) - ARC.mean(axis=0)).max() < 0.1


def test_two_rows_and_single_precision():
    assert np.isfinite(KernelDenoiser(0.3).fit(ARC[:2]).transform(ARC)).all()
    expected = KernelDenoiser(0.3, penalty=1e-3).fit(ARC).transform(ARC)
    single = KernelDenoiser(0.3, penalty=1e-3).fit(ARC.astype(np.float32)).transform(ARC.astype(np.float32))
    np.testing.assert_allclose(single, expected, atol=1e-4)


def test_files():
    import skops.io

    model = KernelDenoiser(0.3).fit(ARC)
    expected = model.transform(ARC)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(ARC), expected)
    content = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=content)
    assert all(name.split(".")[0] in ("mercer", "numpy") for name in trusted)
    np.testing.assert_array_equal(skops.io.loads(content, trusted=trusted).transform(ARC), expected)


@pytest.mark.parametrize("noise", [0.0, -1.0, np.nan, "auto", True, None, [0.1, 0.2], [0.1, 0.0, 0.1]])
def test_noise_must_be_positive(noise):
    with pytest.raises(ValueError, match="noise of KernelDenoiser must be a number > 0, or one for each of the 3"):
        KernelDenoiser(noise).fit(X)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kernel": Linear()}, TypeError, "kernel of KernelDenoiser must be a Gaussian"),
        ({"kernel": "rbf"}, TypeError, "kernel of KernelDenoiser must be a Gaussian"),
        ({"penalty": -1.0}, ValueError, 'penalty of KernelDenoiser must be "auto" or a number >= 0'),
        ({"penalty": "none"}, ValueError, 'penalty of KernelDenoiser must be "auto" or a number >= 0'),
        ({"n_landmarks": 0}, ValueError, "n_landmarks of KernelDenoiser must be a whole number >= 1"),
    ],
)
def test_bad_parameters(options, error, message):
    with pytest.raises(error, match=message):
        KernelDenoiser(0.3, **options).fit(X)


def test_bad_rows():
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        KernelDenoiser(0.3).fit(X[:1])
    with pytest.raises(ValueError, match="NaN"):
        KernelDenoiser(0.3).fit(np.where(X > 2, np.nan, X))
    with pytest.raises(TypeError, match="[Ss]parse"):
        KernelDenoiser(0.3).fit(sparse.csr_array(X))
