import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.decomposition import KernelPCA as PeerKernelPCA
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelFeatureAnalysis, KernelPCA
from mercer.kernels import (
    Exponential,
    FromFunction,
    Gaussian,
    Linear,
    Multiquadric,
    Polynomial,
    Precomputed,
    ThinPlate,
)
from mercer.kernels.gram import Gram

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3)) * [1.0, 2.0, 0.5] + 1.0
NEW = rng.normal(size=(15, 3)) + 1.0
SOLVERS = {
    "dense": {"eigen_solver": "dense"},
    "lanczos": {"eigen_solver": "lanczos", "tol": 1e-12, "random_state": 0},
    "nystroem": {"eigen_solver": "nystroem", "n_landmarks": 120, "random_state": 0},
}


def assert_equal_up_to_sign(actual, desired, atol):
    signs = np.sign(np.sum(actual * desired, axis=0))
    np.testing.assert_allclose(actual * signs, desired, atol=atol)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("kernel", "peer"),
    [
        (Gaussian(1.5), {"kernel": "rbf", "gamma": 0.5 / 1.5**2}),
        (Linear(), {"kernel": "linear"}),
        (Polynomial(degree=2, offset=1.0), {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}),
    ],
    ids=["gaussian", "linear", "polynomial"],
)
def test_agrees_with_scikit_learn(kernel, peer, solver):
    ours = KernelPCA(3, kernel=kernel, **SOLVERS[solver]).fit(X)
    theirs = PeerKernelPCA(3, eigen_solver="dense", **peer).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-8)
    scale = np.sqrt(theirs.eigenvalues_.max())
    assert_equal_up_to_sign(ours.transform(NEW), theirs.transform(NEW), 1e-8 * scale)
    assert_equal_up_to_sign(ours.fit_transform(X), theirs.fit_transform(X), 1e-8 * scale)
    np.testing.assert_allclose(ours.fit_transform(X), ours.transform(X), atol=1e-8 * scale)


def test_all_components_agree_with_scikit_learn():
    ours = KernelPCA(kernel=Gaussian(1.0)).fit(X[:30])
    theirs = PeerKernelPCA(kernel="rbf", gamma=0.5).fit(X[:30])
    assert ours.n_components_ == 29
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_[:29], rtol=1e-8)
    assert ours.explained_variance_ratio_.sum() == pytest.approx(1.0)


def projected(K, columns):
    Q = np.linalg.qr(columns)[0]
    P = np.eye(len(K)) - Q @ Q.T
    return P @ K @ P


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
@pytest.mark.parametrize(
    ("remove", "kernel"),
    [
        ("linear", Gaussian(2.0)),
        (None, Gaussian(2.0)),
        ("constant", Multiquadric(1.0)),
        (None, Multiquadric(1.0)),
        (None, ThinPlate()),
    ],
    ids=["linear", "nothing", "order_1", "order_1_by_itself", "order_2_by_itself"],
)
def test_functions_are_projected_out(remove, kernel, solver):
    constant = np.ones((len(X), 1))
    if remove == "linear" or kernel.order == 2:
        columns = np.hstack([constant, X])
    else:
        columns = constant if remove or kernel.order else np.empty((len(X), 0))
    expected = np.sort(np.linalg.eigvalsh(projected(kernel(X), columns)))[::-1][:4]
    pca = KernelPCA(4, kernel=kernel, remove=remove, **SOLVERS[solver]).fit(X)
    np.testing.assert_allclose(pca.eigenvalues_, expected, rtol=1e-9)
    assert np.all(pca.eigenvalues_ > 0)
    Z = pca.transform(X)
    np.testing.assert_allclose(columns.T @ Z, 0.0, atol=1e-8 * np.abs(Z).sum())
    np.testing.assert_allclose(Z, pca.fit_transform(X), atol=1e-9 * np.abs(Z).max())


