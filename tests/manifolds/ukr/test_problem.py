import numpy as np
import pytest
from scipy.integrate import quad

from mercer.kernels import L1, Gaussian, Linear
from mercer.manifolds.ukr import gaussian, quartic
from mercer.manifolds.ukr.density_kernels import DENSITY_KERNELS
from mercer.manifolds.ukr.problem import LatentProblem
from mercer.manifolds.ukr.targets import data_targets, feature_targets

N = 60
CYLINDER = np.array([np.nan, 5.0])
TORUS = np.array([4.0, 6.0])
PERIODS = [None, CYLINDER, TORUS]


def rows(seed=0):
    """A noisy sheet, and latent points near it: 4 of them far away."""
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-2.0, 2.0, size=(N, 2))
    Y = np.column_stack([np.sin(Z[:, 0]), np.cos(Z[:, 1]), Z[:, 0] * Z[:, 1]]) + 0.3 * rng.normal(size=(N, 3))
    Z[:4] += [[9.0, 0.0], [-9.0, 0.0], [16.0, 0.0], [0.0, 9.0]]
    return Y, Z


def with_gaps(Y):
    Y = Y.copy()
    Y[np.random.default_rng(1).random(Y.shape) < 0.2] = np.nan
    return Y


TARGETS = {
    "data": data_targets,
    "missing": lambda Y: data_targets(with_gaps(Y)),
    "linear": lambda Y: feature_targets(Linear()(Y)),
    "gaussian": lambda Y: feature_targets(Gaussian(1.0)(Y)),
    "l1": lambda Y: feature_targets(L1()(Y)),
    "wide": lambda Y: data_targets(np.hstack([Y, np.random.default_rng(2).normal(size=(N, 40))])),
}


def explicit_error(Y, Z, s, kernel, n_excluded=0, periods=None):
    """Leave-one-out and leave-neighbours-out, from the definition."""
    others = [r for r in range(len(Z)) if r != s]
    square = dict.fromkeys(others, 0.0)
    for r in others:
        for a in range(Z.shape[1]):
            difference = Z[r, a] - Z[s, a]
            if periods is not None and np.isfinite(periods[a]):
                radius = periods[a] / (2 * np.pi)
                square[r] += 2 * radius**2 * (1 - np.cos(difference / radius))
            else:
                square[r] += difference**2
    left = sorted(others, key=square.get)[n_excluded:]
    k = {r: np.exp(-square[r] / 2) if kernel == "gaussian" else max(0.0, 1 - square[r]) ** 2 for r in left}
    total = sum(k.values())
    f = Y[left[0]] if total == 0 else sum(k[r] * Y[r] for r in left) / total
    return np.sum((Y[s] - f) ** 2)


@pytest.mark.parametrize("periods", PERIODS)
@pytest.mark.parametrize("n_excluded", [0, 4])
@pytest.mark.parametrize("kernel", DENSITY_KERNELS)
def test_value_is_the_explicit_loop(kernel, n_excluded, periods):
    Y, Z = rows()
    objective = LatentProblem(data_targets(Y), kernel, n_excluded, periods)
    expected = [explicit_error(Y, Z, s, kernel, n_excluded, periods) for s in range(N)]
    np.testing.assert_allclose(objective.errors(Z), expected, rtol=1e-9)
    assert objective.value(Z) == pytest.approx(np.mean(expected), rel=1e-10)
    assert objective.value_and_gradient(Z)[0] == pytest.approx(np.mean(expected), rel=1e-10)


@pytest.mark.parametrize("kernel", DENSITY_KERNELS)
def test_leave_one_out_is_a_penalty_on_the_density(kernel):
    """Equations 11 and 12: (p / p without s)² times the error with s."""
    Y, Z = rows()
    Z = Z[4:]
    objective = LatentProblem(data_targets(Y[4:]), kernel)
    densities = objective.density(Z, Z) * len(Z) * objective.density.integral(2)  # K(0) = 1
    penalties = (densities / (densities - 1.0)) ** 2
    fitted = objective.targets.errors(objective.density.weights(Z, Z))
    usable = ~objective.isolated(Z)
    assert usable.sum() > 40
    np.testing.assert_allclose(objective.errors(Z)[usable], (penalties * fitted)[usable], rtol=1e-6)


