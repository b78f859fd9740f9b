"""Estimators that go another way than they do by default: small tables by the way of large ones."""

from dataclasses import replace


def tuned(model, **numbers):
    """The estimator, with some numbers of its way changed."""
    model._tuning = replace(model._tuning, **numbers)
    return model
