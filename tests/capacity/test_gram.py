"""Capacity of a sample, shattering and sparse approximation from Gram matrices."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

from mercer import capacity
from mercer.kernels import Gaussian, Linear

LINE = np.linspace(-1, 1, 10)[:, None]
SMALL = Gaussian(0.5)(LINE)


def test_numbers_of_the_specification():
    found = capacity.SampleCapacity.of(SMALL)
    assert found.rademacher(exact=True) == pytest.approx(0.29739524, rel=1e-7)
    assert found.rademacher() == pytest.approx(0.31622777, rel=1e-7)
    assert found.effective_dimension(0.1) == pytest.approx(4.5807558, rel=1e-7)
    assert capacity.shattering_margin(Gaussian(1.0)([[0.0], [1.0], [2.0], [3.0]])) == pytest.approx(
        0.18956152, rel=1e-6
    )


@pytest.mark.parametrize(("n", "width", "C", "expected"), [(40, 1.0, 1.0, 7.976096), (60, 0.7, 10.0, 25.918248)])
def test_effective_dimension_of_the_sunflower(n, width, C, expected):
    i = np.arange(n)
    angle, radius = 2.399963229728653 * i, 2 * np.sqrt((i + 0.5) / n)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    found = capacity.SampleCapacity.of(Gaussian(width)(X))
    assert found.effective_dimension(1 / C) == pytest.approx(expected, abs=5e-7)


def test_rademacher_average_is_between_its_bounds():
    rng = np.random.default_rng(0)
    K = Gaussian(0.8)(rng.normal(size=(12, 2)))
    found = capacity.SampleCapacity.of(K, norm=3.0)
    signs = np.array(list(product([-1, 1], repeat=12)))
    by_hand = 3.0 / 12 * np.mean(np.sqrt(np.einsum("si,ij,sj->s", signs, K, signs)))
    assert found.rademacher(exact=True) == pytest.approx(by_hand)
    assert found.rademacher() / np.sqrt(2) <= by_hand <= found.rademacher()
    values = Gaussian(0.8)(rng.normal(size=(12, 2)), rng.normal(size=(5, 2)))
    hull = 3.0 / 12 * np.mean(np.abs(signs @ values).max(axis=1))
    assert hull <= capacity.hull_rademacher(values, norm=3.0)


@pytest.mark.parametrize("width", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("norm", [1.0, 20.0])
def test_covers_of_a_sample(width, norm):
    K = Gaussian(width)(np.random.default_rng(1).uniform(-1, 1, size=(80, 2)))
    found = capacity.SampleCapacity.of(K, norm=norm)
    for metric in ("max", "mean_square"):
        previous = np.inf
        for epsilon in norm * np.geomspace(1e-3, 2.0, 10):
            value, method, lower = found.log_covering(epsilon, metric)
            assert 0 <= lower <= value <= previous * (1 + 1e-6) + 1e-9
            assert (method == "trivial") == (value == 0)
            previous = value
    assert found.log_covering(0.1 * norm).value <= capacity.ball_log_covering(0.1, 80)
    scaled = capacity.SampleCapacity.of(4 * K, norm=norm / 2).log_covering(0.1 * norm)
    assert scaled.value == pytest.approx(found.log_covering(0.1 * norm).value, rel=1e-6)


def test_random_functions_are_covered():
    """Nearest neighbours of random functions in a greedy packing are as many as the bounds allow."""
    rng = np.random.default_rng(2)
    K = Gaussian(1.5)(rng.uniform(-1, 1, size=(40, 1)))
    found = capacity.SampleCapacity.of(K)
    factor = found.eigenvectors * np.sqrt(found.eigenvalues)
    w = rng.normal(size=(4000, 40))
    values = (w / np.linalg.norm(w, axis=1, keepdims=True)) @ factor.T
    epsilon, centres = 0.15, []
    left = values
    while len(left):
        centres.append(left[0])
        left = left[np.abs(left - left[0]).max(axis=1) > 2 * epsilon]
    # A packing at distance 2ε has no more members than a cover at ε.
    assert np.log(len(centres)) <= found.log_covering(epsilon).value


def test_a_few_rows_that_repeat_are_as_many_as_differ():
    K = Gaussian(0.5)(np.repeat([[0.0], [1.0]], 30, axis=0))
    found = capacity.SampleCapacity.of(K)
    assert found.n_components == 2
    assert found._n_distinct == 2
    assert found.effective_dimension(0.0) == pytest.approx(2.0)
    assert found.log_covering(0.5).value <= capacity.ball_log_covering(0.5, 2)


def test_one_row_and_extreme_scales():
    found = capacity.SampleCapacity.of([[1.0]])
    assert found.rademacher(exact=True) == found.rademacher() == 1.0
    value, _, lower = found.log_covering(0.25)
    assert np.log(4) - 1e-12 <= lower <= value
    for unit in (1e-100, 1e100):
        tiny = capacity.SampleCapacity.of(SMALL * unit**2, norm=1 / unit)
        assert tiny.log_covering(0.1).value == pytest.approx(
            capacity.SampleCapacity.of(SMALL).log_covering(0.1).value, rel=1e-6
        )
    single = capacity.SampleCapacity.of(SMALL.astype(np.float32))
    assert single.effective_dimension(0.1) == pytest.approx(4.5807558, rel=1e-5)


def test_shattering_margins_agree_with_programs():
    rng = np.random.default_rng(3)
    for _ in range(3):
        K = Gaussian(0.9)(rng.normal(size=(5, 2)))
        L = np.linalg.cholesky(K)
        worst = 0.0
        for y in product([-1, 1], repeat=5):
            w = cp.Variable(5)
            program = cp.Problem(cp.Minimize(cp.sum_squares(w)), [cp.multiply(np.array(y), L @ w) >= 1])
            worst = max(worst, program.solve(solver=cp.CLARABEL))
        assert capacity.shattering_margin(K, norm=2.0) == pytest.approx(2 / np.sqrt(worst), rel=1e-6)
        assert capacity.shattering_margin(K) >= np.sqrt(np.linalg.eigvalsh(K)[0] / 5)


def test_shattering_functions_take_all_signs_at_the_margin():
    K = Gaussian(1.0)([[0.0], [1.0], [2.0], [3.0]])
    values = capacity.shattering_functions(K, norm=2.0)
    assert len(np.unique(np.sign(values), axis=0)) == len(values) == 16
    assert np.abs(values).min() == pytest.approx(capacity.shattering_margin(K, norm=2.0))
    norms = np.sqrt(np.sum(values * np.linalg.solve(K, values.T).T, axis=1))
    np.testing.assert_allclose(norms, 2.0)


def test_dependent_points_cannot_be_shattered():
    K = Linear()([[1.0], [2.0]])
    assert capacity.shattering_margin(K) == 0.0
    with pytest.raises(ValueError, match="K of shattering_functions must be regular"):
        capacity.shattering_functions(K)


def draw_terms(rng, K, alpha, cells, n):
    """⌈c n/2⌉ draws in each cell of the cover, and the squared distance of what they make."""
    size, beta, used = np.abs(alpha).sum(), np.zeros(len(alpha)), 0
    for cell in np.unique(cells):
        weight = np.where(cells == cell, np.abs(alpha), 0.0)
        share = weight.sum() / size
        n_draws = int(np.ceil(share * n / 2 * (1 - 1e-12)))
        used += n_draws
        for i in rng.choice(len(alpha), p=weight / weight.sum(), size=n_draws):
            beta[i] += np.sign(alpha[i]) * share * size / n_draws
    assert used <= n
    return (alpha - beta) @ K @ (alpha - beta)


@pytest.mark.parametrize("signs", ["positive", "both"])
def test_few_terms_approximate_as_well_as_is_promised(signs):
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 2, size=(300, 1))
    K = Gaussian(1.0)(X)
    alpha = rng.uniform(size=300) * (1.0 if signs == "positive" else np.sign(rng.normal(size=300)))
    alpha /= np.abs(alpha).sum()
    kernel = Gaussian(1.0)
    for n in (8, 16, 32):
        bound = capacity.sparse_approximation_bound(K, alpha, n)
        coarse = capacity.interval_sparse_approximation_bound(kernel, 2.0, n, signed=signs == "both")
        assert bound <= coarse
        cells = np.floor(X[:, 0] / 2 * (n // 2)) if signs == "positive" else np.floor(X[:, 0] / 2 * (n // 4))
        cells = cells + 1000 * (alpha > 0)
        squares = [draw_terms(rng, K, alpha, cells, n) for _ in range(300)]
        assert np.sqrt(np.mean(squares)) <= coarse
    assert capacity.interval_sparse_approximation_bound(kernel, 2.0, 8) == pytest.approx(0.12402977, rel=1e-6)
    assert capacity.sparse_approximation_bound(K[:5, :5], alpha[:5], 5) == 0.0


def test_the_cells_of_a_sparse_approximation_keep_their_promise():
    from mercer.capacity.sparse import _cell_variances, _nearest_of_farthest

    rng = np.random.default_rng(5)
    K = Gaussian(0.7)(rng.normal(size=(100, 2)))
    weights = rng.dirichlet(np.ones(100))
    cells = _nearest_of_farthest(K, 6)
    by_hand = 0.0
    for cell in np.unique(cells):
        p = np.where(cells == cell, weights, 0.0)
        by_hand += p @ K.diagonal() - p @ K @ p / p.sum()
    variances = _cell_variances(K, weights, 6)
    assert variances[0] == pytest.approx(by_hand)
    assert (np.diff(variances) <= 1e-12).all()
    one = capacity.sparse_approximation_bound(K, weights, 2)
    assert one == pytest.approx(np.sqrt(weights @ K.diagonal() - weights @ K @ weights))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: capacity.SampleCapacity.of(np.ones((2, 3))),
            ValueError,
            "K of SampleCapacity must be a square matrix",
        ),
        (lambda: capacity.SampleCapacity.of(np.empty((0, 0))), ValueError, "must be a square matrix, got shape"),
        (lambda: capacity.SampleCapacity.of([[np.nan]]), ValueError, "K of SampleCapacity must be finite"),
        (lambda: capacity.SampleCapacity.of([[1.0, 2.0], [0.0, 1.0]]), ValueError, "must be symmetric; give kernel"),
        (lambda: capacity.SampleCapacity.of(-np.eye(2)), ValueError, "must have a diagonal >= 0"),
        (
            lambda: capacity.SampleCapacity.of(np.zeros((2, 2))),
            ValueError,
            "must have a diagonal >= 0 that is not zero",
        ),
        (lambda: capacity.SampleCapacity.of([[1, 2], [2, 1]]), ValueError, "no negative eigenvalue, got -1; project"),
        (lambda: capacity.SampleCapacity.of(np.eye(2), norm=-1), ValueError, "norm of SampleCapacity must be"),
        (lambda: capacity.SampleCapacity.of(np.eye(30)).rademacher(exact=True), ValueError, "must be False for more"),
        (lambda: capacity.SampleCapacity.of(np.eye(2)).effective_dimension(-1), ValueError, "penalty of effective_dim"),
        (
            lambda: capacity.SampleCapacity.of(np.eye(2)).log_covering(0),
            ValueError,
            "epsilon of SampleCapacity must be",
        ),
        (lambda: capacity.SampleCapacity.of(np.eye(2)).log_covering(1, "l1"), ValueError, "metric of SampleCapacity"),
        (lambda: capacity.hull_rademacher(np.ones(3)), ValueError, "K of hull_rademacher must be a finite matrix"),
        (lambda: capacity.shattering_margin(np.eye(15)), ValueError, "must have at most 14 rows, got 15"),
        (lambda: capacity.sparse_approximation_bound(np.eye(3), [1.0], 2), ValueError, "must be 3 finite numbers"),
        (
            lambda: capacity.sparse_approximation_bound(np.eye(3), np.ones(3), 1),
            ValueError,
            "n_functions of sparse_app",
        ),
        (
            lambda: capacity.interval_sparse_approximation_bound(Gaussian(), 1.0, 2, signed=True),
            ValueError,
            "must be 4 or more with both signs",
        ),
        (
            lambda: capacity.interval_sparse_approximation_bound(Linear(), 1.0, 4),
            TypeError,
            "must be stationary and positive definite",
        ),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_single_precision_is_no_negative_eigenvalue():
    X = np.random.default_rng(0).normal(size=(400, 2)).astype(np.float32)
    K = Gaussian(1.0)(X)
    assert K.dtype == np.float32
    single, double = capacity.SampleCapacity.of(K), capacity.SampleCapacity.of(Gaussian(1.0)(X.astype(np.float64)))
    assert single.effective_dimension(0.1) == pytest.approx(double.effective_dimension(0.1), rel=1e-3)
    assert single.log_covering(0.1).value == pytest.approx(double.log_covering(0.1).value, rel=0.05)
