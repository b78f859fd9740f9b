import numpy as np
import pytest
from scipy.stats import kurtosis
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelFeatureAnalysis, KernelPCA
from mercer.components import contrasts, feature_analysis
from mercer.kernels import Exponential, Gaussian, Linear, Precomputed, ThinPlate
from mercer.kernels.gram import Gram

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3)) * [1.0, 2.0, 0.5]
NEW = rng.normal(size=(15, 3))


def slow_selection(K, columns, k):
    """Every function, made orthogonal to the chosen ones, by brute force."""
    Q = np.linalg.qr(columns)[0]
    P = np.eye(len(K)) - Q @ Q.T
    chosen = []
    for _ in range(k):
        rest = K - K[:, chosen] @ np.linalg.solve(K[np.ix_(chosen, chosen)], K[chosen]) if chosen else K
        gain = np.sum((P @ rest) ** 2, axis=0) / np.maximum(np.diagonal(rest), 1e-12)
        gain[chosen] = -1.0
        chosen.append(int(np.argmax(gain)))
    return chosen


@pytest.mark.parametrize("remove", [None, "constant", "linear"])
def test_greedy_selection_agrees_with_brute_force(remove):
    K = Gaussian(1.5)(X)
    columns = {None: np.empty((80, 0)), "constant": np.ones((80, 1)), "linear": np.hstack([np.ones((80, 1)), X])}
    analysis = KernelFeatureAnalysis(6, kernel=Gaussian(1.5), remove=remove).fit(X)
    assert list(analysis.selected_) == slow_selection(K, columns[remove], 6)
    np.testing.assert_array_equal(analysis.rows_, X[analysis.selected_])
    # Variances are exact decreases of the trace, and the contrasts that were maximised.
    Z = analysis.transform(X)
    np.testing.assert_allclose(columns[remove].T @ Z, 0.0, atol=1e-8)
    np.testing.assert_allclose(np.mean(Z**2, axis=0), analysis.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(analysis.contrast_, analysis.explained_variance_, rtol=1e-8)
    # Directions are orthonormal in feature space.
    gram = analysis.dual_coef_.T @ Gaussian(1.5)(analysis.rows_) @ analysis.dual_coef_
    np.testing.assert_allclose(gram, np.eye(6), atol=1e-9)


def test_first_vertex_solves_the_program_under_the_l1_norm():
    K = Gaussian(1.5)(X)
    centred = K - K.mean(axis=0)
    first = KernelFeatureAnalysis(1, kernel=Gaussian(1.5)).fit(X)
    vertex = np.mean(centred[:, first.selected_[0]] ** 2)
    alpha = rng.normal(size=(80, 2000)) * (rng.uniform(size=(80, 2000)) < 0.05)
    alpha[0] += 1e-9
    alpha /= np.abs(alpha).sum(axis=0)
    assert vertex >= np.max(np.mean((centred @ alpha) ** 2, axis=0))


def test_unit_length_and_variance_is_kernel_pca():
    for remove in ("constant", "linear"):
        analysis = KernelFeatureAnalysis(4, kernel=Gaussian(1.5), constraint="rkhs", remove=remove).fit(X)
        pca = KernelPCA(4, kernel=Gaussian(1.5), remove=remove).fit(X)
        np.testing.assert_allclose(analysis.explained_variance_, pca.eigenvalues_ / 80, rtol=1e-6)
        ours, theirs = analysis.transform(NEW), pca.transform(NEW)
        np.testing.assert_allclose(ours * np.sign(np.sum(ours * theirs, axis=0)), theirs, atol=1e-4)


@pytest.mark.parametrize("contrast", ["kurtosis", "negentropy"])
def test_contrasts_find_the_direction_that_is_not_gaussian(contrast):
    table = rng.normal(size=(1000, 4))
    table[:, 2] = np.sign(table[:, 2]) * 0.9 + 0.1 * rng.normal(size=1000)
    table @= np.linalg.qr(rng.normal(size=(4, 4)))[0]
    analysis = KernelFeatureAnalysis(1, kernel=Linear(), constraint="rkhs", contrast=contrast).fit(table)
    values = analysis.transform(table)[:, 0]
    assert kurtosis(values) < -1.6
    principal = KernelPCA(4, kernel=Linear()).fit_transform(table)
    assert analysis.contrast_[0] > contrasts.CONTRASTS[contrast](principal).max()


@pytest.mark.parametrize("constraint", ["l1", "rkhs"])
def test_own_contrasts(constraint):
    def spread(F):
        return np.mean(F**2, axis=0)

    options = {"kernel": Gaussian(1.5), "constraint": constraint}
    own = KernelFeatureAnalysis(3, contrast=spread, **options).fit(X)
    named = KernelFeatureAnalysis(3, contrast="variance", **options).fit(X)
    np.testing.assert_allclose(own.transform(NEW), named.transform(NEW), atol=1e-6)


def test_candidates_are_subsampled():
    analysis = KernelFeatureAnalysis(5, kernel=Gaussian(1.5), n_candidates=20, random_state=0).fit(X)
    everyone = KernelFeatureAnalysis(5, kernel=Gaussian(1.5)).fit(X)
    assert len(np.unique(analysis.selected_)) == 5
    assert 0.8 < analysis.explained_variance_.sum() / everyone.explained_variance_.sum() <= 1.0


def test_duplicates_are_taken_once():
    with pytest.warns(UserWarning, match="KernelFeatureAnalysis found 4 components above rounding, not the 6"):
        analysis = KernelFeatureAnalysis(6, kernel=Gaussian(0.5)).fit(np.repeat(X[:4], 3, axis=0))
    assert len(analysis.rows_) == 4


def test_ctrl_c_keeps_the_features_found(monkeypatch):
    plain, calls = feature_analysis._deflate, []

    def interrupted(*arrays):
        calls.append(0)
        if len(calls) == 7:
            raise KeyboardInterrupt
        plain(*arrays)

    monkeypatch.setattr(feature_analysis, "_deflate", interrupted)
    with pytest.warns(ConvergenceWarning, match="was interrupted and keeps the 3 features"):
        analysis = KernelFeatureAnalysis(6).fit(X)
    assert analysis.status_ == "interrupted"
    assert analysis.transform(X).shape == (80, 3)
    calls[:] = [0] * 6
    with pytest.raises(KeyboardInterrupt):
        KernelFeatureAnalysis(6).fit(X)


def test_ctrl_c_keeps_the_directions_found(monkeypatch):
    plain, calls = feature_analysis._best_direction, []

    def interrupted(*arguments):
        calls.append(0)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(*arguments)

    options = {"constraint": "rkhs", "contrast": "kurtosis"}
    monkeypatch.setattr(feature_analysis, "_best_direction", interrupted)
    with pytest.warns(ConvergenceWarning, match="was interrupted and keeps the 2 features"):
        analysis = KernelFeatureAnalysis(6, **options).fit(X)
    monkeypatch.undo()
    assert analysis.status_ == "interrupted"
    whole = KernelFeatureAnalysis(6, **options).fit(X)
    np.testing.assert_allclose(analysis.transform(NEW), whole.transform(NEW)[:, :2])
    calls[:] = [0] * 2
    monkeypatch.setattr(feature_analysis, "_best_direction", interrupted)
    with pytest.raises(KeyboardInterrupt):
        KernelFeatureAnalysis(6, **options).fit(X)


def test_ctrl_c_among_the_principal_components_is_reported(monkeypatch):
    table, plain, calls = rng.uniform(size=(700, 3)), Gram._matmat, []

    def interrupted(gram, V):
        calls.append(0)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(gram, V)

    monkeypatch.setattr(feature_analysis, "DENSE_ROWS", 500)
    monkeypatch.setattr(Gram, "_matmat", interrupted)
    analysis = KernelFeatureAnalysis(2, kernel=Exponential(10.0), constraint="rkhs", tol=1e-12, random_state=0)
    with pytest.warns(ConvergenceWarning, match="was interrupted and keeps the 2 features"):
        analysis.fit(table)
    monkeypatch.undo()
    assert analysis.status_ == "interrupted"
    exact = KernelPCA(2, kernel=Exponential(10.0), eigen_solver="dense").fit(table)
    np.testing.assert_allclose(analysis.explained_variance_, exact.eigenvalues_ / 700, rtol=0.05)


def test_a_search_that_ends_too_early_is_reported():
    options = {"kernel": Gaussian(1.5), "constraint": "rkhs", "contrast": "kurtosis"}
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 steps and keeps the 2 features.*raise max_iter"):
        short = KernelFeatureAnalysis(2, max_iter=2, **options).fit(X)
    assert short.status_ == "max_iter"
    loose = KernelFeatureAnalysis(2, tol=0.1, **options).fit(X)
    tight = KernelFeatureAnalysis(2, tol=1e-10, **options).fit(X)
    assert loose.status_ == tight.status_ == "optimal"
    assert loose.n_iter_ < tight.n_iter_
    assert loose.contrast_[0] <= tight.contrast_[0]


@pytest.mark.parametrize(
    ("n", "width", "k"), [(300, 1.65, 100), (100, 5.0, 60), (200, 20.0, 50)], ids=["median", "wide", "very_wide"]
)
def test_directions_are_orthonormal_when_functions_nearly_depend(n, width, k):
    table = np.random.default_rng(0).normal(size=(n, 2))
    with pytest.warns(UserWarning, match="components above rounding"):
        analysis = KernelFeatureAnalysis(k, kernel=Gaussian(width)).fit(table)
    assert analysis.n_components_ > 10
    gram = analysis.dual_coef_.T @ Gaussian(width)(analysis.rows_) @ analysis.dual_coef_
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-4)
    np.testing.assert_allclose(analysis.contrast_, analysis.explained_variance_, rtol=1e-5)
    pca = KernelPCA(kernel=Gaussian(width)).fit(table)
    assert analysis.explained_variance_.sum() == pytest.approx(pca.eigenvalues_.sum() / n, rel=1e-5)


