import numpy as np
import pytest

from mercer import RelevantDimensions
from mercer.kernels import FromFunction, Gaussian, Precomputed
from mercer.relevance.analysis import analyse
from mercer.relevance.diagnosis import diagnose
from mercer.relevance.labels import Labels
from mercer.relevance.learning_curve import LearningCurve

rng = np.random.default_rng(0)
X = rng.uniform(-np.pi, np.pi, size=(200, 1))
NOISE = rng.normal(size=200)


def diagnosis(y, rows=X, **parameters):
    return RelevantDimensions(**parameters).fit(rows, y).diagnosis_


def test_simple_and_clean():
    found = diagnosis(np.sinc(X[:, 0]) + 0.03 * NOISE)
    assert (found.dimension, found.noise, found.check) == ("low", "low", "supports")
    assert found.verdict.startswith("low-dimensional and clean")


def test_simple_and_noisy():
    found = diagnosis(np.sinc(X[:, 0]) + 0.4 * NOISE)
    assert (found.dimension, found.noise, found.check) == ("low", "high", "supports")
    assert found.verdict == (
        "low-dimensional and noisy: more data of this kind will not help; better features or another kernel might"
    )
    assert "the noise is likely in the data" in found.over_kernels


def test_complex_and_clean():
    found = diagnosis(np.sin(30 * X[:, 0]) + 0.1 * NOISE)
    assert (found.dimension, found.noise, found.check) == ("high", "low", "supports")
    assert found.verdict == "complex and clean: more data will help"
    text = str(found)
    assert text.startswith("Complex and clean: more data will help.\n- ")
    for word in ("components are relevant for Gaussian", "remains as noise", "with twice the data", "kernels tried"):
        assert word in text
    curve = found.learning_curve
    assert curve.expected(400) < curve.expected(200)
    assert curve.gain > 0.1


@pytest.mark.parametrize(
    ("errors", "check"),
    [([0.8, 0.6, 0.4], "contradicts"), ([0.41, 0.4, 0.4], "supports"), ([1.0, 1.0, 0.99], "undecided")],
)
def test_what_a_learning_curve_says_of_no_help_by_more_data(errors, check):
    labels = Labels.read("Test", np.sinc(X[:, 0]) + 0.4 * NOISE, "regression")
    family = list(analyse([Gaussian(1.0)], X, labels))
    spread = np.array([-0.01, 0.0, 0.01])
    curve = LearningCurve(np.array([50, 75, 100]), np.array(errors)[:, None] + spread, len(X))
    found = diagnose(0, family, labels, curve, X)
    assert (found.dimension, found.noise, found.check) == ("low", "high", check)
    assert (f"which {check} " in str(found)) == (check != "undecided")
    assert ("more data will help all the same" in found.verdict) == (check == "contradicts")


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ([0.95, 0.93, 0.93], "clean only to the eye: this kernel can follow the labels, but held-out errors of 91.6 %"),
        ([0.98, 0.8, 0.7], "more data will help; as yet held-out errors are 56.4 %, and 49.4 % with"),
        ([1.0, 1.0, 0.99], "held-out rows are predicted no better than by guessing"),
        ([0.6, 0.4, 0.3], "complex and clean: more data will help"),
    ],
)
def test_the_verdict_is_never_better_than_held_out_errors(errors, words):
    labels = Labels.read("Test", np.sin(30 * X[:, 0]) + 0.1 * NOISE, "regression")
    family = list(analyse([Gaussian(0.03)], X, labels))
    spread = np.array([-0.01, 0.0, 0.01])
    curve = LearningCurve(np.array([50, 75, 100]), np.array(errors)[:, None] + spread, len(X))
    found = diagnose(0, family, labels, curve, X)
    assert (found.dimension, found.noise) == ("high", "low")
    assert words in found.verdict
    assert found.verdict.startswith("complex")


def test_complex_and_noisy():
    found = diagnosis(np.sin(12 * X[:, 0]) + 0.8 * NOISE, kernel=Gaussian(0.03))
    assert (found.dimension, found.noise, found.check) == ("high", "high", "undecided")
    assert "another kernel or encoding" in found.verdict
    assert found.over_kernels is None


