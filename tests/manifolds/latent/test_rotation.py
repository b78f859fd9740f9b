import numpy as np
import pytest
from sklearn.decomposition import PCA

from mercer import PrincipalManifold
from mercer.datasets import make_arc
from mercer.manifolds.latent.rotation import Rotation, automatic_n_rotated, rotation_of

OPTIONS = {"width": 0.5, "penalty": 1e-3, "init": "pca", "random_state": 0}


def wide(n, n_columns, noise=0.05):
    """An arc turned into many columns, with noise in all of them."""
    rng = np.random.default_rng(0)
    X, _ = make_arc(n, angle=3.0, noise=0.0, random_state=0)
    turn = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))[0][:2]
    return 3.0 + X @ turn + noise * rng.normal(size=(n, n_columns))


@pytest.mark.parametrize("shape", [(100, 60), (30, 60)])
def test_components_are_principal(shape):
    X = np.random.default_rng(0).normal(size=shape) * np.linspace(3, 1, shape[1])
    X -= X.mean(axis=0)
    rotation, pca = rotation_of(X, 5), PCA(5).fit(X)
    np.testing.assert_allclose(np.abs(np.sum(rotation.components * pca.components_, axis=1)), 1.0, atol=1e-6)
    assert rotation.error == pytest.approx(1 - pca.explained_variance_ratio_.sum())


def test_many_rows_and_columns_are_rotated_too(monkeypatch):
    from mercer.manifolds.latent import rotation

    monkeypatch.setattr(rotation, "_DENSE", 10)
    X = np.random.default_rng(0).normal(size=(60, 40)) * np.r_[np.full(3, 9.0), np.ones(37)]
    found = rotation_of(X - X.mean(axis=0), 3, random_state=0)
    assert found.error == pytest.approx(1 - PCA(3).fit(X).explained_variance_ratio_.sum(), rel=1e-3)


def test_fewer_rows_than_columns_lose_nothing():
    X = wide(30, 60)
    model = PrincipalManifold(1, **OPTIONS).fit(X)
    plain = PrincipalManifold(1, n_rotated=None, **OPTIONS).fit(X)
    assert (model.n_rotated_, plain.n_rotated_) == (29, 60)
    assert model.rotation_error_ < 1e-12
    np.testing.assert_allclose(model.embedding_, plain.embedding_, atol=1e-3)
    np.testing.assert_allclose(model.history_, plain.history_, rtol=1e-4)
    np.testing.assert_allclose(model.quantization_error(X), plain.quantization_error(X), rtol=1e-4)


@pytest.mark.parametrize("assignment", ["hard", "soft"])
def test_everything_is_told_in_all_columns(assignment):
    X = wide(120, 60)
    told = []
    model = PrincipalManifold(1, assignment=assignment, callback=lambda *each: told.append(each), **OPTIONS).fit(X)
    assert model.n_rotated_ == 40
    assert 0 < model.rotation_error_ < 0.3
    Z = model.transform(X)
    F = model.inverse_transform(Z)
    assert F.shape == X.shape
    np.testing.assert_allclose(Z, model.embedding_, atol=1e-4)
    np.testing.assert_allclose(model.distance_to_manifold(X), np.linalg.norm(X - F, axis=1), rtol=1e-6)
    np.testing.assert_allclose(model.quantization_error(X), np.mean(np.sum((X - F) ** 2, axis=1)), rtol=1e-6)
    np.testing.assert_allclose(model.fit_.costs, np.sum((X - F) ** 2, axis=1), rtol=1e-6)
    assert model.objective_ > model.quantization_error(X)
    if assignment == "hard":
        assert model.history_[-1] == pytest.approx(model.objective_)
    assert told[-1][1].map.alpha.shape[1] == 60
    assert told[-1][1].objective == pytest.approx(model.objective_, rel=1e-3)
    assert model.tangent(Z).shape == (120, 1, 60)
    assert model.dual_coef_.shape[1] == model.sample(3, random_state=0).shape[1] == 60
    # The total of the noise in all columns is what the manifold leaves of the rows.
    assert 60 * model.noise_variance_ == pytest.approx(model.quantization_error(X), rel=0.1)
    near = PrincipalManifold(1, n_rotated=None, assignment=assignment, **OPTIONS).fit(X)
    assert model.log_likelihood(X).mean() == pytest.approx(near.log_likelihood(X).mean(), abs=1.0)


