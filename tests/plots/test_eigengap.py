import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles

from mercer import SpectralClustering
from mercer.graphs import eigengaps
from mercer.plots import EigengapDisplay

CIRCLES = make_circles(200, factor=0.4, noise=0.03, random_state=0)[0]
MODEL = SpectralClustering(random_state=0).fit(CIRCLES)


def drawn(ax, marker):
    """Positions of the points that are circles, or triangles."""
    size = {"o": 26, "v": 44}[marker]
    points = [c.get_offsets() for c in ax.collections if len(c.get_offsets()) and c.get_sizes()[0] == size]
    return np.concatenate(points) if points else np.empty((0, 2))


def display_of(lam, k):
    return EigengapDisplay(eigenvalues=np.array(lam), gaps=eigengaps(np.array(lam)), n_clusters=k).plot()


def test_eigenvalues_and_gap_of_a_clustering(labels, drawn_clear_of_legend):
    ax = plt.subplots()[1]
    display = EigengapDisplay.from_estimator(MODEL, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert ax.get_yscale() == "log"
    assert display.n_clusters == MODEL.n_clusters_ == 2
    lam = MODEL.eigenvalues_
    np.testing.assert_allclose(drawn(ax, "o"), np.column_stack([np.arange(3, len(lam) + 1), lam[2:]]))
    # Both zeros stand where the gap was computed from.
    gap = eigengaps(MODEL.eigenvalues_)[1]
    floor = lam[2] / np.exp(gap)
    np.testing.assert_allclose(drawn(ax, "v"), [[1, floor], [2, floor]])
    upright = ax.get_lines()[2]
    assert list(upright.get_xdata()) == [2.5, 2.5]
    np.testing.assert_allclose(upright.get_ydata(), [floor, lam[2]])
    assert labels(ax) == [
        "before the gap: 2 clusters",
        "behind it",
        f"less than {floor:.0e}",
        f"gap: {np.exp(gap):.3g} times as large",
    ]
    assert drawn_clear_of_legend(ax)


def test_a_number_that_was_given_has_a_gap_too():
    display = EigengapDisplay.from_estimator(SpectralClustering(3, random_state=0).fit(CIRCLES))
    assert len(display.eigenvalues) == 4
    assert len(display.gaps) == display.n_clusters == 3


def test_eigenvalues_that_all_count_are_circles(labels):
    ax = display_of([0.01, 0.1, 0.2], 1).ax_
    np.testing.assert_allclose(drawn(ax, "o"), [[1, 0.01], [2, 0.1], [3, 0.2]])
    assert len(drawn(ax, "v")) == 0
    assert labels(ax) == ["before the gap: 1 cluster", "behind it", "gap: 10 times as large"]


def test_a_gap_that_is_not_the_largest_stands_beside_the_largest(labels):
    ax = display_of([0.01, 0.1, 0.3], 2).ax_
    assert labels(ax)[-2:] == ["gap: 3 times as large", "largest gap: 10 times as large"]
    assert [line.get_xdata()[0] for line in ax.get_lines()[2::3]] == [2.5, 1.5]


def test_isolated_vertices_have_no_gap_and_are_drawn():
    ax = display_of([0.0, 0.0, 0.0], 1).ax_
    assert np.all(drawn(ax, "v")[:, 1] > 0)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (SpectralClustering(), TypeError, "estimator of EigengapDisplay.*fit a SpectralClustering first"),
        (KMeans(), TypeError, "must be an estimator with eigenvalues_ and n_clusters_"),
        (SpectralClustering, TypeError, "estimator of EigengapDisplay"),
    ],
    ids=["not_fitted", "other", "class"],
)
def test_bad_input_is_refused(model, error, message):
    with pytest.raises(error, match=message):
        EigengapDisplay.from_estimator(model)


def test_a_clustering_without_an_eigenvalue_behind_its_clusters_is_refused():
    model = SpectralClustering(4, affinity="precomputed", random_state=0).fit(np.eye(4))
    with pytest.raises(ValueError, match="more eigenvalues than its 4 clusters, got 4; fit it with fewer clusters"):
        EigengapDisplay.from_estimator(model)
