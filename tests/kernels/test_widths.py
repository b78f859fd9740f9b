import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from mercer.kernels import median_distance, widths_for


def test_median_distance_against_scipy():
    X = np.random.default_rng(0).normal(size=(200, 3))
    np.testing.assert_allclose(median_distance(X), np.median(pdist(X)), rtol=1e-12)
    np.testing.assert_allclose(median_distance(sparse.csr_array(X)), np.median(pdist(X)), rtol=1e-12)


def test_coinciding_rows_do_not_count():
    np.testing.assert_allclose(median_distance([[0.0]] * 50 + [[1.0]]), 1.0, rtol=1e-14)
    X = np.random.default_rng(0).normal(size=(30, 2))
    np.testing.assert_allclose(widths_for(np.repeat(X, 3, axis=0), 5), widths_for(X, 5), rtol=1e-12)


def test_widths_span_the_distances_of_the_data():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    widths = widths_for(X, 7)
    assert len(widths) == 7
    np.testing.assert_allclose(np.diff(np.log(widths)), np.log(widths[1] / widths[0]))
    assert widths[0] < 0.1
    assert 10 < widths[-1] < 20
    np.testing.assert_array_equal(widths, widths_for(X, 7))
    np.testing.assert_allclose(widths_for(100 * X, 7), 100 * widths)
    np.testing.assert_array_equal(widths_for(X, 1), [median_distance(X)])


def test_bad_input():
    with pytest.raises(ValueError, match="n of widths_for must be a whole number >= 1, got 0"):
        widths_for([[0.0], [1.0]], 0)
    with pytest.raises(ValueError, match="two distinct rows or more"):
        widths_for([[1.0]], 3)
    with pytest.raises(ValueError, match="contains NaN"):
        median_distance([[np.nan], [1.0]])