@pytest.mark.parametrize("constraint", ["l1", "rkhs"])
def test_matrices_that_are_not_positive_definite_are_refused(constraint):
    K = rng.normal(size=(60, 60))
    named = {"l1": "a squared length of -", "rkhs": "an eigenvalue of -"}[constraint]
    analysis = KernelFeatureAnalysis(5, kernel=Precomputed(), constraint=constraint)
    for matrix in (K + K.T, -K @ K.T):
        with pytest.raises(ValueError, match=f"Precomputed.* must be positive definite on X .* got {named}.*; mend"):
            analysis.fit(matrix)
    given, own = analysis.fit(Gaussian(1.5)(X)), KernelFeatureAnalysis(5, kernel=Gaussian(1.5), constraint=constraint)
    np.testing.assert_allclose(given.transform(Gaussian(1.5)(NEW, X)), own.fit(X).transform(NEW), atol=1e-6)


def test_matrices_in_single_precision_are_not_taken_for_more():
    K = Gaussian(10.0)(X).astype(np.float32)
    with pytest.warns(UserWarning, match="components above rounding"):
        single = KernelFeatureAnalysis(60, kernel=Precomputed()).fit(K)
    with pytest.warns(UserWarning, match="components above rounding"):
        double = KernelFeatureAnalysis(60, kernel=Precomputed()).fit(Gaussian(10.0)(X))
    assert 5 < single.n_components_ < double.n_components_
    assert single.transform(K).dtype == np.float32


