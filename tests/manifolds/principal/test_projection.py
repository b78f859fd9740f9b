import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer.manifolds import LatentBasis, LatentSpace, Length, Rows, project
from mercer.manifolds.latent.kernels import default_kernel
from mercer.manifolds.principal.projection_numba import accept_steps, best_local_minima, propose_steps
from mercer.quantizers import AbsoluteCost, SquaredCost
from tests.manifolds.latent.test_maps import BASES, random_map

LINE = LatentSpace(("interval",))


def noisy_rows(f, m=150, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    F = f(rng.uniform(-1, 1, size=(m, f.basis.space.n_dims)))
    return F + noise * F.std() * rng.normal(size=F.shape)


def brute_force(X, f, n):
    """Least squared distance from a grid of n points for each coordinate, in entries that are known."""
    F = f(f.basis.space.grid((n,) * f.basis.space.n_dims))
    if not np.isnan(X).any():
        return cdist(X, F, "sqeuclidean").min(axis=1)
    return np.array([np.nansum((x - F) ** 2, axis=1).min() for x in X])


@pytest.mark.parametrize("name", ["curve", "surface", "ring", "torus", "no product"])
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_as_good_as_brute_force(name, missing):
    f = random_map(BASES[name], d=6)
    X = noisy_rows(f)
    X[:, 1:][np.random.default_rng(2).random((len(X), 5)) < missing] = np.nan
    best = brute_force(X, f, 20_001 if f.basis.space.n_dims == 1 else 251)
    projection = project(Rows(X), f)
    assert np.all(projection.costs <= best + 1e-6 * np.nanvar(X))
    R = np.nan_to_num(X - f(projection.Z))
    np.testing.assert_allclose(np.sum(R**2, axis=1), projection.costs, atol=1e-6 * np.nanvar(X))
    assert not f.basis.space.outside(projection.Z).any()


def test_polylines_too():
    f = random_map(LatentBasis(LINE, Length(), (9,)))
    X = noisy_rows(f)
    assert np.all(project(Rows(X), f).costs <= brute_force(X, f, 80_001) + 1e-6)


def test_absolute_cost():
    f = random_map(BASES["curve"])
    X = noisy_rows(f)
    F = f(LINE.grid((20_001,)))
    best = np.abs(X[:, None] - F).sum(axis=2).min(axis=1)
    smooth = project(Rows(X), f, cost=AbsoluteCost(1e-3))
    rough = project(Rows(X), f, cost=AbsoluteCost(), start=smooth.Z)
    assert np.mean(rough.costs - best) < 0.02 * best.mean()


@pytest.mark.parametrize("cost", [SquaredCost(), AbsoluteCost(0.1)], ids=["squared", "l1"])
def test_never_worse_than_where_it_started(cost):
    f = random_map(BASES["surface"])
    X = noisy_rows(f)
    start = np.random.default_rng(3).uniform(-1, 1, size=(len(X), 2))
    start = project(Rows(X), f, cost=cost, start=start).Z
    for max_steps in (0, 1, 5):
        again = project(Rows(X), f, cost=cost, start=start, n_starts=1, max_steps=max_steps)
        assert np.all(again.costs <= cost.of_residuals(X - f.with_tangents(start)[0]) + 1e-13)


def test_rows_do_not_depend_on_each_other():
    f = random_map(BASES["surface"])
    X = noisy_rows(f, m=700)
    together = project(Rows(X), f)
    alone = project(Rows(X[13:17]), f)
    np.testing.assert_allclose(together.Z[13:17], alone.Z, atol=1e-7)


def test_rows_remember_what_is_missing():
    X = np.array([[1.0, np.nan], [3.0, 4.0]])
    rows = Rows(X)
    np.testing.assert_array_equal(rows.seen, [[1, 0], [1, 1]])
    np.testing.assert_array_equal(rows.residuals(slice(0, 2), np.ones((2, 2))), [[0, 0], [2, 3]])
    assert np.isnan(X[0, 1])


# Plain twins of the compiled functions --------------------------------------------------------------------------------


def plain_minima(distances, reach, neighbours, most):
    found = np.full((len(distances), most), -1)
    for i, row in enumerate(distances):
        lowest = [g for g in range(len(row)) if all(row[o] >= row[g] for o in neighbours[g] if o >= 0)]
        lowest = sorted(lowest, key=lambda g: row[g])[:most]
        kept = [g for g in lowest if g == lowest[0] or row[g] - reach[g] <= row[lowest[0]]]
        found[i, : len(kept)] = kept
    return found


def test_minima_equal_plain_ones():
    rng = np.random.default_rng(0)
    neighbours = LatentSpace(("interval", "circle")).neighbours((5, 6))
    distances, reach = rng.random((40, 30)), 0.2 * rng.random(30)
    found = np.full((40, 4), -1)
    best_local_minima(distances, reach, neighbours, found)
    plain = plain_minima(distances, reach, neighbours, 4)
    for a, b in zip(found, plain, strict=True):
        assert set(a) == set(b)
        assert a[0] == b[0]


def plain_step(T, r, w, z, S, damping, is_circle):
    A, g = (T * w) @ T.T, (T * w) @ r
    regular = np.diag(damping * np.diag(A) + 1e-14 * np.diag(A).max())
    step, held = g, np.zeros(len(z), dtype=bool)
    while True:
        leaves = ~held & ~is_circle & (((z >= 1) & (step > 0)) | ((z <= -1) & (step < 0)))
        if not leaves.any() and step is not g:
            break
        held |= leaves
        block = np.ix_(~held, ~held)
        H = A + S if np.linalg.eigvalsh((A + S + regular)[block]).min(initial=1.0) > 1e-12 else A
        step = np.zeros(len(z))
        step[~held] = np.linalg.solve((H + regular)[block], g[~held])
    end = np.where(is_circle, 0.5, np.where(step > 0, 1 - z, 1 + z))
    length = np.min(end[step != 0] / np.abs(step[step != 0]), initial=1.0)
    candidates = [np.clip(step, -end, end), length * step]
    gains = [2 * candidate @ g - candidate @ H @ candidate for candidate in candidates]
    return candidates[np.argmax(gains)], max(gains)


def test_steps_equal_plain_ones():
    rng = np.random.default_rng(0)
    n, q, d = 60, 3, 5
    T, R, W = rng.normal(size=(n, q, d)), rng.normal(size=(n, d)), rng.random((n, d))
    Z = rng.choice([-1.0, -0.3, 0.9, 1.0], size=(n, q))
    S = rng.normal(size=(n, q, q))
    S = S + S.transpose(0, 2, 1)
    damping, is_circle = 10.0 ** rng.uniform(-6, 2, size=n), np.array([True, False, False])
    steps, gains = np.empty((n, q)), np.empty(n)
    propose_steps(T, R, W, Z, S, damping, is_circle, steps, gains)
    for i in range(n):
        step, gain = plain_step(T[i], R[i], W[i], Z[i], S[i], damping[i], is_circle)
        np.testing.assert_allclose(steps[i], step, atol=1e-8)
        np.testing.assert_allclose(gains[i], gain, atol=1e-8)


@pytest.mark.parametrize("kinds", [("interval", "interval"), ("interval", "circle", "interval")], ids=len)
def test_projections_at_the_ends_of_intervals_are_stationary(kinds):
    """Held coordinates and clipped steps must not end a descent while some step inside the box still leads down."""
    space = LatentSpace(kinds)
    basis = LatentBasis(space, default_kernel(space, np.full(len(kinds), 0.9)), (3, 4, 3)[: len(kinds)])
    n_at_ends = 0
    for seed in range(10):
        f = random_map(basis, d=5, seed=seed)
        X = noisy_rows(f, m=200, noise=0.3, seed=seed)
        Z = project(Rows(X), f).Z
        F, T = f.with_tangents(Z)
        slope = np.einsum("iac,ic->ia", T, X - F)
        inward = np.where(Z >= 1, np.minimum(slope, 0), np.where(Z <= -1, np.maximum(slope, 0), slope))
        slope = np.where(space.is_circle, slope, inward)
        assert np.abs(slope).max() < 1e-4 * np.linalg.norm(T, axis=2).max() * X.std()
        n_at_ends += np.count_nonzero((np.abs(Z) >= 1) & ~space.is_circle)
    assert n_at_ends > 100


def test_curvature_is_learned_by_the_secant_formula():
    rng = np.random.default_rng(0)
    n, q, d = 20, 2, 4
    T, T_moved, R, R_moved = (rng.normal(size=s) for s in ((n, q, d), (n, q, d), (n, d), (n, d)))
    W, steps, better = np.ones((1, d)), rng.normal(size=(n, q)), rng.random(n) < 0.5
    S = np.zeros((n, q, q))
    old_T, old_R = T.copy(), R.copy()
    accept_steps(better, steps, R_moved, T_moved, W, R, T, S)
    y = -np.einsum("iac,ic->ia", T_moved - old_T, R_moved)
    np.testing.assert_allclose(np.einsum("iab,ib->ia", S, steps), y, atol=1e-8)
    np.testing.assert_array_equal(T, np.where(better[:, None, None], T_moved, old_T))
    np.testing.assert_array_equal(R, np.where(better[:, None], R_moved, old_R))


def test_many_coordinates():
    space = LatentSpace(("interval", "circle", "interval"))
    f = random_map(LatentBasis(space, default_kernel(space, np.full(3, 0.9)), (3, 4, 3)), d=5)
    X = noisy_rows(f, m=50, noise=0.05)
    assert np.all(project(Rows(X), f).costs <= brute_force(X, f, 41) + 1e-9)
