import numpy as np
import pytest
from scipy.interpolate import BSpline, make_smoothing_spline
from sklearn.exceptions import NotFittedError

from mercer.manifolds import LocalLinear, SmoothingSpline
from mercer.manifolds.curve.smoothers import _bending

RNG = np.random.default_rng(0)
T = np.sort(RNG.uniform(0, 2, 80))
Y = np.column_stack([np.sin(3 * T), T**2]) + 0.1 * RNG.normal(size=(80, 2))
SMOOTHERS = [SmoothingSpline(), SmoothingSpline(30), LocalLinear(), LocalLinear(0.1)]
every_smoother = pytest.mark.parametrize("smoother", SMOOTHERS, ids=repr)


def matrix(smoother, t):
    """The smoother matrix: what it makes of unit vectors."""
    return smoother.fit(t[:, None], np.eye(len(t))).predict(t[:, None])


@every_smoother
def test_lines_pass_and_columns_do_not_mix(smoother):
    line = np.column_stack([2 * T - 1, 5 - T])
    places = np.linspace(0, 2, 7)[:, None]
    np.testing.assert_allclose(smoother.fit(T[:, None], line).predict(places), [2, -1] * places + [-1, 5], atol=1e-6)
    both = smoother.fit(T[:, None], Y).predict(places)
    alone = smoother.fit(T[:, None], Y[:, 1]).predict(places)
    np.testing.assert_allclose(both[:, 1], alone, atol=1e-10)


@every_smoother
def test_places_may_coincide(smoother):
    t = np.repeat([0.0, 1.0, 2.0, 3.0, 4.0], 10)
    values = smoother.fit(t[:, None], np.repeat(Y[:5], 10, axis=0)).predict(t[:, None])
    assert np.isfinite(values).all()
    alike = smoother.fit(np.zeros((9, 1)), Y[:9]).predict([[0.0]])[0]
    assert np.all((alike >= Y[:9].min(axis=0)) & (alike <= Y[:9].max(axis=0)))


@pytest.mark.parametrize("df", [2.0, 5.0, 8.0, 20.0])
def test_degrees_of_freedom_are_the_trace(df):
    model = SmoothingSpline(df)
    S = matrix(model, T)
    assert np.trace(S) == pytest.approx(df, rel=1e-5)
    assert model.df_ == pytest.approx(df, rel=1e-5)
    np.testing.assert_allclose(S, S.T, atol=1e-8)


def test_spline_equals_that_of_scipy():
    """With knots enough, the smoothing spline with a knot at each row and the same λ."""
    t = np.linspace(0, 1, 60)
    y = np.sin(6 * t) + 0.1 * RNG.normal(size=60)
    model = SmoothingSpline(9.0).fit(t[:, None], y)
    fitted = model.predict(t[:, None])
    best = min(np.abs(make_smoothing_spline(t, y, lam=lam)(t) - fitted).max() for lam in np.geomspace(1e-7, 1e-3, 400))
    assert best < 2e-3


def test_bending_is_the_integral_of_second_derivatives():
    n = 5
    knots = np.arange(-3, n + 4) / n
    s = (np.arange(200_000) + 0.5) / 200_000
    second = BSpline(knots, np.eye(n + 3), 3).derivative(2)(s)
    np.testing.assert_allclose(_bending(n), second.T @ second / len(s), atol=1e-4 * _bending(n).max())


def test_local_lines_equal_weighted_least_squares():
    model = LocalLinear(0.25).fit(T[:, None], Y)
    for place in (0.0, 0.7, 2.0):
        r = np.abs(T - place)
        near = np.argsort(r)[:20]
        weight = (1 - (r[near] / r[near].max()) ** 3) ** 3
        A = np.column_stack([np.ones(20), T[near] - place])
        expected = np.linalg.solve(A.T @ (weight[:, None] * A), A.T @ (weight[:, None] * Y[near]))[0]
        np.testing.assert_allclose(model.predict([[place]])[0], expected, atol=1e-6)


@pytest.mark.parametrize("smoother", [SmoothingSpline(8, period=1.0), LocalLinear(0.2, period=1.0)], ids=repr)
def test_periodic_smoothers_have_no_seam(smoother):
    t = RNG.uniform(0, 1, 400)
    y = np.column_stack([np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)])
    ends = smoother.fit(t[:, None], y).predict([[0.0], [1e-7], [1 - 1e-7], [1.0]])
    np.testing.assert_allclose(ends, np.broadcast_to(ends[0], ends.shape), atol=1e-4)
    shifted = smoother.fit(t[:, None] + 5.25, y).predict([[5.25 + 0.4]])
    np.testing.assert_allclose(shifted, smoother.fit(t[:, None], y).predict([[0.4]]), atol=0.02)


@pytest.mark.parametrize(
    ("smoother", "message"),
    [
        (SmoothingSpline(1.0), "df of SmoothingSpline must be a number >= 2, got 1.0; 2 degrees"),
        (SmoothingSpline(period=-1.0), "period of SmoothingSpline must be a number > 0 or None, got -1.0"),
        (LocalLinear(0.0), "span of LocalLinear must be a share of the rows, > 0 and <= 1, got 0.0"),
        (LocalLinear(2), "span of LocalLinear must be a share"),
    ],
)
def test_bad_parameters_are_refused(smoother, message):
    with pytest.raises(ValueError, match=message):
        smoother.fit(T[:, None], Y)


def test_bad_rows_are_refused():
    with pytest.raises(
        ValueError, match="X of LocalLinear must have one column, got n_features=2; it smooths along one"
    ):
        LocalLinear().fit(Y, Y)
    with pytest.raises(NotFittedError):
        SmoothingSpline().predict(T[:, None])


@pytest.mark.parametrize("n_places", [1, 2, 3])
def test_a_period_with_few_places(n_places):
    t = np.repeat(np.arange(n_places) / n_places, 5)
    y = np.cos(2 * np.pi * t)
    spline = SmoothingSpline(period=1.0).fit(t[:, None], y)
    np.testing.assert_allclose(spline.predict(t[:, None]), y, atol=1e-6)
    assert spline.df_ == pytest.approx(n_places, abs=1e-3)
