"""Digits cleaned of noise by kernel components and their pre-images, and by linear components."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from mercer import KernelPCA
from mercer.datasets import load_usps
from tests.datasets.folders import use_data


@pytest.mark.parametrize("seed", [0, 1])
def test_kernel_components_clean_digits_better_than_linear_ones(seed, monkeypatch):
    """1000 training rows; 200 test rows with Gaussian noise of deviation .5; mean squared error of a pixel."""
    use_data(monkeypatch, "usps")
    rng = np.random.default_rng(seed)
    train, clean = rng.permutation(load_usps("train")[0])[:1000], rng.permutation(load_usps("test")[0])[:200]
    noisy = clean + 0.5 * rng.normal(size=clean.shape)

    def error(model):
        model.fit(train)
        return np.mean((model.inverse_transform(model.transform(noisy)) - clean) ** 2)

    counts = (16, 32, 64)
    linear, kernel = ([error(method(k)) for k in counts] for method in (PCA, KernelPCA))
    assert np.all(np.array(kernel) < linear)
    assert min(kernel) < 0.92 * min(*linear, error(PCA(48)))
