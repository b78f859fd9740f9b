"""Tables 2, 3 and 5 of Braun, Buhmann and Müller, "On Relevant Dimensions in Kernel Feature Spaces".

Table 2, 100 data sets of n = 100, noise variances 0.01 and 0.09, 20 widths with w = width² from 1e-6 to 1e2.
sin(35x): published 50 and 16 %, for one data set. Found: median 49 (5 % to 95 %: 23 to 50), noise 19 %. Noisy sinc:
published 9 and 40.7 %, found 7 (1 to 8) and 40.1 %.

Table 3, w from 1e-2 to 1e4; medians of the dimension and mean errors, found (published): twonorm 2 (2) and 2.4 %
(2.4), ringnorm 33.5 (36) and 4.0 (4.4), waveform 12 (14) and 10.3 (10.8), banana 26.5 (24) and 10.9 (11.3), heart 3
(4) and 17.7 (16.7), german 12 (12) and 23.5 (24.1), titanic 4 (4) and 22.8 (22.9), image 272 (272) and 3.8 (4.2). The
paper has 100 divisions, or 20; at hand are about 10 of them, and one of twonorm. Random ones of the same sizes are
added: 100 in all for heart and titanic, 10 for twonorm. Heart is at the edge: its 10 divisions alone err by 18.3 %.

Table 5: 20 random divisions of the 3175 sequences without unknown letters into 1000 and 2175. Dimension, noise and
error found (published): rbf 85.5, 14.7 %, 18.4 % (87, 9.4, 12.9), binary coding 11.5, 7.4, 7.4 (11, 7.1, 7.6),
weighted degree kernel 25.5, 5.0, 5.3 (29, 4.5, 5.5). Only the letters as numbers come out worse; which letter has
which number in the paper is not known. Nor is its degree: 20 is ours; 3, 5 and 10 err by 4.6 % to 6.2 % on the first
two divisions, where 20 errs by 4.8 % and 5.7 %.
"""

import numpy as np
import pytest

from mercer import KernelPCClassifier, RelevantDimensions
from mercer.datasets import load_ida, load_splice
from mercer.kernels import Gaussian, WeightedDegree
from tests.datasets.folders import use_data

# Name: published dimension and error of kernel principal component regression; how many divisions.
TABLE_3 = {
    "twonorm": (2, 2.4, 10),
    "ringnorm": (36, 4.4, 10),
    "waveform": (14, 10.8, 11),
    "banana": (24, 11.3, 10),
    "heart": (4, 16.7, 100),
    "german": (12, 24.1, 11),
    "titanic": (4, 22.9, 100),
    "image": (272, 4.2, 9),  # the tenth equals the first
}
WIDTHS = np.sqrt(np.logspace(-2, 4, 20))


def table_2(function, noise, n_sets):
    """Dimensions and noise levels."""
    found = []
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-np.pi, np.pi, size=(100, 1))
        y = function(X[:, 0]) + noise * rng.normal(size=100)
        model = RelevantDimensions(widths=np.sqrt(np.logspace(-6, 2, 20))).fit(X, y)
        found.append((model.dimension_, model.noise_level_))
    dimensions, levels = np.array(found).T
    low, middle, high = np.percentile(dimensions, [5, 50, 95])
    print(f"dimension {middle:g} ({low:g} to {high:g}), noise {100 * np.median(levels):.1f} %")
    return middle, np.median(levels)


@pytest.mark.parametrize("n_sets", [15, pytest.param(100, marks=pytest.mark.slow)])
def test_table_2(n_sets):
    dimension, noise = table_2(lambda x: np.sin(35 * x), 0.1, n_sets)
    assert 29 <= dimension <= 50
    assert 0.1 < noise < 0.3
    dimension, noise = table_2(np.sinc, 0.3, n_sets)
    assert 5 <= dimension <= 9
    assert 0.35 < noise < 0.46


def divisions(y, splits, n_wanted):
    """Those of Rätsch, and as many more at random."""
    n_train = len(splits[0][0])
    orders = (np.random.default_rng(seed).permutation(len(y)) for seed in range(n_wanted - len(splits)))
    return splits[:n_wanted] + [(order[:n_train], order[n_train:]) for order in orders]


def table_3(name, n_divisions):
    """Median dimension, mean noise level and mean test error, in per cent."""
    X, y, splits = load_ida(name)
    found = []
    for train, test in divisions(y, splits, n_divisions):
        model = KernelPCClassifier(widths=WIDTHS, intercept=False).fit(X[train], y[train])
        error = 1 - model.score(X[test], y[test])
        found.append((model.n_components_, 100 * model.noise_level_, 100 * error))
    dimensions, noise, errors = np.array(found).T
    print(f"{name}: dimension {np.median(dimensions):g}, noise {noise.mean():.1f} %, error {errors.mean():.1f} %")
    return np.median(dimensions), errors.mean()


@pytest.mark.parametrize("name", ["banana", "titanic", "twonorm"])
def test_table_3_on_five_divisions(name, monkeypatch):
    use_data(monkeypatch, "ida")
    dimension, error = table_3(name, 5)
    assert TABLE_3[name][0] / 1.5 <= dimension <= 1.5 * TABLE_3[name][0]
    assert abs(error - TABLE_3[name][1]) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE_3)
def test_table_3(name, monkeypatch):
    use_data(monkeypatch, "ida")
    published, published_error, n_divisions = TABLE_3[name]
    dimension, error = table_3(name, n_divisions)
    assert published / 1.5 <= dimension <= 1.5 * published
    assert abs(error - published_error) <= 1


def table_5(n_divisions):
    """Noise level and test error for each kernel, means over the divisions."""
    sequences, labels = load_splice()
    letters = np.array([list(sequence) for sequence in sequences])
    alphabet = np.array(list("ACGT"))
    known = np.isin(letters, alphabet).all(axis=1)
    letters, y = letters[known], labels[known] != "N"
    rows = {
        "rbf": (Gaussian(np.sqrt(50)), np.searchsorted(alphabet, letters) + 1.0),
        "rbf (binary)": (Gaussian(np.sqrt(50)), (letters[:, :, None] == alphabet).reshape(len(y), -1).astype(float)),
        "wdk": (WeightedDegree(20), sequences[known]),
    }
    found = {name: [] for name in rows}
    for seed in range(n_divisions):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:1000], order[1000:]
        for name, (kernel, X) in rows.items():
            model = KernelPCClassifier(kernel, intercept=False).fit(X[train], y[train])
            found[name].append((model.n_components_, model.noise_level_, 1 - model.score(X[test], y[test])))
    for name, values in found.items():
        d, noise, error = np.median(values, axis=0)[0], *np.mean(values, axis=0)[1:]
        print(f"{name}: dimension {d:g}, noise {100 * noise:.1f} %, error {100 * error:.1f} %")
    return {name: np.mean(values, axis=0)[1:] for name, values in found.items()}


@pytest.mark.parametrize("n_divisions", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_table_5(n_divisions, monkeypatch):
    use_data(monkeypatch, "dna")
    found = table_5(n_divisions)
    assert np.all(found["wdk"] < 0.5 * found["rbf"])
    assert np.all(found["wdk"] < found["rbf (binary)"])
    np.testing.assert_allclose(found["wdk"], [0.045, 0.055], atol=0.01)
    np.testing.assert_allclose(found["rbf (binary)"], [0.071, 0.076], atol=0.01)