def test_a_kernel_that_is_too_wide_is_told_of_a_better_one():
    y = np.sin(8 * X[:, 0]) + 0.2 * NOISE + 2 * np.sinc(X[:, 0])
    found = diagnosis(y, kernel=[Gaussian(0.1), Gaussian(0.2), Gaussian(3.0)])
    assert found.noise == "low"
    widest = diagnosis(np.sinc(X[:, 0]) + 0.4 * NOISE, widths=[0.1, 0.3, 0.6])
    assert "the best is the widest: try others beyond it" in widest.over_kernels


def test_labels_that_are_chance():
    found = diagnosis(NOISE)
    assert found.verdict.startswith("nothing found")
    assert (found.dimension, found.noise, found.check) == (None, None, "undecided")
    coin = np.where(NOISE > 0, "head", "tail")
    assert diagnosis(coin).verdict.startswith("nothing found")


def test_flat_and_rank_one_spectra():
    y = np.sinc(X[:, 0])
    flat = RelevantDimensions(Gaussian(1e-7)).fit(X, y)
    assert flat.dimension_ == 0
    assert flat.diagnosis_.verdict.startswith("no verdict: to this kernel all rows look equally different")
    assert np.all(flat.denoised_ == 0)
    # Not even a spectrum that is only nearly flat is worth a verdict.
    K = np.eye(200) + 1e-4 * Gaussian(1.0)(X)
    assert "equally different" in diagnosis(y, rows=K, kernel=Precomputed()).verdict
    alike = diagnosis(y, kernel=FromFunction(lambda a, b: 1.0))
    assert alike.verdict.startswith("no verdict: to this kernel all rows look alike")


def test_contradicting_duplicates_are_counted():
    rows = np.repeat(np.arange(20.0), 10)[:, None]
    labels = np.where(rows[:, 0] < 10, "a", "b")
    labels[::10] = np.where(labels[::10] == "a", "b", "a")
    expected = "equal rows with different labels leave an error of at least 10.0 % to whatever kernel"
    assert expected in diagnosis(labels, rows=rows).evidence
    y = rows[:, 0] + np.tile([-1.0, 1.0], 100)
    share = 100 * 200 / np.sum((y - y.mean()) ** 2)
    assert any(f"at least {share:.1f} %" in line for line in diagnosis(y, rows=rows).evidence)
    words = np.repeat(["AC", "AG", "CC", "GT", "TT"], 10)
    odd = diagnosis(np.tile(["x", "y"], 25), rows=words, kernel=FromFunction(lambda a, b: float(a == b) + 0.5))
    assert any("at least 50.0 %" in line for line in odd.evidence)


def test_doubts():
    assert any("limit of half the samples" in line for line in diagnosis(np.sin(60 * X[:, 0])).evidence)
    assert any("set intercept=True" in line for line in diagnosis(100 + np.sinc(X[:, 0])).evidence)
    low = diagnosis(np.sin(8 * X[:, 0]), kernel=Gaussian(0.1), rank=12)
    assert "the dimension is near the rank 12 of the factor: raise rank" in low.evidence


def test_subsamples_that_are_too_small_decide_nothing():
    found = diagnosis(np.sin(45 * X[:, 0]) + 0.1 * NOISE)
    assert found.check == "undecided"
    assert any("no subsample is large enough" in line for line in found.evidence)


def test_few_samples_have_no_learning_curve():
    found = diagnosis(np.sinc(X[:30, 0]) + 0.1 * NOISE[:30], rows=X[:30])
    assert found.learning_curve is None
    assert found.check == "undecided"
    assert "too few samples for a learning curve" in found.evidence


@pytest.mark.parametrize("rank", [None, 30])
def test_learning_curve_of_precomputed_matrices_is_that_of_the_kernel(rank):
    y = np.sinc(X[:, 0]) + 0.2 * NOISE
    kernel = Gaussian(0.7)
    direct = diagnosis(y, kernel=kernel, rank=rank).learning_curve
    given = diagnosis(y, rows=kernel(X), kernel=Precomputed(), rank=rank).learning_curve
    np.testing.assert_array_equal(direct.sizes, [100, 150])
    np.testing.assert_allclose(given.errors, direct.errors, rtol=1e-3)
