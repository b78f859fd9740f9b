import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.manifolds import Polyline


def slow_projection(curve, x):
    """The nearest point by a walk over all segments, one by one."""
    best = np.inf, 0.0
    for j, (a, b) in enumerate(zip(curve.corners[:-1], curve.corners[1:], strict=True)):
        length = np.linalg.norm(b - a)
        share = np.clip((x - a) @ (b - a) / length**2, 0, 1) if length else 0.0
        distance = np.sum((x - a - share * (b - a)) ** 2)
        best = min(best, (distance, curve.arcs[j] + share * length))
    return best


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), closed=st.booleans(), m=st.integers(2, 30), d=st.integers(1, 5), far=st.booleans())
def test_projection_is_exact(seed, closed, m, d, far):
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(m, d))
    vertices[1] = vertices[0]  # a segment of no length
    curve = Polyline(vertices + 1e6 * far, closed)
    X = rng.normal(size=(20, d)) + 1e6 * far
    arc, squares = curve.project(X)
    slow = np.array([slow_projection(curve, x) for x in X])
    np.testing.assert_allclose(squares, slow[:, 0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(np.sum((curve.at(arc) - X) ** 2, axis=1), squares, rtol=1e-6, atol=1e-8)
    assert np.all((arc >= 0) & (arc <= curve.length * (1 + 1e-12)))


def test_many_rows_are_projected_in_blocks():
    rng = np.random.default_rng(0)
    curve, X = Polyline(rng.normal(size=(500, 3))), rng.normal(size=(2000, 3))
    whole = curve.project(X)
    for part in (slice(0, 7), slice(1990, 2000)):
        np.testing.assert_allclose(curve.project(X[part])[1], whole[1][part])


def test_length_and_points_of_a_triangle():
    triangle = Polyline(np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]), closed=True)
    assert triangle.length == pytest.approx(12.0)
    np.testing.assert_allclose(
        triangle.at(np.array([0.0, 5.0, 9.5, 12.0, -2.5])), [[0, 0], [3, 2], [1.5, 2], [0, 0], [1.5, 2]]
    )
    path = Polyline(triangle.vertices)
    assert path.length == 7.0
    np.testing.assert_allclose(path.at(np.array([-1.0, 9.0])), [[0, 0], [3, 4]])
