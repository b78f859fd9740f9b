import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.neighbors import KernelDensity

from mercer.manifolds import GaussianDensity, QuarticDensity
from mercer.manifolds.ukr.scaling import ScaledStart, first_scale, grid_scale, likelihood_width, searched_scale

RNG = np.random.default_rng(0)


def left_out_likelihood(Z, width):
    """By scikit-learn's density, one row after the other."""
    return sum(KernelDensity(bandwidth=width).fit(np.delete(Z, i, axis=0)).score(Z[i : i + 1]) for i in range(len(Z)))


@pytest.mark.parametrize("q", [1, 2, 3])
def test_width_of_the_largest_likelihood(q):
    Z = RNG.normal(size=(60, q)) * 3.0
    found = likelihood_width(Z)
    best = minimize_scalar(lambda h: -left_out_likelihood(Z, h), bounds=(0.2 * found, 5 * found), method="bounded")
    assert found == pytest.approx(best.x, rel=0.02)


def test_width_follows_the_unit():
    Z = RNG.normal(size=(200, 2))
    assert likelihood_width(1000 * Z) == pytest.approx(1000 * likelihood_width(Z), rel=1e-6)


def test_equal_rows_do_not_narrow_it_to_nothing():
    Z = RNG.normal(size=(100, 2))
    assert likelihood_width(np.vstack([Z, Z])) > 0.01
    assert likelihood_width(np.zeros((10, 2))) == 1.0
    rounded = np.vstack([Z, Z * (1 + 1e-15)])
    assert likelihood_width(rounded) == pytest.approx(likelihood_width(np.vstack([Z, Z])), rel=1e-3)


def test_a_sample_tells_the_width_of_many_rows():
    Z = RNG.normal(size=(6000, 1))
    few = likelihood_width(Z[:1000])
    assert likelihood_width(Z) == pytest.approx(few * 6 ** (-1 / 5), rel=0.15)


def test_first_scales():
    box = RNG.uniform(-1, 1, size=(300, 2)) * [1.0, 0.1]
    scales = first_scale(box, GaussianDensity())
    np.testing.assert_allclose(scales[0] * box[:, 0].std(), scales[1] * box[:, 1].std())
    np.testing.assert_allclose(first_scale(box, QuarticDensity()), scales / np.sqrt(8))
    assert np.isfinite(first_scale(np.column_stack([box[:, 0], np.zeros(300)]), GaussianDensity())).all()


def test_grid_then_search():
    def error(scales):
        return 1.0 + np.sum((np.log(scales) - np.log([3.0, 0.2])) ** 2)

    coarse = grid_scale(error, np.ones(2))
    fine = searched_scale(error, coarse)
    assert fine.error <= coarse.error
    np.testing.assert_allclose(fine.scales, [3.0, 0.2], rtol=0.1)
    assert searched_scale(error, ScaledStart(np.array([3.0, 0.2]), 1.0)).error == 1.0


@pytest.mark.parametrize("best", [1e-4, 3.0, 2e3])
def test_the_grid_is_extended_until_the_best_is_inside(best):
    tried = []

    def error(scales):
        tried.append(scales[0])
        return 1.0 + np.log(scales[0] / best) ** 2

    found = grid_scale(error, np.ones(1))
    assert 0.7 < found.scales[0] / best < 1.4
    assert min(tried) < found.scales[0] < max(tried)


@pytest.mark.parametrize("slope", [1e-5, -1e-5])
def test_the_grid_is_not_extended_for_nothing(slope):
    tried = []
    grid_scale(lambda scales: tried.append(1) or 1.0 + slope * np.log(scales[0]), np.ones(1))
    assert len(tried) == 6


def test_no_scale_at_all():
    found = grid_scale(lambda scales: np.inf, np.ones(1))
    assert searched_scale(lambda scales: np.inf, found).error == np.inf


def test_scales_that_isolate_points_are_refused():
    found = grid_scale(lambda scales: np.inf if scales[0] > 1e-3 else 1.0 - scales[0], np.ones(1))
    assert found.scales[0] <= 1e-3
    assert np.isfinite(found.error)
