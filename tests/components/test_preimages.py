import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits, make_circles
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelPCA
from mercer.components import RidgePreimages, distance_preimages, fixed_point_preimages, preimages
from mercer.components.preimages import PREIMAGES
from mercer.kernels import (
    DampedOscillator,
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Linear,
    Polynomial,
    Precomputed,
    RadialBSpline,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
TABLE = np.random.default_rng(1).normal(size=(120, 3)) * [1.0, 2.0, 0.5] + 1.0


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(1.0), 2.0 * Gaussian(1.5), InverseMultiquadric(1.0), DampedOscillator(1.0), RadialBSpline(3, 2.0)],
    ids=repr,
)
def test_fixed_point_agrees_with_a_general_minimiser(kernel):
    coef = rng.dirichlet(np.full(40, 0.3), size=4)
    found = fixed_point_preimages(kernel, X, coef, max_iter=2000, tol=1e-10)

    def value(z, c):
        return -float(c @ kernel(X, z[None])[:, 0])

    for z, c in zip(found, coef, strict=True):
        best = minimize(value, z, args=(c,), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
        assert value(z, c) <= best.fun + 1e-9
        np.testing.assert_allclose(z, best.x, atol=1e-4)


def test_fixed_point_never_loses_the_best_row_with_negative_coefficients():
    coef = rng.normal(size=(10, 40))
    start = rng.normal(size=(10, 2))
    found = fixed_point_preimages(Gaussian(0.7), X, coef, start)
    values = [np.einsum("ij,ij->i", coef, Gaussian(0.7)(Z, X)) for Z in (start, found)]
    assert np.all(values[1] >= values[0])
    assert np.all(np.isfinite(found))


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Exponential(0.5), InverseMultiquadric(1.0)], ids=repr)
def test_exact_images_are_found(kernel):
    # The image of a training row is a kernel function of its own.
    np.testing.assert_allclose(distance_preimages(kernel, X, np.eye(40)), X, atol=1e-6)
    np.testing.assert_allclose(distance_preimages(kernel, X, np.eye(40), kernel(X)), X, atol=1e-6)
    np.testing.assert_allclose(fixed_point_preimages(Gaussian(0.05), X, np.eye(40)), X, atol=1e-3)


@pytest.mark.parametrize("find", [distance_preimages, fixed_point_preimages])
def test_many_points_are_done_in_blocks(find, monkeypatch):
    coef = rng.dirichlet(np.ones(40), size=30)
    whole = find(Gaussian(1.0), X, coef)
    monkeypatch.setattr(preimages, "_BLOCK_MEMORY", 7 * 8 * 40)
    np.testing.assert_allclose(find(Gaussian(1.0), X, coef), whole, atol=1e-12)


@pytest.mark.parametrize("find", [distance_preimages, fixed_point_preimages])
@pytest.mark.parametrize("scale", [1e-10, 1e10])
def test_units_and_origin_do_not_matter(find, scale):
    coef = rng.dirichlet(np.full(40, 0.3), size=8)
    expected = find(Gaussian(1.0), X, coef)
    np.testing.assert_allclose(find(Gaussian(scale), scale * X, coef) / scale, expected, atol=1e-6)
    np.testing.assert_allclose(find(Gaussian(1.0), X + 1e4, coef) - 1e4, expected, atol=1e-6)


@pytest.mark.parametrize("find", [distance_preimages, fixed_point_preimages])
@pytest.mark.parametrize("position", [0, 39])
def test_an_outlier_changes_nothing_for_the_others(find, position):
    coef = rng.dirichlet(np.full(40, 0.3), size=8)
    coef[:, position] = 0.0
    far = X.copy()
    far[position] = 1e3
    others = np.arange(40) != position
    expected = find(Gaussian(1.0), X[others], coef[:, others])
    np.testing.assert_allclose(find(Gaussian(1.0), far, coef), expected, atol=1e-8)


def test_ctrl_c_keeps_the_best_rows_so_far(monkeypatch):
    coef, start = rng.dirichlet(np.full(40, 0.3), size=30), rng.normal(size=(30, 2))
    plain, calls = preimages._slope, []

    def interrupted(*arguments):
        calls.append(0)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return plain(*arguments)

    monkeypatch.setattr(preimages, "_slope", interrupted)
    monkeypatch.setattr(preimages, "_BLOCK_MEMORY", 10 * 8 * 40)
    with pytest.warns(ConvergenceWarning, match="fixed_point_preimages was interrupted and returns the best rows"):
        found = fixed_point_preimages(Gaussian(0.7), X, coef, start)
    values = [np.einsum("ij,ij->i", coef, Gaussian(0.7)(Z, X)) for Z in (start, found)]
    assert np.all(values[1][:10] > values[0][:10])
    np.testing.assert_allclose(found[10:], start[10:])  # blocks that were not reached