def test_linear_removal_is_uncorrelated_with_every_column_whatever_the_columns():
    table = np.hstack([X, X[:, :1] + X[:, 1:2], np.full((len(X), 1), 0.1), 1e6 + X[:, :1]])
    pca = KernelPCA(5, kernel=Gaussian(3.0).on([0, 1, 2]), remove="linear").fit(table)
    correlation = np.corrcoef(np.hstack([pca.transform(table), X]).T)[:5, 5:]
    assert np.abs(correlation).max() < 1e-8
    # New rows carry the same projection: the same table in other units has the same scores.
    scaled = KernelPCA(5, kernel=Gaussian(3.0).on([0, 1, 2]), remove="linear").fit(table * [1, 1, 1, 7, 3, 1e-3])
    np.testing.assert_allclose(scaled.transform(table[:5] * [1, 1, 1, 7, 3, 1e-3]), pca.transform(table[:5]), atol=1e-7)


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_indefinite_kernels_are_ordered_by_absolute_value(solver):
    K = rng.normal(size=(60, 60))
    K = K + K.T
    pca = KernelPCA(6, kernel=Precomputed(), **SOLVERS[solver]).fit(K)
    values = np.linalg.eigvalsh(projected(K, np.ones((60, 1))))
    np.testing.assert_allclose(pca.eigenvalues_, values[np.argsort(-np.abs(values))][:6], rtol=1e-8)
    assert pca.eigenvalues_.min() < 0 < pca.eigenvalues_.max()
    np.testing.assert_allclose(pca.transform(K), pca.fit_transform(K), atol=1e-7)
    # All components give the kernel back, with the signs of the eigenvalues.
    pca = KernelPCA(kernel=Precomputed()).fit(K)
    Z = pca.transform(K)
    np.testing.assert_allclose((Z * np.sign(pca.eigenvalues_)) @ Z.T, projected(K, np.ones((60, 1))), atol=1e-9)


def test_reconstruction_error_is_the_distance_from_the_projection():
    for options in ({}, {"remove": "linear"}, {"remove": None}, SOLVERS["lanczos"], SOLVERS["nystroem"]):
        pca = KernelPCA(5, kernel=Gaussian(1.5), **options).fit(X)
        total = KernelPCA(kernel=Gaussian(1.5), remove=options.get("remove", "constant")).fit(X)
        # In the space of all components the distance is a plain one.
        missing = np.sum(total.transform(X)[:, 5:] ** 2, axis=1)
        np.testing.assert_allclose(pca.reconstruction_error(X), missing, atol=1e-8)
    assert np.all(pca.reconstruction_error(NEW) > 0)


def test_number_of_components():
    blobs = make_blobs(90, centers=[[0, 0], [8, 0], [0, 8]], cluster_std=0.3, random_state=0)[0]
    assert KernelPCA("auto", kernel=Gaussian(2.0)).fit(blobs).n_components_ == 2
    for options in SOLVERS.values():
        pca = KernelPCA(0.9, kernel=Gaussian(1.5), **options).fit(X)
        shares = KernelPCA(kernel=Gaussian(1.5)).fit(X).explained_variance_ratio_
        assert pca.n_components_ == np.searchsorted(np.cumsum(shares), 0.9) + 1
        np.testing.assert_allclose(pca.explained_variance_ratio_, shares[: pca.n_components_], rtol=1e-6)
        auto = KernelPCA("auto", kernel=Gaussian(1.5), **options).fit(X)
        assert auto.n_components_ == KernelPCA("auto", kernel=Gaussian(1.5)).fit(X).n_components_


def test_solver_is_chosen_by_size(monkeypatch):
    monkeypatch.setattr("mercer.components.kernel_pca.DENSE_ROWS", 200)
    many = rng.normal(size=(600, 2))
    pca = KernelPCA(5, random_state=0).fit(many)
    assert pca.eigen_solver_ == "lanczos"
    assert pca.n_iter_ <= 4
    exact = KernelPCA(5, eigen_solver="dense").fit(many)
    np.testing.assert_allclose(pca.eigenvalues_, exact.eigenvalues_, rtol=1e-7)
    assert np.all(np.abs(pca.eigenvalues_ - exact.eigenvalues_) <= pca.eigenvalue_error_ + exact.eigenvalue_error_)
    assert KernelPCA(5).fit(X).eigen_solver_ == "dense"
    # A share of the variance that a few components explain, and one that takes most of them.
    assert KernelPCA(0.5, random_state=0).fit(many).eigen_solver_ == "lanczos"
    assert KernelPCA(0.5, kernel=Gaussian(0.01), random_state=0, tol=1e-2).fit(many).eigen_solver_ == "dense"
    assert KernelPCA(5, n_landmarks=50).fit(X).eigen_solver_ == "nystroem"


