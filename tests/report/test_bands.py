import numpy as np
import polars as pl
import pytest

from mercer.kernels import Gaussian
from mercer.machines import QuantileBand
from mercer.report import LearningProblem, MachineSettings, fit_machine, table_from_frame
from mercer.report.bands import band_margin, fit_band, with_margin


def drawn(n, d, rng):
    """Rows whose targets have a noise that doubles half-way."""
    X = rng.uniform(-3, 3, size=(n, d))
    signal = np.sinc(X[:, 0]) if d == 1 else np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]
    return X, signal + (0.2 + 0.2 * (X[:, 0] > 0)) * rng.normal(size=n)


def frame(X, y):
    return pl.DataFrame({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "y": y})


@pytest.mark.parametrize(("n", "d"), [(40, 1), (40, 6), (120, 6)])
def test_bands_hold_their_share_of_new_rows_also_with_few_rows(n, d):
    shares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        problem = LearningProblem.read(table_from_frame(frame(*drawn(n, d, rng))), "y")
        model = fit_machine(problem, MachineSettings(kernel="gaussian", band=0.8)).model
        X, y = drawn(1000, d, rng)
        low, high = (
            model.predict(model.schema.matrix(frame(X, y))[0])[f"y_{end}"].to_numpy() for end in ("low", "high")
        )
        shares.append(np.mean((low <= y) & (y <= high)))
    # Without a margin bands of so few rows are far too narrow.
    assert 0.72 < np.mean(shares) < 0.92


def test_the_margin_is_the_quantile_of_conformal_prediction():
    rng = np.random.default_rng(0)
    X, y = drawn(50, 1, rng)
    band = QuantileBand(Gaussian(0.2), coverage=0.8, C=100.0)
    margin = band_margin(band, X, y, seed=3)
    # The slow twin: each row by the band of the folds that it is not in.
    folds = np.array_split(np.random.RandomState(3).permutation(50), 5)
    outside = []
    for fold in folds:
        rest = np.setdiff1d(np.arange(50), fold)
        low, high = QuantileBand(Gaussian(0.2), coverage=0.8, C=100.0).fit(X[rest], y[rest]).predict_interval(X[fold]).T
        outside += list(np.maximum(low - y[fold], y[fold] - high))
    assert margin == pytest.approx(sorted(outside)[int(np.ceil(51 * 0.8)) - 1], abs=1e-12)


def test_one_fold_is_enough_of_many_rows(monkeypatch):
    X, y = drawn(100, 1, np.random.default_rng(0))
    band = QuantileBand(Gaussian(1.0), coverage=0.8)
    of_all = band_margin(band, X, y)
    monkeypatch.setattr("mercer.report.bands._MOST_CROSS_FITTED", 99)
    assert band_margin(band, X, y) != of_all


def test_margins_never_let_ends_cross():
    interval = np.array([[0.0, 2.0], [1.0, 1.5]])
    np.testing.assert_allclose(with_margin(interval, 1.0), [[-1.0, 3.0], [0.0, 2.5]])
    np.testing.assert_allclose(with_margin(interval, -0.5), [[0.5, 1.5], [1.25, 1.25]])


def test_an_interrupted_band_is_none():
    class Interrupted(QuantileBand):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y)
            self.upper_.status_ = "interrupted"
            return self

    with pytest.raises(KeyboardInterrupt):
        fit_band(Interrupted(Gaussian(1.0)), *drawn(20, 1, np.random.default_rng(0)))
