"""The estimator contract of scikit-learn."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    KernelRidge,
    NuSupportVectorClassifier,
    NuSupportVectorRegressor,
    OneClassMachine,
    QuantileBand,
    SupportVectorClassifier,
    SupportVectorRegressor,
)


@pytest.mark.filterwarnings("ignore:The Gram matrix of:UserWarning")
@pytest.mark.filterwarnings("ignore:NuSupportVectorClassifier found no margin:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        # Weights and repetitions must agree to 1e-7, so the gap must be far smaller than by default.
        SupportVectorRegressor(tol=1e-11),
        NuSupportVectorRegressor(tol=1e-11),
        SupportVectorClassifier(tol=1e-11),
        # Its bound 2 min(n₊, n₋) / n is lower than the default 0.5 for some of the random labels.
        NuSupportVectorClassifier(nu=0.1, tol=1e-11),
        OneClassMachine(tol=1e-11),
        KernelRidge(),
        QuantileBand(tol=1e-11),
        QuantileBand(calibrate=True, random_state=0),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)
