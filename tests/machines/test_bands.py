import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from mercer import QuantileBand
from mercer.kernels import Gaussian, Precomputed

NARROW = Gaussian(0.2)


def drawn(n, seed=0):
    """Rows whose targets have a noise that doubles half-way."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 1))
    return X, np.sinc(X[:, 0]) + (0.2 + 0.2 * (X[:, 0] > 0)) * rng.normal(size=n)


def margin_twin(X, y, weight, seed, coverage):
    """Each row by a band that is fitted without it; the smallest margin that would have held enough of them."""
    rows = np.flatnonzero(weight)
    outside = np.empty(len(X))
    for places in np.array_split(np.random.RandomState(seed).permutation(len(rows)), 5):
        fold = rows[places]
        rest = np.setdiff1d(rows, fold)
        band = QuantileBand(NARROW, coverage=coverage, C=100.0, tol=1e-9).fit(X[rest], y[rest], weight[rest])
        low, high = band.predict_interval(X[fold]).T
        outside[fold] = np.maximum(low - y[fold], y[fold] - high)
    wanted = coverage * (len(rows) + 1) / len(rows)
    for size in np.sort(outside[rows]):
        if np.average(outside[rows] <= size, weights=weight[rows]) >= wanted - 1e-12:
            return size
    return outside[rows].max()


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.999])
def test_the_margin_is_the_quantile_of_conformal_prediction(coverage):
    X, y = drawn(50)
    band = QuantileBand(NARROW, coverage=coverage, C=100.0, tol=1e-9, calibrate=True, random_state=3).fit(X, y)
    assert band.margin_ == pytest.approx(margin_twin(X, y, np.ones(50), 3, coverage), abs=1e-5)
    plain = QuantileBand(NARROW, coverage=coverage, C=100.0, tol=1e-9).fit(X, y)
    assert plain.margin_ == 0.0
    expected = plain.predict_interval(X) + band.margin_ * np.array([-1.0, 1.0])
    np.testing.assert_allclose(band.predict_interval(X), expected, atol=1e-10)


def test_weights_count_in_the_margin_and_rows_without_one_do_not():
    X, y = drawn(60)
    weight = np.random.default_rng(1).uniform(0.5, 3.0, size=60) * (np.arange(60) % 4 > 0)
    options = {"coverage": 0.7, "C": 100.0, "tol": 1e-9, "calibrate": True, "random_state": 0}
    band = QuantileBand(NARROW, **options).fit(X, y, weight)
    assert band.margin_ == pytest.approx(margin_twin(X, y, weight, 0, 0.7), abs=1e-5)
    kept = weight > 0
    same = QuantileBand(NARROW, **options).fit(X[kept], y[kept], weight[kept])
    np.testing.assert_allclose(band.predict_interval(X), same.predict_interval(X), atol=1e-5)


def test_calibrated_bands_hold_their_share_of_new_rows():
    shares = {False: [], True: []}
    for seed in range(6):
        X, y = drawn(60, seed)
        X_new, y_new = drawn(1000, seed + 100)
        for calibrate, found in shares.items():
            band = QuantileBand(NARROW, coverage=0.8, C=100.0, calibrate=calibrate, random_state=0).fit(X, y)
            low, high = band.predict_interval(X_new).T
            found.append(np.mean((low <= y_new) & (y_new <= high)))
    assert np.mean(shares[False]) < 0.6
    assert 0.75 < np.mean(shares[True]) < 0.9


@pytest.mark.parametrize("kind", ["frame", "sparse", "precomputed", "per-sample C"])
def test_kinds_of_rows_give_the_same_margin(kind):
    X, y = drawn(40)
    options = {"coverage": 0.8, "tol": 1e-9, "calibrate": True, "random_state": 0}
    reference = QuantileBand(NARROW, C=10.0, **options).fit(X, y)
    kernel, rows, C = NARROW, X, 10.0
    if kind == "frame":
        rows = pd.DataFrame(X, columns=["hour"])
    elif kind == "sparse":
        rows = sparse.csr_array(X)
    elif kind == "precomputed":
        kernel, rows = Precomputed(), NARROW(X)
    else:
        C = np.full(40, 10.0)
    band = QuantileBand(kernel, C=C, **options).fit(rows, y)
    assert band.margin_ == pytest.approx(reference.margin_, abs=1e-5)
    np.testing.assert_allclose(band.predict_interval(rows), reference.predict_interval(X), atol=1e-5)


@pytest.mark.parametrize(("n", "n_folds"), [(100, 5), (2001, 1)])
def test_of_many_rows_one_fold_is_enough(n, n_folds):
    X, y = drawn(n)
    n_runs = []
    band = QuantileBand(
        Gaussian(1.0), coverage=0.8, calibrate=True, random_state=0, callback=lambda i, _: n_runs.append(i == 0)
    )
    band.fit(X, y)
    assert sum(n_runs) == 2 * (1 + n_folds)


def test_negative_margins_never_let_ends_cross():
    X, y = drawn(30)
    band = QuantileBand(Gaussian(1.0), coverage=0.8).fit(X, y)
    width = np.diff(band.predict_interval(X), axis=1)
    band.margin_ = -0.5 * np.median(width)
    low, high = band.predict_interval(X).T
    assert np.all(low <= high)
    np.testing.assert_allclose((high - low)[:, None], np.maximum(width + 2 * band.margin_, 0.0), atol=1e-12)


def test_too_few_rows_to_calibrate():
    X, y = drawn(20)
    weight = np.zeros(20)
    weight[:4] = 1.0
    with pytest.raises(
        ValueError, match=r"must hold 5 samples with a weight or more to be calibrated, got 4 samples; give"
    ):
        QuantileBand(NARROW, calibrate=True).fit(X, y, weight)


@pytest.mark.parametrize("run", [1, 2, 4])
def test_an_interrupted_band_is_none(run):
    begun = []

    def stop_in_run(iteration, values):
        begun.extend([1] if iteration == 0 else [])
        return len(begun) == run

    band = QuantileBand(NARROW, calibrate=True, callback=stop_in_run)
    with pytest.warns(UserWarning, match="was interrupted"), pytest.raises(KeyboardInterrupt):
        band.fit(*drawn(40))
    assert len(begun) == run
    with pytest.raises(NotFittedError):
        band.predict_interval(drawn(5)[0])
