import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import capacity
from mercer.kernels import Gaussian, Linear
from mercer.plots import (
    CapacityMapDisplay,
    EntropyNumberDisplay,
    FeatureBoxDisplay,
    HullDisplay,
    PeriodDisplay,
    RateDisplay,
    ShatteringDisplay,
    WaterFillingDisplay,
)

BITS = np.log(2)
X = np.random.default_rng(0).normal(size=(60, 2))


def test_entropy_numbers_fall_and_truncation_is_below_water(labels):
    display = EntropyNumberDisplay.from_kernel(Gaussian(1.0), 2 * np.pi, n_dims=(1, 2), n_samples=50, most_bits=100)
    ax = display.ax_
    assert display.figure_ is ax.figure
    assert labels(ax)[:2] == ["d = 1: water filling", "d = 1: truncated"]
    assert labels(ax)[-2:] == ["ball on 50 points", "one ball"]
    water, truncated, *_ = ax.get_lines()
    values = water.get_ydata()
    assert values[0] == pytest.approx(np.exp(display.spectra["d = 1"].log_trivial))
    assert (np.diff(values) <= 0).all()
    at_truncated = np.interp(truncated.get_xdata(), water.get_xdata(), values)
    assert (truncated.get_ydata() <= at_truncated * 1.02).all()


def test_water_filling_shows_what_is_coded():
    spectrum = capacity.periodic_spectrum(Gaussian(1.0), 2 * np.pi)
    display = WaterFillingDisplay(spectrum=spectrum, log_n=20 * BITS).plot()
    left, right = display.axes_
    filled = capacity.water_filling(spectrum, 20 * BITS)
    below, above = left.containers
    heights = np.array([bar.get_height() for bar in below])
    assert heights.max() == pytest.approx(np.exp(filled.log_level))
    assert sum(bar.get_height() > 0 for bar in above) == filled.n_axes
    assert right.get_legend().get_texts()[0].get_text() == "j* = 7"


def test_thousands_of_equal_eigenvalues_are_not_all_drawn():
    spectrum = capacity.periodic_spectrum(Gaussian(1.0), 2 * np.pi, n_dims=10)
    left, _ = WaterFillingDisplay(spectrum=spectrum, log_n=5000.0).plot(plt.subplots()[1]).axes_
    assert len(left.containers[0]) <= 300


def test_the_best_period_is_where_the_bound_is_least():
    display = PeriodDisplay.from_kernel(Gaussian(1.0), 2.0, log_n=20 * BITS, coefficient_norm=10.0)
    near = display.periods[np.argmin(display.bounds)]
    assert near == pytest.approx(display.best, rel=0.05)
    assert display.bounds.min() == pytest.approx(0.4641, abs=2e-3)
    assert (display.wraps <= display.bounds).all()


def test_map_of_widths_and_dimensions():
    display = CapacityMapDisplay.from_kernels([Gaussian(w) for w in (0.5, 1.0)], [0.5, 1.0], n_dims=(1, 2))
    assert display.log_coverings.shape == (2, 2)
    assert (np.diff(display.log_coverings, axis=0) > 0).all()
    assert (np.diff(display.log_coverings, axis=1) < 0).all()
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["0.5", "1"]
    assert len(display.ax_.texts) == 4
    one = CapacityMapDisplay(widths=np.ones(1), n_dims=np.ones(1, int), log_coverings=np.zeros((1, 1)), epsilon=1.0)
    assert one.plot().ax_.texts[0].get_text() == "0"


def test_rows_are_in_the_box_and_the_box_is_in_the_ellipsoid():
    display = FeatureBoxDisplay.from_sample(Gaussian(1.0), X, components=(1, 2, 3))
    assert (np.abs(display.points) <= display.half_sides * (1 + 1e-12)).all()
    assert np.sum((display.half_sides / display.semi_axes) ** 2) == pytest.approx(1.0)
    assert display.ax_.get_zlabel() == "component 4"
    own = plt.figure().add_subplot(projection="3d")
    assert display.plot(own).ax_ is own


def test_weights_of_linear_programs_are_in_the_hull_of_the_rows():
    display = HullDisplay.from_sample(Gaussian(1.0), X)
    left, right = display.axes_
    assert display.radius == 1.0
    ball, hull = (ax.get_lines()[0].get_xydata() for ax in (left, right))
    np.testing.assert_allclose(np.linalg.norm(ball, axis=1), 1.0)
    assert np.linalg.norm(hull, axis=1).max() <= 1.0
    assert left.get_xlabel() == "component 2"


def test_shattered_points_are_passed_by_all_functions():
    display = ShatteringDisplay.from_points(Gaussian(1.0), [3.0, 0.0, 1.0, 2.0])
    assert display.margin == pytest.approx(0.18956152)
    at_points = np.array([np.interp(display.points, display.grid, curve) for curve in display.values])
    assert len(np.unique(np.sign(at_points), axis=0)) == 16
    assert np.abs(at_points).min() >= display.margin * 0.99
    assert len(display.ax_.get_lines()) == 16 + 3 + 1
    assert len(ShatteringDisplay.from_points(Gaussian(1.0), [0.0]).values) == 2


def test_rates(labels):
    maps = capacity.ManifoldClass(capacity.periodic_spectrum(Gaussian(0.5), 4.5), n_outputs=2)
    display = RateDisplay.from_classes({"narrow": maps}, radius=1.0, sizes=[1000, 10**5, 10**6])
    assert display.values["narrow"][1] == capacity.manifold_excess(maps, 10**5, radius=1.0).value
    assert -0.5 < display.slopes["narrow"] < -0.4
    assert labels(display.ax_) == [f"narrow, slope {display.slopes['narrow']:.2f}", "vacuous above"]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="components of FeatureBoxDisplay must be three below 2"):
        FeatureBoxDisplay.from_sample(Linear(), X)
    with pytest.raises(ValueError, match="components of HullDisplay must be below 2"):
        HullDisplay.from_sample(Linear(), X)
    display = FeatureBoxDisplay.from_sample(Gaussian(1.0), X)
    with pytest.raises(ValueError, match="ax of FeatureBoxDisplay must have projection='3d'"):
        display.plot(plt.subplots()[1])
    with pytest.raises(ValueError, match="K of shattering_functions must be regular"):
        ShatteringDisplay.from_points(Gaussian(1.0), [0.0, 0.0])
