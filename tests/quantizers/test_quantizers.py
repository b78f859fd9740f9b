"""What holds for all quantizers: errors that never rise, codes, weights, starts, interruptions, bad input."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer import PlaneQuantizer, VectorQuantizer
from mercer.quantizers import spread_rows

X, _ = make_blobs(120, centers=5, n_features=3, random_state=0)
D = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.5]])
QUANTIZERS = [
    VectorQuantizer(5, n_init=2, random_state=0),
    VectorQuantizer(5, n_init=2, metric=D, random_state=0),
    VectorQuantizer(5, cost="l1", n_init=2, random_state=0),
    VectorQuantizer(5, cost="huber", sigma=0.5, n_init=2, random_state=0),
    VectorQuantizer(5, cost="huber", metric=D, n_init=2, random_state=0),
    PlaneQuantizer(3, n_init=2, random_state=0),
    PlaneQuantizer(3, 2, metric=D, n_init=2, random_state=0),
]
every_quantizer = pytest.mark.parametrize("quantizer", QUANTIZERS, ids=repr)


def copy_of(quantizer, **changes):
    return type(quantizer)(**{**quantizer.get_params(), **changes})


@every_quantizer
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), tails=st.booleans(), n=st.integers(12, 60))
def test_the_error_never_rises(quantizer, seed, tails, n):
    rng = np.random.default_rng(seed)
    rows = rng.standard_t(1.5, size=(n, 3)) if tails else np.round(rng.normal(size=(n, 3)), 1)
    model = copy_of(quantizer, n_init=1, tol=1e-9, max_iter=1000, random_state=seed).fit(rows)
    history = np.array(model.history_)
    assert np.all(np.diff(history) <= 0)
    # What is stored is what was measured.
    assert model.quantization_error(rows) == pytest.approx(history[-1], rel=1e-9, abs=1e-12)
    assert model.status_ == "optimal"


@every_quantizer
def test_predictions_distances_and_errors_agree(quantizer):
    model = copy_of(quantizer).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    distances = model.transform(X)
    assert distances.shape == (len(X), model.n_clusters)
    np.testing.assert_array_equal(np.argmin(distances, axis=1), model.labels_)
    assert model.score(X) == -model.quantization_error(X) == pytest.approx(-model.quantization_error_)
    assert len(model.get_feature_names_out()) == model.n_clusters
    np.testing.assert_array_equal(copy_of(quantizer).fit_predict(X), model.labels_)
    weight = np.arange(len(X)) % 3.0
    assert model.quantization_error(X, weight) == pytest.approx(
        model.quantization_error(np.repeat(X, weight.astype(int), axis=0))
    )


@every_quantizer
def test_transform_and_inverse_transform_are_a_pair(quantizer):
    model = copy_of(quantizer).fit(X)
    nearest = model.cluster_centers_[model.labels_]
    np.testing.assert_array_equal(model.inverse_transform(model.transform(X)), nearest)
    np.testing.assert_array_equal(model.inverse_transform(pd.DataFrame(model.transform(X))), nearest)
    np.testing.assert_array_equal(model.inverse_transform(model.predict(X)), nearest)
    if isinstance(model, PlaneQuantizer):
        on_planes = model.inverse_transform(model.transform(X), model.coordinates(X))
        expected = model.inverse_transform(model.predict(X), model.coordinates(X))
        np.testing.assert_array_equal(on_planes, expected)
        residual = (X - on_planes) @ (np.eye(3) if model.metric is None else np.linalg.cholesky(model.metric))
        assert np.mean(np.sum(residual**2, axis=1)) == pytest.approx(model.quantization_error(X))
    bad = np.where(model.transform(X) > 5, np.nan, 1.0)
    with pytest.raises(ValueError, match="Input codes contains NaN"):
        model.inverse_transform(bad)


@every_quantizer
def test_random_starts_do_not_depend_on_the_order_of_rows(quantizer):
    order = np.random.default_rng(1).permutation(len(X))
    model, shuffled = copy_of(quantizer).fit(X), copy_of(quantizer).fit(X[order])
    np.testing.assert_array_equal(shuffled.labels_, model.labels_[order])
    weight = np.arange(len(X)) % 3
    weighted = copy_of(quantizer).fit(X, sample_weight=weight)
    repeated = copy_of(quantizer).fit(np.repeat(X, weight, axis=0)[::-1])
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-9)


@every_quantizer
def test_nothing_depends_on_where_the_rows_lie(quantizer):
    here, there = copy_of(quantizer).fit(X), copy_of(quantizer).fit(X + 1e5)
    np.testing.assert_array_equal(here.labels_, there.labels_)
    np.testing.assert_allclose(here.history_, there.history_, rtol=1e-8)


@every_quantizer
def test_weights_are_repetitions(quantizer):
    start = copy_of(quantizer).fit(X)
    weight = np.arange(len(X)) % 3
    weighted, repeated = (copy_of(quantizer, warm_start=True, tol=1e-10, max_iter=2000) for _ in range(2))
    for model in (weighted, repeated):
        model.__dict__.update({k: v for k, v in vars(start).items() if k.endswith("_") or k.startswith("_")})
    weighted.fit(X, sample_weight=weight)
    repeated.fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-7)
    np.testing.assert_allclose(weighted.quantization_error_, repeated.quantization_error_)


def test_only_ratios_of_weights_matter():
    model = VectorQuantizer(4, random_state=0).fit(X)
    for size in (1e-320, 1e307):
        weighted = VectorQuantizer(4, random_state=0).fit(X, sample_weight=np.full(len(X), size))
        np.testing.assert_allclose(weighted.cluster_centers_, model.cluster_centers_)
        assert weighted.quantization_error(X, np.full(len(X), size)) == pytest.approx(model.quantization_error_)


@every_quantizer
def test_a_warm_start_goes_on(quantizer):
    model = copy_of(quantizer, warm_start=True).fit(X)
    before = model.quantization_error_
    model.fit(X)
    assert len(model.history_) <= 3
    assert model.quantization_error_ <= before * (1 + 1e-12)
    assert model.set_params(n_clusters=2).fit(X).n_iter_ >= 1  # codes of another number are no start


@every_quantizer
def test_a_callback_is_told_and_may_stop(quantizer):
    seen = []
    model = copy_of(quantizer, n_init=1, callback=lambda *told: seen.append(told)).fit(X)
    assert [iteration for iteration, _ in seen] == list(range(1, len(seen) + 1))
    assert [error for _, error in seen] == model.history_[1 : len(seen) + 1]
    model = copy_of(quantizer, n_init=3, tol=0.0, callback=lambda iteration, error: True).fit(X)
    assert model.status_ in ("interrupted", "optimal")
    assert len(model.history_) <= 3


@every_quantizer
def test_ctrl_c_leaves_a_usable_fit(quantizer):
    def interrupt(iteration, error):
        raise KeyboardInterrupt

    model = copy_of(quantizer, tol=0.0, random_state=1, callback=interrupt).fit(X)
    assert model.status_ == "interrupted"
    assert model.predict(X).shape == (len(X),)


@pytest.mark.parametrize("cost", ["l1", "huber"])
def test_too_few_iterations_are_told(cost):
    with pytest.warns(
        ConvergenceWarning, match="VectorQuantizer was still improving after 1 iterations; raise max_iter"
    ):
        VectorQuantizer(5, cost=cost, max_iter=1, tol=0.0, random_state=0).fit(X)


@every_quantizer
def test_fewer_rows_that_differ_than_codes(quantizer):
    rows = np.repeat(X[:2], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"needs \d of its . codes; the rows hold no more that differ"):
        model = copy_of(quantizer, n_clusters=4).fit(rows)
    assert model.quantization_error_ == pytest.approx(0.0, abs=1e-24)
    with pytest.warns(ConvergenceWarning, match="needs 1 of its"):
        copy_of(quantizer).fit(np.ones((9, 3)))


@every_quantizer
def test_constant_columns_do_no_harm(quantizer):
    rows = np.column_stack([X[:, :2], np.full(len(X), 7.0)])
    model = copy_of(quantizer).fit(rows)
    np.testing.assert_allclose(model.cluster_centers_[:, 2], 7.0)


def test_single_precision_stays():
    model = VectorQuantizer(3, random_state=0).fit(X.astype(np.float32))
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert PlaneQuantizer(2).fit(X).coordinates(X.astype(np.float32)).dtype == np.float32


def test_verbose_shows_a_bar(capsys):
    VectorQuantizer(3, n_init=1, verbose=True, random_state=0).fit(X)
    assert "VectorQuantizer" in capsys.readouterr().err


def test_far_rows_are_drawn():
    """Three tight groups: one row of each; and more rows than differ are drawn without failing."""
    rows = np.repeat([[0.0], [100.0], [200.0]], 20, axis=0) + np.linspace(0, 1e-3, 60)[:, None]
    cost = lambda rows, row: cdist(rows, row[None], "sqeuclidean")[:, 0]  # noqa: E731
    for seed in range(10):
        chosen = spread_rows(rows, np.ones(60), 3, np.random.RandomState(seed), cost)
        assert sorted(chosen // 20) == [0, 1, 2]
    assert len(spread_rows(np.zeros((5, 1)), np.ones(5), 4, np.random.RandomState(0), cost)) == 4


@pytest.mark.parametrize(
    ("model", "rows", "error", "message"),
    [
        (VectorQuantizer(4), X[:3], ValueError, "n_clusters of .* rows with weight, n_samples=3, got 4; ask"),
        (VectorQuantizer(4), 1e300 * X, ValueError, r"X of VectorQuantizer must be at most 1e\+150, got .*e\+301"),
        (PlaneQuantizer(4), 1e-300 * X, ValueError, "X of PlaneQuantizer must have rows that differ by 1e-150 or more"),
        (VectorQuantizer(0), X, ValueError, "n_clusters of VectorQuantizer must be a whole number >= 1, got 0"),
        (VectorQuantizer(True), X, ValueError, "n_clusters of VectorQuantizer must be a whole number"),
        (VectorQuantizer(cost="l3"), X, ValueError, "cost of VectorQuantizer must be one of .* got 'l3'"),
        (VectorQuantizer(sigma=0.0), X, ValueError, "sigma of VectorQuantizer must be a number > 0, got 0.0"),
        (VectorQuantizer(metric=np.eye(2)), X, ValueError, r"metric of .* a symmetric matrix of shape \(3, 3\)"),
        (VectorQuantizer(metric=np.triu(np.ones((3, 3)))), X, ValueError, "must be a symmetric matrix"),
        (VectorQuantizer(metric=np.diag([1.0, 1.0, -1.0])), X, ValueError, "metric of .* must be positive definite"),
        (PlaneQuantizer(metric=np.ones((3, 3))), X, ValueError, "metric of PlaneQuantizer must be positive definite"),
        (VectorQuantizer(metric=D, cost="l1"), X, ValueError, "metric of VectorQuantizer must be None for cost='l1'"),
        (VectorQuantizer(n_init=0), X, ValueError, "n_init of VectorQuantizer must be a whole number >= 1"),
        (VectorQuantizer(max_iter=0), X, ValueError, "max_iter of VectorQuantizer must be a whole number >= 1, got 0"),
        (VectorQuantizer(tol=-1.0), X, ValueError, "tol of VectorQuantizer must be a number >= 0 and < 1, got -1.0"),
        (VectorQuantizer(callback="print"), X, TypeError, "callback of .* must be callable or None, got 'print'"),
        (VectorQuantizer(), np.where(X > 8, np.nan, X), ValueError, "NaN"),
        (PlaneQuantizer(2, 4), X, ValueError, "n_components of .* the number of columns, n_features=3, got 4"),
        (PlaneQuantizer(2, 0), X, ValueError, "n_components of PlaneQuantizer must be a whole number >= 1, got 0"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(model, rows, error, message):
    with pytest.raises(error, match=message):
        model.fit(rows)


def test_bad_weights_and_codes_are_refused():
    with pytest.raises(ValueError, match="sample_weight of VectorQuantizer must be non-negative and not all zero"):
        VectorQuantizer(2).fit(X, sample_weight=-np.ones(len(X)))
    with pytest.raises(ValueError, match="rows with weight, n_samples=2, got 4"):
        VectorQuantizer(4).fit(X, sample_weight=np.arange(len(X)) < 2)
    model, planes = VectorQuantizer(2, random_state=0).fit(X), PlaneQuantizer(2, random_state=0).fit(X)
    for codes in ([2], [-1], [0.5], [[0, 1]]):
        with pytest.raises(
            ValueError, match="codes of VectorQuantizer must be a list of whole numbers from 0 to 1, got"
        ):
            model.inverse_transform(codes)
    with pytest.raises(ValueError, match=r"coordinates of PlaneQuantizer must have shape \(2, 1\), one row for each"):
        planes.inverse_transform([0, 1], [[0.0, 1.0], [1.0, 2.0]])
    for call in (VectorQuantizer().predict, VectorQuantizer().inverse_transform, PlaneQuantizer().coordinates):
        with pytest.raises(NotFittedError):
            call(X)