@pytest.mark.parametrize("periods", PERIODS)
@pytest.mark.parametrize("n_excluded", [0, 4])
@pytest.mark.parametrize("kernel", DENSITY_KERNELS)
@pytest.mark.parametrize("kind", TARGETS)
def test_gradient_is_that_of_central_differences(kind, kernel, n_excluded, periods):
    Y, Z = rows()
    objective = LatentProblem(TARGETS[kind](Y), kernel, n_excluded, periods)
    value, gradient = objective.value_and_gradient(Z)
    assert gradient.shape == Z.shape
    rng, h = np.random.default_rng(3), 1e-6
    for _ in range(6):
        step = rng.normal(size=Z.shape)
        numeric = (objective.value(Z + h * step) - objective.value(Z - h * step)) / (2 * h)
        assert np.sum(gradient * step) == pytest.approx(numeric, rel=1e-6, abs=1e-6 * np.abs(gradient).max())
    for s, a in [(0, 0), (10, 0), (10, 1), (33, 1)]:
        step = h * np.outer(np.arange(N) == s, np.arange(2) == a)
        numeric = (objective.value(Z + step) - objective.value(Z - step)) / (2 * h)
        assert gradient[s, a] == pytest.approx(numeric, abs=1e-6 * max(1.0, value))


@pytest.mark.parametrize("q", [1, 3, 5])
@pytest.mark.parametrize("kernel", DENSITY_KERNELS)
def test_other_numbers_of_coordinates(kernel, q):
    Y, _ = rows()
    Z = np.random.default_rng(4).normal(size=(N, q)) * 0.6
    objective = LatentProblem(data_targets(Y), kernel, 2)
    gradient = objective.value_and_gradient(Z)[1]
    expected = [explicit_error(Y, Z, s, kernel, 2) for s in range(N)]
    np.testing.assert_allclose(objective.errors(Z), expected, rtol=1e-9)
    step, h = np.random.default_rng(5).normal(size=Z.shape), 1e-6
    numeric = (objective.value(Z + h * step) - objective.value(Z - h * step)) / (2 * h)
    assert np.sum(gradient * step) == pytest.approx(numeric, rel=1e-6)


@pytest.mark.parametrize("kernel", DENSITY_KERNELS)
def test_points_that_shrink_and_grow(kernel):
    Y, Z = rows()
    objective = LatentProblem(data_targets(Y), kernel)
    means = (Y.sum(axis=0) - Y) / (N - 1)
    for scale in (0.0, 1e-9):
        np.testing.assert_allclose(objective.errors(scale * Z), ((Y - means) ** 2).sum(axis=1), rtol=1e-9)
    nearest = np.array([np.argsort(((Z - z) ** 2).sum(axis=1))[1] for z in Z])
    errors = ((Y - Y[nearest]) ** 2).sum(axis=1)
    value, gradient = objective.value_and_gradient(1e4 * Z)
    np.testing.assert_allclose(objective.errors(1e4 * Z), errors, rtol=1e-9)
    assert value == pytest.approx(errors.mean())
    np.testing.assert_allclose(gradient, 0, atol=1e-12)


@pytest.mark.parametrize("kernel", DENSITY_KERNELS)
def test_collapsed_points_with_excluded_neighbours_count_equally(kernel):
    """All are as near as the last to exclude, so that only the row itself is."""
    Y, Z = rows()
    errors = LatentProblem(data_targets(Y), kernel, 5).errors(0 * Z)
    np.testing.assert_allclose(errors, LatentProblem(data_targets(Y), kernel).errors(0 * Z), rtol=1e-12)