def test_nystroem_states_its_error():
    pca = KernelPCA(4, kernel=Gaussian(1.0), n_landmarks=40, random_state=0).fit(X)
    exact = KernelPCA(4, kernel=Gaussian(1.0)).fit(X)
    missed = exact.eigenvalues_ - pca.eigenvalues_
    assert np.all((missed >= -1e-10) & (missed <= pca.eigenvalue_error_))
    assert np.all(pca.explained_variance_ratio_ <= exact.explained_variance_ratio_)
    assert len(pca.rows_) == 40
    np.testing.assert_allclose(pca.transform(X), pca.fit_transform(X), atol=1e-10)


def test_signs_are_deterministic():
    pca = KernelPCA(5).fit(X)
    largest = pca.eigenvectors_[np.argmax(np.abs(pca.eigenvectors_), axis=0), np.arange(5)]
    assert np.all(largest > 0)
    other = KernelPCA(5, eigen_solver="lanczos", random_state=3).fit(X)
    np.testing.assert_allclose(other.eigenvectors_, pca.eigenvectors_, atol=1e-3)


@pytest.mark.parametrize(
    ("kernel", "table"),
    [
        (Precomputed(), (lambda A: A + A.T)(rng.normal(size=(60, 60)))),
        (Precomputed(), Gaussian(1.0)(X[:60])),
        (FromFunction(lambda x, y: np.tanh(x @ y - 1.0), order=None), X[:60]),
    ],
    ids=["indefinite", "given", "order_none"],
)
def test_shares_of_the_variance_count_all_eigenvalues(kernel, table):
    values = np.abs(np.linalg.eigvalsh(projected(kernel(table), np.ones((60, 1)))))
    shares = np.sort(values)[::-1] / values.sum()
    dense = KernelPCA(4, kernel=kernel).fit(table)
    np.testing.assert_allclose(dense.explained_variance_ratio_, shares[:4], rtol=1e-8)
    enough = KernelPCA(0.8, kernel=kernel).fit(table)
    assert enough.n_components_ == np.searchsorted(np.cumsum(shares), 0.8) + 1
    lanczos = KernelPCA(4, kernel=kernel, eigen_solver="lanczos", random_state=0).fit(table)
    assert np.all(np.isnan(lanczos.explained_variance_ratio_))


def test_a_share_that_landmarks_cannot_explain_is_reported():
    pca = KernelPCA(0.99, kernel=Gaussian(0.3), n_landmarks=20, random_state=0)
    with pytest.warns(
        UserWarning, match=r"The 20 landmarks of KernelPCA explain only 0\.\d+ of .* 0.99 .*raise n_land"
    ):
        pca.fit(X)
    assert pca.n_components_ == 20


def test_a_matrix_in_single_precision_has_fewer_components():
    K = Gaussian(2.0)(X)
    single, double = (KernelPCA(kernel=Precomputed()).fit(k) for k in (K.astype(np.float32), K))
    n = single.n_components_
    assert 5 < n < double.n_components_ / 2
    difference = np.abs(single.eigenvalues_ - double.eigenvalues_[:n])
    assert np.all(difference <= single.eigenvalue_error_)
    assert difference.max() > double.eigenvalue_error_.max()
    lanczos = KernelPCA(60, kernel=Precomputed(), eigen_solver="lanczos", random_state=0)
    with pytest.warns(UserWarning, match=f"found {n} components above rounding"):
        lanczos.fit(K.astype(np.float32))
    assert np.all(np.abs(lanczos.eigenvalues_ - double.eigenvalues_[:n]) <= lanczos.eigenvalue_error_)


