"""When the method gives up, and what it does then."""

import numpy as np
import pytest

from mercer.losses import PolynomialLoss
from mercer.regularizers import L1Coefficients
from mercer.solvers import InteriorPoint
from mercer.solvers.interior_point import method
from tests.contracts.all_problems import make

FALLING = np.geomspace(1.0, 1e-8, 18).tolist()


@pytest.mark.parametrize(
    ("merits", "lost"),
    [
        (FALLING, False),
        ([1.0] * 10, False),  # not for long
        ([*FALLING, *[1e-6] * 14], False),
        ([*FALLING, *[1e-6] * 15], True),
        ([*FALLING, *np.geomspace(1e-2, 1e-6, 15)], False),  # on the way back
        ([*FALLING, *[1e-6, 3e-6] * 10], True),
    ],
)
def test_points_that_get_nowhere_are_lost(merits, lost):
    assert method._is_lost(merits) == lost


def test_what_is_lost_goes_on_from_its_best_point(monkeypatch):
    runs, run = [], InteriorPoint._run

    def first_is_lost(self, problem, options):
        monkeypatch.setattr(method, "_is_lost", lambda merits: len(runs) == 0 and len(merits) > 8)
        result = run(self, problem, options)
        runs.append((result.status, options.start))
        return result

    monkeypatch.setattr(InteriorPoint, "_run", first_is_lost)
    problem = make(PolynomialLoss(1.5), 10.0, regularizer=L1Coefficients())
    result = InteriorPoint().solve(problem, tol=1e-8)
    assert [status for status, _ in runs] == ["stalled", "optimal"]
    assert runs[0][1] is None
    assert runs[1][1] is not None
    assert problem.certificate(result).holds(1e-8)


def test_given_limits_are_not_tried_again(monkeypatch):
    runs, run = [], InteriorPoint._run
    monkeypatch.setattr(InteriorPoint, "_run", lambda *arguments: (runs.append(0), run(*arguments))[1])
    assert InteriorPoint().solve(make(PolynomialLoss(1.5), 10.0), max_iter=2).status == "max_iter"
    assert len(runs) == 1
