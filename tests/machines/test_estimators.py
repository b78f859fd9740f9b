"""The estimator contract of scikit-learn."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    CellMachine,
    KernelRidge,
    NuSupportVectorClassifier,
    NuSupportVectorRegressor,
    OneClassMachine,
    QuantileBand,
    SupportVectorClassifier,
    SupportVectorRegressor,
)
from mercer.losses import Logistic


@pytest.mark.filterwarnings("ignore:The Gram matrix of:UserWarning")
@pytest.mark.filterwarnings("ignore:NuSupportVectorClassifier found no margin:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        SupportVectorRegressor(),
        NuSupportVectorRegressor(),
        SupportVectorClassifier(),
        SupportVectorClassifier(loss=Logistic()),
        # Its bound 2 min(n₊, n₋) / n is lower than the default 0.5 for some of the random labels.
        NuSupportVectorClassifier(nu=0.1),
        OneClassMachine(),
        KernelRidge(),
        QuantileBand(),
        QuantileBand(calibrate=True, random_state=0),
        CellMachine(KernelRidge()),
        CellMachine(SupportVectorClassifier()),
        CellMachine(QuantileBand()),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:The Gram matrix of:UserWarning")
@parametrize_with_checks(
    [SupportVectorClassifier(probability=True, random_state=0)],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "samples that are repeated may come into different folds",
        "check_sample_weight_equivalence_on_sparse_data": "samples that are repeated may come into different folds",
        "check_classifiers_train": "the most probable class is not always the one that is predicted",
    },
)
def test_estimator_checks_with_probabilities(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:The Gram matrix of:UserWarning")
@parametrize_with_checks(
    [CellMachine(KernelRidge(), max_rows=20), CellMachine(SupportVectorClassifier(), max_rows=20)],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "rows that are repeated count for the size of cells",
    },
)
def test_estimator_checks_in_several_cells(estimator, check):
    check(estimator)
