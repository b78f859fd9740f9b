"""Tables that lie on a plane are called flat, though rows lie elsewhere or fill the plane unevenly; noise is not."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from mercer.manifolds import PrincipalManifold, Rows
from mercer.manifolds.principal.affine_maps import normal_density
from mercer.manifolds.principal.choice.candidates import mean_and_error


def plane(seed, n, d, q, noise, *, degrees=np.inf, n_elsewhere=0):
    rng = np.random.default_rng(seed)
    places = rng.normal(size=(n, q)) if np.isinf(degrees) else rng.standard_t(degrees, size=(n, q))
    X = places @ rng.normal(size=(q, d)) + noise * rng.normal(size=(n, d))
    X[rng.choice(n, n_elsewhere, replace=False)] += 10 * rng.normal(size=(n_elsewhere, d))
    return (X - X.mean(axis=0)) / X.std(axis=0)


def kind_of(X):
    model = PrincipalManifold(2, random_state=0).fit(X)
    assert np.isfinite(model.penalty_) == (model.kind_ == "manifold")
    assert model.kind_ in ("manifold", model.init_)
    return {"manifold": "curved"}.get(model.kind_, model.kind_)


FLAT = [
    plane(1, 60, 3, 1, 0.3),
    plane(7, 500, 8, 2, 0.2),
    plane(8, 1000, 6, 2, 0.5),
    plane(22, 400, 10, 2, 0.3, degrees=3),
    plane(23, 1000, 5, 1, 0.3, degrees=3),
    plane(30, 60, 4, 2, 0.2, n_elsewhere=2),
    plane(31, 120, 6, 2, 0.3, n_elsewhere=3),
    plane(33, 800, 10, 2, 0.3, n_elsewhere=5),
]


@pytest.mark.parametrize("X", FLAT)
def test_a_plane_is_flat(X):
    assert kind_of(X) == "pca"


def test_noise_with_a_few_rows_far_out_has_no_structure():
    X = np.random.default_rng(66).normal(size=(300, 6))
    X[:3] *= 8
    assert kind_of(X / X.std(axis=0)) == "mean"


def test_normal_places_on_a_plane_are_the_density_of_principal_components():
    X = plane(0, 80, 5, 2, 0.3)
    density, pca = normal_density(X, 2), PCA(2).fit(X)
    ours, theirs = density.log_density(Rows(X)), pca.score_samples(X)
    np.testing.assert_allclose(ours, theirs, atol=0.15)  # they divide by n - 1
    X[3, 1] = np.nan
    assert density.log_density(Rows(X))[3] > ours[3] - 5


def test_a_trimmed_mean_does_not_heed_the_ends():
    values = np.r_[-1e6, np.linspace(1, 2, 18), 1e6]
    mean, error = mean_and_error(values, 0.1)
    assert mean == pytest.approx(1.5)
    assert error < 0.2
    assert mean_and_error(values)[1] > 1e4
