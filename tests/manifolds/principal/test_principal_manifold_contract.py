"""The estimator contract of scikit-learn."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import PrincipalManifold


@pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        PrincipalManifold(width=0.5, penalty=1e-3, init="pca", max_iter=3),
        PrincipalManifold(1, cost="huber", init="pca", max_iter=2),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)
