import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KernelDensity
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import DensityClassifier
from mercer.manifolds import density_classifier
from mercer.manifolds.ukr.scaling import likelihood_width

X, Y = make_blobs(150, centers=3, cluster_std=0.9, random_state=0)
NEW = np.random.default_rng(0).normal(scale=5.0, size=(40, 2))


@parametrize_with_checks([DensityClassifier(), DensityClassifier(width=1.0, prior="frequencies")])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("prior", ["equal", "frequencies"])
def test_equals_densities_of_classes(prior):
    keep = np.r_[np.flatnonzero(Y != 2), np.flatnonzero(Y == 2)[:15]]
    model = DensityClassifier(width=0.7, prior=prior).fit(X[keep], Y[keep])
    y = Y[keep]
    logs = np.column_stack([KernelDensity(bandwidth=0.7).fit(X[keep][y == c]).score_samples(NEW) for c in range(3)])
    if prior == "frequencies":
        logs += np.log(np.bincount(y) / len(y))
    probabilities = np.exp(logs - logs.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(NEW), probabilities, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(model.predict(NEW), logs.argmax(axis=1))


def test_labels_and_width():
    names = np.array(["a", "b", "c"])[Y]
    model = DensityClassifier(width="likelihood").fit(X, names)
    assert model.width_ == likelihood_width(X)
    assert set(model.predict(NEW)) <= set("abc")
    assert model.score(X, names) > 0.9


@pytest.mark.parametrize("prior", ["equal", "frequencies"])
@pytest.mark.parametrize("sample", [1000, 30])
def test_the_automatic_width_errs_least_on_rows_left_out(prior, sample, monkeypatch):
    monkeypatch.setattr(density_classifier, "_SAMPLE", sample)
    keep = np.r_[np.flatnonzero(Y != 2), np.flatnonzero(Y == 2)[:10]]
    x, y = X[keep], Y[keep]
    nearest = np.sort(cdist(x, x), axis=1)[:, 1]
    some = np.arange(0, len(x), max(1, len(x) // sample))
    widths = np.median(nearest[some]) * density_classifier._WIDTH_GRID
    others = [np.delete(np.arange(len(x)), i) for i in some]
    wrong = [
        sum(
            DensityClassifier(width=h, prior=prior).fit(x[o], y[o]).predict(x[[i]])[0] != y[i]
            for i, o in zip(some, others, strict=True)
        )
        for h in widths
    ]
    least = min(wrong) / len(some)
    share = max(least, 1 / len(some))
    within = np.array(wrong) / len(some) <= least + np.sqrt(share * (1 - share) / len(some))
    assert DensityClassifier(prior=prior).fit(x, y).width_ == pytest.approx(np.exp(np.log(widths[within]).mean()))


def test_equal_rows_and_classes_of_one():
    assert DensityClassifier().fit(np.zeros((6, 2)), [0, 0, 0, 1, 1, 1]).width_ == 1.0
    model = DensityClassifier().fit(np.array([[0.0], [0.1], [5.0]]), [0, 0, 1])
    np.testing.assert_array_equal(model.predict([[0.2], [4.0]]), [0, 1])


def test_what_is_wrong():
    with pytest.raises(
        ValueError, match="width of DensityClassifier must be a number > 0, got 0; or take 'auto' or 'likelihood'"
    ):
        DensityClassifier(width=0).fit(X, Y)
    with pytest.raises(ValueError, match="width of DensityClassifier must be a number > 0, got 'wide'"):
        DensityClassifier(width="wide").fit(X, Y)
    with pytest.raises(ValueError, match=r"prior of DensityClassifier must be one of \('equal', 'frequencies'\)"):
        DensityClassifier(prior="flat").fit(X, Y)
    with pytest.raises(NotFittedError):
        DensityClassifier().predict(X)
