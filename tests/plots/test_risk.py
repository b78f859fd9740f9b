"""Pictures of what can be said of errors."""

import numpy as np
import pytest

from mercer import SupportVectorClassifier, SupportVectorRegressor
from mercer.capacity import risk_bounds, structural_risk_path
from mercer.kernels import Gaussian
from mercer.plots import NormRiskDisplay, RiskBoundsDisplay, RiskPathDisplay
from tests.contracts.all_problems import labels, rows, smooth_targets

X = rows(60)
LABELS, CS = labels(X), [0.01, 0.1, 1.0, 10.0]


@pytest.fixture(scope="module")
def machines():
    return SupportVectorClassifier(Gaussian(0.8)).regularization_path(X, LABELS, CS)


def test_bars_are_grey_where_vacuous(machines):
    bounds = risk_bounds(machines[2], X, LABELS)
    ax = RiskBoundsDisplay.from_bounds(bounds).ax_
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[::-1] == [bound.name for bound in bounds]
    widths = [bar.get_width() for bar in ax.patches[: len(bounds)]]
    assert widths[::-1] == pytest.approx([bound.value for bound in bounds])
    alphas = [bar.get_alpha() for bar in ax.patches[: len(bounds)]]
    assert [alpha < 1 for alpha in alphas[::-1]] == [bound.vacuous for bound in bounds]
    assert sum("vacuous" in text.get_text() for text in ax.texts) == sum(bound.vacuous for bound in bounds)


def test_path_shows_all_criteria_and_the_choice(machines):
    path = structural_risk_path(machines, X, LABELS, criterion=["span", "training rows", "compression"])
    test = [0.3, 0.2, 0.1, 0.2]
    display = RiskPathDisplay.from_path(path, CS, others={"test rows": test})
    names = {text.get_text() for text in display.ax_.get_legend().get_texts()}
    assert names == {"leave-one-out (span)", "training rows", "compression", "test rows", "chosen", "thin: vacuous"}
    assert display.ax_.get_xscale() == "log"
    shuffled = RiskPathDisplay.from_path(path, CS[::-1])
    assert shuffled.ax_.lines[0].get_xdata().tolist() == sorted(CS)


def test_curve_of_norm_and_risk_falls():
    machines = SupportVectorRegressor(Gaussian(0.8)).regularization_path(X, smooth_targets(X), CS)
    display = NormRiskDisplay.from_machines(machines, chosen=1)
    Q, R = display.ax_.lines[0].get_data()
    assert np.all(np.diff(Q) > 0)
    assert np.all(np.diff(R) < 0)
    assert len(display.ax_.lines) == 3
    assert len(NormRiskDisplay.from_machines(machines).ax_.lines) == 1


def test_bad_input_is_refused(machines):
    path = structural_risk_path(machines, X, LABELS)
    for x in (CS[:2], [-1.0, 1.0, 2.0, 3.0]):
        with pytest.raises(ValueError, match="x of RiskPathDisplay must be a positive number for each of 4 machines"):
            RiskPathDisplay.from_path(path, x)
    with pytest.raises(ValueError, match="machines of NormRiskDisplay must be two or more, got 1"):
        NormRiskDisplay.from_machines(machines[:1])
