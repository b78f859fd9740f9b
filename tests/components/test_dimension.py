import numpy as np

from mercer.components import elbow


def test_elbow():
    assert elbow([5.0]) == 1
    assert elbow([5.0, 1.0]) == 2
    assert elbow(np.r_[10, 9.5, 9, 8.8, 1.0 / np.arange(1, 40)]) == 4
