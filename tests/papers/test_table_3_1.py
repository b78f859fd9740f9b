"""Table 3.1 of Smola's thesis "Learning with Kernels": sin x + sinc(2(x - 5)) with and without a parametric part.

100 data sets of 50 samples, Gaussian kernel of width 1/4, ε-insensitive loss with ε = 0.05, C by 10-fold
cross-validation of the absolute error for each model and data set, errors against the truth on [0, 10].

Found, published in brackets: L1 error nonparametric 0.117 (0.126), semiparametric 0.088 (0.089), wrong basis 0.115
(0.127); L2 error 0.162 (0.176), 0.119 (0.120), 0.160 (0.186). The semiparametric model is the best of the three in 87
data sets (82), and beats the nonparametric one in 93 in L1 and in 85 in L2. The noise is uniform on [-0.2, 0.2]; the
standard deviation of 0.2 that the text states gives L1 errors of about 0.16, 0.12, 0.16 at the best common C.
"""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

from mercer import SupportVectorRegressor
from mercer.datasets import make_semiparametric
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive


def waves(frequency):
    return ["constant", lambda X: np.sin(frequency * X[:, 0]), lambda X: np.cos(frequency * X[:, 0])]


MODELS = {"nonparametric": ["constant"], "semiparametric": waves(1), "wrong basis": waves(2)}
GRID = np.linspace(0, 10, 501)[:, None]
TRUTH = np.sin(GRID[:, 0]) + np.sinc(2 * (GRID[:, 0] - 5))


def errors(n_sets, models, C, n_folds):
    """L1 and L2 errors, shape (n_sets, n_models, 2)."""
    found = []
    for seed in range(n_sets):
        X, y = make_semiparametric(50, random_state=seed)
        folds = KFold(n_folds, shuffle=True, random_state=seed)
        for model in models:
            machine = SupportVectorRegressor(
                Gaussian(0.25), loss=EpsilonInsensitive(0.05), parametric=MODELS[model], tol=1e-4
            )
            search = GridSearchCV(machine, {"C": C}, scoring="neg_mean_absolute_error", cv=folds)
            residual = search.fit(X, y).predict(GRID) - TRUTH
            found.append([np.mean(np.abs(residual)), np.sqrt(np.mean(residual**2))])
    return np.reshape(found, (n_sets, len(models), 2))


def show(found, models):
    for name, error in zip(models, np.moveaxis(found, 1, 0), strict=True):
        spread = error.std(axis=0) / np.sqrt(len(error))
        print(f"{name}: L1 {error[:, 0].mean():.4f} ± {spread[0]:.4f}, L2 {error[:, 1].mean():.4f} ± {spread[1]:.4f}")


def test_semiparametric_beats_nonparametric_on_ten_sets():
    models = ["nonparametric", "semiparametric"]
    found = errors(10, models, [0.5, 2.0], 4)
    show(found, models)
    assert np.sum(found[:, 1, 0] < found[:, 0, 0]) >= 8
    assert found[:, 1].mean(axis=0)[0] < 0.85 * found[:, 0].mean(axis=0)[0]


@pytest.mark.slow
def test_table_3_1():
    found = errors(100, list(MODELS), [0.2, 0.5, 1.0, 2.0, 5.0], 10)
    show(found, list(MODELS))
    best = np.bincount(found[:, :, 0].argmin(axis=1), minlength=3).tolist()
    wins = np.sum(found[:, 1] < found[:, 0], axis=0)
    print(f"best in L1: {dict(zip(MODELS, best, strict=True))}; beats nonparametric in {wins} (L1, L2)")
    assert np.all(wins >= 75)
    assert best[1] >= 75
    mean = found.mean(axis=0)
    np.testing.assert_allclose(mean[1], [0.0887, 0.1197], rtol=0.1)
    np.testing.assert_allclose(mean[[0, 2], 0], [0.1263, 0.1267], rtol=0.15)
    np.testing.assert_allclose(mean[[0, 2], 1], [0.1760, 0.1864], rtol=0.2)
