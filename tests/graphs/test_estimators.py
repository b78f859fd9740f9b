"""The estimator contract of scikit-learn."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import DiffusionMap, LaplacianEigenmaps, SpectralClustering
from mercer.kernels import Gaussian


@pytest.mark.filterwarnings("ignore:.*connected parts:UserWarning")
@parametrize_with_checks(
    [
        LaplacianEigenmaps(),
        DiffusionMap(),
        SpectralClustering(),
        LaplacianEigenmaps(neighbors="tree"),
        LaplacianEigenmaps(n_neighbors=4),
        LaplacianEigenmaps(1, n_neighbors=4, width="local", symmetric="mutual", disconnected="each"),
        LaplacianEigenmaps(1, affinity="precomputed", disconnected="largest"),
        DiffusionMap(n_neighbors=4, t="auto"),
        DiffusionMap(affinity=Gaussian(3.0)),
        SpectralClustering(n_neighbors=4, random_state=0),
        SpectralClustering(2, affinity=Gaussian(3.0), random_state=0),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)
