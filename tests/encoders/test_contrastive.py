"""Contrastive features as an eigenproblem."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import ContrastiveFeatures, LaplacianEigenmaps
from mercer.encoders import Jitter, Mask, Shift
from mercer.kernels import Exponential, Gaussian, Linear, Polynomial, WeightedDegree

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))


def recomputed_loss(model, views):
    """-2 E f(x)ᵀf(x⁺) + E (f(x)ᵀf(x'))² over pairs of given views of a row, and over all pairs of views."""
    Z = np.array([model.transform(view) for view in views])
    positive = np.mean([np.sum(Z[:, i].mean(axis=0) ** 2) for i in range(Z.shape[1])])
    flat = Z.reshape(-1, Z.shape[2])
    return -2 * positive + np.mean((flat @ flat.T) ** 2)


@pytest.mark.filterwarnings("ignore:.*components above rounding:UserWarning")
@parametrize_with_checks([ContrastiveFeatures(2), ContrastiveFeatures(2, augment="mask", penalty=0.01, random_state=0)])
def test_estimator_checks(estimator, check):
    check(estimator)


def test_loss_is_minus_the_sum_of_squared_eigenvalues():
    views = [X, X + 0.1 * RNG.normal(size=X.shape), X + 0.2 * RNG.normal(size=X.shape)]
    model = ContrastiveFeatures(
        5, augment=views, penalty=0.0, kernel=Gaussian(1.0), n_landmarks=15, random_state=0
    ).fit(X)
    assert model.loss_ == pytest.approx(-np.sum(model.eigenvalues_**2))
    assert recomputed_loss(model, views) == pytest.approx(model.loss_, abs=1e-10)
    assert (model.eigenvalues_ < 1).all()
    assert (np.diff(model.eigenvalues_) <= 0).all()


def test_it_is_the_laplacian_eigenmap_of_a_finite_augmentation_graph():
    # Views are twelve points; each of 30 rows has three of them. A narrow kernel makes any function of points possible.
    points, n_rows = RNG.normal(size=(12, 2)), 30
    chosen = np.array([RNG.choice(12, 3, replace=False) for _ in range(n_rows)])
    model = ContrastiveFeatures(
        4, augment=[points[chosen[:, v]] for v in range(3)], kernel=Gaussian(0.3), penalty=0.0, n_landmarks=12
    ).fit(np.vstack([points, points[chosen[12:, 0]]]))
    counts = np.zeros((n_rows, 12))
    np.add.at(counts, (np.arange(n_rows)[:, None], chosen), 1.0)
    graph = counts.T @ counts / 9
    eigenmap = LaplacianEigenmaps(4, affinity="precomputed").fit(graph)
    np.testing.assert_allclose(1 - model.eigenvalues_, eigenmap.eigenvalues_, atol=1e-10)
    ours, theirs = model.transform(points), eigenmap.embedding_
    cosines = (
        np.abs(np.einsum("ij,ij->j", ours, theirs)) / np.linalg.norm(ours, axis=0) / np.linalg.norm(theirs, axis=0)
    )
    np.testing.assert_allclose(cosines, 1.0, atol=1e-6)


def test_descents_from_random_starts_reach_the_same_loss():
    views = [X[:30], X[:30] + 0.3 * RNG.normal(size=(30, 2))]
    kernel, points = Polynomial(2), np.vstack(views)
    model = ContrastiveFeatures(2, augment=views, kernel=kernel, penalty=0.0).fit(X[:30])
    F = np.column_stack([points, points**2, points[:, 0] * points[:, 1]])
    F -= F.mean(axis=0)
    C, m = F.T @ F / len(F), (F[:30] + F[30:]) / 2
    positive = m.T @ m / 30

    def loss(flat):
        B = flat.reshape(5, 2)
        G = B.T @ C @ B
        value = -2 * np.sum(B * (positive @ B)) + np.sum(G**2)
        return value, (-4 * positive @ B + 4 * C @ B @ G).ravel()

    for seed in range(5):
        start = np.random.default_rng(seed).normal(size=10)
        assert minimize(loss, start, jac=True, options={"gtol": 1e-9}).fun == pytest.approx(model.loss_, abs=1e-8)


def test_noise_gives_powers_of_the_correlation():
    # x = s + ε: γ_j = (var s / (var s + var ε))^j, by Hermite functions, as for a normal pair.
    rng = np.random.default_rng(1)
    s = rng.normal(size=(40_000, 1))
    view = [s + 0.5 * rng.normal(size=s.shape) for _ in range(2)]
    model = ContrastiveFeatures(3, augment="pairs", kernel=Polynomial(3), penalty=0.0).fit(*view)
    assert (np.abs(model.eigenvalues_ - 0.8 ** np.arange(1, 4)) < [0.01, 0.02, 0.06]).all()


def test_exact_jitter_is_the_limit_of_many_drawn_views():
    noise = 0.3 * X.std(axis=0)
    settings = {"kernel": Gaussian(1.0), "penalty": 1e-2, "random_state": 0}
    exact = ContrastiveFeatures(3, augment=Jitter(0.3), **settings).fit(X)
    drawn = ContrastiveFeatures(
        3, augment=lambda rows, rng: rows + noise * rng.normal(size=rows.shape), n_views=2000, **settings
    ).fit(X)
    np.testing.assert_allclose(exact.eigenvalues_, drawn.eigenvalues_, atol=5e-3)
    one, other = exact.transform(X), drawn.transform(X)
    assert np.abs(np.abs(np.corrcoef(one.T, other.T)[:3, 3:].diagonal()) - 1).max() < 1e-2
    assert exact.penalty_ == 1e-2


def test_few_drawn_views_are_unbiased_and_deterministic():
    settings = {"kernel": Exponential(1.0), "penalty": 1e-1, "n_views": 2}
    values = [ContrastiveFeatures(1, random_state=seed, **settings).fit(X).eigenvalues_ for seed in (0, 0, 1)]
    assert values[0] == values[1] != values[2]
    many = ContrastiveFeatures(1, random_state=0, **{**settings, "n_views": 100}).fit(X).eigenvalues_
    assert values[0] == pytest.approx(many, abs=0.03)


def test_constants_are_no_feature():
    model = ContrastiveFeatures(2, kernel=Polynomial(2, offset=3.0), penalty=1e-6).fit(X)
    assert model.eigenvalues_[0] < 0.999
    np.testing.assert_allclose(model.transform(X).mean(axis=0), 0.0, atol=0.1)


def test_penalty_by_held_out_loss_is_not_the_least():
    noisy = RNG.normal(size=(80, 5))
    model = ContrastiveFeatures(5, augment=Jitter(1.0), kernel=Gaussian(1.0)).fit(noisy)
    loose = ContrastiveFeatures(5, augment=Jitter(1.0), kernel=Gaussian(1.0), penalty=1e-7).fit(noisy)
    assert model.penalty_ > 1e-6
    assert loose.loss_ < model.loss_


def test_width_is_chosen_by_held_out_loss():
    fine = np.column_stack([np.repeat(np.arange(8.0), 10), 8 * RNG.normal(size=80)])
    models = [ContrastiveFeatures(4, augment=Jitter(0.05), kernel=kernel) for kernel in (None, Gaussian(50.0))]
    tried = models[0].fit(fine)
    assert tried.kernel_.width < Gaussian.scaled_to(fine).width * 1.001
    assert tried.loss_ < models[1].fit(fine).loss_


def test_shifted_images():
    images = np.arange(12.0).reshape(2, 6)
    views = list(Shift((2, 3), 1).prepare(images).views(images, 0, None))
    assert len(views) == 9
    np.testing.assert_array_equal(views[4], images)
    np.testing.assert_array_equal(views[1][0], [3.0, 4, 5, 3, 4, 5])
    strokes = np.zeros((30, 25))
    strokes[np.arange(30), RNG.integers(25, size=30)] = 1.0
    model = ContrastiveFeatures(3, augment=Shift((5, 5)), kernel=Gaussian(1.0)).fit(strokes)
    assert model.transform(strokes).shape == (30, 3)


def test_objects_of_any_kind_by_a_function_of_rows():
    words = ["".join(word) for word in np.random.default_rng(0).choice(list("ab"), size=(40, 6))]

    def last_letter(rows, rng):
        return [row[:-1] + str(rng.choice(["a", "b"])) for row in rows]

    model = ContrastiveFeatures(2, augment=last_letter, kernel=WeightedDegree(2), random_state=0).fit(words)
    assert model.transform(words[:3]).shape == (3, 2)
    with pytest.raises(TypeError, match="augment of ContrastiveFeatures must be a function, a list or 'pairs'"):
        ContrastiveFeatures(2, kernel=WeightedDegree(2)).fit(words)


def test_labels_are_ignored_and_few_features_are_all_there_are():
    labels = (X[:, 0] > 0).astype(int)
    one, other = (ContrastiveFeatures(2, random_state=0).fit(X, y).transform(X) for y in (None, labels))
    np.testing.assert_array_equal(one, other)
    with pytest.warns(UserWarning, match="found 2 components above rounding, not the 5 asked for"):
        model = ContrastiveFeatures(5, kernel=Linear()).fit(X)
    assert model.get_feature_names_out().tolist() == ["contrastivefeatures0", "contrastivefeatures1"]


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"augment": "blur"}, ValueError, 'augment of ContrastiveFeatures must be "jitter", "mask", "pairs"'),
        ({"augment": 3}, TypeError, "augment of ContrastiveFeatures must be a word, an object with views"),
        ({"augment": [X]}, ValueError, "must hold two views or more, got 1"),
        ({"augment": [X, X[1:]]}, ValueError, "must have the rows and columns of X"),
        ({"augment": lambda X, rng: X[:, :1]}, ValueError, "must have the rows and columns of X"),
        ({"augment": lambda X, rng: X * np.nan}, ValueError, "views contains NaN"),
        ({"augment": "pairs"}, ValueError, 'y of ContrastiveFeatures must be given with augment="pairs"'),
        ({"augment": Jitter(0.0)}, ValueError, "noise of Jitter must be a number > 0"),
        ({"augment": Mask(1.0)}, ValueError, "share of Mask must be between 0 and 1"),
        ({"augment": Shift((3, 3))}, ValueError, "shape of Shift must be a height and a width with the product 2"),
        ({"augment": Shift((1, 2), 0)}, ValueError, "pixels of Shift must be a whole number >= 1"),
        ({"kernel": "rbf"}, TypeError, "kernel of ContrastiveFeatures must be a Kernel or None"),
        ({"penalty": -1}, ValueError, 'penalty of ContrastiveFeatures must be "auto" or a number >= 0'),
        ({"n_views": 1}, ValueError, "n_views of ContrastiveFeatures must be a whole number >= 2"),
        ({"n_components": 0}, ValueError, "n_components of ContrastiveFeatures must be a whole number >= 1"),
    ],
)
def test_bad_parameters_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        ContrastiveFeatures(**parameters).fit(X)


def test_constant_rows_are_refused():
    with pytest.raises(ValueError, match="X of ContrastiveFeatures must vary"):
        ContrastiveFeatures(1).fit(np.ones((10, 2)))
