import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from mercer import UnsupervisedKernelRegression
from mercer.datasets import make_s_sheet
from mercer.kernels import Linear
from mercer.manifolds.ukr import search
from mercer.manifolds.ukr.density_kernels import DENSITY_KERNELS, LatentDensity
from mercer.manifolds.ukr.settings import automatic_n_excluded
from mercer.manifolds.ukr.structure import common_share, halves_tell, n_excluded_for
from mercer.manifolds.ukr.tuning import Tuning
from tests.manifolds.ukr.tuned import tuned

SHEET, PLACES = make_s_sheet(400, noise=0.1, n_columns=8, random_state=0)
PLACES = [30, 8] * PLACES  # in widths of a kernel that is no wider than the sheet is flat


def patches(n, n_dims=4, n_columns=12, n_classes=5):
    """Classes of four dimensions each, two more than a map has."""
    rng = np.random.default_rng(0)
    axes = rng.normal(size=(n_classes, n_dims, n_columns))
    y, t = rng.integers(n_classes, size=n), rng.uniform(-1, 1, size=(n, n_dims))
    return np.einsum("ij,ijk->ik", t, axes[y]) + 0.05 * rng.normal(size=(n, n_columns)), t


def share(Y, Z, density_kernel="gaussian", periods=None):
    return common_share(Y, Z, LatentDensity(DENSITY_KERNELS[density_kernel], periods))


def model(**options):
    return UnsupervisedKernelRegression(2, **{"init": "isomap-8", "random_state": 0, **options})


