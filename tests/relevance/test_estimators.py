"""The estimator contract of scikit-learn."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelPCClassifier, KernelPCRegressor, RelevantDimensions


@parametrize_with_checks([RelevantDimensions(), KernelPCRegressor(), KernelPCClassifier()])
def test_estimator_checks(estimator, check):
    check(estimator)
