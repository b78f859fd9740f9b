"""The estimator contract of scikit-learn."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import PlaneQuantizer, VectorQuantizer


def expected_to_fail(estimator):
    """Random starts differ for repeated rows, as those of KMeans do; `test_weights_are_repetitions` gives the start."""
    return {"check_sample_weight_equivalence_on_dense_data": "other rows, other random starts, other local minimum"}


@pytest.mark.filterwarnings("ignore:.*of its . codes:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        VectorQuantizer(3, n_init=1, random_state=0),
        VectorQuantizer(3, cost="huber", n_init=1, random_state=0),
        PlaneQuantizer(2, n_init=1, random_state=0),
    ],
    expected_failed_checks=expected_to_fail,
)
def test_estimator_checks(estimator, check):
    check(estimator)
