import numpy as np
import pytest

from mercer.manifolds.ukr.density_kernels import DENSITY_KERNELS, LatentDensity
from mercer.manifolds.ukr.surface import Surface
from mercer.manifolds.ukr.tuning import PASSES, PassTuning

RNG = np.random.default_rng(0)
Z = RNG.uniform(-1.5, 1.5, size=(40, 2))
Y = RNG.normal(size=(40, 3)) + 5.0
NEW = RNG.uniform(-1, 1, size=(15, 2))
HOLES = np.where(RNG.random(Y.shape) < 0.3, np.nan, Y)


def surface(Z, Y, kernel="gaussian", periods=None, tuning=PASSES):
    periods = None if periods is None else np.array(periods)
    return Surface(LatentDensity(DENSITY_KERNELS[kernel], periods), Z, Y, tuning)


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
@pytest.mark.parametrize("period", [None, 4.0])
def test_equals_weighted_means(kernel, period):
    squares = np.sum((NEW[:, None] - Z) ** 2, axis=2)
    if period is not None:
        chords = period / np.pi * np.sin(np.pi * (NEW[:, None, 1] - Z[:, 1]) / period)
        squares = (NEW[:, None, 0] - Z[:, 0]) ** 2 + chords**2
    K = np.exp(-squares / 2) if kernel == "gaussian" else np.maximum(1 - squares, 0.0) ** 2
    periods = None if period is None else [np.inf, period]
    f = surface(Z, Y, kernel, periods)
    np.testing.assert_allclose(f.images(NEW), K @ Y / K.sum(axis=1, keepdims=True), rtol=1e-10)
    np.testing.assert_allclose(np.exp(f.log_density(NEW)), K.mean(axis=1), rtol=1e-10)
    in_blocks = surface(Z, Y, kernel, periods, PassTuning(images=160, sparse_images=4))
    np.testing.assert_array_equal(in_blocks.images(NEW), f.images(NEW))


@pytest.mark.parametrize("kernel", ["gaussian", "quartic"])
def test_missing_entries_leave_out_their_rows(kernel):
    F = surface(Z, HOLES, kernel).images(NEW)
    for c in range(3):
        known = ~np.isnan(HOLES[:, c])
        expected = surface(Z[known], Y[known][:, [c]], kernel).images(NEW)
        np.testing.assert_allclose(F[:, c], expected[:, 0], rtol=1e-10)


def test_means_where_nothing_is_known():
    holes = Y.copy()
    holes[Z[:, 0] < 0.5, 1] = np.nan
    F = surface(Z, holes, "quartic").images(np.array([[-1.4, 0.0]]))
    assert F[0, 1] == pytest.approx(np.nanmean(holes[:, 1]))


def test_far_away_it_is_the_nearest_row():
    for kernel in ("gaussian", "quartic"):
        f, far = surface(Z, Y, kernel), np.array([[1000.0, 0.0]])
        np.testing.assert_allclose(f.images(far)[0], Y[np.argmax(Z[:, 0])], rtol=1e-3)
        assert f.log_density(far)[0] < -100
