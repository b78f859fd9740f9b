"""Every display, made of a few numbers, for the tests that hold for all of them."""

import numpy as np

from mercer.information import Bound
from mercer.kernels import Exponential, Gaussian
from mercer.losses import Hinge, Huber
from mercer.machines import Rejection, RejectionCurve
from mercer.plots import (
    BandDisplay,
    BoundDisplay,
    CandidatesDisplay,
    CoefficientDisplay,
    CurveDisplay,
    CurveMagnificationDisplay,
    DecodedGridDisplay,
    DenoisedDisplay,
    EigengapDisplay,
    ExplainedVarianceDisplay,
    FamilyDisplay,
    FitDisplay,
    GapDisplay,
    HistoryDisplay,
    KernelKindsDisplay,
    LatentMapDisplay,
    LearningCurveDisplay,
    LossDisplay,
    MapDisplay,
    ModelChoiceDisplay,
    PredictionDisplay,
    RejectionDisplay,
    RowDensityDisplay,
    SurfaceDisplay,
    WidthCurveDisplay,
)
from mercer.problems import Iterate
from mercer.relevance import LearningCurve

GRID = np.linspace(-1.0, 1.0, 20)
PLANE = np.random.default_rng(0).normal(size=(30, 2))
SPACE = np.random.default_rng(1).normal(size=(30, 3))
SCORES, WANTED = [2.0, 1.5, 1.0, 0.5, -1.0, -2.0], ["c", "c", "b", "c", "b", "b"]
STEPS = [Iterate(2.0, 0.5, 0.0), Iterate(1.2, 0.9, 0.0), Iterate(1.0, 1.0 - 1e-6, 0.0)]
OF_WIDTHS = {
    "rung": ["mean", "manifold", "manifold"], "n_components": [0, 1, 1], "penalty": [np.nan, 0.1, 0.1],
    "width": [np.nan, 0.5, 1.0], "held_out": [-3.0, -2.0, -1.5],
}  # fmt: skip

DISPLAYS = [
    BandDisplay(
        X=GRID[:, None], y=GRID**2, grid=GRID, lower=GRID - 1, upper=GRID + 1, inside=GRID > -0.5, coverage=0.8
    ),
    BoundDisplay(sizes=[2, 4], bounds=[Bound(0.3, 0.1, 0.69, 20), Bound(0.5, 0.1, 1.39, 20)]),
    CandidatesDisplay(errors={"fit": {"pca": 2.0, "lle-8": 1.5}}, taken={"fit": "lle-8"}, final={"fit": 1.0}),
    CoefficientDisplay(sizes=np.abs(GRID), dimension=3, noise=0.1),
    CurveDisplay(rows=PLANE, feet=0.9 * PLANE, curve=np.column_stack([GRID, GRID**2])),
    CurveMagnificationDisplay(places=GRID, lengths=1 + GRID**2),
    DecodedGridDisplay(images=np.random.default_rng(0).uniform(size=(3, 3, 4, 4))),
    DenoisedDisplay(observed=PLANE[:, 0], denoised=PLANE[:, 1]),
    EigengapDisplay(eigenvalues=np.array([1e-3, 2e-3, 0.3, 0.5]), gaps=np.array([0.7, 5.0, 0.5]), n_clusters=2),
    ExplainedVarianceDisplay(ratios=np.array([0.6, 0.3])),
    FamilyDisplay(
        positions=np.array([0.1, 1.0, 10.0]),
        values={"nll": np.array([1.0, 2.0, 1.5]), "noise_level": np.array([0.3, 0.1, 0.2])},
        best=1,
    ),
    FitDisplay(X=GRID[:, None], y=GRID**2, grid=(GRID,), values=GRID**2, tube=(0.1, 0.1), support=np.array([0, 3])),
    GapDisplay(histories=[STEPS], names=["target"], tol=1e-3),
    HistoryDisplay(histories={"fit": np.array([100.0, 10.0, 1.0])}),
    KernelKindsDisplay(
        table={
            "kernel": [Gaussian(0.5), Gaussian(1.0), Exponential(2.0)],
            "log_likelihood": [1.0, 2.0, 1.5],
            "noise_level": [0.3, 0.1, 0.2],
        },
        chosen=Gaussian(1.0),
    ),
    LatentMapDisplay(points=np.clip(PLANE, -1, 1)),
    LearningCurveDisplay(
        curve=LearningCurve(np.array([20, 40, 80]), np.array([[0.5, 0.6], [0.3, 0.4], [0.2, 0.3]]), 100)
    ),
    LossDisplay(losses=[Huber(), Hinge()], residuals=GRID, names=["Huber", "hinge"]),
    MapDisplay(points=PLANE),
    ModelChoiceDisplay(candidates=OF_WIDTHS),
    PredictionDisplay(truth=PLANE[:, 0], predicted=PLANE[:, 1]),
    RejectionDisplay(
        curve=RejectionCurve.of_class(SCORES, WANTED, "c"),
        chosen=Rejection(threshold=1.0, efficiency=2 / 3, purity=2 / 3, coverage=0.5),
    ),
    RowDensityDisplay(points=PLANE),
    SurfaceDisplay(rows=SPACE, surface=np.random.default_rng(2).normal(size=(5, 5, 3))),
    WidthCurveDisplay(widths=np.array([0.1, 1.0, 10.0]), slopes=np.array([1.0, 2.0, 1.5]), width=1.0),
]