def test_vectors_to_start_from_are_kept_only_for_a_warm_start():
    pca = KernelPCA(2, eigen_solver="lanczos", warm_start=True, random_state=0).fit(X)
    size = len(pickle.dumps(pca))
    assert len(pickle.dumps(pca.set_params(warm_start=False).fit(X))) < size - 8 * X.size
    assert len(pickle.dumps(clone(pca).fit(X))) < size - 8 * X.size


def test_an_interrupted_fit_is_usable_and_goes_on(monkeypatch):
    table, calls = rng.uniform(size=(300, 3)), []
    plain = Gram._matmat

    def interrupted(gram, V):
        calls.append(V.shape)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(gram, V)

    pca = KernelPCA(3, kernel=Exponential(3.0), eigen_solver="lanczos", tol=1e-13, warm_start=True, random_state=0)
    monkeypatch.setattr(Gram, "_matmat", interrupted)
    with pytest.warns(ConvergenceWarning, match="KernelPCA was interrupted.*warm_start=True"):
        pca.fit(table)
    assert pca.status_ == "interrupted"
    assert np.all(np.isfinite(pca.transform(table)))
    monkeypatch.undo()
    exact = KernelPCA(3, kernel=Exponential(3.0), eigen_solver="dense").fit(table)
    np.testing.assert_allclose(pca.eigenvalues_, exact.eigenvalues_, rtol=0.05)
    pca.fit(table)
    np.testing.assert_allclose(pca.eigenvalues_, exact.eigenvalues_, rtol=1e-10)
    assert pca.history_[0] < 1e-2
    monkeypatch.setattr(Gram, "_matmat", lambda gram, V: interrupted(calls.clear() or calls.append(0) or gram, V))
    with pytest.raises(KeyboardInterrupt):
        clone(pca).fit(table)


def test_progress_is_shown(capsys):
    KernelPCA(2, eigen_solver="lanczos", verbose=True, random_state=0).fit(X)
    assert "Gram product" in capsys.readouterr().err


def test_too_few_iterations_are_reported():
    pca = KernelPCA(3, kernel=Gaussian(0.1), eigen_solver="lanczos", max_iter=1, tol=1e-12, random_state=0)
    with pytest.warns(ConvergenceWarning, match="ended after 1 products with a relative error of"):
        pca.fit(rng.uniform(size=(300, 3)))


def test_rounding_is_never_used():
    line = np.outer(np.linspace(-1, 1, 40), [1.0, 2.0, 3.0]) + 5.0
    with pytest.warns(UserWarning, match="KernelPCA found 1 components above rounding, not the 3 asked for"):
        pca = KernelPCA(3, kernel=Linear()).fit(line)
    assert pca.n_components_ == 1
    assert KernelPCA(kernel=Linear()).fit(np.vstack([line, line])).n_components_ == 1
    twice = np.vstack([X[:20], X[:20]])
    assert KernelPCA(kernel=Gaussian(0.5)).fit(twice).n_components_ <= 19
    far = KernelPCA(kernel=Linear()).fit(1e6 + X)
    assert far.n_components_ == 3