def test_new_rows_may_have_missing_entries():
    X = wide(120, 60)
    model = PrincipalManifold(1, **OPTIONS).fit(X)
    holes = X.copy()
    holes[:, ::5] = np.nan
    np.testing.assert_allclose(model.transform(holes), model.embedding_, atol=0.2)
    filled = model.impute(holes)
    assert np.mean((filled - X)[:, ::5] ** 2) < 0.01


def test_hard_fits_to_missing_entries_and_other_costs_are_not_rotated():
    X = wide(60, 50)
    assert PrincipalManifold(1, cost="huber", **OPTIONS).fit(X).n_rotated_ == 50
    X[3, 4] = np.nan
    model = PrincipalManifold(1, assignment="hard", **OPTIONS).fit(X)
    assert (model.n_rotated_, model.rotation_error_) == (50, 0.0)
    with pytest.raises(ValueError, match="n_rotated of PrincipalManifold must be None or 'auto' for missing entries"):
        PrincipalManifold(1, n_rotated=5, **OPTIONS).fit(X)


def test_warm_starts_go_on_in_the_components():
    X = wide(120, 60)
    model = PrincipalManifold(1, warm_start=True, **OPTIONS).fit(X)
    first = model.objective_
    model.fit(X)
    assert model.init_ == "warm_start"
    assert model.objective_ <= first * (1 + 1e-6)
    assert model.fit(X[:, :50]).init_ == "pca"


def test_refuses_bad_numbers():
    X = wide(60, 50)
    with pytest.raises(ValueError, match="n_rotated of PrincipalManifold must be a whole number >= 2, got 1"):
        PrincipalManifold(2, n_rotated=1).fit(X)
    with pytest.raises(ValueError, match="n_rotated of PrincipalManifold must be a whole number >= 1, got 'some'"):
        PrincipalManifold(1, n_rotated="some").fit(X)


def test_nothing_to_rotate():
    X = np.ones((3, 2))
    assert Rotation().leading(X) is X
    np.testing.assert_array_equal(Rotation().left_out(X), 0.0)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2])
def test_missing_entries_cost_little(share, monkeypatch):
    """A fit to rows with holes is one to components, and nearly as good as without holes; one hole changes nothing."""
    X, X_new = wide(400, 60)[::2], wide(400, 60)[1::2]
    holes = np.where(np.random.default_rng(0).random(X.shape) < share, np.nan, X)
    holes[3, 7] = np.nan

    def fail(*arguments, **options):
        raise AssertionError("a hard fit by known entries")

    whole = PrincipalManifold(1, random_state=0).fit(X)
    monkeypatch.setattr("mercer.manifolds.principal.training.fit_path", fail)
    model = PrincipalManifold(1, random_state=0).fit(holes)
    assert model.n_rotated_ == whole.n_rotated_ == 40
    assert model.log_likelihood(X_new).mean() > whole.log_likelihood(X_new).mean() - 3 * share - 0.5
    errors = [each.quantization_error(X_new) for each in (model, whole)]
    assert errors[0] < (1.02 + share) * errors[1]
    missing = np.isnan(holes)
    assert np.mean((model.impute(holes) - X)[missing] ** 2) < 2 * np.mean((whole.impute(holes) - X)[missing] ** 2)
    np.testing.assert_allclose(
        model.fit_.costs, np.nansum((holes - model.inverse_transform(model.embedding_)) ** 2, axis=1), rtol=1e-6
    )


def test_as_many_components_as_hold_most_of_the_variance():
    rng = np.random.default_rng(0)
    x, t = np.arange(400), rng.uniform(0, 400, size=(600, 1))
    pulse = np.exp(-(((x - t + 200) % 400 - 200) ** 2) / (2 * 1.5**2)) + 0.02 * rng.normal(size=(600, 400))
    pulse -= pulse.mean(axis=0)
    n = automatic_n_rotated(pulse)
    assert 40 < n <= 100
    assert rotation_of(pulse, n).error < 0.21 < rotation_of(pulse, 40).error
    assert automatic_n_rotated(wide(200, 300)) == 40
    assert automatic_n_rotated(rng.normal(size=(400, 600))) == 100
    assert automatic_n_rotated(pulse[:, :40]) is None


@pytest.mark.filterwarnings("error")
def test_rows_of_one_direction_overflow_nowhere():
    t = np.random.default_rng(0).uniform(-1, 1, size=(100, 1))
    model = PrincipalManifold(2, random_state=0).fit(t * np.ones(41))
    assert np.isfinite(model.embedding_).all()
