import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm, spearmanr
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.manifold import trustworthiness
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import GenerativeTopographicMap
from mercer.datasets import make_arc
from mercer.kernels import Gaussian, InverseMultiquadric, Multiquadric, Periodized, Polynomial
from mercer.manifolds import GridMixture, Rows

RNG = np.random.default_rng(0)
T = RNG.uniform(-1, 1, size=(300, 2))
SHEET = np.column_stack([T, T[:, 0] ** 2 - T[:, 1] ** 2, T[:, 0] * T[:, 1]]) + 0.05 * RNG.normal(size=(300, 4))
CURVE = np.column_stack([T[:, 0], 0.5 * np.sin(3 * T[:, 0])]) + 0.05 * RNG.normal(size=(300, 2))


@pytest.mark.filterwarnings("ignore:.*still improving:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        GenerativeTopographicMap(1, n_grid=20, n_nodes=4),
        GenerativeTopographicMap(1, prior="l2", n_grid=20, n_nodes=4, posterior="mode"),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


def mixture_of(model, X):
    """The mixture, its rows and its start, to run EM without the guard of the fit."""
    model.set_params(max_iter=1, tol=0.0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    return model._mixture, Rows(X - model._offset), model._coefficients, model.noise_variance_


@pytest.mark.parametrize("prior", ["rkhs", "l2"])
@pytest.mark.parametrize("penalty", [1e-6, 1e-2, 1.0, 100.0])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_log_posterior_never_falls(prior, penalty, missing):
    X = np.where(RNG.uniform(size=SHEET.shape) < missing, np.nan, SHEET)
    X = X[~np.isnan(X).all(axis=1)]
    model = GenerativeTopographicMap(2, prior=prior, penalty=penalty, n_grid=12)
    mixture, rows, W, variance = mixture_of(model, X)
    squared_norm, n_known = np.sum(rows.X**2), np.sum(~np.isnan(X))
    state, values = mixture.e_step(rows, W, variance), []
    for _ in range(60):
        values.append(mixture.log_posterior(state))
        state = mixture.e_step(rows, *mixture.m_step(state, squared_norm, n_known))
    assert np.diff(values).min() > -1e-10 * abs(values[-1])


@pytest.mark.parametrize("missing", [False, True])
def test_steps_equal_a_slow_twin(missing):
    """Densities by SciPy, responsibilities by Bayes, coefficients by weighted ridge regression of each column."""
    X = CURVE[:40].copy()
    if missing:
        X[::3, 0], X[1::3, 1] = np.nan, np.nan
    rows, G = Rows(X), 7
    features = RNG.normal(size=(G, 3))
    precisions, W, variance = np.array([2.0, 2.0, 0.0]), RNG.normal(size=(3, 2)), 0.3
    mixture = GridMixture(features, precisions, 1e-9)
    state = mixture.e_step(rows, W, variance)
    F, seen = features @ W, ~np.isnan(X)
    p = np.ones((len(X), G))
    for i, g, c in np.argwhere(np.broadcast_to(seen[:, None], (len(X), G, 2))):
        p[i, g] *= norm.pdf(X[i, c], F[g, c], np.sqrt(variance))
    p /= G
    R = p / p.sum(axis=1, keepdims=True)
    assert state.sums.log_likelihood == pytest.approx(np.log(p.sum(axis=1)).sum())
    W_new, variance_new = mixture.m_step(state, np.nansum(X**2), seen.sum())
    expected = np.empty_like(W)
    for c in range(2):
        weight = R[seen[:, c]]
        A = features.T @ np.diag(weight.sum(axis=0)) @ features + variance * np.diag(precisions)
        expected[:, c] = np.linalg.solve(A, features.T @ (weight.T @ X[seen[:, c], c]))
    np.testing.assert_allclose(W_new, expected, atol=1e-9)
    residual = X[:, None] - features @ expected
    assert variance_new == pytest.approx(np.nansum(R[:, :, None] * residual**2) / seen.sum())


def test_a_sheet_is_unrolled():
    gtm = GenerativeTopographicMap(2).fit(SHEET)
    assert trustworthiness(T, gtm.embedding_) > 0.98
    assert trustworthiness(gtm.embedding_, T) > 0.98
    assert gtm.noise_variance_ == pytest.approx(0.05**2, rel=0.3)
    assert np.all(np.diff(gtm.history_) >= 0)
    points = gtm.inverse_transform(gtm.transform(SHEET))
    assert np.mean((points - SHEET) ** 2) < 2 * 0.05**2
    assert gtm.quantization_error(SHEET) < 4 * 2 * 0.05**2


def test_default_start_does_not_fold():
    X, t = make_arc(400, angle=5.0, noise=0.05, random_state=0)
    gtm = GenerativeTopographicMap(1, width=0.3).fit(X)
    assert gtm.init_ == "isomap"
    assert abs(spearmanr(gtm.embedding_[:, 0], t)[0]) > 0.99


def test_no_more_nodes_than_rows():
    assert len(GenerativeTopographicMap(2).fit(SHEET[:20]).nodes_) <= 20
    with pytest.raises(ValueError, match="n_nodes of GenerativeTopographicMap must be at most 4 along each coordinate"):
        GenerativeTopographicMap(2, n_nodes=5).fit(SHEET[:20])


def test_posterior_and_density():
    gtm = GenerativeTopographicMap(1).fit(CURVE)
    R = gtm.responsibilities(CURVE)
    assert R.shape == (300, 150)
    np.testing.assert_allclose(R.sum(axis=1), 1.0)
    np.testing.assert_allclose(gtm.transform(CURVE), R @ gtm.grid_, atol=1e-12)
    mode = gtm.set_params(posterior="mode").transform(CURVE)
    np.testing.assert_array_equal(mode, gtm.grid_[R.argmax(axis=1)])
    assert gtm.score(CURVE) == pytest.approx(gtm.score_samples(CURVE).mean()) == pytest.approx(gtm.log_likelihood_)
    images = gtm.inverse_transform(gtm.grid_)
    density = np.mean([multivariate_normal.pdf(CURVE[:5], f, gtm.noise_variance_) for f in images], axis=0)
    np.testing.assert_allclose(gtm.score_samples(CURVE[:5]), np.log(density))
    # It is a density: it integrates to one.
    axis = np.linspace(-2.5, 2.5, 200)
    plane = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert np.exp(gtm.score_samples(plane)).sum() * (axis[1] - axis[0]) ** 2 == pytest.approx(1.0, abs=1e-3)
    squares = np.sum((CURVE[:, None] - images) ** 2, axis=2).min(axis=1)
    assert gtm.quantization_error(CURVE) == pytest.approx(squares.mean())


def test_the_metric_is_that_of_finite_differences():
    gtm = GenerativeTopographicMap(2).fit(SHEET)
    Z, h = RNG.uniform(-0.9, 0.9, size=(5, 2)), 1e-5
    J = np.stack([(gtm.inverse_transform(Z + h * e) - gtm.inverse_transform(Z - h * e)) / (2 * h) for e in np.eye(2)])
    np.testing.assert_allclose(gtm.metric(Z), np.einsum("aic,bic->iab", J, J), rtol=1e-5, atol=1e-7)


def test_nothing_depends_on_place_and_scale():
    here, there = GenerativeTopographicMap(1).fit(CURVE), GenerativeTopographicMap(1).fit(1e3 * CURVE + 1e5)
    np.testing.assert_allclose(here.embedding_, there.embedding_, atol=1e-5)
    assert there.noise_variance_ == pytest.approx(1e6 * here.noise_variance_, rel=1e-5)


def test_results_of_the_kernel_prior_hardly_depend_on_the_nodes():
    errors = [
        GenerativeTopographicMap(1, width=0.6, n_nodes=n, tol=1e-6, max_iter=2000).fit(CURVE).score(CURVE)
        for n in (8, 16, 32)
    ]
    np.testing.assert_allclose(errors, errors[0], atol=2e-3)


def test_circles():
    angle = RNG.uniform(0, 2 * np.pi, 400)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * RNG.normal(size=(400, 2))
    gtm = GenerativeTopographicMap(1, topology="circle").fit(X)
    z = gtm.embedding_[:, 0]
    assert np.all((z >= -1) & (z < 1))
    assert max(abs(np.mean(np.exp(1j * (np.pi * z + s * angle)))) for s in (1, -1)) > 0.98
    np.testing.assert_allclose(gtm.inverse_transform([[-1.0]]), gtm.inverse_transform([[1.0]]), atol=1e-9)
    assert abs(np.linalg.norm(gtm.inverse_transform(gtm.grid_), axis=1).mean() - 1) < 0.03


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.3), InverseMultiquadric(0.5), Polynomial(5, 1.0), Multiquadric(0.5)], ids=repr
)
@pytest.mark.parametrize("prior", ["rkhs", "l2"])
def test_any_kernel(kernel, prior):
    gtm = GenerativeTopographicMap(1, kernel=kernel, n_nodes=12, prior=prior, penalty=0.01).fit(CURVE)
    assert abs(spearmanr(gtm.embedding_[:, 0], T[:, 0])[0]) > 0.97


