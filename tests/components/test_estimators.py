"""The estimator contract of scikit-learn."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelFeatureAnalysis, KernelPCA
from mercer.kernels import Precomputed


@pytest.mark.filterwarnings("ignore:.*components above rounding:UserWarning")
@parametrize_with_checks(
    [
        KernelPCA(),
        KernelPCA(2, eigen_solver="lanczos", random_state=0),
        KernelPCA(2, eigen_solver="nystroem", n_landmarks=10, random_state=0),
        KernelPCA(2, remove="linear"),
        KernelPCA(2, kernel=Precomputed()),
        KernelFeatureAnalysis(),
        KernelFeatureAnalysis(2),
        KernelFeatureAnalysis(2, constraint="rkhs", contrast="kurtosis"),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)
