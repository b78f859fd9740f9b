"""Critics that bound mutual information: a concave program with a certificate."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelCritic
from mercer.information import infonce
from mercer.information.critics import _SLOPES
from mercer.kernels import Gaussian, Linear, WeightedDegree

OBJECTIVES = ["infonce", "nwj", "donsker_varadhan"]


def pairs(n, rho, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1))
    return x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=(n, 1))


@parametrize_with_checks([KernelCritic(rank=5, penalty=0.1)])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("rho", "value", "information"), [(0.5, 0.132, 0.1438), (0.8, 0.487, 0.5108), (0.95, 1.113, 1.164)]
)
def test_bounds_of_bivariate_normals_are_near_those_of_the_exact_critic(rho, value, information):
    critic = KernelCritic(rank=12, random_state=0).fit(*pairs(2048, rho))
    bound = critic.bound(*pairs(19_200, rho, seed=1))
    assert abs(bound.value - value) < 0.02
    assert bound.value < information + 3 * bound.standard_error
    assert bound.ceiling == np.log(64)
    assert bound.n == 19_200
    assert critic.score(*pairs(19_200, rho, seed=1)) == bound.value


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_slopes_are_differences(objective):
    t = np.random.default_rng(0).normal(size=(2, 4, 4))
    slopes = _SLOPES[objective](t)[1]
    for place in [(0, 0, 0), (1, 2, 3), (1, 3, 3)]:
        step = np.zeros_like(t)
        step[place] = 1e-5
        difference = (_SLOPES[objective](t + step)[0] - _SLOPES[objective](t - step)[0]) / 2e-5
        assert slopes[place] == pytest.approx(difference, abs=1e-8)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_two_starts_have_one_optimum_and_the_certificate_holds(objective):
    X, Y = pairs(300, 0.8)
    settings = {"rank": 6, "penalty": 1e-2, "objective": objective, "random_state": 0}
    best = KernelCritic(tol=1e-10, **settings).fit(X, Y)
    again = KernelCritic(tol=1e-10, warm_start=True, **settings).fit(X, Y)
    again.coef_ = np.random.default_rng(1).normal(size=again.coef_.shape)
    again.fit(X, Y)
    assert again.n_iter_ > 1
    np.testing.assert_allclose(again.coef_, best.coef_, atol=1e-3)
    assert again.objective_ == pytest.approx(best.objective_, abs=2e-10)
    for max_iter in (1, 3, 6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            early = KernelCritic(tol=1e-10, max_iter=max_iter, **settings).fit(X, Y)
        assert 0 <= best.objective_ - early.objective_ <= early.gap_


def test_pairs_that_are_independent_have_no_information():
    X, Y = pairs(1000, 0.0)
    bound = KernelCritic(rank=10, random_state=0).fit(X[:500], Y[:500]).bound(X[500:], Y[500:])
    assert abs(bound.value) < 4 * bound.standard_error + 1e-3


def test_dependence_without_correlation_is_found():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 1))
    y = x**2 + 0.3 * rng.normal(size=(1000, 1))
    bound = KernelCritic(rank=20, random_state=0).fit(x[:600], y[:600]).bound(x[600:], y[600:])
    assert bound.value > 0.5
    linear = KernelCritic(Linear(), random_state=0).fit(x[:600], y[:600]).bound(x[600:], y[600:])
    assert linear.value < 0.2


def test_values_are_those_that_the_bound_is_made_of():
    X, Y = pairs(64, 0.9)
    critic = KernelCritic(rank=5, penalty=1e-2, random_state=0).fit(*pairs(300, 0.9, seed=1))
    values = critic.values(X, Y)
    assert values.shape == (64, 64)
    assert infonce(values).value == pytest.approx(critic.bound(X, Y).value, rel=1e-10)


def test_a_bound_near_its_ceiling_gives_a_warning():
    x = np.random.default_rng(0).uniform(size=(400, 1))
    critic = KernelCritic(Gaussian(0.05), rank=40, batch_size=8, random_state=0).fit(x[:300], x[:300])
    with pytest.warns(UserWarning, match="near its ceiling, 2.08: .* raise batch_size of KernelCritic"):
        critic.bound(x[300:], x[300:])
    assert critic.score(x[300:], x[300:]) > 1.0


def test_fewer_rows_than_a_batch_are_one_batch():
    critic = KernelCritic(rank=3, penalty=0.1, batch_size=1000, random_state=0).fit(*pairs(50, 0.5))
    bound = critic.bound(*pairs(20, 0.5))
    assert (bound.n, bound.ceiling) == (20, np.log(20))
    assert critic.bound(*pairs(1, 0.5)).value == 0.0
    assert KernelCritic(rank=2, random_state=0).fit(*pairs(2, 0.5)).penalty_ == 1.0


def test_objects_of_any_kind():
    rng = np.random.default_rng(0)
    words = ["".join(word) for word in rng.choice(list("ab"), size=(300, 5))]
    counts = np.array([word.count("a") for word in words]) + 0.1 * rng.normal(size=300)
    critic = KernelCritic((WeightedDegree(1), None), rank=20, random_state=0).fit(words[:200], counts[:200])
    assert critic.bound(words[200:], counts[200:]).value > 0.4


def test_callback_ends_a_fit_and_warm_start_goes_on():
    X, Y = pairs(200, 0.8)
    seen = []
    settings = {"rank": 6, "penalty": 1e-3, "random_state": 0, "tol": 1e-8}
    critic = KernelCritic(callback=lambda i, value: seen.append(value) or i == 3, **settings).fit(X, Y)
    assert (critic.status_, critic.n_iter_) == ("interrupted", 3)
    assert seen == critic.history_[1:]
    reached = critic.history_[-1]
    critic.set_params(callback=None, warm_start=True).fit(X, Y)
    assert critic.status_ == "optimal"
    assert critic.history_[0] == pytest.approx(reached, rel=1e-12)
    assert critic.fit(X, Y).n_iter_ == 0


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"objective": "mine"}, ValueError, "objective of KernelCritic must be one of"),
        ({"penalty": 0.0}, ValueError, 'penalty of KernelCritic must be "auto" or a number > 0'),
        ({"penalty": "best"}, ValueError, 'penalty of KernelCritic must be "auto" or a number > 0'),
        ({"batch_size": 1}, ValueError, "batch_size of KernelCritic must be a whole number >= 2"),
        ({"rank": 0}, ValueError, "rank of KernelCritic must be a whole number >= 1"),
        ({"kernels": "rbf"}, TypeError, "kernels of KernelCritic must be a Kernel, a pair of Kernels or None"),
        ({"tol": 2.0}, ValueError, "tol of KernelCritic must be a number >= 0 and < 1"),
    ],
)
def test_bad_parameters_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        KernelCritic(**parameters).fit(*pairs(20, 0.5))


def test_bad_rows_are_refused():
    X, Y = pairs(20, 0.5)
    with pytest.raises(ValueError, match="KernelCritic requires y to be passed"):
        KernelCritic().fit(X, None)
    with pytest.raises(ValueError, match="Y of KernelCritic must have as many rows as X, 20, got 19"):
        KernelCritic().fit(X, Y[1:])
    with pytest.raises(ValueError, match="NaN"):
        KernelCritic().fit(X, np.where(Y > 1, np.nan, Y))
    critic = KernelCritic(rank=3, penalty=0.1, objective="nwj").fit(X, Y)
    with pytest.raises(ValueError, match="must have 2 rows or more, got 1"):
        critic.bound(X[:1], Y[:1])
