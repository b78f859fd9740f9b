"""Does more data help? Errors on held-out rows after fits to subsamples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels import Kernel
from mercer.relevance.analysis import analyse, take_rows
from mercer.relevance.labels import Labels

Array = NDArray[Any]

_SHARES = (0.5, 0.75)
_N_REPEATS, _N_REPEATS_LOW_RANK = 5, 3
_FEWEST_ROWS = 40
_MOST_TEST_ROWS = 1000


@dataclass(frozen=True)
class LearningCurve:
    """Held-out errors of kernel principal component regression against the number of training rows.

    Attributes
    ----------
    sizes : array of shape (n_sizes,)
        Numbers of training rows.
    errors : array of shape (n_sizes, n_repeats)
        Error on rows that were held out: share of wrong classes, or squared error over that of the best constant; at
        most that of the best constant.
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

    @property
    def gain(self) -> float:
        """Share of the error that twice as many rows would remove; 0 if it cannot be told from chance."""
        falls = self.errors[0] - self.errors[-1]
        if falls.mean() <= 2 * falls.std(ddof=1) / np.sqrt(len(falls)):
            return 0.0
        return 1.0 - self.expected(2 * self.n) / self.expected(self.n)

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
