import numpy as np
import pytest
from scipy.stats import kurtosis
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelFeatureAnalysis, KernelPCA
from mercer.components import contrasts, feature_analysis
from mercer.kernels import Gaussian, Linear, ThinPlate

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


def test_contrasts_against_references():
    F = rng.normal(size=(500, 3)) ** 3
    F -= F.mean(axis=0)
    np.testing.assert_allclose(contrasts.kurtosis(F), F.var(axis=0) * np.sqrt(np.abs(kurtosis(F))), rtol=1e-10)
    gaussian = np.random.default_rng(0).normal(size=(10**6, 1))
    assert contrasts.negentropy(gaussian)[0] < 1e-3
    g = F / F.std(axis=0)
    expected = np.abs(np.mean(np.log(np.cosh(g)), axis=0) - np.mean(np.log(np.cosh(gaussian))))
    np.testing.assert_allclose(contrasts.negentropy(F), F.var(axis=0) * expected, rtol=1e-2)
    assert np.all(contrasts.negentropy(np.zeros((5, 2))) == 0)
    assert np.all(np.isfinite(contrasts.negentropy(1e4 * F)))


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
    with pytest.warns(ConvergenceWarning, match="interrupted after 3 features"):
        analysis = KernelFeatureAnalysis(6).fit(X)
    assert analysis.status_ == "interrupted"
    assert analysis.transform(X).shape == (80, 3)
    monkeypatch.setattr(feature_analysis, "_deflate", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        KernelFeatureAnalysis(6).fit(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": None}, "n_components of KernelFeatureAnalysis must be a whole number >= 1, got None"),
        ({"constraint": "l2"}, "constraint of KernelFeatureAnalysis must be one of"),
        ({"contrast": "beauty"}, "contrast of KernelFeatureAnalysis must be one of .* or a function, got 'beauty'"),
        ({"contrast": lambda F: F}, "contrast of KernelFeatureAnalysis must return one finite number for each of 80"),
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