def test_starts():
    t = np.linspace(0, 1, 300)
    X = (0.2 + t)[:, None] * np.column_stack([np.cos(4 * np.pi * t), np.sin(4 * np.pi * t)])
    X += 0.02 * RNG.normal(size=X.shape)
    for init in ("isomap", 2 * t[:, None] - 1):
        gtm = GenerativeTopographicMap(1, width=0.1, penalty=0.01, init=init).fit(X)
        assert abs(spearmanr(gtm.embedding_[:, 0], t)[0]) > 0.999


def test_gaps_are_filled():
    t = T[:, :1]
    truth = np.hstack([t, np.cos(2 * t), t**3, np.exp(t), np.sin(3 * t)])
    X = truth + 0.02 * RNG.normal(size=truth.shape)
    gaps = RNG.uniform(size=X.shape) < 0.2
    X, truth, gaps = (rows[~gaps.all(axis=1)] for rows in (np.where(gaps, np.nan, X), truth, gaps))
    gtm = GenerativeTopographicMap(1, max_iter=1000).fit(X)
    filled = gtm.inverse_transform(gtm.transform(X))
    of_means = np.mean((np.nanmean(X, axis=0) - truth)[gaps] ** 2)
    assert np.mean((filled - truth)[gaps] ** 2) < 0.05 * of_means
    assert gtm.score(X) == pytest.approx(gtm.log_likelihood_)


