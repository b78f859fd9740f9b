import numpy as np
import pytest

from mercer.relevance import leave_one_out_errors, two_component_nll


def slow_nll(z, d):
    """The formula as it is written."""
    n = len(z)
    return d / n * np.log(np.mean(z[:d] ** 2)) + (n - d) / n * np.log(np.mean(z[d:] ** 2))


def test_likelihood_is_the_formula():
    z = np.random.default_rng(0).normal(size=30) * np.r_[np.full(5, 10.0), np.ones(25)]
    nll = two_component_nll(z)
    np.testing.assert_allclose(nll[1:], [slow_nll(z, d) for d in range(1, 30)], rtol=1e-12)
    assert nll[0] == pytest.approx(np.log(np.mean(z**2)))
    assert nll[1:16].argmin() + 1 == 5


def test_tail_stands_for_the_coefficients_that_are_left_out():
    z = np.random.default_rng(1).normal(size=(40, 3)) * np.linspace(3, 0.1, 40)[:, None]
    short = two_component_nll(z[:12], np.sum(z[12:] ** 2, axis=0), 40)
    np.testing.assert_allclose(short, two_component_nll(z)[:13], rtol=1e-12)
    np.testing.assert_allclose(short, np.mean([two_component_nll(c)[:13] for c in z.T], axis=0), rtol=1e-12)


def test_small_tail_is_not_lost_beside_large_coefficients():
    z = np.r_[1e9, 1e-3 * np.ones(9)]
    assert two_component_nll(z)[1] == pytest.approx(slow_nll(z, 1), rel=1e-12)


def test_labels_without_noise_are_cut_where_they_end():
    z = np.r_[3.0, 2.0, 1.0, np.zeros(17)]
    nll = two_component_nll(z)
    assert np.isfinite(nll).all()
    assert nll.argmin() == 3


@pytest.mark.parametrize("n_targets", [1, 2])
def test_leave_one_out_is_least_squares_without_the_sample(n_targets):
    rng = np.random.default_rng(2)
    U = np.linalg.qr(rng.normal(size=(25, 6)))[0]
    Y = rng.normal(size=(25, n_targets))
    errors = leave_one_out_errors(U, Y)
    for d in range(7):
        left_out = np.empty_like(Y)
        for i in range(25):
            others = np.arange(25) != i
            left_out[i] = Y[i] - U[i, :d] @ np.linalg.lstsq(U[others, :d], Y[others], rcond=None)[0]
        assert errors[d] == pytest.approx(np.mean(left_out**2), rel=1e-10)


def test_a_sample_alone_in_its_direction_is_predicted_as_zero():
    U = np.eye(6)[:, [2, 4]]
    y = np.arange(1.0, 7.0)
    # Without sample 2 nothing is known of its direction: its residual is its label, as with no column at all.
    np.testing.assert_allclose(leave_one_out_errors(U, y), np.mean(y**2))