def test_coincident_points_count():
    Z = np.array([[0.0], [0.0], [5.0], [5.0]])
    objective = LatentProblem(data_targets([[0.0], [1.0], [5.0], [7.0]]), "quartic")
    np.testing.assert_allclose(objective.errors(Z), [1, 1, 4, 4], rtol=1e-12)
    assert not objective.isolated(Z).any()


def test_linear_feature_space_is_data_space():
    Y, Z = rows()
    for kernel in DENSITY_KERNELS:
        data, feature = (LatentProblem(TARGETS[kind](Y), kernel, 3) for kind in ("data", "linear"))
        np.testing.assert_allclose(data.errors(Z), feature.errors(Z), rtol=1e-9)
        gradient = data.value_and_gradient(Z)[1]
        np.testing.assert_allclose(gradient, feature.value_and_gradient(Z)[1], atol=1e-12 * np.abs(gradient).max())


def test_isolated_rows():
    Y, Z = rows()
    isolated = LatentProblem(data_targets(Y), "quartic").isolated(Z)
    assert isolated[:4].all()
    assert isolated.sum() < 10
    assert LatentProblem(data_targets(Y), "quartic", 4).isolated(Z).sum() > isolated.sum()
    assert not LatentProblem(data_targets(Y), "gaussian").isolated(Z).any()


@pytest.mark.parametrize("kernel", DENSITY_KERNELS)
def test_circles_are_periodic(kernel):
    Y, Z = rows()
    objective = LatentProblem(data_targets(Y), kernel, 2, TORUS)
    turned = Z + TORUS * np.random.default_rng(6).integers(-3, 4, size=Z.shape)
    value, gradient = objective.value_and_gradient(Z)
    turned_value, turned_gradient = objective.value_and_gradient(turned)
    assert turned_value == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(turned_gradient, gradient, atol=1e-10)
    np.testing.assert_allclose(objective.density(turned, Z), objective.density(Z, Z), rtol=1e-9)


def test_large_circles_are_intervals():
    Y, Z = rows()
    for kernel in DENSITY_KERNELS:
        straight = LatentProblem(data_targets(Y), kernel, 2)
        round_ = LatentProblem(data_targets(Y), kernel, 2, np.array([1e5, np.inf]))
        assert round_.value(Z) == pytest.approx(straight.value(Z), rel=1e-6)
        np.testing.assert_allclose(round_.density(Z, Z), straight.density(Z, Z), rtol=1e-6)


@pytest.mark.parametrize("kernel", DENSITY_KERNELS)
@pytest.mark.parametrize(
    "periods", [[np.nan], [4.0], [1.0], [np.nan, np.nan], [np.nan, 5.0], [4.0, 7.0]], ids=str
)  # fmt: skip
def test_density_integrates_to_one(kernel, periods):
    q = len(periods)
    objective = LatentProblem(data_targets([[0.0], [1.0]]), kernel, 0, periods)
    ends = [(-period / 2, period / 2) if np.isfinite(period) else (-9.0, 9.0) for period in periods]
    centre = np.zeros((1, q))

    def density(*z):
        return objective.density(np.array([z]), centre)[0]

    if q == 1:
        total = quad(density, *ends[0], points=[-1, 1] if ends[0][1] > 1 else None, epsabs=1e-9)[0]
        assert total == pytest.approx(1.0, rel=1e-7)
    else:
        grid = [np.linspace(*end, 400, endpoint=False) for end in ends]
        Z = np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, 2)
        cell = np.prod([end[1] - end[0] for end in ends]) / len(Z)
        assert objective.density(Z, centre).sum() * cell == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("kernel", DENSITY_KERNELS)
