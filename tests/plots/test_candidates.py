import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.decomposition import PCA

from mercer import UnsupervisedKernelRegression
from mercer.plots import CandidatesDisplay

T = np.random.default_rng(0).uniform(0, 4, 80)
ARC = np.column_stack([np.cos(T), np.sin(T)])
FITS = {
    kernel: UnsupervisedKernelRegression(1, density_kernel=kernel, init="isomap", tol=1e-1).fit(ARC)
    for kernel in ("gaussian", "quartic")
}


def test_starts_of_one_fit(labels):
    model, ax = FITS["gaussian"], plt.subplots()[1]
    display = CandidatesDisplay.from_estimator(model, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    starts, taken, final = ax.get_lines()[:3]
    np.testing.assert_array_equal(starts.get_ydata(), model.candidates_["objective"])
    best = model.candidates_["start"].index(model.init_)
    assert (taken.get_xdata()[0], taken.get_ydata()[0]) == (best, model.candidates_["objective"][best])
    np.testing.assert_array_equal(final.get_ydata(), model.objective_)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["isomap-5", "isomap-8", "isomap-12"]
    assert labels(ax) == ["starts", "taken", "after the fit"]
    assert ax.get_ylabel() == "objective"


def test_starts_of_two_fits_side_by_side(labels):
    ax = CandidatesDisplay.from_estimators(FITS).ax_
    assert labels(ax) == ["gaussian", "quartic", "taken", "after the fit"]


def test_starts_that_a_fit_left_out_and_errors_far_from_each_other():
    errors = {"first": {"pca": 2.0, "lle-8": 1.5}, "second": {"pca": 0.1, "isomap-5": 3.0}}
    display = CandidatesDisplay(
        errors=errors, taken={"first": "lle-8", "second": "pca"}, final={"first": 1, "second": 1}
    )
    ax = display.plot().ax_
    assert [label.get_text() for label in ax.get_xticklabels()] == ["pca", "lle-8", "isomap-5"]
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), [2.0, 1.5, np.nan])
    assert ax.get_yscale() == "log"


@pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning")
def test_bad_input_is_refused():
    with pytest.raises(TypeError, match="CandidatesDisplay must be an estimator with candidates_ and init_"):
        CandidatesDisplay.from_estimator(PCA().fit(ARC))
    again = UnsupervisedKernelRegression(1, init="pca", tol=1e-1, warm_start=True).fit(ARC).fit(ARC)
    with pytest.raises(ValueError, match=r"must have compared starts, got Unsuper.*\n.* that went on"):
        CandidatesDisplay.from_estimator(again)
