import numpy as np
import pytest
from sklearn.decomposition import PCA

from mercer.manifolds import LatentSpace, ManifoldDensity, Rows
from mercer.manifolds.principal.affine_maps import constant_map, principal_map, unchanged_fit

PLANE = LatentSpace(("interval", "interval"))


@pytest.mark.parametrize("d", [2, 4])
def test_box_of_uniform_rows(d):
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0][:2]
    X = rng.uniform(-1, 1, size=(3000, 2)) * [3, 2] @ turn + 0.1 * rng.normal(size=(3000, d)) + 5
    f = principal_map(X, PLANE)
    mean, slopes = f.gamma[0], f.gamma[1:]
    np.testing.assert_allclose(mean, X.mean(axis=0))
    np.testing.assert_allclose(np.linalg.norm(slopes, axis=1), [3, 2], rtol=0.05)
    directions = slopes / np.linalg.norm(slopes, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(directions @ PCA(2).fit(X).components_.T), np.eye(2), atol=1e-8)
    if d > 2:  # else no direction shows the noise alone, and 15 steps of EM do not find it
        assert ManifoldDensity.of(Rows(X), f).variance == pytest.approx(0.01, rel=0.3)


def test_constant_map():
    X = np.random.default_rng(0).normal(size=(50, 3))
    for space in (PLANE, LatentSpace(("circle",))):
        fit = unchanged_fit(X, constant_map(X, space), 0.0, "optimal")
        np.testing.assert_allclose(fit.map(fit.Z), np.tile(X.mean(axis=0), (50, 1)))
        np.testing.assert_allclose(fit.objective, X.var(axis=0).sum())
    # The density is that of a single Gaussian.
    density = ManifoldDensity.of(Rows(X), constant_map(X, PLANE))
    assert density.variance == pytest.approx(X.var(axis=0).mean(), rel=1e-6)