def test_own_contrasts_may_be_negative():
    def smallness(F):
        return -np.mean(F**2, axis=0)

    for constraint in ("l1", "rkhs"):
        analysis = KernelFeatureAnalysis(2, kernel=Gaussian(1.5), constraint=constraint, contrast=smallness).fit(X)
        assert np.all(analysis.contrast_ < 0)
    with pytest.raises(ValueError, match="X of KernelFeatureAnalysis must vary in the feature space"):
        KernelFeatureAnalysis(2, kernel=Gaussian(), contrast=smallness).fit(np.full((10, 2), 0.1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": None}, "n_components of KernelFeatureAnalysis must be a whole number >= 1, got None"),
        ({"constraint": "l2"}, "constraint of KernelFeatureAnalysis must be one of"),
        ({"contrast": "beauty"}, "contrast of KernelFeatureAnalysis must be one of .* or a function, got 'beauty'"),
        ({"contrast": lambda F: F}, "contrast of KernelFeatureAnalysis must return one number for each of 80"),
        (
            {"contrast": lambda F: F[0] * np.nan},
            "contrast of KernelFeatureAnalysis must return finite numbers, got nan",
        ),
        ({"tol": 0.0}, "tol of KernelFeatureAnalysis must be between 0 and 1, got 0.0"),
        ({"max_iter": 0}, "max_iter of KernelFeatureAnalysis must be a whole number >= 1, got 0"),
        ({"remove": "all"}, "remove of KernelFeatureAnalysis must be one of"),
        ({"n_candidates": 0}, "n_candidates of KernelFeatureAnalysis must be a whole number >= 1, got 0"),
        ({"kernel": ThinPlate()}, "kernel of KernelFeatureAnalysis must be positive definite"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        KernelFeatureAnalysis(**options).fit(X)


@pytest.mark.parametrize("constraint", ["l1", "rkhs"])
def test_equal_rows_are_refused(constraint):
    with pytest.raises(ValueError, match="X of KernelFeatureAnalysis must vary in the feature space"):
        KernelFeatureAnalysis(2, kernel=Gaussian(), constraint=constraint).fit(np.full((10, 2), 0.1))