def test_flat_spectra_are_reported():
    with pytest.warns(UserWarning, match="is flat: all rows look different"):
        KernelPCA(2, kernel=Gaussian(1e-3)).fit(X)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kernel": "rbf"}, TypeError, "kernel of KernelPCA must be a Kernel or None, got 'rbf'"),
        ({"n_components": 0}, ValueError, "n_components of KernelPCA must be None, 'auto', a whole number"),
        ({"n_components": 1.5}, ValueError, "n_components of KernelPCA must be"),
        ({"n_components": True}, ValueError, "n_components of KernelPCA must be"),
        ({"n_components": "many"}, ValueError, "n_components of KernelPCA must be"),
        ({"remove": "quadratic"}, ValueError, "remove of KernelPCA must be one of"),
        ({"eigen_solver": "arpack"}, ValueError, "eigen_solver of KernelPCA must be one of"),
        ({"preimage": "best"}, ValueError, "preimage of KernelPCA must be one of"),
        ({"tol": 0.0}, ValueError, "tol of KernelPCA must be between 0 and 1"),
        ({"tol": True}, ValueError, "tol of KernelPCA must be between 0 and 1, got True"),
        ({"eigen_solver": "lanczos"}, ValueError, "n_components of KernelPCA must be a number, a share .* got None"),
        (
            {"n_components": 10, "n_landmarks": 5},
            ValueError,
            "n_landmarks of KernelPCA must be at least n_components=10, got 5",
        ),
        ({"n_landmarks": 5, "kernel": ThinPlate()}, ValueError, "kernel of KernelPCA must be positive definite"),
        ({"max_iter": 0}, ValueError, "max_iter of KernelPCA must be a whole number >= 1"),
        ({"n_landmarks": 2.5}, ValueError, "n_landmarks of KernelPCA must be a whole number >= 1"),
        (
            {"n_landmarks": 5, "eigen_solver": "dense"},
            ValueError,
            "n_landmarks of KernelPCA must be None for eigen_solver='dense'",
        ),
        (
            {"eigen_solver": "nystroem", "kernel": ThinPlate()},
            ValueError,
            "kernel of KernelPCA must be positive definite",
        ),
        (
            {"eigen_solver": "lanczos", "n_components": 0.5, "kernel": FromFunction(np.dot, order=None)},
            ValueError,
            "n_components of KernelPCA must be a number for eigen_solver='lanczos'",
        ),
        (
            {"remove": "linear", "kernel": Precomputed()},
            ValueError,
            "remove of KernelPCA must be None or 'constant' for such objects",
        ),
        ({"remove": "linear", "kernel": Linear()}, ValueError, "X of KernelPCA must vary in the feature space"),
    ],
)
def test_bad_parameters_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        KernelPCA(**options).fit(X @ X.T if isinstance(options.get("kernel"), Precomputed) else X)


def test_bad_rows_are_refused():
    with pytest.raises(ValueError, match="X must have two distinct rows"):
        KernelPCA().fit(np.ones((10, 2)))
    with pytest.raises(ValueError, match="X of KernelPCA must vary in the feature space"):
        KernelPCA(kernel=Gaussian()).fit(np.full((10, 2), 0.1))
    with pytest.raises(ValueError, match="X of KernelPCA must vary in the feature space"):
        KernelPCA(2, kernel=Gaussian(), eigen_solver="lanczos").fit(np.full((10, 2), 0.1))
    with pytest.raises(ValueError, match="two objects or more, got one sample"):
        KernelPCA(kernel=FromFunction(np.dot)).fit(X[:1])
    with pytest.raises(ValueError, match="X of KernelPCA must vary in the feature space"):
        KernelPCA(remove="linear").fit(X[:4])
    with pytest.raises(ValueError, match="NaN"):
        KernelPCA().fit(np.where(X > 3, np.nan, X))
    pca = KernelPCA(2, preimage="distance", kernel=Linear()).fit(X)
    with pytest.raises(ValueError, match="Z of KernelPCA must have 2 columns"):
        pca.inverse_transform(np.ones((3, 3)))
    with pytest.raises(ValueError, match="preimage of KernelPCA must be 'ridge' for Linear"):
        pca.inverse_transform(np.ones((3, 2)))
    given = KernelPCA(2, kernel=Precomputed()).fit(X @ X.T)
    with pytest.raises(TypeError, match="was not given vectors"):
        given.inverse_transform(np.ones((3, 2)))
    with pytest.raises(TypeError, match="does not know k\\(x, x\\) of new objects"):
        given.reconstruction_error(X @ X.T)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_fit_counts_an_iteration(solver):
    pca = KernelPCA(2, warm_start=True, **SOLVERS[solver]).fit(X)
    assert pca.n_iter_ >= 1
    assert pca.fit(X).n_iter_ >= 1
    for constraint in ("l1", "rkhs"):
        assert KernelFeatureAnalysis(2, constraint=constraint).fit(X).n_iter_ >= 1
