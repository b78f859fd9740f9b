import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.decomposition import PCA
from sklearn.manifold import Isomap

from mercer.datasets import make_arc, make_s_sheet, make_spiral, make_torus
from mercer.manifolds import LatentSpace, start_coordinates
from mercer.manifolds.latent.starts import filled

LINE, RING = LatentSpace(("interval",)), LatentSpace(("circle",))
PLANE = LatentSpace(("interval", "interval"))


def alignment(angle, truth):
    """1 if two angles are the same but for direction and offset, 0 if they are independent."""
    a, b = np.exp(1j * angle), np.exp(1j * truth)
    return max(abs(np.mean(a * b)), abs(np.mean(a * b.conj())))


def test_isomap_unrolls_the_spiral():
    good = 0
    for seed in range(5):
        X, t = make_spiral(300, random_state=seed)
        good += abs(spearmanr(start_coordinates(X, LINE, "isomap")[:, 0], t)[0]) > 0.99
    assert good >= 4  # draw 1 has a gap that is longer than the way across


def test_isomap_equals_another():
    X, _ = make_s_sheet(250, noise=0.0, random_state=0)
    ours = start_coordinates(X, PLANE, "isomap", n_neighbors=40)
    theirs = Isomap(n_neighbors=20, n_components=1).fit_transform(X)
    assert abs(np.corrcoef(ours[:, 0], theirs[:, 0])[0, 1]) > 0.99


def test_landmarks_agree_with_all_paths():
    X, t = make_spiral(900, random_state=0)
    assert abs(spearmanr(start_coordinates(X, LINE, "isomap")[:, 0], t)[0]) > 0.999


def test_principal_components_fill_the_box():
    X, _ = make_s_sheet(200, random_state=0)
    Z = start_coordinates(X, PLANE, "pca")
    np.testing.assert_allclose(np.abs(Z).max(axis=0), 1)
    scores = PCA(2).fit_transform(X)
    np.testing.assert_allclose(np.abs(np.corrcoef(Z.T, scores.T)[:2, 2:]), np.eye(2), atol=1e-6)


@pytest.mark.parametrize("method", ["pca", "isomap", "eigenmaps"])
def test_angles_on_a_circle(method):
    X, t = make_arc(300, noise=0.05, random_state=0)
    Z = start_coordinates(X, RING, method)
    assert np.all(np.abs(Z) <= 1)
    assert alignment(np.pi * Z[:, 0], t) > 0.98


@pytest.mark.parametrize("method", ["isomap", "eigenmaps"])
def test_two_angles_on_a_torus(method):
    X, angles = make_torus(1000, random_state=0)
    Z = start_coordinates(X, LatentSpace(("circle", "circle")), method)
    assert alignment(np.pi * Z[:, 0], angles[:, 0]) > 0.9
    assert alignment(np.pi * Z[:, 1], angles[:, 1]) > 0.7


def test_components_that_repeat_others_are_passed_over():
    rng = np.random.default_rng(0)
    long = rng.uniform(-1, 1, size=(600, 2)) * [10, 1]
    Z = start_coordinates(np.column_stack([long, np.zeros(600)]), PLANE, "eigenmaps", n_neighbors=10)
    assert abs(spearmanr(Z[:, 0], long[:, 0])[0]) > 0.98
    assert abs(spearmanr(Z[:, 1], long[:, 0])[0]) < 0.3


def test_parts_and_equal_rows():
    t = np.linspace(0, 1, 60)
    X = np.column_stack([np.where(t < 0.5, t, t + 3), np.zeros(60)])
    X = np.repeat(X, 3, axis=0)
    z = start_coordinates(X, LINE, "isomap", n_neighbors=4)[:, 0]
    assert abs(np.corrcoef(z, X[:, 0])[0, 1]) > 0.999


def test_fills_what_is_missing():
    X, _ = make_s_sheet(200, random_state=0)
    holes = X.copy()
    holes[::7, 1] = np.nan
    assert filled(X) is X
    assert np.isfinite(filled(holes)).all()
    np.testing.assert_array_equal(filled(holes)[1::7], holes[1::7])
