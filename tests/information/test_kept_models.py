"""Models of pairs and views are kept in files, and take sparse rows and rows in single precision."""

import pickle
import signal

import numpy as np
import pytest
from scipy import sparse

from mercer import ContrastiveFeatures, KernelCCA, KernelCritic
from mercer.running import Status

RNG = np.random.default_rng(0)
X = RNG.poisson(1.0, size=(60, 4)).astype(float)
Y = X[:, :2] ** 2 + 0.1 * RNG.normal(size=(60, 2))
CRITIC = KernelCritic(rank=5, penalty=0.1, random_state=0)


def results(model):
    if isinstance(model, KernelCritic):
        return model.values(X, Y)
    return model.transform(X)


@pytest.mark.parametrize(
    "model", [KernelCCA(2), CRITIC, ContrastiveFeatures(2, penalty=0.1)], ids=lambda model: type(model).__name__
)
def test_files(model):
    import skops.io

    model.fit(X, Y)
    expected = results(model)
    np.testing.assert_array_equal(results(pickle.loads(pickle.dumps(model))), expected)
    content = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=content)
    assert all(name.split(".")[0] in ("mercer", "numpy") for name in trusted)
    np.testing.assert_array_equal(results(skops.io.loads(content, trusted=trusted)), expected)


@pytest.mark.parametrize("model", [KernelCCA(2), CRITIC], ids=lambda model: type(model).__name__)
def test_sparse_rows_and_single_precision(model):
    expected = results(model.fit(X, Y))
    np.testing.assert_allclose(results(model.fit(sparse.csr_array(X), sparse.csr_array(Y))), expected, atol=1e-5)
    np.testing.assert_allclose(results(model.fit(X.astype(np.float32), Y)), expected, atol=1e-5)


def test_sparse_rows_have_no_views():
    with pytest.raises(TypeError, match="[Ss]parse"):
        ContrastiveFeatures(2).fit(sparse.csr_array(X))


@pytest.mark.parametrize("penalty", ["auto", 1e-4])
def test_ctrl_c_leaves_a_critic_that_can_be_used(penalty, monkeypatch):
    from mercer.information import critics

    calls = []

    def interrupted(t):
        calls.append(t)
        if len(calls) == 5:
            signal.raise_signal(signal.SIGINT)
        return critics._infonce_slopes(t)

    monkeypatch.setitem(critics._SLOPES, "infonce", interrupted)
    critic = KernelCritic(rank=5, penalty=penalty, random_state=0, tol=1e-9).fit(X, Y)
    assert critic.status_ == Status.INTERRUPTED
    assert np.isfinite(critic.values(X, Y)).all()
    assert critic.gap_ > 0
