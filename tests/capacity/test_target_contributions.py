"""Eigenfunctions, contributions of targets to kernel components, and perturbations of eigenvectors."""

import numpy as np
import pytest
from scipy.optimize import brentq

from mercer import capacity
from mercer.kernels import Exponential, Gaussian, Multiquadric


def normal(x):
    return np.exp(-(x**2) / 2)


@pytest.mark.parametrize("method", ["nystrom", "galerkin"])
def test_gaussian_with_normal_rows(method):
    width = 0.8
    a, b = 0.25, 1 / (2 * width**2)
    A = a + b + np.sqrt(a**2 + 2 * a * b)
    known = np.sqrt(2 * a / A) * (b / A) ** np.arange(12)
    found = capacity.kernel_eigenfunctions(
        Gaussian(width), (-9, 9), density=normal, n_functions=12, method=method, n_nodes=300
    )
    tolerance = 1e-10 if method == "nystrom" else 2e-2
    np.testing.assert_allclose(found.eigenvalues[:8], known[:8], rtol=tolerance)
    if method == "galerkin":
        assert (found.eigenvalues <= known[: len(found.eigenvalues)] * (1 + 1e-10)).all()


@pytest.mark.parametrize("method", ["nystrom", "galerkin"])
def test_exponential_with_uniform_rows(method):
    # On [-1, 1]: λ = rate/(ω² + rate²), where ω tan ω = rate (even) or ω cot ω = -rate (odd).
    rate, roots = 1.5, []
    for k in range(6):
        low, high = k * np.pi / 2 + 1e-9, (k + 1) * np.pi / 2 - 1e-9
        even = lambda w: w * np.sin(w) - rate * np.cos(w)  # noqa: E731
        odd = lambda w: w * np.cos(w) + rate * np.sin(w)  # noqa: E731
        roots.append(brentq(even if k % 2 == 0 else odd, low, high))
    known = rate / (np.array(roots) ** 2 + rate**2)
    found = capacity.kernel_eigenfunctions(Exponential(rate), n_functions=6, n_nodes=600, method=method)
    np.testing.assert_allclose(found.eigenvalues, known, rtol=5e-4)
    assert found.error < 1e-3
    x = np.linspace(-1, 1, 41)
    np.testing.assert_allclose(np.abs(found(x)[:, 0]), np.abs(np.cos(roots[0] * x)) * np.abs(found([0.0])[0, 0]), 5e-3)


@pytest.mark.parametrize("method", ["nystrom", "galerkin"])
def test_eigenfunctions_are_orthonormal_and_sum_to_the_kernel(method):
    kernel = Gaussian(0.6)
    found = capacity.kernel_eigenfunctions(kernel, (0.0, 3.0), density=lambda x: 1 + x, n_functions=40, method=method)
    assert found.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(
        (found.values * found.weights[:, None]).T @ found.values, np.eye(len(found.eigenvalues)), atol=1e-8
    )
    assert found.eigenvalues.sum() == pytest.approx(1.0, abs=1e-9)
    x = np.linspace(0, 3, 25)
    psi = found(x)
    np.testing.assert_allclose((psi * found.eigenvalues) @ psi.T, kernel(x[:, None]), atol=1e-8)
    smooth = found.coefficients(lambda t: kernel(t[:, None], [[1.0]])[:, 0])
    np.testing.assert_allclose(smooth, found.eigenvalues * found([1.0])[0], atol=1e-9)
    assert found.bound == 1.0
    assert capacity.entropy_number(found.spectrum, 0.0) >= 1.0 - 1e-9
    assert (found.values[np.abs(found.values).argmax(axis=0), range(len(found.eigenvalues))] > 0).all()


def test_nystrom_on_a_sample_tends_to_the_eigenvalues():
    X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 1))
    found = capacity.kernel_eigenfunctions(Gaussian(0.5), n_functions=4)
    sample = np.linalg.eigvalsh(Gaussian(0.5)(X))[::-1][:4] / 2000
    np.testing.assert_allclose(sample, found.eigenvalues, atol=0.02)


def expansion(n_functions=14, width=0.7):
    kernel = Gaussian(width)
    return kernel, capacity.kernel_eigenfunctions(kernel, n_functions=n_functions)


def contributions(kernel, X, g):
    vectors = np.linalg.eigh(kernel(X))[1]
    return np.abs(vectors[:, ::-1].T @ g) / np.sqrt(len(X))


