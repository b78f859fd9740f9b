"""Figure 2.2 of Smola's thesis "Learning with Kernels": the loss that suits the noise generalises best.

100 samples of sin(x)/x, equidistant on [-4π, 4π], noise with density ∝ exp(-|ξ|^1.5) and standard deviation 0.5 (the
text; at the unit variance of the caption the signal drowns), Gaussian kernel with σ² = 0.5, polynomial losses |r|^p,
error in the norm of L^1.5. The thesis uses the piecewise polynomial loss and does not give the size of error from which
on it is linear; here that is infinite.

Published: a minimum close to p = 1.5, no numbers. Found for p = 1, 1.25, 1.5, 1.75, 2: with the best C of each data set
0.1605, 0.1530, 0.1510, 0.1516, 0.1536; with C by 5-fold cross-validation 0.1751, 0.1651, 0.1624, 0.1620, 0.1633. On the
same data p = 1.5 is better than p = 1 by 0.0095 ± 0.0013 and 0.0127 ± 0.0020, than p = 2 by 0.0026 ± 0.0009 and
0.0008 ± 0.0011: with cross-validation, which the thesis used, 1.5, 1.75 and 2 cannot be told apart in 100 runs.
"""

import numpy as np
import pytest
from scipy import stats
from sklearn.model_selection import GridSearchCV, KFold

from mercer import SupportVectorRegressor
from mercer.kernels import Gaussian
from mercer.losses import Laplace, PolynomialLoss

X = np.linspace(-4 * np.pi, 4 * np.pi, 100)[:, None]
GRID = np.linspace(-4 * np.pi, 4 * np.pi, 1001)[:, None]
NOISE = stats.gennorm(1.5, scale=0.5 / stats.gennorm(1.5).std())


def sinc(x):
    return np.sinc(x[:, 0] / np.pi)


def machine(p, C=1.0):
    loss = Laplace() if p == 1 else PolynomialLoss(p)
    return SupportVectorRegressor(Gaussian(np.sqrt(0.5)), loss=loss, C=C, tol=1e-5)


def error(model):
    return np.mean(np.abs(model.predict(GRID) - sinc(GRID)) ** 1.5) ** (1 / 1.5)


def samples(n_runs):
    return [sinc(X) + NOISE.rvs(len(X), random_state=seed) for seed in range(n_runs)]


def show(powers, found):
    """Mean errors, and their differences from p = 1.5 on the same data."""
    excess = found - found[:, [powers.index(1.5)]]
    spread = excess.std(axis=0) / np.sqrt(len(found))
    for p, mean, difference, deviation in zip(powers, found.mean(axis=0), excess.mean(axis=0), spread, strict=True):
        print(f"p = {p}: {mean:.4f}, that is {difference:+.4f} ± {deviation:.4f}")


def test_the_right_power_beats_both_ends():
    powers = [1, 1.5, 2]
    found = np.array([[error(machine(p, C=0.25).fit(X, y)) for p in powers] for y in samples(20)])
    show(powers, found)
    assert found.mean(axis=0).argmin() == 1


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["best", "cross-validation"])
def test_figure_2_2(choice):
    powers, C = [1, 1.25, 1.5, 1.75, 2], [0.1, 0.2, 0.4, 0.8]
    found = []
    for seed, y in enumerate(samples(100)):
        folds = KFold(5, shuffle=True, random_state=seed)
        for p in powers:
            if choice == "best":
                found.append(min(error(machine(p, value).fit(X, y)) for value in C))
            else:
                search = GridSearchCV(machine(p), {"C": C}, scoring="neg_mean_absolute_error", cv=folds)
                found.append(error(search.fit(X, y)))
    found = np.reshape(found, (-1, len(powers)))
    print(f"C by {choice}")
    show(powers, found)
    mean = found.mean(axis=0)
    assert powers[mean.argmin()] in (1.5, 1.75)
    assert mean[0] > 1.04 * mean[2]
    assert mean[1] > mean[2]
    if choice == "best":  # with cross-validation the difference is within its error
        assert mean[4] > mean[2]
