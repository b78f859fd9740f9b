"""scikit-learn's own tests of its spectral clustering, run on Mercer's."""

import pytest
from sklearn.cluster.tests import test_spectral as peer

from tests.peers import adapters_graphs as adapters
from tests.peers.collect import peer_tests

THEIRS = "a function of scikit-learn alone: nothing of Mercer runs"
NOT_APPLICABLE = {
    "test_cluster_qr": THEIRS,
    "test_cluster_qr_permutation_invariance": THEIRS,
    "test_discretize": THEIRS,
    "test_spectral_clustering_not_infinite_loop": THEIRS,
    "test_affinities": "wants a warning of a graph in as many parts as clusters; to Mercer these are the clusters",
    "test_precomputed_nearest_neighbors_filtering": "given graphs hold distances; Mercer takes weights",
    "test_verbose": "asks for what scikit-learn prints",
}
REPLACE = {
    "SpectralClustering": adapters.SpectralClustering,
    "spectral_clustering": adapters.spectral_clustering,
}

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass is not the recommended way")
globals().update(peer_tests(peer, REPLACE, NOT_APPLICABLE))