@pytest.mark.parametrize("form", ["sharp", "theorem"])
@pytest.mark.parametrize("n_draws", [60, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("coefficients", ["few", "falling"])
def test_contributions_are_bounded_in_simulation(form, coefficients, n_draws):
    kernel, found = expansion(10)
    lam = found.eigenvalues
    alpha = np.zeros(len(lam))
    alpha[:3] = [1.0, -2.0, 3.0]
    if coefficients == "falling":
        alpha = 0.5 ** np.arange(len(lam))
    rng, violated = np.random.default_rng(1), 0
    for _ in range(n_draws):
        X = rng.uniform(-1, 1, size=(60, 1))
        psi = found(X)
        g = psi @ (lam * alpha)
        bound = capacity.contribution_bound(kernel(X), lam, psi, alpha, 0.1, form=form)
        actual = contributions(kernel, X, g)
        violated += bool((actual > bound.values + 1e-12).any())
        chosen = bound.n_terms > 0
        np.testing.assert_allclose((bound.scaling + bound.absolute)[chosen], bound.values[chosen])
        assert np.sum(actual[5:] ** 2) <= bound.tail(5) + 1e-12
    assert violated <= n_draws * 0.1 + 3 * np.sqrt(n_draws * 0.09)


def test_sharp_bounds_are_below_those_of_the_theorem_and_follow_the_eigenvalues():
    kernel, found = expansion()
    X = np.random.default_rng(2).uniform(-1, 1, size=(400, 1))
    alpha = np.zeros(len(found.eigenvalues))
    alpha[:3] = [1.0, -2.0, 0.5]
    arguments = (kernel(X), found.eigenvalues, found(X), alpha, 0.1)
    sharp, theorem = (capacity.contribution_bound(*arguments, form=form) for form in ("sharp", "theorem"))
    assert (sharp.values <= theorem.values * (1 + 1e-9)).all()
    assert sharp.values[10] < 1e-4 * sharp.values[0]
    assert (np.diff(sharp.values[:8]) < 0).all()
    assert sharp.tail(8) < 1e-6 < sharp.tail(0)


def test_what_is_not_in_the_expansion_enters():
    kernel, found = expansion()
    X = np.random.default_rng(2).uniform(-1, 1, size=(100, 1))
    alpha = np.ones(len(found.eigenvalues))
    arguments = (kernel(X), found.eigenvalues, found(X), alpha)
    less, more, surer = (
        capacity.contribution_bound(*arguments, delta, tail_norm=tail, tail_sup=2 * tail)
        for delta, tail in ((0.1, 0.0), (0.1, 0.1), (0.01, 0.1))
    )
    assert (less.values <= more.values).all()
    assert (more.values <= surer.values).all()
    assert (more.absolute[more.n_terms > 0] >= 0.1).all()


def test_few_rows_and_equal_ones_are_vacuous():
    kernel, found = expansion()
    X = np.zeros((5, 1))
    bound = capacity.contribution_bound(kernel(X), found.eigenvalues, found(X), np.ones(len(found.eigenvalues)), 0.1)
    assert np.isfinite(bound.values).all()
    one = capacity.contribution_bound([[1.0]], found.eigenvalues, found([0.3]), np.ones(len(found.eigenvalues)), 0.1)
    assert one.values.shape == (1,)


def test_finite_sample_terms_hold():
    kernel, found = expansion(20)
    n, r, rng, failures = 400, 3, np.random.default_rng(3), 0
    bounds = capacity.truncation_errors(found.eigenvalues, r, n, 0.1, bound=1.0)
    for _ in range(300):
        X = rng.uniform(-1, 1, size=(n, 1))
        psi = found(X)[:, :r] / np.sqrt(n)
        orthogonality = np.linalg.norm(psi.T @ psi - np.eye(r), 2)
        missing = kernel.diag(X).mean() - np.sum(psi**2 * found.eigenvalues[:r])  # the trace bounds the norm
        inverse = 1 / np.linalg.svd(psi, compute_uv=False)[-1]
        failures += orthogonality > bounds.orthogonality or missing > bounds.missing or inverse > bounds.inverse
    assert failures <= 300 * 0.1
    assert capacity.truncation_errors(found.eigenvalues, 8, 50, 0.1, bound=1.0).inverse == np.inf
    large = capacity.truncation_errors(found.eigenvalues, 2, 10**9, 0.1, bound=1.0)
    assert large.inverse == pytest.approx(1.0, abs=1e-2)


def test_tail_sums():
    np.testing.assert_allclose(capacity.tail_sums([1.0, 0.5, 0.25], rest=0.25), [2.0, 1.0, 0.5, 0.25])


def test_eigenvalues_and_eigenvectors_move_less_than_is_allowed():
    rng = np.random.default_rng(4)
    ratios = []
    for _ in range(200):
        A = np.diag([4.0, 2.0, 1.0, 0.5])
        B = np.cov(rng.multivariate_normal(np.zeros(4), A, size=2000).T, bias=True)
        values, vectors = (m[..., ::-1] for m in np.linalg.eigh(B))
        moved = np.abs(values - np.diagonal(A)).max()
        assert moved <= capacity.eigenvalue_bound(A, B) + 1e-12
        ratios.append(moved / capacity.eigenvalue_bound(A, B))
        distance = np.sqrt(np.maximum(2 - 2 * np.abs(np.diagonal(vectors)), 0))
        assert (distance <= capacity.eigenvector_bound(A, B)).all()
        error = np.linalg.norm(A - B, 2)
        for j in range(4):
            others = np.delete(np.diagonal(A), j)
            sine = np.linalg.norm(np.delete(vectors[:, j], j))
            assert sine <= capacity.sin_theta_bound(others, values[j], error) + 1e-12
    assert max(ratios) > 0.9


def test_vacuous_perturbation_bounds():
    np.testing.assert_allclose(capacity.eigenvector_bound(np.eye(2), np.eye(2) + 0.1), np.sqrt(2))
    np.testing.assert_allclose(capacity.eigenvector_bound(np.eye(2), np.eye(2)), np.sqrt(2))
    np.testing.assert_allclose(capacity.eigenvector_bound(np.diag([2.0, 1.0]), np.diag([2.0, 1.0])), 0.0)
    np.testing.assert_allclose(capacity.eigenvector_bound([[3.0]], [[4.0]]), 0.0)
    assert capacity.sin_theta_bound([1.0], 1.0, 0.1) == 1.0


KERNEL, FOUND = expansion(4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: capacity.kernel_eigenfunctions("rbf"), TypeError, "kernel of kernel_eigenfunctions must be positive"),
        (lambda: capacity.kernel_eigenfunctions(Multiquadric()), TypeError, "project the polynomials out"),
        (lambda: capacity.kernel_eigenfunctions(Gaussian(), (1, -1)), ValueError, "must be two increasing finite"),
        (lambda: capacity.kernel_eigenfunctions(Gaussian(), 3), ValueError, "must be two increasing finite"),
        (
            lambda: capacity.kernel_eigenfunctions(Gaussian(), density=lambda x: -x),
            ValueError,
            "must give one number >=",
        ),
        (lambda: capacity.kernel_eigenfunctions(Gaussian(), density=lambda x: 1.0), ValueError, "got shape"),
        (lambda: capacity.kernel_eigenfunctions(Gaussian(), n_nodes=3), ValueError, "n_nodes of kernel_eigenfunctions"),
        (
            lambda: capacity.kernel_eigenfunctions(Gaussian(), method="qr"),
            ValueError,
            "method of kernel_eigenfunctions",
        ),
        (lambda: FOUND.coefficients(lambda x: 1.0), ValueError, "must give one finite number for each point"),
        (lambda: capacity.contribution_bound(np.eye(3), [1.0], np.ones((2, 1)), [1.0], 0.1), ValueError, "one row for"),
        (lambda: capacity.contribution_bound(np.eye(3), [0.0], np.ones((3, 1)), [1.0], 0.1), ValueError, "be positive"),
        (
            lambda: capacity.contribution_bound(np.eye(3), [1.0], np.ones((3, 1)), [1.0], 0),
            ValueError,
            "delta of contri",
        ),
        (
            lambda: capacity.contribution_bound(np.eye(3), [1.0], np.ones((3, 1)), [1.0], 0.1, tail_norm=-1),
            ValueError,
            "tail_norm of contribution_bound must be a number >= 0",
        ),
        (lambda: capacity.truncation_errors([1.0], 2, 10, 0.1, bound=1.0), ValueError, "n_terms of truncation_errors"),
        (lambda: capacity.tail_sums([]), ValueError, "eigenvalues and rest of tail_sums must be finite"),
        (lambda: capacity.eigenvalue_bound(np.eye(2), np.eye(3)), ValueError, "must be finite square matrices of one"),
        (lambda: capacity.eigenvector_bound([[1, 2], [0, 1]], np.eye(2)), ValueError, "must be symmetric"),
        (lambda: capacity.sin_theta_bound([], 1.0, 0.1), ValueError, "eigenvalues of sin_theta_bound must be finite"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
