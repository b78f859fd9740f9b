"""Bounds of mutual information against the number of pairs."""

import numpy as np
import pytest

from mercer import KernelCritic
from mercer.information import nwj
from mercer.plots import BoundDisplay

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 1))
Y = X + 0.1 * RNG.normal(size=(300, 1))
CRITIC = KernelCritic(rank=10, penalty=1e-3, random_state=0).fit(X[:150], Y[:150])


def test_bounds_with_their_ceilings(labels):
    display = BoundDisplay.from_estimator(CRITIC, X[150:], Y[150:])
    assert list(display.sizes) == [2, 4, 8, 16, 32]
    (ceiling,) = (line for line in display.ax_.lines if line.get_linestyle() == "--")
    np.testing.assert_allclose(ceiling.get_ydata(), np.log([2, 4, 8, 16, 32]))
    assert all(bound.value <= top for bound, top in zip(display.bounds, ceiling.get_ydata(), strict=True))
    assert labels(display.ax_) == ["ceiling", "bound"]
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["2", "4", "8", "16", "32"]


def test_other_sizes_and_bounds_without_a_ceiling(labels):
    display = BoundDisplay.from_estimator(CRITIC, X[150:], Y[150:], sizes=[3, 50])
    assert list(display.sizes) == [3, 50]
    critic = RNG.normal(size=(2, 10, 10))
    assert labels(BoundDisplay(sizes=[10], bounds=[nwj(critic)]).plot().ax_) == ["bound"]


def test_what_is_no_critic_is_refused():
    with pytest.raises(TypeError, match="estimator of BoundDisplay"):
        BoundDisplay.from_estimator(KernelCritic(), X, Y)
