"""What holds for every loss."""

import pickle
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from mercer.losses import Logistic, check_loss
from tests.contracts.all_losses import LOSSES, PER_SAMPLE_LOSSES, UNIFORM_LOSSES, name_of

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=name_of)
every_uniform_loss = pytest.mark.parametrize("loss", UNIFORM_LOSSES, ids=name_of)
every_per_sample_loss = pytest.mark.parametrize("loss", PER_SAMPLE_LOSSES, ids=name_of)


def residuals(seed=0):
    """Three residuals, so that losses with an entry for each of three samples take them too."""
    return np.random.default_rng(seed).normal(size=3)


def elementwise_functions(loss):
    """The methods of a loss that work element by element, each with arguments from inside its domain."""
    low, high = loss.dual_interval
    inside = np.clip(np.array([0.05, 0.08, 0.09]), low, high)
    yield loss.value, residuals()
    yield loss.derivative, residuals()
    yield loss.conjugate, inside
    yield lambda s: loss.conjugate_slope(s, above=True), min(high, 1.0) * inside
    yield lambda s: loss.conjugate_curvature(s, above=True), min(high, 1.0) * inside
    if loss.has_noise_density:
        yield lambda s: loss.conjugate_slope(s, above=False), min(-low, 1.0) * inside
        yield lambda s: loss.conjugate_curvature(s, above=False), min(-low, 1.0) * inside
        yield loss.noise_density, residuals()


@every_loss
def test_keeps_its_promises(loss):
    report = check_loss(loss)
    assert {"convexity", "derivative", "conjugate", "interval", "slope", "curvature", "clone"} <= set(report.errors)
    assert ("density" in report.errors) == loss.has_noise_density


@every_uniform_loss
def test_conjugate_is_the_supremum(loss):
    """Against a numerical maximisation that knows nothing but the values."""
    low, high = np.clip(loss.dual_interval, -1.2, 1.2)
    for a in np.linspace(low, high, 11)[1:-1]:
        found = minimize_scalar(lambda r, a=a: loss.value(r) - a * r, bounds=(-40, 40), options={"xatol": 1e-10})
        at_edges = [a * r - loss.value(r) for r in np.ravel(loss.insensitivity) * [-1, 1]]
        np.testing.assert_allclose(loss.conjugate(a), max(-found.fun, *at_edges), rtol=1e-6, atol=1e-8)


@every_loss
def test_conjugate_is_infinite_outside_its_interval_and_nowhere_else(loss):
    for sign, end in zip((-1.0, 1.0), loss.dual_interval, strict=True):
        if np.isfinite(end):
            assert np.all(np.isfinite(loss.conjugate(end)))
            assert np.all(loss.conjugate(np.nextafter(end, 2 * sign)) == np.inf)
        assert np.all(loss.conjugate(sign * np.inf) == np.inf)


@every_loss
def test_slopes_at_infinity_are_the_ends_of_the_interval(loss):
    low, high = loss.dual_interval
    assert low <= 0 <= high
    for r, end in ((-1e300, low), (1e300, high)):
        slope = loss.derivative(np.full(3, r))
        if np.isfinite(end):
            np.testing.assert_allclose(slope, end, rtol=1e-12)
        else:
            assert np.all(np.abs(slope) > 100)


@every_loss
def test_values_are_never_nan_for_large_residuals(loss):
    for r in (1e300, -1e300, np.inf, -np.inf):
        value, slope = loss.value(np.full(3, r)), loss.derivative(np.full(3, r))
        assert np.all(value >= 0)
        assert not np.any(np.isnan(slope))
        if loss.has_noise_density:
            np.testing.assert_array_equal(loss.noise_density(np.full(3, r)), 0.0)


@every_loss
def test_nan_propagates(loss):
    for function, x in elementwise_functions(loss):
        x = np.array(x)
        x[1] = np.nan
        np.testing.assert_array_equal(np.isnan(function(x)), [False, True, False])


@every_loss
def test_float32_is_kept_and_close_to_float64(loss):
    for function, x in elementwise_functions(loss):
        single = x.astype(np.float32)
        result = function(single)
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, function(single.astype(np.float64)), rtol=1e-5, atol=1e-6)


@every_loss
def test_ends_of_the_interval_in_float32_are_in_it(loss):
    for end in loss.dual_interval:
        if np.isfinite(end):
            assert np.all(np.isfinite(loss.conjugate(np.float32(end))))


@every_loss
def test_integers_lists_and_series_are_taken(loss):
    expected = loss.value(np.array([-2.0, 0.0, 3.0]))
    assert expected.dtype == np.float64
    for r in ([-2, 0, 3], np.array([-2, 0, 3]), pd.Series([-2.0, 0.0, 3.0])):
        np.testing.assert_array_equal(loss.value(r), expected)


