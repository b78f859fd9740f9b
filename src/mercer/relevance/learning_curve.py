"""Does more data help? Errors on held-out rows after fits to subsamples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels import Kernel
from mercer.relevance.analysis import analyse, take_rows
from mercer.relevance.labels import Labels

_SHARES = (0.5, 0.75)
_N_REPEATS, _N_REPEATS_LOW_RANK = 5, 3
_FEWEST_ROWS = 40
_MOST_TEST_ROWS = 1000


@dataclass(frozen=True)
class LearningCurve:
    """Held-out errors against the number of training rows.

    Attributes
    ----------
    sizes : array of shape (n_sizes,)
        Numbers of training rows.
    errors : array of shape (n_sizes, n_repeats)
        Error on rows that were held out: fraction of wrong classes, or squared error over that of the best constant.
        Repeats are other draws of rows, or other parts of the rows that were held out.
    n : int
        Number of rows in all.
    guess_error : float
        Error of the best constant.
    """

    sizes: Array
    errors: Array
    n: int
    guess_error: float = 1.0

    @property
    def learns(self) -> bool:
        """Whether the largest subsamples teach anything at all."""
        return bool(self.errors[-1].mean() < 0.95 * self.guess_error)

    def expected(self, size: float) -> float:
        """Error to expect with so many training rows, from a line a + b / size through the errors, a >= 0."""
        a, b = self._line()
        return float(max(a + b / size, 0.0))

    def forecast(self, size: float) -> tuple[float, float]:
        """Least and largest error to expect with so many rows: of a power law and of a line a + b / size.

        Both go through the mean error of the largest size, since that is measured, and neither rises with the size.
        """
        means, largest = self.errors.mean(axis=1), float(self.sizes[-1])
        a, b = self._line()
        line = (a + b / size) / (a + b / largest) if b > 0 else 1.0
        logs = np.log(np.maximum(means, np.finfo(np.float64).tiny))
        slope = min(float(np.polyfit(np.log(self.sizes), logs, 1)[0]), 0.0)
        errors = means[-1] * np.array([line, (size / largest) ** slope])
        return float(errors.min()), float(errors.max())

    @property
    def falls(self) -> bool:
        """Whether more rows have lowered the error by more than chance does, two standard errors."""
        fall = self.errors[0] - self.errors[-1]
        return bool(fall.mean() > 2 * fall.std(ddof=1) / np.sqrt(len(fall)))

    @property
    def gain(self) -> float:
        """Fraction of the error that twice as many rows would remove; 0 if it cannot be distinguished from chance."""
        return 1.0 - self.expected(2 * self.n) / self.expected(self.n) if self.falls else 0.0

    def _line(self) -> tuple[float, float]:
        inverse = np.repeat(1.0 / self.sizes, self.errors.shape[1])
        errors = self.errors.ravel()
        a, b = np.linalg.lstsq(np.column_stack([np.ones_like(inverse), inverse]), errors, rcond=None)[0]
        return (float(a), float(b)) if a >= 0 else (0.0, float(inverse @ errors / (inverse @ inverse)))


def learning_curve(
    kernel: Kernel,
    X: Any,
    labels: Labels,
    *,
    method: str = "two_component",
    rank: int | None = None,
    constant: Sequence[bool] = (False,),
) -> LearningCurve | None:
    """The learning curve of one kernel, its dimension estimated anew in every fit; None for fewer than 40 rows.

    The options are those of `analyse`. Subsamples are drawn with a fixed seed; they cost about as much as three fits to
    all rows.
    """
    n = len(labels)
    if n < _FEWEST_ROWS:
        return None
    rng = np.random.default_rng(0)
    sizes = np.array([int(share * n) for share in _SHARES])
    n_repeats = _N_REPEATS if rank is None else _N_REPEATS_LOW_RANK
    errors = np.full((len(sizes), n_repeats), np.nan)
    for repeat in range(n_repeats):
        order = rng.permutation(n)
        test = order[sizes[-1] :][:_MOST_TEST_ROWS]
        for i, size in enumerate(sizes):
            train = order[:size]
            rows = take_rows(X, train, kernel)
            (found,) = analyse([kernel], rows, labels.take(train), method=method, rank=rank, constant=constant)
            support_rows = take_rows(rows, found.support, kernel)
            G = found.predict(take_rows(X, test, kernel, train), support_rows)
            # Between its rows an unregularized fit may go anywhere, and one such place would be the whole error.
            errors[i, repeat] = min(labels.take(test).error(G), labels.guess_error)
    return LearningCurve(sizes, errors, n, labels.guess_error)
