"""Seed 002, sections 1 and 2: Example 4, digits 1, 2 and 3 on the second and third eigenvector."""

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering as PeerClustering
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier

from mercer import DiffusionMap, LaplacianEigenmaps, SpectralClustering

digits, names = load_digits(return_X_y=True)
chosen = np.isin(names, [1, 2, 3])
X, y = digits[chosen], names[chosen]


@pytest.mark.parametrize("width", [None, "auto", "local"])
@pytest.mark.parametrize("estimator", [LaplacianEigenmaps, DiffusionMap])
def test_second_and_third_eigenvector_separate_the_digits(estimator, width):
    Z = estimator(2, width=width).fit_transform(X)
    assert cross_val_score(KNeighborsClassifier(1), Z, y, cv=5).mean() > 0.95


def test_digits_that_were_not_in_the_graph_are_separated_too():
    train, test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    maps = LaplacianEigenmaps(2).fit(train)
    classifier = KNeighborsClassifier(1).fit(maps.embedding_, y_train)
    assert classifier.score(maps.transform(test), y_test) > 0.95


def test_clusters_are_the_digits():
    ours = SpectralClustering(3, random_state=0).fit_predict(X)
    theirs = PeerClustering(3, affinity="nearest_neighbors", random_state=0).fit_predict(X)
    assert adjusted_rand_score(y, ours) > max(0.8, adjusted_rand_score(y, theirs))
