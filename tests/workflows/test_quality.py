from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

from mercer.workflows.map_models import MapModel, coordinates_of, distances_of, images_of
from mercer.workflows.methods import METHODS
from mercer.workflows.quality import (
    HeldOut,
    label_agreement,
    measure,
    neighbourhoods,
    paired_gain,
    places_of,
    shared_neighbours,
)
from mercer.workflows.seen_rows import far_distance


def plane(n=150, d=6, noise=0.05):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, 2))
    X = Z @ rng.normal(size=(2, d)) + noise * rng.normal(size=(n, d))
    return Z, (X - X.mean(axis=0)) / X.std(axis=0)


def test_neighbourhoods_of_perfect_and_random_maps():
    Z, X = plane(noise=0.0)
    assert neighbourhoods(Z, 2.0 * Z) == (1.0, 1.0)
    random = np.random.default_rng(1).normal(size=Z.shape)
    trust, continuity = neighbourhoods(X, random)
    assert abs(trust - 0.5) < 0.1
    assert abs(continuity - 0.5) < 0.1
    assert trust == trustworthiness(X, random, n_neighbors=10)
    assert np.isnan(neighbourhoods(X[:2], Z[:2])).all()


def test_measures_of_principal_components_are_those_by_hand():
    _, X = plane()
    held_out = HeldOut.split(X, [[j] for j in range(6)], seed=0)
    assert set(held_out.training) | set(held_out.test) == set(range(150))
    assert (held_out.hidden.sum(axis=1) == 2).all()
    quality = measure(METHODS["pca"], PCA(2).fit(X), X, held_out, hides=True)
    part, test = PCA(2).fit(X[held_out.training]), X[held_out.test]
    residuals = test - part.inverse_transform(part.transform(test))
    assert quality.reconstruction == pytest.approx((residuals**2).sum() / (test**2).sum())
    np.testing.assert_allclose(quality.column_errors, (residuals**2).sum(axis=0) / (test**2).sum(axis=0))
    np.testing.assert_allclose(quality.log_densities, part.score_samples(test))
    # Least squares on the entries that are seen is what filling by going there and back converges to.
    errors, total = 0.0, 0.0
    for row, hidden in zip(test, held_out.hidden, strict=True):
        z = np.linalg.lstsq(part.components_.T[~hidden], (row - part.mean_)[~hidden], rcond=None)[0]
        guess = part.mean_ + z @ part.components_
        errors, total = errors + ((row - guess)[hidden] ** 2).mean(), total + (row[hidden] ** 2).mean()
    assert quality.hidden_entries == pytest.approx(errors / total, rel=0.5)
    assert quality.hidden_entries < 0.2


def test_groups_of_columns_are_hidden_together():
    X = np.random.default_rng(0).normal(size=(50, 5))
    hidden = HeldOut.split(X, [[0], [1, 2, 3], [4]], seed=0).hidden
    assert (hidden[:, 1] == hidden[:, 2]).all()
    assert (hidden[:, 1] == hidden[:, 3]).all()
    assert (hidden.sum(axis=1) > 0).all()


def test_missing_entries_are_filled_by_the_map():
    _, X = plane(noise=0.01)
    pca = PCA(2).fit(X)
    holes = X.copy()
    holes[::3, 1] = np.nan
    images = images_of(pca, holes, takes_missing=False)
    assert np.abs(images - X)[::3, 1].mean() < 0.2 * np.abs(X[::3, 1]).mean()
    assert distances_of(pca, holes, False).shape == (len(X),)


def test_rows_of_which_nothing_is_known():
    _, X = plane()
    model = MapModel(PCA(2).fit(X), None, "pca", False, 2, far_distance(np.ones(10)))
    X[0] = np.nan
    assert np.isnan(model.coordinates(X)[0]).all()
    assert np.isfinite(model.coordinates(X)[1:]).all()
    assert np.isnan(model.distances(X)[0])
    assert np.isnan(model.coordinates(X[:1])).all()
    assert model.coordinates(X[:1]).shape == (1, 2)
    assert model.far == 1.5
    np.testing.assert_allclose(model.coordinates(X)[1:], coordinates_of(model.estimator, X[1:], False))


def test_label_agreement():
    Z, _ = plane()
    assert label_agreement(Z, np.where(Z[:, 0] > 0, "a", "b"), classes=True) > 0.9
    assert label_agreement(Z, Z[:, 1], classes=False) > 0.9
    assert abs(label_agreement(Z, np.random.default_rng(0).normal(size=len(Z)), classes=False)) < 0.4
    assert np.isnan(label_agreement(Z, np.full(len(Z), "a"), classes=True))


