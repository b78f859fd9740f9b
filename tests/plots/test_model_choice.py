import numpy as np
import pytest
from sklearn.decomposition import PCA

from mercer import KernelPCA, PrincipalManifold
from mercer.plots import ExplainedVarianceDisplay, ModelChoiceDisplay

NAN = np.nan
CANDIDATES = {
    "rung": ["mean", "pca", *["manifold"] * 6],
    "n_components": [1, 1, *[1] * 6],
    "width": [NAN, NAN, 0.1, 0.2, 0.1, 0.2, 0.2, 0.4],
    "penalty": [NAN, NAN, 1e-2, 1e-2, 1e-3, 1e-3, 1e-3, 1e-3],
    "held_out": [-3.0, -2.0, -1.0, -1.5, -0.5, -0.7, -0.6, NAN],
}


def test_a_curve_for_each_penalty_and_levels(labels):
    ax = ModelChoiceDisplay(candidates=CANDIDATES).plot().ax_
    assert labels(ax) == ["penalty 1e-03", "penalty 1e-02", "principal components", "the mean"]
    fine, coarse, pca, mean = ax.get_lines()
    # Of two starts at one width the better one is drawn; what was not judged is not.
    np.testing.assert_array_equal(fine.get_xydata(), [[0.1, -0.5], [0.2, -0.6]])
    np.testing.assert_array_equal(coarse.get_xydata(), [[0.1, -1.0], [0.2, -1.5]])
    assert (pca.get_ydata()[0], mean.get_ydata()[0]) == (-2.0, -3.0)
    assert ax.get_xscale() == "log"


def test_hopeless_widths_leave_room_for_the_others():
    hopeless = {**CANDIDATES, "held_out": [-3.0, -2.0, -90.0, -1.5, -0.5, -0.7, -0.6, NAN]}
    assert ModelChoiceDisplay(candidates=hopeless).plot().ax_.get_ylim()[0] > -10


def test_dimensions_are_named(labels):
    several = {**CANDIDATES, "n_components": [1, 1, 1, 1, 1, 1, 2, 2]}
    assert "penalty 1e-03, 2-d" in labels(ModelChoiceDisplay(candidates=several).plot().ax_)


def test_explained_variance():
    X = np.random.default_rng(0).normal(size=(60, 4)) * [3.0, 1.0, 1.0, 0.1]
    for model in (PCA(3).fit(X), KernelPCA(3).fit(X)):
        bars = ExplainedVarianceDisplay.from_estimator(model).ax_.patches
        np.testing.assert_allclose([bar.get_height() for bar in bars], 100 * model.explained_variance_ratio_)


def test_bad_input_is_refused():
    with pytest.raises(TypeError, match="fit a PrincipalManifold with width='auto'"):
        ModelChoiceDisplay.from_estimator("map")
    given = PrincipalManifold(1, width=0.5, penalty=1e-2).fit(np.random.default_rng(0).normal(size=(30, 2)))
    with pytest.raises(ValueError, match="must have compared models, got one that has not"):
        ModelChoiceDisplay.from_estimator(given)
    with pytest.raises(TypeError, match="fit a PCA or a KernelPCA"):
        ExplainedVarianceDisplay.from_estimator("map")


def test_models_far_below_are_marked_and_told(labels):
    hopeless = {**CANDIDATES, "held_out": [-3.0, -2.0, -90.0, -1.5, -0.5, -0.7, -0.6, NAN]}
    ax = ModelChoiceDisplay(candidates=hopeless).plot().ax_
    assert labels(ax)[-1] == "far below, down to -90"
    bottom, top = ax.get_ylim()
    drawn = [line.get_xydata() for line in ax.get_lines() if len(line.get_xydata()) and line.get_label()[0] != "t"]
    places = np.vstack([xy for xy in drawn if xy[0, 0] != 0.0])
    places = places[np.isfinite(places[:, 1])]
    # All five models that were judged have a mark inside of the axes, one of them at the bottom.
    assert len(places) == 4  # two starts at one width are one mark
    assert ((places[:, 1] >= bottom) & (places[:, 1] <= top)).all()
    assert places[:, 1].min() == pytest.approx(1.5 * -3.0 - 0.5 * -0.5)