def test_ridge_agrees_with_brute_force_leave_one_out():
    Z = rng.normal(size=(25, 2))
    targets = np.column_stack([np.sin(Z[:, 0]), Z[:, 0] * Z[:, 1]]) + 0.1 * rng.normal(size=(25, 2))
    ridge = RidgePreimages(Z, targets)
    K, mean = Gaussian.scaled_to(Z)(Z), targets.mean(axis=0)

    def left_out_error(penalty):
        errors = []
        for i in range(25):
            rest = np.arange(25) != i
            solved = np.linalg.solve(K[np.ix_(rest, rest)] + penalty * np.eye(24), targets[rest] - mean)
            errors.append(targets[i] - mean - K[i, rest] @ solved)
        return np.sum(np.square(errors))

    own = left_out_error(ridge.penalty)
    assert all(own <= left_out_error(ridge.penalty * factor) + 1e-12 for factor in (0.3, 3.0))
    expected = mean + K @ np.linalg.solve(K + ridge.penalty * np.eye(25), targets - mean)
    np.testing.assert_allclose(ridge(Z), expected, atol=1e-8)
    np.testing.assert_allclose(np.sum((ridge.left_out - targets) ** 2), own, rtol=1e-8)


@pytest.mark.parametrize("preimage", PREIMAGES)
def test_preimages_go_back(preimage):
    circles = make_circles(300, factor=0.4, noise=0.02, random_state=0)[0]
    pca = KernelPCA(15, kernel=Gaussian(0.5), preimage=preimage).fit(circles)
    assert np.abs(pca.inverse_transform(pca.transform(circles)) - circles).max() < 0.05
    sparse_pca = KernelPCA(15, kernel=Gaussian(0.5), preimage=preimage).fit(sparse.csr_array(circles))
    np.testing.assert_allclose(sparse_pca.inverse_transform(sparse_pca.transform(circles[:5])), circles[:5], atol=0.05)


def test_preimages_clean_noisy_digits_better_than_linear_components():
    digits = np.random.default_rng(0).permutation(load_digits().data / 16.0)
    train, clean = digits[:1000], digits[1000:1200]
    pca = KernelPCA(32).fit(train)  # one setting for all methods and levels of noise

    def errors(noise):
        noisy = clean + noise * np.random.default_rng(1).normal(size=clean.shape)

        def error(model):
            return np.mean((model.inverse_transform(model.transform(noisy)) - clean) ** 2)

        best_linear = min(error(PCA(k).fit(train)) for k in range(2, 41, 2))
        return best_linear, {method: error(pca.set_params(preimage=method)) for method in PREIMAGES}

    best_linear, found = errors(0.25)
    assert max(found.values()) < best_linear
    assert found["auto"] < 0.9 * best_linear
    best_linear, found = errors(0.5)
    assert found["auto"] < 0.7 * best_linear
    # The default is the best for rows like those of the training, too.
    _, found = errors(0.0)
    assert found["auto"] <= 1.01 * found["ridge"] < 0.5 * min(found["fixed_point"], found["distance"])


def test_rows_of_scores_unlike_any_in_training_come_from_a_map_of_noisy_rows():
    circle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    ring = np.column_stack([np.cos(circle), np.sin(circle)])
    pca = KernelPCA(8, kernel=Gaussian(0.5)).fit(ring)
    Z = pca.transform(ring[:50])
    np.testing.assert_array_equal(pca.inverse_transform(Z), pca.set_params(preimage="ridge").inverse_transform(Z))
    far = 3.0 * Z[:10]
    twin = np.random.default_rng(0)
    noise = twin.uniform(0, 1.5 * np.median(pdist(ring)) / np.sqrt(2), size=(200, 1)) * twin.normal(size=(200, 2))
    noisy = RidgePreimages(pca.transform(ring + noise), ring)
    np.testing.assert_allclose(pca.set_params(preimage="auto").inverse_transform(far), noisy(far), atol=1e-6)
    # A kernel that is not a function of the distance has no other method than the learned one.
    pca = KernelPCA(2, kernel=Polynomial(2)).fit(ring)
    np.testing.assert_array_equal(
        pca.inverse_transform(far[:, :2]), pca.set_params(preimage="ridge").inverse_transform(far[:, :2])
    )