def test_blocks_of_rows_make_no_difference(monkeypatch):
    gtm = GenerativeTopographicMap(1, max_iter=20, tol=0.1).fit(CURVE)
    whole = gtm.score_samples(CURVE)
    monkeypatch.setattr("mercer.manifolds.latent.rows._BLOCK", 64)
    np.testing.assert_allclose(gtm.score_samples(CURVE), whole)
    np.testing.assert_allclose(GenerativeTopographicMap(1, max_iter=20, tol=0.1).fit(CURVE).history_, gtm.history_)


def test_progress_interruption_and_warm_start(capsys):
    seen = []
    gtm = GenerativeTopographicMap(1, verbose=True, callback=lambda *told: seen.append(told)).fit(CURVE)
    assert [-value for _, value in seen] == gtm.history_[1 : len(seen) + 1]
    assert "GenerativeTopographicMap" in capsys.readouterr().err

    def interrupt(iteration, value):
        raise KeyboardInterrupt

    gtm = GenerativeTopographicMap(1, callback=interrupt, warm_start=True).fit(CURVE)
    assert gtm.status_ == "interrupted"
    reached = gtm.history_[-1]
    assert gtm.set_params(callback=None).fit(CURVE).history_[0] == pytest.approx(reached)
    with pytest.warns(ConvergenceWarning, match="GenerativeTopographicMap was still improving after 2 iterations"):
        GenerativeTopographicMap(1, max_iter=2).fit(CURVE)


