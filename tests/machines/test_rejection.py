import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics import precision_recall_curve, roc_auc_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SupportVectorClassifier
from mercer.kernels import Gaussian
from mercer.machines import RejectingClassifier, Rejection, RejectionCurve

CLASSES = np.array(["b", "c", "uds"])
PRIORS = {"b": 0.614, "c": 0.171, "uds": 0.215}
moons = make_moons(400, noise=0.3, random_state=0)


@pytest.mark.filterwarnings("ignore:The Gram matrix of:UserWarning")
@parametrize_with_checks([RejectingClassifier()])
def test_estimator_checks(estimator, check):
    check(estimator)


def sample(n=60, n_levels=9, seed=0):
    """Scores with many ties, labels, and weights of which some are zero."""
    rng = np.random.default_rng(seed)
    return rng.integers(n_levels, size=n) / 4 - 1, CLASSES[rng.integers(3, size=n)], rng.integers(4, size=n) / 2


def by_brute_force(confidence, wanted, labels, weight, priors):
    """Threshold, efficiency, purity and coverage from equations (6.1) and (6.2) of the thesis."""
    known = [c for c in np.unique(labels) if weight[labels == c].sum() > 0]
    totals = {c: weight[labels == c].sum() for c in known}
    prior = totals if priors is None else priors
    rows = []
    for threshold in sorted(set(confidence), reverse=True):
        accepted = [i for i in range(len(labels)) if confidence[i] >= threshold]
        share = {c: sum(weight[i] for i in accepted if labels[i] == c) / totals[c] for c in known}
        right = {c: sum(weight[i] for i in accepted if labels[i] == c and wanted[i]) / totals[c] for c in known}
        of_all = {c: weight[(labels == c) & wanted].sum() / totals[c] for c in known}
        taken = sum(prior[c] * share[c] for c in known)
        if taken > 0:
            good, best = (sum(prior[c] * part[c] for c in known) for part in (right, of_all))
            rows.append((threshold, good / best, good / taken, taken / sum(prior.values())))
    return np.array(rows).T


@pytest.mark.parametrize("priors", [None, PRIORS])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_one_class_against_brute_force(priors, weighted, seed):
    scores, y, weight = sample(seed=seed)
    curve = RejectionCurve.of_class(scores, y, "c", priors=priors, sample_weight=weight if weighted else None)
    expected = by_brute_force(scores, y == "c", y, weight if weighted else np.ones(60), priors)
    for part, wanted in zip((curve.thresholds, curve.efficiency, curve.purity, curve.coverage), expected, strict=True):
        np.testing.assert_allclose(part, wanted, rtol=1e-12)
    assert curve.positive == "c"
    for least in (0.01, 0.15, *curve.efficiency):
        chosen = curve.for_efficiency(float(least))
        i = next(i for i in range(len(expected[1])) if expected[1][i] >= least - 1e-9)
        np.testing.assert_allclose(
            [chosen.threshold, chosen.efficiency, chosen.purity, chosen.coverage], expected[:, i], rtol=1e-12
        )


@pytest.mark.parametrize("priors", [None, PRIORS])
@pytest.mark.parametrize("weighted", [False, True])
def test_decisions_of_several_classes_against_brute_force(priors, weighted):
    _, y, weight = sample()
    scores = np.random.default_rng(1).integers(9, size=(60, 3)) / 4 + 0.1 * np.arange(3)
    confidence = np.array([np.diff(np.sort(row)[-2:])[0] for row in scores])
    right = np.array([CLASSES[np.argmax(row)] == label for row, label in zip(scores, y, strict=True)])
    curve = RejectionCurve.of_decisions(scores, y, priors=priors, sample_weight=weight if weighted else None)
    expected = by_brute_force(confidence, right, y, weight if weighted else np.ones(60), priors)
    for part, wanted in zip((curve.thresholds, curve.efficiency, curve.purity, curve.coverage), expected, strict=True):
        np.testing.assert_allclose(part, wanted, rtol=1e-12)
    assert curve.positive is None
    chosen = curve.for_coverage(0.5)
    i = next(i for i in range(len(expected[3])) if expected[3][i] >= 0.5)
    assert chosen.threshold == expected[0, i]


