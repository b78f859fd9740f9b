"""The estimator contract of scikit-learn."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import PlaneQuantizer, VectorQuantizer


@pytest.mark.filterwarnings("ignore:.*of its . codes:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        VectorQuantizer(),
        PlaneQuantizer(),
        VectorQuantizer(3, n_init=1, random_state=0),
        VectorQuantizer(3, cost="huber", n_init=1, random_state=0),
        PlaneQuantizer(2, n_init=1, random_state=0),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)
