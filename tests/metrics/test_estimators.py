"""The estimator contract of scikit-learn."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import LearnedMetric


@parametrize_with_checks([LearnedMetric()])
def test_estimator_checks(estimator, check):
    check(estimator)