def test_two_classes_are_symmetric():
    scores, y, _ = sample()
    y = np.where(y == "b", "b", "c")
    curve = RejectionCurve.of_decisions(scores, y)
    expected = by_brute_force(np.abs(scores), (scores > 0) == (y == "c"), y, np.ones(60), None)
    np.testing.assert_allclose(curve.purity, expected[2], rtol=1e-12)
    assert curve.for_coverage(1.0).purity == pytest.approx(np.mean((scores > 0) == (y == "c")))


def test_curve_is_that_of_precision_and_recall():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=500)
    scores = y + rng.normal(size=500).round(1)
    curve = RejectionCurve.of_class(scores, y, 1)
    precision, recall, thresholds = precision_recall_curve(y, scores)
    np.testing.assert_array_equal(curve.thresholds, thresholds[::-1])
    np.testing.assert_allclose(curve.purity, precision[:-1][::-1])
    np.testing.assert_allclose(curve.efficiency, recall[:-1][::-1])


def test_wanted_efficiency_is_met_exactly_if_it_can_be():
    scores, y = np.arange(40.0), np.tile(["c", "b"], 20)
    for share in (0.05, 0.15, 0.3, 1.0):
        for priors in (None, {"b": 0.9, "c": 0.1}):
            chosen = RejectionCurve.of_class(scores, y, "c", priors=priors).for_efficiency(share)
            assert chosen.efficiency == pytest.approx(share, rel=1e-12)
    # Ties stand or fall together.
    assert RejectionCurve.of_class(np.zeros(40), y, "c").for_efficiency(0.01).coverage == 1.0


def test_chance_level_of_the_thesis():
    """Priors and preselection of section 6.1.2; accepting everything gives 16.5% charm."""
    seen = {"b": 0.614 * 0.726494, "c": 0.171 * 0.676199, "uds": 0.215 * 0.646795}
    scores, y, _ = sample()
    curve = RejectionCurve.of_class(scores, y, "c", priors=seen)
    assert round(curve.for_efficiency(1.0).purity, 2) == 0.17
    assert curve.purity[-1] == pytest.approx(seen["c"] / sum(seen.values()))


def test_nothing_right_has_no_efficiency():
    curve = RejectionCurve.of_decisions([1.0, 2.0, -1.0], [0, 0, 1])
    np.testing.assert_array_equal(curve.efficiency, 0.0)
    assert curve.for_efficiency(0.5).threshold == 1.0


@pytest.mark.parametrize(
    "estimator",
    [None, LogisticRegression(), KNeighborsClassifier(15), Perceptron()],
    ids=["default", "logistic", "probabilities", "perceptron"],
)
def test_the_unsure_are_rejected(estimator):
    model = RejectingClassifier(estimator, coverage=0.7).fit(*moons)
    X, y = make_moons(1000, noise=0.3, random_state=1)
    predicted, accepted = model.predict(X), model.accepts(X)
    np.testing.assert_array_equal(predicted == -1, ~accepted)
    np.testing.assert_array_equal(predicted[accepted], model.estimator_.predict(X)[accepted])
    assert model.reject_label_ == -1
    assert abs(accepted.mean() - model.rejection_.coverage) < 0.1
    accuracy = np.mean(predicted[accepted] == y[accepted])
    assert abs(accuracy - model.rejection_.purity) < 0.05
    assert accuracy > model.estimator_.score(X, y) + 0.02


def test_threshold_is_that_of_cross_validated_scores():
    X, y = moons
    machine = SupportVectorClassifier(Gaussian(0.7))
    for cv in (3, KFold(4)):
        scores = cross_val_predict(machine, X, y, cv=cv, method="decision_function")
        model = RejectingClassifier(machine, coverage=0.8, cv=cv).fit(X, y)
        assert model.rejection_ == RejectionCurve.of_decisions(scores, y).for_coverage(0.8)
        other = RejectingClassifier(machine, positive=0, efficiency=0.6, cv=cv, priors={0: 1, 1: 9}).fit(X, y)
        curve = RejectionCurve.of_class(-scores, y, 0, priors={0: 1, 1: 9})
        assert other.rejection_ == curve.for_efficiency(0.6)
        np.testing.assert_array_equal(other.curve_.purity, curve.purity)