def explicit_share(Y, Z):
    """The formula, row by row."""
    products = total = 0.0
    R = np.empty_like(Y)
    for i in range(len(Y)):
        weights = np.exp(-np.sum((Z - Z[i]) ** 2, axis=1) / 2)
        weights[i] = 0
        R[i] = Y[i] - weights @ Y / weights.sum()
    columns = np.random.default_rng(0).permutation(Y.shape[1])
    halves = columns[: Y.shape[1] // 2], columns[Y.shape[1] // 2 :]
    for near, far in (halves, halves[::-1]):
        nearest = NearestNeighbors(n_neighbors=1).fit(Y[:, near]).kneighbors(return_distance=False)[:, 0]
        for i, j in enumerate(nearest):
            products += R[i, far] @ R[j, far]
            total += R[i, far] @ R[i, far]
    return products / total


def test_share_is_that_of_the_formula():
    assert share(SHEET, PLACES) == pytest.approx(explicit_share(SHEET, PLACES), rel=1e-9)
    Y, t = patches(200)
    assert share(Y, 5 * t[:, :2]) == pytest.approx(explicit_share(Y, 5 * t[:, :2]), rel=1e-9)


@pytest.mark.parametrize("noise", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("density_kernel", ["gaussian", "quartic"])
def test_noise_is_not_common(noise, density_kernel):
    Y, places = make_s_sheet(600, noise=noise, n_columns=10, random_state=1)
    scales = np.array([30.0, 8.0]) / (1 if density_kernel == "gaussian" else 3)
    assert share(Y, scales * places, density_kernel) < 0.05


@pytest.mark.parametrize("density_kernel", ["gaussian", "quartic"])
def test_dimensions_that_a_surface_lacks_are_common(density_kernel):
    Y, t = patches(800)
    assert share(Y, 3 * t[:, :2], density_kernel) > 0.3


def test_unit_place_and_columns_that_are_constant_do_not_matter():
    same = np.column_stack([1e3 * SHEET + 1e4, np.full((len(SHEET), 3), 7.0)])
    assert share(same, PLACES) == pytest.approx(share(SHEET, PLACES), rel=1e-6)


def test_equal_rows_count_once():
    twice = share(np.repeat(SHEET, 2, axis=0), np.repeat(PLACES, 2, axis=0))
    assert twice < 0.1  # and not what equal rows have in common


def test_entries_that_are_missing_do_not_count():
    Y, t = patches(500)
    hidden = np.random.default_rng(1).random(Y.shape) < 0.1
    holes = np.where(hidden, np.nan, Y)
    assert 0.1 < share(holes, 3 * t[:, :2]) < 1
    sheet = np.where(np.random.default_rng(1).random(SHEET.shape) < 0.1, np.nan, SHEET)
    assert share(sheet, PLACES) < 0.05
    empty = np.column_stack([SHEET, np.full(len(SHEET), np.nan)])
    assert common_share(empty, PLACES, LatentDensity(DENSITY_KERNELS["gaussian"])) == pytest.approx(
        share(SHEET, PLACES)
    )


def test_circles_and_rows_without_others_in_reach():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 2 * np.pi, size=300)
    Y = np.column_stack([np.cos(t), np.sin(t), np.cos(t), np.sin(t)]) + 0.1 * rng.normal(size=(300, 4))
    assert share(Y, 3 * t[:, None], periods=np.array([6 * np.pi])) < 0.05
    far = 1e3 * np.arange(300.0)[:, None]
    for density_kernel in ("gaussian", "quartic"):
        assert share(Y, far, density_kernel) == 0


def test_too_few_columns_tell_nothing():
    assert [halves_tell(np.zeros((9, d)), 2) for d in (2, 5, 6, 7)] == [False, False, True, True]
    assert share(SHEET[:, :5], PLACES) == 0
    constant = np.column_stack([SHEET[:, :5], np.ones((len(SHEET), 4))])
    assert share(constant, PLACES) == 0


def test_as_many_rows_as_outweigh_what_is_not_common():
    assert [n_excluded_for(share, 12) for share in (-1.0, 0.0, 1 / 13, 0.1, 0.5, 0.7, 1.0, 1.2)] == [
        12, 12, 12, 9, 1, 1, 1, 1,
    ]  # fmt: skip
    assert n_excluded_for(0.9, 1) == n_excluded_for(0.0, 1) == 1


def test_a_surface_with_noise_leaves_out_as_many_as_ever():
    automatic = model().fit(SHEET)
    assert automatic.n_excluded_ == automatic_n_excluded(400, 2) == 5
    np.testing.assert_array_equal(automatic.embedding_, model(n_excluded=5).fit(SHEET).embedding_)


@pytest.mark.parametrize("density_kernel", ["gaussian", "quartic"])
def test_rows_of_more_dimensions_leave_out_few(density_kernel):
    X, _ = patches(500)
    automatic = model(density_kernel=density_kernel, max_iter=500).fit(X)
    assert automatic.n_excluded_ <= 3 < automatic_n_excluded(500, 2)
    given = model(density_kernel=density_kernel, n_excluded=automatic.n_excluded_, max_iter=500).fit(X)
    np.testing.assert_array_equal(automatic.embedding_, given.embedding_)
    assert automatic.candidates_ == given.candidates_


def test_clusters_that_are_noise_inside_leave_out_as_many_as_ever():
    rng = np.random.default_rng(0)
    X = 3 * rng.normal(size=(6, 10))[rng.integers(6, size=300)] + rng.normal(size=(300, 10))
    assert model().fit(X).n_excluded_ == automatic_n_excluded(300, 2)


def test_a_sample_tells_the_share_of_all(monkeypatch):
    X, _ = patches(900)
    monkeypatch.setattr(search, "common_share", lambda *arguments: 1 / 3)
    fitted = tuned(model(max_iter=5, density_kernel="quartic"), start_rows=500, few_rows=500)
    with pytest.warns(UserWarning, match="did not converge"):
        fitted.fit(X)
    # 2 of the sample instead of 5, and of all rows 2/5 of those by their number.
    assert fitted.n_excluded_ == round(2 / 5 * automatic_n_excluded(900, 2, Tuning(few_rows=500)))


@pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning")
def test_warm_starts_go_on_with_the_same_number():
    X, _ = patches(400)
    fitted = model(warm_start=True, max_iter=5).fit(X)
    few = fitted.n_excluded_
    assert few < 5
    assert fitted.fit(X).n_excluded_ == few
    assert fitted.set_params(objective="leave_one_out").fit(X).n_excluded_ == 0
    assert fitted.set_params(objective="auto").fit(X).n_excluded_ == 5


def test_where_there_are_no_columns_the_number_stays(monkeypatch):
    def fail(*arguments):
        raise AssertionError("columns were looked at")

    monkeypatch.setattr(search, "common_share", fail)
    X, _ = patches(60)
    model(feature_kernel=Linear(), init="pca").fit(X)
    model(n_excluded=4).fit(X)
    model(objective="leave_one_out").fit(X)
    model().fit(X[:, :5])


@pytest.mark.parametrize("when", [1, 59])
def test_an_interrupted_descent_leaves_the_number(when):
    fitted = model(callback=lambda n, fit: n == when).fit(patches(400)[0])
    assert (fitted.n_excluded_, fitted.status_, fitted.n_iter_) == (5, "interrupted", 0)


@pytest.mark.parametrize("n", [4, 6, 12])
def test_few_rows(n):
    X, _ = patches(n)
    fitted = UnsupervisedKernelRegression(1, init="pca", random_state=0).fit(X)
    assert 1 <= fitted.n_excluded_ <= automatic_n_excluded(n, 1)
    doubled = UnsupervisedKernelRegression(1, init="pca", random_state=0).fit(np.repeat(X[:3], 4, axis=0))
    assert np.isfinite(doubled.embedding_).all()