def test_preimages_of_frames_and_frames_of_scores():
    frame = pd.DataFrame(TABLE, columns=["a", "b", "c"])
    pca = KernelPCA(10, kernel=Gaussian(2.0)).set_output(transform="pandas").fit(frame)
    plain = KernelPCA(10, kernel=Gaussian(2.0)).fit(TABLE)
    np.testing.assert_allclose(
        pca.inverse_transform(pca.transform(frame)), plain.inverse_transform(plain.transform(TABLE)), atol=1e-8
    )
    by_name = KernelPCA(10, kernel=Gaussian(2.0).on(["a", "b"]), fit_inverse_transform=True).fit(frame)
    by_position = KernelPCA(10, kernel=Gaussian(2.0).on([0, 1])).fit(TABLE)
    Z = by_position.transform(TABLE)
    np.testing.assert_allclose(by_name.inverse_transform(Z), by_position.inverse_transform(Z), atol=1e-8)


def test_preimages_need_two_landmarks_that_differ():
    pca = KernelPCA(1, kernel=Gaussian(1.5), n_landmarks=1, random_state=0).fit(TABLE)
    message = "n_landmarks of KernelPCA must give two rows or more that differ for preimage='auto', got 1 alike; raise"
    with pytest.raises(ValueError, match=message):
        pca.inverse_transform([[0.1]])
    assert np.all(np.isfinite(pca.set_params(preimage="distance").inverse_transform([[0.1]])))


def test_preimages_survive_components_near_rounding():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        pca = KernelPCA(100, kernel=Gaussian(2.0)).fit(TABLE[:, :2])
    inside = rng.uniform(0, 2, size=(20, 2))
    for preimage in PREIMAGES:
        pca.set_params(preimage=preimage)
        assert np.abs(pca.inverse_transform(pca.transform(inside)) - inside).max() < 0.1


@pytest.mark.parametrize("options", [{}, {"eigen_solver": "lanczos", "tol": 1e-14}, {"n_landmarks": 60}], ids=str)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_preimages_of_a_linear_kernel_are_those_of_linear_components(k, options):
    linear = PCA(k).fit(TABLE)
    pca = KernelPCA(k, kernel=Linear(), random_state=0, **options).fit(TABLE)
    for rows in (TABLE, 100.0 + 1e3 * TABLE):  # far outside, too
        expected = linear.inverse_transform(linear.transform(rows))
        scale = np.abs(expected).max()
        np.testing.assert_allclose(pca.inverse_transform(pca.transform(rows)), expected, atol=1e-10 * scale)


@pytest.mark.parametrize("kernel", [3.0 * Linear(), Linear() + 2.0 * Linear(), Linear().on([0, 1, 2])], ids=repr)
def test_what_is_made_of_linear_kernels_is_linear(kernel):
    linear, far = PCA(2).fit(TABLE), 1e3 * TABLE[:10]
    pca = KernelPCA(2, kernel=kernel).fit(TABLE)
    expected = linear.inverse_transform(linear.transform(far))
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(far)), expected, rtol=1e-10, atol=1e-8)
    assert not (kernel + Gaussian()).linear
    assert not (2.0 * Polynomial(2)).linear
    # Without the mean the plane goes through zero.
    plane = KernelPCA(2, kernel=kernel, remove=None).fit(TABLE)
    V = np.linalg.svd(TABLE, full_matrices=False)[2][:2]
    np.testing.assert_allclose(plane.inverse_transform(plane.transform(far)), far @ V.T @ V, rtol=1e-10, atol=1e-8)


def test_maps_learned_in_fit_are_those_learned_on_the_way_back():
    noisy = TABLE + 2.0 * rng.normal(size=TABLE.shape)
    lazy, eager = (KernelPCA(10, fit_inverse_transform=at_once).fit(TABLE) for at_once in (False, True))
    for preimage in ("auto", "ridge"):
        found = [pca.set_params(preimage=preimage).inverse_transform(pca.transform(noisy)) for pca in (lazy, eager)]
        np.testing.assert_array_equal(*found)
    with pytest.raises(ValueError, match="fit_inverse_transform of KernelPCA must be False for objects that are not"):
        KernelPCA(2, kernel=Precomputed(), fit_inverse_transform=True).fit(TABLE @ TABLE.T)
    assert not hasattr(lazy.fit(TABLE), "_learned")
