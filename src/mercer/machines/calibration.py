"""From decision values to probabilities: sigmoids, and their coupling for several classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import log_expit, log_softmax, logsumexp

from mercer.arrays import Array

# Newton steps, halvings of one, the fraction of the predicted decrease that a step must reach, and the decrease of the
# mean negative log-likelihood below which the minimum is reached.
_MAX_ITER, _MAX_HALVINGS, _ARMIJO, _CONVERGED = 100, 30, 1e-4, 1e-14


@dataclass(frozen=True)
class Calibration:
    """Probabilities of classes from decision values f, with as few parameters as possible.

    Two classes: p(second class) = 1 / (1 + exp(-(slopes f + offsets))), Platt's sigmoid. Several classes, one decision
    value for each: p(class k) = exp(slopes_k f_k + offsets_k) / Σ_l exp(slopes_l f_l + offsets_l).

    Attributes
    ----------
    slopes, offsets : array
        One entry for two classes, else one for each class.
    n_folds : int
        Number of folds whose decision values the parameters were fitted to.

    Notes
    -----
    The parameters maximise the likelihood of all classes together. Labels are smoothed, so that classes which are
    separated perfectly do not get probabilities of one: a sample of class k belongs to it with probability
    (N_k + 1) / (N_k + 2), where N_k is the total weight of the class, and to each of the others with the same rest
    [Platt2000]_. Newton's method with a line search, on logarithms that do not overflow [Lin2007]_.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.machines import Calibration
    >>> values, codes = np.array([-2.0, -1.0, -0.5, 0.3, 1.0, 2.0]), np.array([0, 0, 1, 0, 1, 1])
    >>> calibration = Calibration.fit(values, codes, np.ones(6), n_folds=5)
    >>> np.exp(calibration.log_probabilities(np.array([0.0, 2.0]))).round(2)
    array([[0.49, 0.51],
           [0.2 , 0.8 ]])
    """

    slopes: Array
    offsets: Array
    n_folds: int

    @classmethod
    def fit(cls, values: Array, codes: Array, weight: Array, n_folds: int) -> Self:
        """Fit to decision values of samples that the machines had not seen, with their classes and weights."""
        scale = np.sqrt(np.average(values**2, axis=0, weights=weight))
        scale = np.where(scale > 0, scale, 1.0)
        F = (values / scale).reshape(len(values), -1)
        n_classes = max(2, F.shape[1])
        targets = _smoothed_labels(codes, weight, n_classes)
        parameters = np.zeros((2, F.shape[1]))
        loss = _loss(F, parameters, targets, weight)
        for _ in range(_MAX_ITER):
            gradient, hessian = _derivatives(F, parameters, targets, weight)
            # Offsets that are all shifted give the same probabilities: of all steps the shortest.
            step = -np.linalg.lstsq(hessian, gradient, rcond=None)[0].reshape(parameters.shape)
            slope = float(gradient @ step.ravel())
            if -slope <= _CONVERGED * weight.sum():
                break
            for halving in range(_MAX_HALVINGS):
                length = 0.5**halving
                new = _loss(F, parameters + length * step, targets, weight)
                if new <= loss + _ARMIJO * length * slope:
                    break
            parameters, loss = parameters + length * step, new
        return cls(parameters[0] / scale, parameters[1], n_folds)

    def log_probabilities(self, values: Array) -> Array:
        """Logarithms of the probabilities, one column for each class."""
        scores = self.slopes * values.reshape(len(values), -1) + self.offsets
        return _log_probabilities(scores)


def coupled(log_odds: Array) -> Array:
    """Logarithms of probabilities, from log-odds of the second class, or of each class against the rest.

    The probabilities of several machines that know nothing of each other are divided by their sum.
    """
    if log_odds.ndim == 1:
        return _log_probabilities(log_odds[:, None])
    logs = log_expit(log_odds)
    return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))


def _log_probabilities(scores: Array) -> Array:
    """One column of scores is that of the second class, where the first has 0."""
    if scores.shape[1] == 1:
        return np.hstack([log_expit(-scores), log_expit(scores)])
    return np.asarray(log_softmax(scores, axis=1))


def _smoothed_labels(codes: Array, weight: Array, n_classes: int) -> Array:
    total = np.bincount(codes, weight, minlength=n_classes)[codes]
    labels = np.repeat((1.0 / (total + 2.0) / (n_classes - 1))[:, None], n_classes, axis=1)
    labels[np.arange(len(codes)), codes] = (total + 1.0) / (total + 2.0)
    return labels


def _loss(F: Array, parameters: Array, targets: Array, weight: Array) -> float:
    """Negative log-likelihood."""
    return -float(weight @ np.sum(targets * _log_probabilities(parameters[0] * F + parameters[1]), axis=1))


def _derivatives(F: Array, parameters: Array, targets: Array, weight: Array) -> tuple[Array, Array]:
    """Gradient and Hessian of the loss in the slopes and then the offsets."""
    m = F.shape[1]
    P = np.exp(_log_probabilities(parameters[0] * F + parameters[1]))[:, -m:]
    excess = weight[:, None] * (P - targets[:, -m:])
    gradient = np.concatenate([np.sum(F * excess, axis=0), np.sum(excess, axis=0)])
    WP = weight[:, None] * P
    J = np.hstack([F * P, P])
    hessian = -(J.T @ (weight[:, None] * J))
    for i, left in enumerate((F, np.ones_like(F))):
        for j, right in enumerate((F, np.ones_like(F))):
            block = hessian[i * m : (i + 1) * m, j * m : (j + 1) * m]
            block[np.diag_indices(m)] += np.sum(left * right * WP, axis=0)
    return gradient, hessian
