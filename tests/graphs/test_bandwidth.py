import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from mercer.graphs import auto_width, bandwidth

rng = np.random.default_rng(0)
X = rng.uniform(size=(300, 2))


def log_sum(X, h):
    return np.log(np.sum(np.exp(-cdist(X, X, "sqeuclidean") / (2 * h**2))))


@pytest.mark.parametrize("rows", [X, np.repeat(X[:50], 4, axis=0), 1e6 + X], ids=["plain", "duplicates", "far"])
def test_slopes_are_derivatives(rows):
    width, curve = auto_width(rows)
    for h, slope in list(zip(*curve, strict=True))[::7]:
        step = 1e-4
        expected = (log_sum(rows, h * np.exp(step)) - log_sum(rows, h * np.exp(-step))) / (2 * step)
        assert slope == pytest.approx(expected, abs=1e-5)
    assert width == curve.widths[np.argmax(curve.slopes)]
    assert curve.slopes[-1] < 0.1


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_largest_slope_is_about_the_dimension(d):
    flat = rng.uniform(size=(1500, d)) @ rng.normal(size=(d, 10))
    assert auto_width(flat)[1].slopes.max() == pytest.approx(d, rel=0.25)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-3, 1e150, 1e300])
def test_the_width_has_the_unit_of_the_rows(scale):
    width, curve = auto_width(X)
    scaled_width, scaled_curve = auto_width(scale * X)
    assert scaled_width == pytest.approx(scale * width, rel=1e-9)
    np.testing.assert_allclose(scaled_curve.slopes, curve.slopes, rtol=1e-6, atol=1e-9)
    beside_a_constant = np.column_stack([np.full(300, 1e5 * scale), scale * X])
    assert auto_width(beside_a_constant)[0] == pytest.approx(scale * width, rel=1e-6)


def test_sparse_rows_and_samples(monkeypatch):
    for stored in (sparse.csr_array, sparse.csc_matrix):
        assert auto_width(stored(X))[0] == pytest.approx(auto_width(X)[0], rel=1e-6)
    monkeypatch.setattr(bandwidth, "_SAMPLE", 200)
    width, curve = auto_width(X)
    np.testing.assert_array_equal(auto_width(X)[1].slopes, curve.slopes)
    assert width == pytest.approx(auto_width(X[:200])[0], rel=0.5)


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1.0, 1e300])
def test_root_mean_square(scale):
    assert bandwidth.root_mean_square(scale * np.array([3.0, 4.0])) == pytest.approx(scale * np.sqrt(12.5))


def test_equal_rows_have_no_width():
    with pytest.raises(ValueError, match="X of auto_width must have two distinct rows or more, got equal rows; give a"):
        auto_width(np.full((10, 3), 0.1))
