import numpy as np
import polars as pl

from mercer.tables.targets import Target
from mercer.workflows.scores import are_clearly_less, log_loss, losses


def test_log_loss_is_that_of_the_true_classes():
    predicted = pl.DataFrame({"kind": ["a", "b"], "probability of a": [0.8, 0.4], "probability of b": [0.2, 0.6]})
    np.testing.assert_allclose(log_loss(predicted, np.array(["a", "a"])), -np.log([0.8, 0.4]).mean())
    assert np.isnan(log_loss(predicted.select("kind"), np.array(["a", "a"])))
    np.testing.assert_allclose(log_loss(predicted, np.array(["a", "c"])), -np.log([0.8, 1e-6]).mean())


def test_losses_of_classes_and_numbers():
    predicted = pl.DataFrame({"y": ["a", "b"]})
    assert losses(predicted, Target("y", ("a", "b")), np.array(["a", "a"])).tolist() == [0.0, 1.0]
    assert losses(pl.DataFrame({"y": [1.0, 3.0]}), Target("y"), np.array([1.0, 1.0])).tolist() == [0.0, 4.0]


def test_less_by_chance_is_not_clearly_less():
    noise = np.random.default_rng(0).normal(size=100)
    assert are_clearly_less(noise, noise + 1.0 + 0.1 * noise)
    assert not are_clearly_less(noise, noise[::-1] + 0.01)
    assert not are_clearly_less(np.zeros(1), np.ones(1))
