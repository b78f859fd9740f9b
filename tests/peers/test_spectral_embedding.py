"""scikit-learn's own tests of its spectral embedding, run on Mercer's Laplacian eigenmaps."""

import pytest
from sklearn.manifold.tests import test_spectral_embedding as peer

from tests.peers import adapters_graphs as adapters
from tests.peers.collect import peer_tests

AMG = "asks for algebraic multigrid, which Mercer does not have"
NOT_APPLICABLE = {
    "test_fallback_amg": AMG,
    "test_spectral_embedding_amg_solver": AMG,
    "test_spectral_embedding_amg_solver_failure": AMG,
    "test_error_pyamg_not_available": AMG,
    "test_precomputed_nearest_neighbors_filtering": "given graphs hold distances; Mercer takes weights",
    "test_spectral_eigen_tol_auto": "looks at the arguments of a function that scikit-learn calls inside",
}
REPLACE = {
    "SpectralEmbedding": adapters.SpectralEmbedding,
    "spectral_embedding": adapters.spectral_embedding,
    "_graph_connected_component": adapters.graph_connected_component,
    "_graph_is_connected": adapters.graph_is_connected,
}

pytestmark = pytest.mark.filterwarnings("ignore:The graph of LaplacianEigenmaps has .* connected parts")
globals().update(peer_tests(peer, REPLACE, NOT_APPLICABLE))
