import numpy as np
import pytest

from mercer.kernels import Exponential, Gaussian, PeriodicGaussian, Periodized, ThinPlate
from mercer.manifolds import LatentBasis, LatentSpace, Length
from mercer.manifolds.latent.kernels import default_kernel

PLANE, TORUS = LatentSpace(("interval", "interval")), LatentSpace(("circle", "circle"))
CUBE = LatentSpace(("interval", "circle", "interval"))
BASES = {
    "curve": LatentBasis(LatentSpace(("interval",)), Gaussian(0.3), (9,)),
    "surface": LatentBasis(PLANE, Gaussian([0.4, 0.6]), (6, 4), linear=True),
    "thin plate": LatentBasis(PLANE, ThinPlate(), (5, 5), linear=True),
    "ring": LatentBasis(LatentSpace(("circle",)), Periodized(Gaussian(0.3), period=2.0), (8,)),
    "torus": LatentBasis(TORUS, default_kernel(TORUS, np.array([0.4, 0.5])), (6, 5)),
    "no product": LatentBasis(TORUS, PeriodicGaussian(0.5, period=2.0), (6, 6)),
    "cube": LatentBasis(CUBE, default_kernel(CUBE, np.array([0.6, 0.7, 0.8])), (3, 4, 5), linear=True),
    "kernel functions": LatentBasis(PLANE, Gaussian(0.5), (4, 4), whitened=False),
}


def random_map(basis, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return basis.map_of(rng.normal(size=(basis.features(basis.nodes[:1]).shape[1], d)))


@pytest.mark.parametrize("name", BASES)
def test_values_and_tangents(name):
    basis = BASES[name]
    f = random_map(basis)
    Z = np.random.default_rng(1).uniform(-0.99, 0.99, size=(50, basis.space.n_dims))
    F, T = f.with_tangents(Z)
    np.testing.assert_allclose(F, f(Z), atol=1e-7)
    np.testing.assert_allclose(F, basis.features(Z) @ f.coefficients, atol=1e-7)
    functions = np.hstack([basis.kernel(Z, basis.nodes), basis.polynomials(Z)])
    np.testing.assert_allclose(basis.functions(Z), functions, atol=1e-9)
    for a in range(basis.space.n_dims):
        step = 1e-5 * np.eye(basis.space.n_dims)[a]
        np.testing.assert_allclose(T[:, a], (f(Z + step) - f(Z - step)) / 2e-5, atol=2e-5)


@pytest.mark.parametrize("name", [name for name, basis in BASES.items() if basis.whitened])
def test_whitened_coefficients_have_the_norm_of_the_kernel(name):
    basis = BASES[name]
    f = random_map(basis)
    norm = np.sum(f.alpha * (basis.kernel(basis.nodes) @ f.alpha))
    np.testing.assert_allclose(np.sum(f.coefficients[: basis.n_features] ** 2), norm, rtol=1e-4)
    P = basis.kernel.polynomial_part(basis.nodes)
    np.testing.assert_allclose(P.T @ f.alpha, 0.0, atol=1e-9 * np.abs(f.alpha).max())


def test_tables_only_for_smooth_products():
    has_tables = {name: basis.tables is not None for name, basis in BASES.items()}
    assert [name for name, has in has_tables.items() if not has] == ["thin plate", "no product"]
    for rough in (Length(), Exponential(2.0)):
        assert LatentBasis(LatentSpace(("interval",)), rough, (9,)).tables is None


def test_search_grid_holds_the_nodes():
    for basis in BASES.values():
        sides, points, neighbours = basis.search_grid
        assert {tuple(node) for node in basis.nodes.round(9)} <= {tuple(point) for point in points.round(9)}
        assert len(points) == len(neighbours) == np.prod(sides)
        f = random_map(basis)
        np.testing.assert_allclose(basis.search_images(f), f(points), atol=1e-6)


@pytest.mark.parametrize(("topology", "linear"), [(("interval", "interval"), True), (("interval", "interval"), False)])
def test_slopes_of_features(topology, linear):
    basis = LatentBasis(LatentSpace(topology), Gaussian(0.6), (3, 4), linear=linear)
    Z, h = np.random.default_rng(0).uniform(-0.9, 0.9, size=(5, 2)), 1e-6
    for a, step in enumerate(h * np.eye(2)):
        numeric = (basis.features(Z + step) - basis.features(Z - step)) / (2 * h)
        np.testing.assert_allclose(basis.slopes(Z)[:, a], numeric, atol=1e-6)
