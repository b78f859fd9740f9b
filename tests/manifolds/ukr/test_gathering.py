import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist, pdist, squareform

from mercer.manifolds.ukr.gathering import gathered

GAP = 6.0


def clusters(q, seed):
    """Clusters of many sizes, far apart, and single points; and which of them each point belongs to."""
    rng = np.random.default_rng(seed)
    sizes = [200, 80, 30, 5, 2, 1, 1, 1]
    centres = 400.0 * rng.normal(size=(len(sizes), q))
    which = np.repeat(np.arange(len(sizes)), sizes)
    return centres[which] + rng.normal(size=(len(which), q)), which


@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_pieces_move_as_a_whole_and_keep_their_distance(q, seed):
    Z, which = clusters(q, seed)
    moved = gathered(Z, GAP)
    between = minimum_spanning_tree(squareform(pdist(moved))).data
    # No gap is left that is larger than the cells which tell pieces apart allow.
    assert between.max() <= 2 * np.sqrt(q) * GAP + 1e-9
    for a in np.unique(which):
        shift = (moved - Z)[which == a]
        np.testing.assert_allclose(shift, np.broadcast_to(shift[0], shift.shape), atol=1e-9)
        for b in range(a):
            before, after = (cdist(some[which == a], some[which == b]).min() for some in (Z, moved))
            assert after >= min(before, GAP) - 1e-9
    assert np.ptp(moved, axis=0).max() < 0.3 * np.ptp(Z, axis=0).max()


def test_on_a_line_the_order_is_kept():
    Z, which = clusters(1, 0)
    order = np.argsort([Z[which == a].mean() for a in np.unique(which)])
    moved = gathered(Z, GAP)
    assert (np.argsort([moved[which == a].mean() for a in np.unique(which)]) == order).all()


def test_one_piece_and_dust_stay_where_they_are():
    one = np.random.default_rng(0).normal(size=(50, 2))
    assert gathered(one, GAP) is one
    Z, which = clusters(2, 0)
    assert gathered(Z, GAP, most_pieces=len(np.unique(which)) - 1) is Z
