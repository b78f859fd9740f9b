import numpy as np
import pytest

from mercer.kernels import PeriodicGaussian
from mercer.manifolds import LatentBasis, LatentSpace, soft_map
from mercer.manifolds.latent.cell_features import DenseCellFeatures, ProductCellFeatures
from mercer.manifolds.latent.kernels import default_kernel
from mercer.quantizers import Stopping

SPACES = {
    "plane": ("interval", "interval"), "cylinder": ("circle", "interval"), "torus": ("circle", "circle"),
    "box": ("interval", "circle", "interval"),
}  # fmt: skip


def basis_of(topology, **options):
    space = LatentSpace(topology)
    return LatentBasis(space, default_kernel(space, np.array([0.5, 0.6, 0.8])[: space.n_dims]),
                       (5, 4, 3)[: space.n_dims], **options)  # fmt: skip


def dense_twin(basis):
    """The same features, as they are without products."""
    points, side = basis.space.cells
    return DenseCellFeatures(basis.features(points), basis.slopes(points) * side / np.sqrt(12.0))


@pytest.mark.parametrize("options", [{}, {"linear": True}, {"whitened": False}], ids=["", "linear", "plain"])
@pytest.mark.parametrize("name", SPACES)
def test_products_give_the_dense_normal_equations(name, options):
    if options.get("linear") and name == "torus":
        options = {}
    basis = basis_of(SPACES[name], **options)
    products, dense = basis.cell_features, dense_twin(basis)
    assert isinstance(products, ProductCellFeatures)
    rng = np.random.default_rng(0)
    n_cells, places = len(basis.space.cells[0]), 1 + basis.space.n_dims
    moments = rng.normal(size=(n_cells, places, places))
    moments = moments @ moments.transpose(0, 2, 1)
    totals, W = rng.normal(size=(n_cells, places, 3)), rng.normal(size=(len(dense.gram(moments)), 3))
    A = dense.gram(moments)
    np.testing.assert_allclose(products.gram(moments), A, atol=1e-8 * np.abs(A).max())
    np.testing.assert_allclose(products.sums(totals), dense.sums(totals), atol=1e-7 * n_cells)
    for ours, theirs in zip(products.images(W), dense.images(W), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_kernels_that_are_no_products_have_dense_features():
    space = LatentSpace(("circle", "circle"))
    assert isinstance(LatentBasis(space, PeriodicGaussian(0.5, period=2.0), (5, 5)).cell_features, DenseCellFeatures)


@pytest.mark.parametrize("name", SPACES)
def test_fits_by_products_are_those_without(name, monkeypatch):
    basis, again = basis_of(SPACES[name]), basis_of(SPACES[name])
    again.__dict__["cell_features"] = dense_twin(again)
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, size=(150, basis.space.n_dims))
    X = np.column_stack([np.cos(np.pi * Z), np.sin(np.pi * Z)]) + 0.1 * rng.normal(size=(150, 2 * Z.shape[1]))
    ours, theirs = (soft_map(X, Z, some, 1e-3, Stopping(0.0, 6)) for some in (basis, again))
    np.testing.assert_allclose(ours.history, theirs.history, rtol=1e-7)
    assert np.all(np.diff(ours.history) <= 0)