def test_weights_of_new_points(kernel):
    Y, Z = rows()
    objective = LatentProblem(data_targets(Y), kernel, 4, CYLINDER)
    Znew = np.vstack([Z[:5] + 0.1, [[100.0, 0.0]]])
    W = objective.density.weights(Znew, Z)
    W = W if kernel == "gaussian" else W.toarray()
    assert W.shape == (N, 6)
    np.testing.assert_allclose(W.sum(axis=0), 1.0)
    assert W[:, 5].max() > 0.99  # far from all: the nearest
    one = objective.density.weights(Z[7:8], Z)
    values = objective.density(Z[7:8], Z) * N * objective.density.integral(2)
    assert (one if kernel == "gaussian" else one.toarray())[7, 0] == pytest.approx(1 / values[0])  # not excluded


@pytest.mark.parametrize("kernel", DENSITY_KERNELS)
def test_inputs_may_be_single_precision_and_read_only(kernel):
    Y, Z = rows()
    objective = LatentProblem(data_targets(Y), kernel, 3)
    single = Z.astype(np.float32)
    single.setflags(write=False)
    exact = objective.value_and_gradient(single.astype(np.float64))
    value, gradient = objective.value_and_gradient(single)
    assert value == exact[0]
    np.testing.assert_array_equal(gradient, exact[1])
    assert gradient.dtype == np.float64
    fortran = np.asfortranarray(single.astype(np.float64))
    np.testing.assert_array_equal(objective.value_and_gradient(fortran)[1], gradient)
    assert objective.density(single, single).dtype == np.float64


@pytest.mark.parametrize("kernel", DENSITY_KERNELS)
def test_one_thread_or_two(monkeypatch, kernel):
    rng = np.random.default_rng(7)
    Y, Z = rng.normal(size=(1200, 3)), rng.uniform(0, 12, size=(1200, 2))
    results = []
    for n_threads in (1, 2):
        for module in (gaussian, quartic):
            monkeypatch.setattr(module, "allowed_threads", lambda n_threads=n_threads: n_threads)
        results.append(LatentProblem(data_targets(Y), kernel, 2).value_and_gradient(Z))
    assert results[0][0] == results[1][0]
    np.testing.assert_array_equal(results[0][1], results[1][1])


def test_points_may_be_changed_in_place():
    """What is remembered of the latest points is not what the caller holds."""
    Y, Z = rows()
    objective = LatentProblem(data_targets(Y)).evaluator()
    before = objective.value_and_gradient(Z)[0]
    Z *= 0.5
    assert objective.value(Z) != before
    assert objective.value(Z) == LatentProblem(data_targets(Y)).value(Z)
    gradient, errors = objective.value_and_gradient(Z)[1], objective.errors(Z)
    gradient[:], errors[:] = 0, 0
    assert np.abs(objective.value_and_gradient(Z)[1]).max() > 0
    assert objective.errors(Z).min() > 0


def test_bad_input():
    targets = data_targets(rows()[0])
    with pytest.raises(ValueError, match="density_kernel of LatentProblem must be one of"):
        LatentProblem(targets, "triangle")
    with pytest.raises(ValueError, match="n_excluded of LatentProblem must be a whole number >= 0, got -1"):
        LatentProblem(targets, n_excluded=-1)
    with pytest.raises(ValueError, match="n_excluded of LatentProblem must be at most 58 for 60 rows, got 59"):
        LatentProblem(targets, n_excluded=59)
    with pytest.raises(ValueError, match="periods of LatentProblem must be > 0"):
        LatentProblem(targets, periods=[1.0, -2.0])
    with pytest.raises(ValueError, match="Z of LatentDensity must be finite"):
        LatentProblem(targets).value(np.full((N, 2), np.nan))


def test_large_circles_are_like_lines():
    targets = data_targets(np.arange(8.0)[:, None])
    for period in (1e3, 1e4, 1e5, 1e6, 1e9):
        integral = LatentProblem(targets, periods=[period]).density.integral(1)
        assert integral == pytest.approx(np.sqrt(2 * np.pi), rel=1e-4)
