"""The estimator contract of scikit-learn with the parameters that users get, which take longer than others."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    DensityClassifier,
    GenerativeTopographicMap,
    PrincipalCurve,
    PrincipalManifold,
    UnsupervisedKernelRegression,
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        DensityClassifier(),
        PrincipalCurve(),
        GenerativeTopographicMap(),
        UnsupervisedKernelRegression(),
        PrincipalManifold(),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)
