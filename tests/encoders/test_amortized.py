"""Encoders of maps."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.manifold import MDS, TSNE
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    AmortizedMap,
    GenerativeTopographicMap,
    KernelPCA,
    KernelRidge,
    PrincipalCurve,
    PrincipalManifold,
    UnsupervisedKernelRegression,
)
from mercer.datasets import make_arc
from mercer.kernels import Gaussian, Linear, Precomputed, WeightedDegree

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
ARC = make_arc(150, angle=3.0, noise=0.05, random_state=0)[0]
ARC_TEST = make_arc(100, angle=3.0, noise=0.05, random_state=1)[0]
CIRCLE = make_arc(150, noise=0.05, random_state=0)[0]
CURVE = PrincipalManifold(1, width=0.5, penalty=1e-3, random_state=0)


@parametrize_with_checks([AmortizedMap(PCA(1)), AmortizedMap(KernelPCA(1), kernel=Gaussian(1.0), decoder="learned")])
def test_estimator_checks(estimator, check):
    check(estimator)


def test_a_linear_map_is_learned_exactly():
    model = AmortizedMap(PCA(2), kernel=Linear()).fit(X)
    new = RNG.normal(size=(10, 3))
    np.testing.assert_allclose(model.transform(new), model.estimator_.transform(new), atol=1e-6)
    assert model.encoding_error_ < 1e-6
    assert model.n_steps_ == 0
    assert model.decoder_ is None
    Z = model.transform(new)
    np.testing.assert_allclose(model.inverse_transform(Z), model.estimator_.inverse_transform(Z))


def test_the_error_is_that_of_refits_without_each_row():
    model = AmortizedMap(PCA(1), kernel=Gaussian(1.0)).fit(X)
    errors = []
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        ridge = KernelRidge(Gaussian(1.0), penalties=model.encoder_.penalty_)
        ridge.fit(X[others], model.embedding_[others, 0])
        errors.append(ridge.predict(X[i : i + 1])[0] - model.embedding_[i, 0])
    assert model.encoding_error_ == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-6)


@pytest.mark.parametrize(
    "map_", [TSNE(2, perplexity=5, random_state=0), MDS(2, n_init=1, init="classical_mds", random_state=0)], ids=repr
)
def test_maps_without_transform_get_one_and_its_inverse(map_):
    centres = 10 * np.eye(3)
    rows = np.vstack([centre + 0.3 * RNG.normal(size=(15, 3)) for centre in centres])
    model = AmortizedMap(map_).fit(rows)
    assert not hasattr(map_, "transform")
    new = model.transform(centres)
    for k in range(3):
        group = model.embedding_[15 * k : 15 * k + 15].mean(axis=0)
        others = np.delete(new, k, axis=0)
        assert np.linalg.norm(new[k] - group) < 0.2 * np.linalg.norm(others - group, axis=1).min()
    assert np.abs(model.inverse_transform(new) - centres).max() < 2.0


def test_steps_lead_to_the_projection():
    projection = CURVE.fit(ARC)
    exact = projection.distance_to_manifold(ARC_TEST)
    errors = []
    for steps in (0, 1, 3, 50):
        model = AmortizedMap(CURVE, steps=steps).fit(ARC)
        images = model.inverse_transform(model.transform(ARC_TEST))
        errors.append(np.linalg.norm(ARC_TEST - images, axis=1))
    means = [np.mean(error**2) for error in errors]
    assert means[0] >= means[1] >= means[2] >= means[3] >= np.mean(exact**2) * (1 - 1e-9)
    np.testing.assert_allclose(errors[3], exact, rtol=1e-4)
    assert means[2] < 1.01 * np.mean(exact**2)
    assert AmortizedMap(CURVE).fit(ARC).n_steps_ == 3


def test_circles_have_no_seam():
    manifold = PrincipalManifold(1, topology="circle", width=0.5, penalty=1e-3, random_state=0)
    model = AmortizedMap(manifold, steps=0).fit(CIRCLE)
    t = np.linspace(-np.pi, np.pi, 400)
    Z = model.transform(np.column_stack([np.cos(t), np.sin(t)]))
    exact = model.estimator_.transform(np.column_stack([np.cos(t), np.sin(t)]))
    assert np.abs((Z - exact + 1) % 2 - 1).max() < 0.05
    assert ((Z >= -1) & (Z < 1)).all()
    learned = AmortizedMap(manifold, decoder="learned").fit(CIRCLE)
    ends = learned.inverse_transform([[-1.0], [1.0]])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-10)


@pytest.mark.parametrize(
    "map_",
    [GenerativeTopographicMap(1), PrincipalCurve(), UnsupervisedKernelRegression(1, random_state=0)],
    ids=lambda map_: type(map_).__name__,
)
def test_maps_with_ends_take_all_points_that_the_encoder_gives(map_):
    model = AmortizedMap(map_).fit(ARC)
    far = np.vstack([ARC_TEST, 1.5 * ARC_TEST])
    Z = model.transform(far)
    assert ((model.embedding_.min() <= Z) & (model.embedding_.max() >= Z)).all()
    images = model.inverse_transform(Z[: len(ARC_TEST)])
    assert np.sqrt(np.mean((images - ARC_TEST) ** 2)) < 0.08


@pytest.mark.parametrize(
    "map_",
    [GenerativeTopographicMap(1, topology="circle"), PrincipalCurve(closed=True)],
    ids=lambda map_: type(map_).__name__,
)
def test_circles_of_other_maps_have_no_seam(map_):
    model = AmortizedMap(map_).fit(CIRCLE)
    exact = model.estimator_.transform(CIRCLE)
    assert np.abs((model.transform(CIRCLE) - exact + 1) % 2 - 1).max() < 0.1
    assert model.transform(CIRCLE).max() < 1


def test_refined_points_never_get_worse_and_those_far_off_are_searched():
    manifold = PrincipalManifold(1, width=0.5, penalty=1e-3, n_rotated="auto", random_state=0)
    wide = np.hstack([ARC, 0.01 * RNG.normal(size=(len(ARC), 30))])
    manifold.fit(wide)
    Z = RNG.uniform(-1, 1, size=(len(ARC), 1))
    near = manifold.transform(wide)
    typical = np.argsort(manifold.distance_to_manifold(wide))[:100]
    np.testing.assert_allclose(manifold.refine(wide, near, n_steps=0)[typical], near[typical], atol=1e-12)
    before = np.sum((wide - manifold.inverse_transform(Z)) ** 2, axis=1)
    after = np.sum((wide - manifold.inverse_transform(manifold.refine(wide, Z))) ** 2, axis=1)
    assert (after <= before + 1e-9).all()
    assert after.mean() < 1.05 * np.mean(manifold.distance_to_manifold(wide) ** 2)
    holes = wide.copy()
    holes[::3, 0] = np.nan
    assert np.isfinite(manifold.refine(holes, Z)).all()
    with pytest.raises(ValueError, match="n_steps of PrincipalManifold"):
        manifold.refine(wide, Z, n_steps=-1)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale):
    expected = AmortizedMap(PCA(1)).fit(X).transform(X)
    np.testing.assert_allclose(AmortizedMap(PCA(1)).fit(scale * X).transform(scale * X) / scale, expected, atol=1e-5)


def test_many_rows_are_judged_by_rows_that_were_held_out():
    rows = RNG.normal(size=(2100, 2))
    model = AmortizedMap(PCA(1)).fit(rows)
    assert model.encoder_.solver_ == "conjugate_gradients"
    assert model.encoding_error_ < 0.05
    new = RNG.normal(size=(50, 2))
    assert np.abs(model.transform(new) - model.estimator_.transform(new)).max() < 0.2


def test_single_precision_gives_nearly_the_same():
    expected = AmortizedMap(PCA(1)).fit(X).transform(X)
    single = AmortizedMap(PCA(1)).fit(X.astype(np.float32)).transform(X.astype(np.float32))
    np.testing.assert_allclose(single, expected, atol=1e-4)


def test_objects_have_an_encoder_but_no_learned_decoder():
    words = RNG.integers(4, size=(30, 8), dtype=np.uint32)
    model = AmortizedMap(KernelPCA(1, kernel=WeightedDegree(2)), kernel=WeightedDegree(2)).fit(words)
    assert np.abs(model.transform(words) - model.embedding_).max() < 0.2 * np.abs(model.embedding_).max()
    with pytest.raises(TypeError, match='decoder of AmortizedMap must be "auto" for kernels on objects'):
        AmortizedMap(PCA(1), kernel=WeightedDegree(2), decoder="learned").fit(words)


def test_constant_and_equal_rows():
    with pytest.warns(UserWarning, match="all rows look alike"):
        model = AmortizedMap(OnlyFit(), decoder="learned").fit(np.ones((5, 2)))
    np.testing.assert_allclose(model.transform(np.ones((2, 2))), 0.0, atol=1e-12)
    repeated = np.repeat(X[:8], 3, axis=0)
    Z = AmortizedMap(PCA(1)).fit(repeated).transform(repeated)
    np.testing.assert_allclose(Z[::3], Z[1::3], atol=1e-12)


class OnlyFit(BaseEstimator):
    """A map that has but fit and embedding_, with one column."""

    def fit(self, X, y=None):
        self.embedding_ = X[:, :1] - X[:, :1].mean()
        return self


def test_a_map_without_fit_transform_gives_its_embedding():
    model = AmortizedMap(OnlyFit()).fit(X)
    np.testing.assert_array_equal(model.embedding_, X[:, :1] - X[:, 0].mean())


def test_files():
    import skops.io

    model = AmortizedMap(CURVE).fit(ARC)
    expected = model.transform(ARC_TEST)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(ARC_TEST), expected)
    content = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=content)
    np.testing.assert_array_equal(skops.io.loads(content, trusted=trusted).transform(ARC_TEST), expected)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"estimator": PCA}, TypeError, "estimator of AmortizedMap must be a map"),
        ({"estimator": "pca"}, TypeError, "estimator of AmortizedMap must be a map"),
        ({"estimator": KernelPCA(1, kernel=Precomputed())}, TypeError, "must take rows"),
        ({"kernel": "rbf"}, TypeError, "kernel of AmortizedMap must be a Kernel or None"),
        ({"steps": -1}, ValueError, "steps of AmortizedMap must be a whole number >= 0"),
        ({"steps": "many"}, ValueError, "steps of AmortizedMap must be a whole number >= 0"),
        ({"steps": 3}, TypeError, "steps of AmortizedMap must be 0 or 'auto' for PCA"),
        ({"decoder": "none"}, ValueError, "decoder of AmortizedMap must be one of"),
    ],
)
def test_bad_parameters(options, error, message):
    with pytest.raises(error, match=message):
        AmortizedMap(**({"estimator": PCA(1)} | options)).fit(X)


def test_bad_rows_and_points():
    model = AmortizedMap(PCA(1), decoder="learned").fit(X)
    with pytest.raises(ValueError, match="Z of AmortizedMap must have 1 columns"):
        model.inverse_transform(np.ones((2, 2)))
    with pytest.raises(ValueError, match="NaN"):
        model.transform(np.full((1, 3), np.nan))
    with pytest.raises(TypeError, match="[Ss]parse"):
        AmortizedMap(PCA(1)).fit(sparse.csr_array(X))
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        AmortizedMap(PCA(1)).fit(X[:1])