@pytest.mark.filterwarnings("ignore:.*still improving:sklearn.exceptions.ConvergenceWarning")
def test_few_rows_constant_columns_and_single_precision():
    gtm = GenerativeTopographicMap(1, max_iter=50).fit(CURVE[:3])  # fewer rows than nodes
    assert np.isfinite(gtm.embedding_).all()
    gtm = GenerativeTopographicMap(1).fit(np.column_stack([CURVE, np.full(300, 2.0)]))
    np.testing.assert_allclose(gtm.inverse_transform([[0.3]])[0, 2], 2.0)
    assert gtm.transform(np.zeros((2, 3), dtype=np.float32)).dtype == np.float32
    exact = np.outer(np.linspace(0, 1, 40), [1.0, 2.0])  # no noise at all
    assert GenerativeTopographicMap(1, max_iter=50).fit(exact).noise_variance_ > 0


@pytest.mark.parametrize(
    ("model", "X", "error", "message"),
    [
        (GenerativeTopographicMap(0), CURVE, ValueError, "n_components of GenerativeTopographicMap must be a whole"),
        (
            GenerativeTopographicMap(3),
            CURVE,
            ValueError,
            "n_components of .* the number of columns, n_features=2, got 3",
        ),
        (GenerativeTopographicMap(1, width=0.0), CURVE, ValueError, "width of .* must be a number > 0, got 0.0"),
        (GenerativeTopographicMap(1, penalty=-1), CURVE, ValueError, "penalty of .* must be a number > 0, got -1"),
        (GenerativeTopographicMap(1, prior="l1"), CURVE, ValueError, "prior of .* must be one of .* got 'l1'"),
        (GenerativeTopographicMap(1, posterior="median"), CURVE, ValueError, "posterior of .* got 'median'"),
        (GenerativeTopographicMap(1, init="random"), CURVE, ValueError, "init of .* must be one of .* got 'random'"),
        (
            GenerativeTopographicMap(1, init=np.zeros((4, 1))),
            CURVE,
            ValueError,
            r"init of .* must be of shape \(300, 1\), coordinates of the rows, got",
        ),
        (GenerativeTopographicMap(1, n_grid=1), CURVE, ValueError, "n_grid of .* 'auto' or a whole number >= 2, got 1"),
        (GenerativeTopographicMap(1, n_nodes="many"), CURVE, ValueError, "n_nodes of .* must be 'auto' or a whole"),
        (
            GenerativeTopographicMap(1, topology="ball"),
            CURVE,
            ValueError,
            "topology of GenerativeTopographicMap must be",
        ),
        (GenerativeTopographicMap(1, kernel="rbf"), CURVE, ValueError, "kernel of GenerativeTopographicMap must be a"),
        (GenerativeTopographicMap(1, kernel=Gaussian(), topology="circle"), CURVE, ValueError, "must have period 2"),
        (GenerativeTopographicMap(1), np.ones((9, 2)), ValueError, "must have rows that differ, got 9 equal ones"),
        (GenerativeTopographicMap(1), np.full((9, 2), np.nan), ValueError, "must have a known entry in every row"),
        (GenerativeTopographicMap(1), np.c_[CURVE, np.full(300, np.nan)], ValueError, "a known entry in every column"),
        (GenerativeTopographicMap(1), np.where(CURVE > 1, np.inf, CURVE), ValueError, "infinity"),
    ],
)
def test_bad_input_is_refused(model, X, error, message):
    with pytest.raises(error, match=message):
        model.fit(X)


def test_bad_latent_points_are_refused():
    gtm = GenerativeTopographicMap(1, kernel=Periodized(Gaussian(0.5), period=2.0), topology="circle").fit(CURVE)
    for call in (gtm.inverse_transform, gtm.metric):
        with pytest.raises(ValueError, match="Z of GenerativeTopographicMap must have 1 columns, one for each"):
            call([[0.0, 1.0]])
    with pytest.raises(ValueError, match=r"Z of GenerativeTopographicMap must be within \[-1, 1\] in .* got \[1.5\]"):
        GenerativeTopographicMap(1).fit(CURVE).inverse_transform([[1.5]])
    with pytest.raises(NotFittedError):
        GenerativeTopographicMap().inverse_transform([[0.0, 0.0]])