@pytest.mark.parametrize("positive", ["b", "c", "uds"])
def test_one_class_is_accepted_or_rejected(positive):
    X, codes = make_blobs(300, centers=3, cluster_std=3.0, random_state=0)
    y = CLASSES[codes]
    model = RejectingClassifier(positive=positive, efficiency=0.5).fit(X, y)
    predicted = model.predict(X)
    assert set(predicted) == {positive, "rejected"}
    assert 0.4 < np.mean(predicted[y == positive] == positive) < 0.7
    column = model.estimator_.decision_function(X)[:, list(CLASSES).index(positive)]
    np.testing.assert_array_equal(model.accepts(X), column >= model.rejection_.threshold)


def test_a_fitted_classifier_may_be_given():
    X, y = moons
    machine = SupportVectorClassifier().fit(X[:200], y[:200])
    model = RejectingClassifier(FrozenEstimator(machine), coverage=0.5).fit(X[200:], y[200:])
    scores = machine.decision_function(X[200:])
    expected = RejectionCurve.of_decisions(scores, y[200:]).for_coverage(0.5)
    assert model.rejection_.threshold == pytest.approx(expected.threshold, rel=1e-12)
    assert model.rejection_.purity == expected.purity
    # The sample at the threshold may round either way.
    assert model.accepts(X[200:]).mean() == pytest.approx(0.5, abs=0.01)


class Interrupted(LogisticRegression):
    """Ends as "interrupted", as machines do after Ctrl-C, in one of several fits."""

    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).n_fits += 1
        self.status_ = "interrupted" if type(self).n_fits == 3 else "optimal"
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("wrap", [lambda machine: machine, lambda machine: make_pipeline(StandardScaler(), machine)])
def test_ctrl_c_ends_the_fit(wrap, monkeypatch):
    X, y = moons
    monkeypatch.setattr(Interrupted, "n_fits", 3)
    model = RejectingClassifier(wrap(Interrupted()), coverage=0.5).fit(X, y)
    for n_fits in (0, 2):  # in a fold, and in the fit to all samples
        monkeypatch.setattr(Interrupted, "n_fits", n_fits)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert Interrupted.n_fits == 3
        with pytest.raises(NotFittedError):
            model.predict(X)

    def interrupt(*progress):
        raise KeyboardInterrupt

    machine = SupportVectorClassifier(callback=interrupt)
    with (
        pytest.warns(ConvergenceWarning, match="was interrupted"),
        pytest.raises(KeyboardInterrupt),
    ):
        RejectingClassifier(wrap(machine)).fit(X, y)


def test_scores_are_those_of_the_classifier():
    X, y = moons
    model = RejectingClassifier(LogisticRegression(), coverage=0.5).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), model.estimator_.decision_function(X))
    np.testing.assert_array_equal(model.predict_proba(X), model.estimator_.predict_proba(X))
    neighbours = RejectingClassifier(KNeighborsClassifier(15))
    assert hasattr(neighbours, "predict_proba")
    assert not hasattr(neighbours, "decision_function")
    assert not hasattr(RejectingClassifier(Perceptron()).fit(X, y), "predict_proba")
    assert hasattr(RejectingClassifier(), "decision_function")
    for scores in (model.decision_function(X), model.predict_proba(X)[:, 1]):
        assert roc_auc_score(y, scores) > 0.9
    with pytest.raises(NotFittedError):
        RejectingClassifier().decision_function(X)
    with pytest.raises(NotFittedError):
        neighbours.predict_proba(X)


def test_full_coverage_rejects_nothing():
    X, y = moons
    model = RejectingClassifier().fit(X, y)
    assert model.rejection_.threshold == -np.inf
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(X))
    assert model.rejection_.coverage == 1.0


def test_labels_of_rejected_samples():
    X, codes = moons
    for names, label in (([-1, 1], -2), ([False, True], -1), ([1.0, 2.0], 0.0), (["x", "y"], "rejected")):
        model = RejectingClassifier(LogisticRegression(), coverage=0.5).fit(X, np.array(names)[codes])
        assert model.reject_label_ == label
        assert set(model.predict(X).tolist()) == {*names, label}
    small = RejectingClassifier(LogisticRegression(), coverage=0.5).fit(X, codes.astype(np.uint8))
    assert set(small.predict(X).tolist()) == {-1, 0, 1}
    own = RejectingClassifier(LogisticRegression(), coverage=0.5, reject_label=99).fit(X, codes)
    assert set(own.predict(X).tolist()) == {0, 1, 99}


