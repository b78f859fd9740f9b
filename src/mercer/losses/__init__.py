"""Losses: what an error costs.

A loss is a convex function of the residual. It knows its value and derivative, its conjugate with the interval where
that is finite (what a dual solver needs), and the noise for which it is the negative log-likelihood.
"""

from mercer.losses.absolute import EpsilonInsensitive, Laplace, Quantile
from mercer.losses.base import Loss
from mercer.losses.checks import LossReport, check_loss
from mercer.losses.margin import Hinge, Logistic, SquaredHinge
from mercer.losses.noise import optimal_epsilon, optimal_nu
from mercer.losses.powers import Expectile, Huber, PiecewisePolynomial, PolynomialLoss, Squared
from mercer.losses.rows import HuberRows, LaplaceRows, RowLoss, SquaredRows, as_row_loss
from mercer.losses.tube import TubeLoss

__all__ = [
    "Loss", "TubeLoss",
    "EpsilonInsensitive", "Laplace", "Quantile",
    "Squared", "Expectile", "PolynomialLoss", "Huber", "PiecewisePolynomial",
    "Hinge", "SquaredHinge", "Logistic",
    "optimal_epsilon", "optimal_nu",
    "RowLoss", "SquaredRows", "HuberRows", "LaplaceRows", "as_row_loss",
    "check_loss", "LossReport",
]  # fmt: skip
