import subprocess
import sys

import pytest

from mercer.datasets import make_sinc
from mercer.machines import SupportVectorRegressor
from mercer.plots import FitDisplay, GapDisplay


def test_import_needs_no_matplotlib():
    subprocess.run(
        [sys.executable, "-c", "import sys, mercer.plots; assert 'matplotlib' not in sys.modules"], check=True
    )


@pytest.mark.parametrize("draw", [FitDisplay.from_estimator, lambda m, X, y: GapDisplay.from_estimator(m)])
def test_without_matplotlib_the_error_names_the_extra(draw, monkeypatch):
    X, y = make_sinc(20, random_state=0)
    model = SupportVectorRegressor().fit(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib.ticker", None)
    with pytest.raises(ImportError, match=r'pip install "mercer\[plot\]"'):
        draw(model, X, y)