def test_frames_and_weights():
    X, y = moons
    frame = pd.DataFrame(X, columns=["left", "right"])
    weight = np.random.default_rng(0).uniform(0.5, 1.5, size=len(y))
    model = RejectingClassifier(coverage=0.8).fit(frame, y, weight)
    assert model.feature_names_in_.tolist() == ["left", "right"]
    machine = SupportVectorClassifier()
    scores = cross_val_predict(machine, frame, y, cv=5, method="decision_function", params={"sample_weight": weight})
    assert model.rejection_ == RejectionCurve.of_decisions(scores, y, sample_weight=weight).for_coverage(0.8)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"coverage": 0.0}, r"coverage of RejectingClassifier must be in \(0, 1\], got 0.0; give a share"),
        ({"coverage": "most"}, r"coverage of RejectingClassifier must be in \(0, 1\], got 'most'"),
        ({"positive": 1, "efficiency": 1.5}, r"efficiency of RejectingClassifier must be in \(0, 1\], got 1.5"),
        ({"positive": 1}, "positive and efficiency of RejectingClassifier must be given together, got 1 and None; say"),
        (
            {"efficiency": 0.5},
            "positive and efficiency of RejectingClassifier must be given together, got None and 0.5",
        ),
        (
            {"positive": 7, "efficiency": 0.5},
            r"positive of RejectingClassifier must be one of the classes \[0, 1\], got 7",
        ),
        (
            {"reject_label": 1},
            r"reject_label of RejectingClassifier must differ from all classes, \[0, 1\], got 1; choose",
        ),
        (
            {"priors": {0: 1.0}},
            r"priors of RejectionCurve must be a dict of one positive number for each .* \[0, 1\], got",
        ),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        RejectingClassifier(LogisticRegression(), **parameters).fit(*moons)


def test_bad_input_is_refused():
    with pytest.raises(NotFittedError):
        RejectingClassifier().predict(moons[0])
    with pytest.raises(
        TypeError, match="estimator of RejectingClassifier must be a classifier with decision_function or"
    ):
        RejectingClassifier(NearestCentroidWithoutScores()).fit(*moons)
    scores, y, _ = sample()
    for priors in ({"b": 1, "c": 1}, {**PRIORS, "t": 1}, {**PRIORS, "c": 0}, {**PRIORS, "c": True}, [1, 1, 1]):
        with pytest.raises(ValueError, match="priors of RejectionCurve must be a dict of one positive number for each"):
            RejectionCurve.of_class(scores, y, "c", priors=priors)
    with pytest.raises(
        ValueError, match=r"positive of RejectionCurve must be one of the classes .* got 't'; choose one"
    ):
        RejectionCurve.of_class(scores, y, "t")
    with pytest.raises(ValueError, match="positive of RejectionCurve must be one of the classes"):
        RejectionCurve.of_class(scores, y, "c", sample_weight=(y != "c").astype(float))
    with pytest.raises(
        ValueError, match=r"scores of RejectionCurve must be one column for one class, got shape \(60, 2\)"
    ):
        RejectionCurve.of_class(np.ones((60, 2)), y, "c")
    for bad in (scores, np.ones((60, 2))):
        with pytest.raises(
            ValueError, match="scores of RejectionCurve must be one column for two classes or one for each"
        ):
            RejectionCurve.of_decisions(bad, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        RejectionCurve.of_class(scores[:-1], y, "c")
    with pytest.raises(ValueError, match="Input scores contains NaN"):
        RejectionCurve.of_class(np.full(60, np.nan), y, "c")
    curve = RejectionCurve.of_class(scores, y, "c")
    for share in (0.0, -1, 1.01, np.nan, True, None):
        with pytest.raises(ValueError, match=r"efficiency of RejectionCurve must be in \(0, 1\], got"):
            curve.for_efficiency(share)
        with pytest.raises(ValueError, match=r"coverage of RejectionCurve must be in \(0, 1\], got"):
            curve.for_coverage(share)
    assert isinstance(curve.for_coverage(1), Rejection)


class NearestCentroidWithoutScores(NearestCentroid):
    decision_function = predict_proba = predict_log_proba = property(lambda self: self.no_such_attribute)
