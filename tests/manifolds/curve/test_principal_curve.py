import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import PrincipalCurve
from mercer.manifolds import LocalLinear, SmoothingSpline

RNG = np.random.default_rng(0)
ANGLE = RNG.uniform(0, 2 * np.pi, 600)
CIRCLE = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)]) + 0.1 * RNG.normal(size=(600, 2))
PLACE = RNG.uniform(0, np.pi, 400)
ARC = np.column_stack([np.cos(PLACE), np.sin(PLACE), 0.5 * PLACE]) + 0.05 * RNG.normal(size=(400, 3))


@pytest.mark.filterwarnings("ignore:.*still improving:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([PrincipalCurve(n_vertices=50), PrincipalCurve("local_linear", closed=True, n_vertices=50)])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("smoother", ["spline", "local_linear", LocalLinear(0.15), SmoothingSpline(6)], ids=str)
@pytest.mark.parametrize("closed", [False, True])
def test_the_error_never_rises_and_is_what_it_says(smoother, closed):
    curve = PrincipalCurve(smoother, closed=closed, tol=1e-8, max_iter=200).fit(CIRCLE)
    assert np.all(np.diff(curve.history_) <= 0)
    assert curve.history_[-1] == curve.quantization_error_ == pytest.approx(curve.quantization_error(CIRCLE))
    points = curve.inverse_transform(curve.transform(CIRCLE))
    assert np.mean(np.sum((points - CIRCLE) ** 2, axis=1)) == pytest.approx(curve.quantization_error_)
    np.testing.assert_allclose(curve.transform(CIRCLE), curve.embedding_, atol=1e-9)
    np.testing.assert_allclose((curve.embedding_[:, 0] + 1) / 2 * curve.length_, curve.arc_length_, atol=1e-9)
    assert curve.score(CIRCLE) == -curve.quantization_error(CIRCLE)


def test_closed_curve_on_a_noisy_circle():
    curve = PrincipalCurve(closed=True).fit(CIRCLE)
    radius = np.linalg.norm(curve.vertices_, axis=1)
    assert abs(radius.mean() - 1) < 0.02
    assert curve.length_ == pytest.approx(2 * np.pi, rel=0.03)
    z = curve.embedding_[:, 0]
    assert np.all((z >= -1) & (z < 1))
    # No seam: the numbers run around with the angle, wherever they begin.
    turned = np.exp(1j * np.pi * z) * np.exp(-1j * ANGLE)
    other_way = np.exp(1j * np.pi * z) * np.exp(1j * ANGLE)
    assert max(abs(turned.mean()), abs(other_way.mean())) > 0.99
    np.testing.assert_allclose(curve.inverse_transform([[-1.0]]), curve.inverse_transform([[1.0]]), atol=1e-12)
    np.testing.assert_allclose(curve.inverse_transform([[0.3]]), curve.inverse_transform([[4.3]]), atol=1e-9)
    corner = curve.inverse_transform([[-1 - 1e-6], [-1 + 1e-6]])
    assert np.linalg.norm(corner[0] - corner[1]) < 1e-4


def test_wide_spans_shrink_circles():
    """The means over wide stretches lie inside of the bend: .93 to .94 at a span of .3, and less beyond."""
    radii = [
        np.linalg.norm(PrincipalCurve(LocalLinear(span), closed=True).fit(CIRCLE).vertices_, axis=1).mean()
        for span in (0.1, 0.3, 0.5)
    ]
    assert radii[0] > 0.97
    assert radii[1] == pytest.approx(0.94, abs=0.02)
    assert radii[2] < 0.87


def test_an_arc_in_three_dimensions():
    curve = PrincipalCurve().fit(ARC)
    assert abs(spearmanr(curve.embedding_[:, 0], PLACE)[0]) > 0.995
    assert curve.length_ == pytest.approx(np.pi * np.sqrt(1.25), rel=0.05)
    t = np.linspace(0, np.pi, 500)
    truth = np.column_stack([np.cos(t), np.sin(t), 0.5 * t])
    distance = np.linalg.norm(curve.vertices_[:, None] - truth, axis=2).min(axis=1)
    assert np.sqrt(np.mean(distance**2)) < 0.04
    assert curve.embedding_.min() >= -1
    assert curve.embedding_.max() <= 1


def test_equal_steps_of_the_coordinate_are_equal_lengths():
    curve = PrincipalCurve().fit(ARC)
    steps = np.linalg.norm(np.diff(curve.inverse_transform(np.linspace(-1, 1, 400)[:, None]), axis=0), axis=1)
    np.testing.assert_allclose(steps, curve.length_ / 399, rtol=0.01)


def test_a_line_is_the_first_principal_component():
    X = RNG.normal(size=(200, 3)) * [3.0, 1.0, 0.5]
    scores = PCA(1).fit_transform(X)[:, 0]
    curve = PrincipalCurve(LinearRegression()).fit(X)
    assert curve.quantization_error_ == pytest.approx(
        np.mean(np.sum((X - PCA(1).fit(X).inverse_transform(scores[:, None])) ** 2, axis=1))
    )
    assert abs(np.corrcoef(curve.embedding_[:, 0], scores)[0, 1]) == pytest.approx(1.0)
    assert curve.length_ == pytest.approx(np.ptp(scores))
    exact = np.outer(np.linspace(0, 1, 50), [1.0, 2.0]) + np.array([5.0, 0.0])
    assert PrincipalCurve().fit(exact).quantization_error_ < 1e-20


def test_a_good_start_unrolls_a_spiral():
    t = np.linspace(0, 1, 300)
    truth = (0.2 + t)[:, None] * np.column_stack([np.cos(4 * np.pi * t), np.sin(4 * np.pi * t)])
    X = truth + 0.03 * RNG.normal(size=(300, 2))
    smoother = SmoothingSpline(20)
    for init in ("isomap", Isomap(n_components=1, n_neighbors=6), np.arange(300.0)):
        curve = PrincipalCurve(smoother, init=init).fit(X)
        assert abs(spearmanr(curve.embedding_[:, 0], t)[0]) > 0.999
    assert abs(spearmanr(PrincipalCurve(smoother).fit(X).embedding_[:, 0], t)[0]) < 0.9  # the usual one folds it


def test_any_smoother_will_do():
    def running_mean(s, X, places):
        weight = np.exp(-((places[:, None] - s) ** 2) / (2 * 0.03**2))
        return weight @ X / weight.sum(axis=1, keepdims=True)

    for smoother in (running_mean, KNeighborsRegressor(30)):
        curve = PrincipalCurve(smoother).fit(ARC)
        assert abs(spearmanr(curve.embedding_[:, 0], PLACE)[0]) > 0.99
        closed = PrincipalCurve(smoother, closed=True).fit(CIRCLE)
        assert abs(np.linalg.norm(closed.vertices_, axis=1).mean() - 1) < 0.06
        corner = closed.inverse_transform([[-1 - 1e-6], [-1 + 1e-6]])
        assert np.linalg.norm(corner[0] - corner[1]) < 0.05


def test_ends_of_an_open_curve():
    curve = PrincipalCurve().fit(ARC)
    np.testing.assert_allclose(curve.inverse_transform([[-1.0], [1.0]]), curve.vertices_[[0, -1]])
    with pytest.raises(
        ValueError, match=r"Z of PrincipalCurve must be within \[-1, 1\] .* got \[7.0\]; the manifold ends"
    ):
        curve.inverse_transform([[7.0]])


def test_progress_interruption_and_warm_start(capsys):
    seen = []
    curve = PrincipalCurve(callback=lambda *told: seen.append(told), verbose=True).fit(ARC)
    assert [error for _, error in seen] == curve.history_[1 : len(seen) + 1]
    assert "PrincipalCurve" in capsys.readouterr().err

    def interrupt(iteration, error):
        raise KeyboardInterrupt

    curve = PrincipalCurve(callback=interrupt, warm_start=True).fit(ARC)
    assert curve.status_ == "interrupted"
    before = curve.quantization_error_
    curve.set_params(callback=None).fit(ARC)
    assert curve.history_[0] == pytest.approx(before)
    assert curve.status_ == "optimal"
    with pytest.warns(ConvergenceWarning, match="PrincipalCurve was still improving after 1 iterations"):
        PrincipalCurve(max_iter=1, tol=0.0).fit(ARC)


def test_constant_columns_and_single_precision():
    curve = PrincipalCurve().fit(np.column_stack([ARC, np.full(400, 3.0)]))
    np.testing.assert_allclose(curve.vertices_[:, 3], 3.0)
    assert PrincipalCurve().fit(ARC).transform(ARC.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("curve", "X", "error", "message"),
    [
        (PrincipalCurve("lowess"), ARC, TypeError, "smoother of PrincipalCurve must be one of .* got 'lowess'"),
        (PrincipalCurve(3), ARC, TypeError, "smoother of PrincipalCurve must be one of"),
        (PrincipalCurve(lambda s, X, places: s), ARC, ValueError, r"must return finite values of shape \(200, 3\)"),
        (
            PrincipalCurve(n_vertices=2),
            ARC,
            ValueError,
            "n_vertices of PrincipalCurve must be a whole number >= 4, got 2",
        ),
        (PrincipalCurve(init="random"), ARC, ValueError, "init of PrincipalCurve must be one of .* got 'random'"),
        (PrincipalCurve(init=np.arange(5.0)), ARC, ValueError, "one number for each of the 400 rows, got shape"),
        (PrincipalCurve(), np.ones((9, 2)), ValueError, "X of PrincipalCurve must hold rows that differ"),
        (PrincipalCurve(), 1e300 * ARC, ValueError, r"X of PrincipalCurve must be at most 1e\+150, got .*e\+300"),
        (
            PrincipalCurve(),
            1e-300 * ARC,
            ValueError,
            "X of PrincipalCurve must have rows that differ by 1e-150 or more",
        ),
        (PrincipalCurve(), ARC[:2], ValueError, "minimum of 4 is required"),
        (PrincipalCurve(), np.where(ARC > 1, np.nan, ARC), ValueError, "NaN"),
        (PrincipalCurve(tol=2.0), ARC, ValueError, "tol of PrincipalCurve must be a number >= 0 and < 1, got 2.0"),
    ],
)
def test_bad_input_is_refused(curve, X, error, message):
    with pytest.raises(error, match=message):
        curve.fit(X)


def test_bad_coordinates_are_refused():
    with pytest.raises(ValueError, match="Z of PrincipalCurve must have 1 columns, one for each coordinate, got 2"):
        PrincipalCurve().fit(ARC).inverse_transform([[0.0, 1.0]])
    with pytest.raises(NotFittedError):
        PrincipalCurve().inverse_transform([[0.0]])
    with pytest.raises(NotFittedError):
        PrincipalCurve().quantization_error(ARC)


def test_a_closed_curve_may_shrink_to_a_point():
    # Rows on a line are seen from their mean at two angles only.
    X = np.random.default_rng(0).normal(size=(60, 1))
    curve = PrincipalCurve(closed=True).fit(X)
    assert np.isfinite(curve.transform(X)).all()
    assert curve.quantization_error(X) <= X.var() * (1 + 1e-9)