def test_paired_gain():
    gain, error = paired_gain(np.array([2.0, 3.0, np.nan]), np.array([1.0, 1.0, 0.0]))
    assert (gain, error) == (1.5, 0.5)
    assert paired_gain(np.array([1.0]), np.array([0.0])) == (0.0, np.inf)


def test_shared_neighbours_are_counted():
    Z, X = plane(n=300, noise=0.5)
    assert shared_neighbours(Z, 3.0 * Z) == 1.0
    chance = shared_neighbours(X, np.random.default_rng(1).normal(size=Z.shape))
    assert abs(chance - 10 / 299) < 0.02
    # The same by hand.
    nearest = [np.argsort(((rows[:, None] - rows[None]) ** 2).sum(axis=-1), axis=1)[:, 1:11] for rows in (X, Z)]
    shares = [len(set(a) & set(b)) / 10 for a, b in zip(*nearest, strict=True)]
    assert shared_neighbours(X, Z) == pytest.approx(np.mean(shares))
    assert shared_neighbours(X, Z) < trustworthiness(X, Z, n_neighbors=10) - 0.2
    assert np.isnan(shared_neighbours(X[:2], Z[:2]))
    equal = np.zeros((40, 2))
    assert 0.0 <= shared_neighbours(equal, equal) <= 1.0
    assert measure(METHODS["pca"], PCA(2).fit(X), X, HeldOut.split(X, [[0]], 0), hides=False).shared_neighbours > 0.3


class Imputing(PCA):
    """Fills by ones, with a deviation of two."""

    def impute(self, X, return_std=False):
        filled, deviations = np.where(np.isnan(X), 1.0, X), np.where(np.isnan(X), 2.0, 0.0)
        return (filled, deviations) if return_std else filled


class ImputingOnly(Imputing):
    def impute(self, X):
        return Imputing.impute(self, X)


def test_missing_entries_are_filled_by_what_an_estimator_expects():
    _, X = plane()
    X[3, 1], X[4] = np.nan, np.nan
    for kind, has_deviations in ((Imputing, True), (ImputingOnly, False)):
        model = MapModel(kind(2).fit(np.nan_to_num(X)), None, "pca", True, 2)
        filled, deviations = model.filled_with_deviations(X)
        assert filled[3, 1] == model.filled(X)[3, 1] == 1.0
        np.testing.assert_array_equal(filled[:3], X[:3])
        assert np.isnan(filled[4]).all()
        assert (deviations is not None) == has_deviations
        if deviations is not None:
            assert deviations[3, 1] == 2.0
            assert np.isnan(deviations).sum() == X.size - 1
    assert MapModel(Imputing(2).fit(np.nan_to_num(X)), None, "pca", True, 2).filled_with_deviations(X[4:5])[1] is None


def test_guesses_of_hidden_entries_are_those_that_fill_missing_ones():
    _, X = plane()
    held_out = HeldOut.split(X, [[j] for j in range(6)], seed=0)
    method = replace(METHODS["pca"], settled=lambda estimator, rows: Filling(2), takes_missing=True)
    quality = measure(method, Filling(2).fit(X), X, held_out, hides=True)
    test = X[held_out.test]
    errors = [np.mean((row[hidden] - 1.0) ** 2) for row, hidden in zip(test, held_out.hidden, strict=True)]
    np.testing.assert_allclose(quality.hidden_errors, errors)


class Filling(Imputing):
    """Takes missing entries for zeros."""

    def transform(self, X):
        return super().transform(np.nan_to_num(X))


def test_circles_have_no_ends():
    z = np.linspace(-1, 1, 60, endpoint=False)[:, None]
    X = np.hstack([np.cos(np.pi * z), np.sin(np.pi * z)])
    loop = SimpleNamespace(topology_=("circle",))
    assert neighbourhoods(X, z)[1] < 1.0
    assert neighbourhoods(X, places_of(loop, z)) == (1.0, 1.0)
    tube = places_of(SimpleNamespace(topology_=("circle", "interval")), np.hstack([z, z]))
    assert tube.shape == (60, 3)
    # A step is as long around a circle as along an interval.
    assert np.linalg.norm(tube[1, 1:] - tube[0, 1:]) == pytest.approx(tube[1, 0] - tube[0, 0], rel=1e-2)
    np.testing.assert_array_equal(places_of(PCA(), X), X)


def test_many_columns_and_constant_ones_have_densities_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 60))
    held_out = HeldOut.split(X, [[j] for j in range(60)], seed=0)
    quality = measure(METHODS["pca"], PCA(2).fit(X), X, held_out, hides=False)
    part = PCA(2).fit(X[held_out.training])
    np.testing.assert_allclose(quality.log_densities, part.score_samples(X[held_out.test]))
    X[held_out.training, 1:] = 0.0
    assert np.isnan(measure(METHODS["pca"], PCA(2).fit(X), X, held_out, hides=False).log_densities).all()
