"""Small manifold problems: every cost with every penalty on every kind of latent space; and what they cost, in words of
NumPy that share nothing with the code."""

from __future__ import annotations

import numpy as np

from mercer.kernels import Gaussian, Periodized
from mercer.losses import HuberRows, LaplaceRows, SquaredRows
from mercer.manifolds import LatentBasis, LatentSpace, Length
from mercer.regularizers import as_map_penalty

SIGMA, PENALTY = 0.2, 1e-3
COSTS = {"squared": SquaredRows(), "huber": HuberRows(SIGMA), "l1": LaplaceRows()}
REGULARIZERS = ("rkhs", "l2", "l1", "group_l1", "length")
MAP_PENALTIES = [as_map_penalty(name) for name in REGULARIZERS]
SPACES = {
    "curve": ("interval",),
    "loop": ("circle",),
    "surface": ("interval", "interval"),
    "cylinder": ("circle", "interval"),
    "torus": ("circle", "circle"),
}
PROBLEMS = [
    (cost, regularizer, space)
    for cost in COSTS
    for regularizer in REGULARIZERS
    for space in SPACES
    if regularizer != "length" or space == "curve"
]


def basis_of(regularizer, space):
    """The functions of a problem: Gaussians, made periodic on circles, or those of the length."""
    kinds = SPACES[space]
    if regularizer == "length":
        return LatentBasis(LatentSpace(kinds), Length(), (13,))
    kernel = None
    for c, kind in enumerate(kinds):
        factor = Gaussian(0.5) if kind == "interval" else Periodized(Gaussian(0.5), period=2.0)
        factor = factor if len(kinds) == 1 else factor.on([c])
        kernel = factor if kernel is None else kernel * factor
    sides = (6,) if len(kinds) == 1 else (4, 5)
    return LatentBasis(LatentSpace(kinds), kernel, sides, whitened=regularizer == "rkhs")


def rows_of(space, *, holes=False, m=40):
    """Rows in three columns near the image of a latent space, some of them far off, and the places they come from."""
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1.0, 1.0, size=(m, len(SPACES[space])))
    waves = [wave(np.pi * Z[:, [c]] / (1 if kind == "circle" else 2)) for c, kind in enumerate(SPACES[space])
             for wave in (np.cos, np.sin)]  # fmt: skip
    X = np.hstack(waves) @ rng.normal(size=(len(waves), 3)) + 0.1 * rng.normal(size=(m, 3))
    X[::17] += rng.normal(size=X[::17].shape)
    if holes:
        X[::5, 1] = np.nan
    return X, Z


def images(f, Z):
    """f(z) from the kernel itself."""
    return f.basis.kernel(Z, f.basis.nodes) @ f.alpha + f.gamma[0]


def costs(cost, X, F):
    """What replacing the rows of X by those of F costs."""
    R = np.where(np.isnan(X), 0.0, X - F)
    if cost == "l1":
        return np.abs(R).sum(axis=1)
    length = np.sqrt((R**2).sum(axis=1))
    if cost == "squared":
        return length**2
    return np.where(length <= SIGMA, length**2 / (2 * SIGMA), length - SIGMA / 2)


def norm(regularizer, f):
    """What the map costs."""
    if regularizer == "l1":
        return np.abs(f.alpha).sum()
    if regularizer == "group_l1":
        return np.sqrt((f.alpha**2).sum(axis=1)).sum()
    K = np.eye(len(f.alpha)) if regularizer == "l2" else f.basis.kernel(f.basis.nodes)
    return 0.5 * np.trace(f.alpha.T @ K @ f.alpha)


def value(cost, regularizer, X, f, Z):
    """R_reg of a map and of the places of the rows on it."""
    return costs(cost, X, images(f, Z)).mean() + PENALTY * norm(regularizer, f)