@every_loss
def test_results_are_new_arrays(loss):
    for function, x in elementwise_functions(loss):
        before = x.copy()
        result = function(x)
        assert not np.shares_memory(result, x)
        result[...] = -7.0
        np.testing.assert_array_equal(x, before)
        assert not np.any(function(x) == -7.0)


@every_uniform_loss
def test_any_shape_and_scalars(loss):
    r = np.random.default_rng(0).normal(size=(3, 4, 2))
    np.testing.assert_array_equal(loss.value(r).ravel(), loss.value(r.ravel()))
    assert loss.derivative(r).shape == r.shape
    assert np.ndim(loss.value(0.3)) == 0
    assert loss.value(np.empty(0)).shape == (0,)


@every_per_sample_loss
def test_samples_are_on_the_first_axis(loss):
    r = np.random.default_rng(0).normal(size=(3, 4))
    for method in (loss.value, loss.derivative, loss.noise_density):
        columns = np.stack([method(column) for column in r.T], axis=1)
        np.testing.assert_array_equal(method(r), columns)
        with pytest.raises(ValueError, match="epsilon of .* must be one number, or 4, one for each sample, got 3"):
            method(r.T)


@every_per_sample_loss
def test_each_sample_has_its_own_loss(loss):
    r, a = residuals(), np.array([-0.1, 0.1, 0.2])
    pair = loss.epsilon if isinstance(loss.epsilon, tuple) else (loss.epsilon, loss.epsilon)
    below, above = (np.broadcast_to(part, 3) for part in pair)
    for i in range(3):
        alone = clone(loss).set_params(epsilon=(float(below[i]), float(above[i])))
        # Powers of arrays may differ in the last digit from those of numbers: processors have instructions for them.
        same = partial(np.testing.assert_allclose, rtol=1e-15)
        same(loss.value(r)[i], alone.value(r[i]))
        same(loss.conjugate(a)[i], alone.conjugate(a[i]))
        same(loss.conjugate_slope(np.abs(a), above=False)[i], alone.conjugate_slope(abs(a[i]), above=False))
        np.testing.assert_allclose(loss.noise_density(r)[i], alone.noise_density(r[i]))


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if not isinstance(loss, Logistic)], ids=name_of)
def test_flat_where_it_says(loss):
    below, above = loss.insensitivity
    for share in (0.0, 0.3, 1.0):
        for edge in (-share * np.asarray(below), share * np.asarray(above)):
            r = edge * np.ones(3)
            np.testing.assert_array_equal(loss.derivative(r), 0.0)
            np.testing.assert_array_equal(loss.value(r), 0.0)


@every_loss
def test_says_what_solvers_need_to_know_of_its_shape(loss):
    linear = {"EpsilonInsensitive", "Laplace", "Quantile", "Hinge"}
    assert loss.piecewise_linear == (type(loss).__name__ in linear)
    assert loss.quadratic == (repr(loss) == "Squared(epsilon=0.0)")


@every_uniform_loss
def test_density_integrates_to_one(loss):
    if not loss.has_noise_density:
        with pytest.raises(TypeError, match="has no noise density, since exp"):
            loss.noise_density(0.0)
        return
    points = sorted({-loss.insensitivity[0], 0.0, loss.insensitivity[1]})
    edges = [-np.inf, *points, np.inf]
    total = sum(quad(loss.noise_density, low, high)[0] for low, high in pairwise(edges))
    np.testing.assert_allclose(total, 1.0, rtol=1e-7)


@every_loss
def test_slope_of_the_conjugate_gives_the_residual_back(loss):
    """c*' is the inverse of c' where c is strictly convex, and points to the edge of the tube where c is linear."""
    r = np.array([0.02, 0.2, 0.4])
    below, above = loss.insensitivity
    for sign, width in ((1.0, above), (-1.0, below)):
        if sign < 0 and not loss.has_noise_density:
            continue
        inside = sign * (width + r)
        a = loss.derivative(inside)
        back = loss.conjugate_slope(np.abs(a), above=sign > 0)
        reached = loss.value(sign * back) + loss.conjugate(a)
        np.testing.assert_allclose(reached, sign * a * back, rtol=1e-9, atol=1e-12)


@every_loss
def test_clone_pickle_and_parameters(loss):
    r = residuals()
    for copy in (clone(loss), pickle.loads(pickle.dumps(loss))):
        np.testing.assert_array_equal(copy.value(r), loss.value(r))
        assert repr(copy) == repr(loss)
    parameters = loss.get_params(deep=False)
    assert all(type(loss)(**parameters).get_params()[name] is value for name, value in parameters.items())


@every_loss
@pytest.mark.parametrize("bad", [["a", "b", "c"], np.array([1j, 2j, 3j])], ids=["text", "complex"])
def test_what_is_not_a_real_number_is_refused(loss, bad):
    with pytest.raises(ValueError, match="residuals must be real numbers"):
        loss.value(bad)
