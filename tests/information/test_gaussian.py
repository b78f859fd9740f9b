"""Information of Gaussian variables in closed form."""

import numpy as np
import pytest

from mercer.information import conditional_entropy, gaussian_mutual_information, infomax

SPECTRUM = np.diag([4.0, 2.0, 1.0, 0.5])
RNG = np.random.default_rng(0)


def random_covariance(n, rng=RNG):
    A = rng.normal(size=(n, n))
    return A @ A.T + 0.1 * np.eye(n)


def log_det(matrix):
    return np.linalg.slogdet(matrix)[1]


@pytest.mark.parametrize(("rho", "information"), [(0.5, 0.1438), (0.8, 0.5108), (0.95, 1.1640), (0.999, 3.1076)])
def test_bivariate_normal(rho, information):
    assert gaussian_mutual_information([[1, rho], [rho, 1]], 1) == pytest.approx(information, abs=5e-5)


def test_mutual_information_is_a_difference_of_entropies_in_any_units():
    cov = random_covariance(5)
    expected = 0.5 * (log_det(cov[:2, :2]) + log_det(cov[2:, 2:]) - log_det(cov))
    assert gaussian_mutual_information(cov, 2) == pytest.approx(expected, rel=1e-10)
    units = np.diag([1e5, 1e-3, 1.0, 1e2, 1e-4])
    assert gaussian_mutual_information(units @ cov @ units, 2) == pytest.approx(expected, rel=1e-5)


def test_constant_columns_tell_nothing_and_copies_everything():
    cov = np.array([[1.0, 0.0, 0.6], [0.0, 0.0, 0.0], [0.6, 0.0, 1.0]])
    assert gaussian_mutual_information(cov, 2) == pytest.approx(-0.5 * np.log(1 - 0.36))
    assert gaussian_mutual_information(np.ones((2, 2)), 1) == np.inf
    assert gaussian_mutual_information(np.zeros((2, 2)), 1) == 0.0


def test_infomax_has_the_published_number_and_no_other_orthonormal_encoder_more():
    components, information = infomax(SPECTRUM, 2, noise_variance=0.5)
    assert information == pytest.approx(1.903331, abs=5e-7)
    np.testing.assert_allclose(components, np.eye(2, 4))
    cov, s2 = random_covariance(4), 0.3
    best = infomax(cov, 2, noise_variance=s2)

    def of_code(W):
        joint = np.block([[cov, cov @ W.T], [W @ cov, W @ cov @ W.T + s2 * np.eye(2)]])
        return gaussian_mutual_information(joint, 4)

    np.testing.assert_allclose(best.components @ best.components.T, np.eye(2), atol=1e-12)
    assert of_code(best.components) == pytest.approx(best.information, rel=1e-10)
    rotated = np.linalg.qr(RNG.normal(size=(2, 2)))[0] @ best.components
    assert of_code(rotated) == pytest.approx(best.information, rel=1e-10)
    for _ in range(20):
        W = np.linalg.qr(RNG.normal(size=(4, 2)))[0].T
        assert of_code(W) < best.information


def test_conditional_entropy_has_the_published_number_and_is_least_for_principal_components():
    assert conditional_entropy(SPECTRUM, np.eye(2, 4)) == pytest.approx(2.491303, abs=5e-7)
    cov = random_covariance(4)
    leading = np.linalg.eigh(cov)[1][:, :1:-1].T
    best = 0.5 * np.sum(np.log(2 * np.pi * np.e * np.linalg.eigvalsh(cov)[:2]))
    assert conditional_entropy(cov, leading) == pytest.approx(best)
    assert conditional_entropy(cov, RNG.normal(size=(2, 2)) @ leading) == pytest.approx(best)
    for _ in range(20):
        assert conditional_entropy(cov, RNG.normal(size=(2, 4))) > best


def test_codes_that_tell_all_or_determine_a_direction():
    assert conditional_entropy(SPECTRUM, np.eye(4)) == 0.0
    assert conditional_entropy(np.ones((2, 2)), [[1.0, 0.0]]) == -np.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaussian_mutual_information(np.eye(3), 3), "n_left of gaussian_mutual_information must be less than"),
        (lambda: gaussian_mutual_information(np.eye(3), 0), "n_left of .* must be a whole number >= 1"),
        (lambda: gaussian_mutual_information(np.ones((2, 3)), 1), "cov of .* must be a symmetric matrix"),
        (lambda: gaussian_mutual_information([[1.0, 2.0], [2.0, 1.0]], 1), "must have no negative eigenvalue"),
        (lambda: gaussian_mutual_information([[1.0, np.nan], [np.nan, 1.0]], 1), "NaN"),
        (lambda: infomax(np.eye(2), 3, noise_variance=1.0), "n_components of infomax must be at most the 2 columns"),
        (lambda: infomax(np.eye(2), 1, noise_variance=0.0), "noise_variance of infomax must be a number > 0"),
        (lambda: conditional_entropy(np.eye(2), [[1.0, 0.0, 0.0]]), "encoder of .* must have the 2 columns of cov"),
        (
            lambda: conditional_entropy(np.eye(2), [[1.0, 1.0], [2.0, 2.0]]),
            "independent rows, got 2 .* rank 1",
        ),
        (lambda: conditional_entropy(np.eye(2), np.ones((3, 2))), "independent rows, got 3 .* rank 1"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
