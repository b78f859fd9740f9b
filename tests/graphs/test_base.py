"""What all estimators on graphs take, and what they refuse."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.manifold import spectral_embedding
from sklearn.utils import get_tags

from mercer import DiffusionMap, LaplacianEigenmaps, SpectralClustering
from mercer.graphs import NeighbourAffinity, base, neighbours
from mercer.kernels import L1, FromFunction, Gaussian, Linear, Precomputed

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
NEW = rng.normal(size=(10, 3))
MAPS = (LaplacianEigenmaps, DiffusionMap)
ALL = (*MAPS, SpectralClustering)


def made(estimator, **options):
    return estimator(2, **options, **({"random_state": 0} if estimator is SpectralClustering else {}))


def results(fitted, new):
    return fitted.transform(new) if hasattr(fitted, "transform") else fitted.predict(new)


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("options", [{}, {"affinity": "radius", "radius": 3.0}, {"affinity": Gaussian(1.0)}])
def test_pickles_clones_and_frames(estimator, options):
    fitted = made(estimator, **options).fit(X)
    expected = results(fitted, NEW)
    np.testing.assert_array_equal(results(pickle.loads(pickle.dumps(fitted)), NEW), expected)
    np.testing.assert_array_equal(results(clone(fitted).fit(X), NEW), expected)
    names = ["a", "b", "c"]
    for frame in (pd.DataFrame, pl.DataFrame):
        framed = made(estimator, **options).fit(frame(X, **{"columns" if frame is pd.DataFrame else "schema": names}))
        assert list(framed.feature_names_in_) == names
        with pytest.raises(ValueError, match="feature names should match"):
            results(framed, pd.DataFrame(NEW, columns=["c", "b", "a"]))
        np.testing.assert_array_equal(results(framed, pd.DataFrame(NEW, columns=names)), expected)


@pytest.mark.parametrize("estimator", MAPS)
def test_output_and_its_names(estimator):
    maps = estimator(2).fit(X)
    names = [f"{estimator.__name__.lower()}{i}" for i in range(2)]
    np.testing.assert_array_equal(maps.get_feature_names_out(), names)
    table = maps.set_output(transform="pandas").transform(NEW)
    assert list(table.columns) == names
    assert list(estimator(2).set_output(transform="polars").fit_transform(X).columns) == names


@pytest.mark.parametrize("estimator", ALL)
def test_single_precision_memory_maps_and_sparse_rows(estimator, tmp_path):
    single, double = X.astype(np.float32), X.astype(np.float32).astype(np.float64)
    expected = results(made(estimator).fit(double), NEW)
    np.testing.assert_array_equal(results(made(estimator).fit(single), NEW), expected)
    np.save(tmp_path / "rows.npy", double)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    np.testing.assert_array_equal(results(made(estimator).fit(mapped), NEW), expected)
    stored = results(made(estimator).fit(sparse.csr_array(double)), sparse.csr_array(NEW))
    np.testing.assert_allclose(stored, expected, atol=1e-6)


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize(
    "options",
    [{}, {"neighbors": "brute"}, {"affinity": "radius", "radius": 3.0}, {"affinity": Gaussian(1.0)}],
    ids=["neighbours", "brute", "radius", "kernel"],
)
def test_new_rows_may_be_stored_otherwise(estimator, options):
    expected = results(made(estimator, **options).fit(X), NEW)
    for rows in (X, sparse.csr_array(X), sparse.csc_matrix(X)):
        fitted = made(estimator, **options).fit(rows)
        for new in (NEW, np.asfortranarray(NEW), sparse.csr_array(NEW), sparse.coo_matrix(NEW), NEW.tolist()):
            np.testing.assert_allclose(results(fitted, new), expected, atol=1e-6)
        np.testing.assert_allclose(results(fitted, NEW[:1]), expected[:1], atol=1e-6)


def test_an_approximate_search_is_stated(monkeypatch):
    many = rng.normal(size=(1100, 12))
    assert LaplacianEigenmaps(2).fit(many).neighbor_method_ == "brute"
    monkeypatch.setattr(neighbours, "_BRUTE_PRODUCTS", 1e6)
    monkeypatch.setattr(neighbours, "find_spec", lambda name: object())
    monkeypatch.setattr(neighbours, "Approximate", neighbours.BruteForce)
    assert LaplacianEigenmaps(2).fit(many).neighbor_method_ == "approximate"
    assert LaplacianEigenmaps(2, neighbors="brute").fit(many).neighbor_method_ == "brute"


@pytest.mark.parametrize("estimator", ALL)
def test_a_fit_that_is_interrupted_leaves_no_model(estimator, monkeypatch):
    fitted = made(estimator).fit(X)

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(base, "walk_spectrum", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fitted.fit(X[:40])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        results(fitted, NEW)
    np.testing.assert_array_equal(results(fitted.fit(X), NEW), results(made(estimator).fit(X), NEW))


@pytest.mark.parametrize("options", [{}, {"affinity": "radius", "radius": 0.7}, {"n_neighbors": 2}])
def test_other_libraries_take_the_graph(options):
    """Functions of scikit-learn refuse sparse arrays with 64-bit indices."""
    rows = np.vstack([X, X[:30] + 20.0])
    with pytest.warns(UserWarning, match="connected parts"):
        W = LaplacianEigenmaps(2, **options).fit(rows).graph_
    assert W.indices.dtype == W.indptr.dtype == np.int32
    assert spectral_embedding(W, n_components=2, eigen_solver="arpack", random_state=0).shape == (110, 2)


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("options", [{}, {"affinity": Gaussian(1.0)}, {"affinity": "precomputed"}])
def test_later_changes_of_the_rows_change_nothing(estimator, options):
    rows = Gaussian(1.0)(X) if options.get("affinity") == "precomputed" else X.copy()
    new = Gaussian(1.0)(NEW, X) if options.get("affinity") == "precomputed" else NEW
    fitted = made(estimator, **options).fit(rows)
    expected = results(fitted, new)
    rows[:] = 0.0
    np.testing.assert_array_equal(results(fitted, new), expected)


def test_a_second_fit_forgets_the_first():
    maps = LaplacianEigenmaps(2).fit(X)
    assert maps.width_ >= maps.width_curve_.widths[np.argmax(maps.width_curve_.slopes)]
    assert maps.neighbor_method_ == "tree"
    assert maps.n_neighbors_ == 10
    back = maps.inverse_transform(maps.embedding_)
    maps.set_params(width=None).fit(X + 100.0)
    assert not hasattr(maps, "width_")
    assert not hasattr(maps, "width_curve_")
    assert np.abs(maps.inverse_transform(maps.embedding_) - back - 100.0).max() < 10
    maps.set_params(affinity=Gaussian(1.0)).fit(X)
    assert not hasattr(maps, "neighbor_method_")
    assert not hasattr(maps, "n_neighbors_")


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("width", [None, "auto", "local"])
def test_the_unit_of_the_rows_does_not_matter(estimator, width, scale):
    expected = made(estimator, width=width).fit(X)
    fitted = made(estimator, width=width).fit(scale * X)
    np.testing.assert_allclose(fitted.embedding_, expected.embedding_, atol=1e-6)
    np.testing.assert_allclose(results(fitted, scale * NEW), results(expected, NEW), atol=1e-5)


@pytest.mark.parametrize("estimator", ALL)
def test_constant_columns_and_duplicates(estimator):
    constant = np.column_stack([X, np.full(len(X), 1e3)])
    np.testing.assert_allclose(made(estimator).fit(constant).embedding_, made(estimator).fit(X).embedding_, atol=1e-6)
    twice = np.repeat(X, 2, axis=0)
    for width in (None, "auto", "local"):
        fitted = made(estimator, width=width).fit(twice)
        assert np.isfinite(fitted.embedding_).all()
        assert np.isfinite(results(fitted, NEW)).all()
    kernel = made(estimator, affinity=Gaussian(1.0)).fit(twice)
    np.testing.assert_allclose(kernel.embedding_[::2], kernel.embedding_[1::2], atol=1e-8)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")  # as k-means says
@pytest.mark.parametrize("estimator", ALL)
def test_equal_rows(estimator):
    equal = np.full((20, 2), 0.1)
    with pytest.raises(ValueError, match="X of auto_width must have two distinct rows or more"):
        made(estimator).fit(equal)
    with pytest.raises(ValueError, match="radius of .* must leave some rows apart"):
        made(estimator, affinity="radius", radius=1.0).fit(equal)
    for options in ({"width": None}, {"width": "local"}, {"affinity": Gaussian(1.0)}):
        assert np.isfinite(made(estimator, **options).fit(equal).embedding_).all()


@pytest.mark.parametrize("estimator", MAPS)
def test_two_rows(estimator):
    Z = estimator(1, n_neighbors=1, width=None).fit_transform([[0.0], [1.0]])
    assert Z[0, 0] == pytest.approx(-Z[1, 0])
    assert abs(Z[0, 0]) == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")  # as k-means says
@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("width", [None, "auto", "local"])
@pytest.mark.parametrize("n", [3, 4, 7, 10, 11])
def test_few_rows(estimator, width, n):
    fitted = made(estimator, width=width).fit(X[:n])
    assert fitted.n_neighbors_ == min(10, n - 1)
    assert fitted.embedding_.shape == (n, 2)
    np.testing.assert_array_equal(
        fitted.embedding_, made(estimator, width=width, n_neighbors=min(10, n - 1)).fit(X[:n]).embedding_
    )
    assert np.isfinite(results(fitted, NEW)).all()
    if estimator in MAPS:
        np.testing.assert_allclose(fitted.transform(X[:n]), fitted.embedding_, atol=1e-12)
        with pytest.raises(ValueError, match="n_components of .* must be less than the number of rows of the graph, 2"):
            estimator(2, width=width).fit(X[:2])
    else:
        assert len(SpectralClustering(width=width, random_state=0).fit(X[:n]).labels_) == n


@pytest.mark.parametrize("estimator", MAPS)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array, pd.DataFrame])
@pytest.mark.parametrize("options", [{}, {"affinity": Gaussian(1.0)}, {"affinity": "radius", "radius": 3.0}])
def test_single_precision_is_kept(estimator, stored, options):
    single = estimator(2, **options).fit(stored(X.astype(np.float32)))
    double = estimator(2, **options).fit(stored(X.astype(np.float32).astype(np.float64)))
    new = NEW.astype(np.float32)
    for kind, fitted in ((np.float32, single), (np.float64, double)):
        assert fitted.embedding_.dtype == fitted.graph_.dtype == kind
        assert fitted.transform(stored(new.astype(kind))).dtype == kind
        assert fitted.inverse_transform(fitted.embedding_).dtype == kind
        assert fitted.fit_transform(stored(X.astype(np.float32).astype(kind))).dtype == kind
    # Rounded in the end, not on the way.
    np.testing.assert_array_equal(single.embedding_, double.embedding_.astype(np.float32))
    np.testing.assert_array_equal(single.transform(stored(new)), double.transform(stored(new)))
    np.testing.assert_array_equal(single.transform(stored(NEW)), double.transform(stored(NEW)))
    np.testing.assert_array_equal(single.transform(stored(X.astype(np.float32))), single.embedding_)


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize(
    "options",
    [
        *({"neighbors": method} for method in neighbours.SEARCHES),
        {"affinity": "radius", "radius": 3.0},
        {"affinity": "radius", "radius": 3.0, "neighbors": "tree"},
        {"affinity": Gaussian(1.0), "neighbors": "tree"},
        {"affinity": L1()},
        {"affinity": "precomputed", "neighbors": "tree"},
    ],
    ids=repr,
)
def test_the_sparse_tag_tells_what_works(estimator, options):
    if options.get("neighbors") == "approximate":
        pytest.importorskip("pynndescent")
    rows = np.abs(X) if options.get("affinity") != "precomputed" else Gaussian(1.0)(X)
    model = made(estimator, **options)
    made(estimator, **options).fit(rows)  # dense rows always work
    try:
        model.fit(sparse.csr_array(rows))
        works = True
    except (TypeError, ValueError):
        works = False
    assert get_tags(model).input_tags.sparse == works


def test_links_have_the_weights_of_their_length():
    far = np.vstack([X[:40], X[40:] + np.array([8.0, 0.0, 0.0])])
    maps = LaplacianEigenmaps(2, n_neighbors=4, width=3.0)
    with pytest.warns(UserWarning, match="connected parts"):
        maps.fit(far)
    i, j = (part[0] for part in maps.graph_[:40, 40:].nonzero())
    r = np.linalg.norm(far[i] - far[40 + j])
    weakest = NeighbourAffinity(4, 3.0).fit(far).data.min()
    assert maps.graph_[i, 40 + j] == pytest.approx(max(np.exp(-(r**2) / 18), weakest))


@pytest.mark.parametrize(
    "options",
    [{"width": None}, {"width": "local"}, {"affinity": "radius", "radius": 3.0}],
    ids=["None", "local", "radius"],
)
def test_links_without_a_width_weigh_as_much_as_the_weakest_edge(options):
    far = np.vstack([X[:40], X[40:] + np.array([20.0, 0.0, 0.0])])
    maps = LaplacianEigenmaps(2, n_neighbors=6, **options)
    with pytest.warns(UserWarning, match="2 connected parts"):
        maps.fit(far)
    links = maps.graph_[:40, 40:]
    assert links.nnz == 1
    assert links.data[0] == maps.graph_.data.min()
    np.testing.assert_array_equal(maps.transform(far), maps.embedding_)


def test_rows_whose_weights_all_vanish_are_joined():
    with pytest.warns(UserWarning, match="has 80 connected parts"):
        maps = LaplacianEigenmaps(2, width=1e-9).fit(X)
    assert np.isfinite(maps.embedding_).all()


BAD = [
    ({"affinity": "cosine"}, "affinity of {} must be 'neighbors', 'radius', 'precomputed' or a Kernel, got 'cosine'"),
    ({"affinity": np.eye(3)}, "affinity of {} must be 'neighbors', 'radius', 'precomputed' or a Kernel"),
    ({"affinity": Linear()}, "affinity of {} must have finite weights >= 0, got -.* choose a kernel without negative"),
    ({"affinity": Precomputed()}, "affinity of {} must be a Kernel on vectors, got Precomputed"),
    ({"affinity": FromFunction(np.dot)}, "affinity of {} must be a Kernel on vectors"),
    ({"affinity": "radius"}, "radius of {} must be a number > 0, got None; give a distance"),
    ({"affinity": "radius", "radius": -1.0}, "radius of {} must be a number > 0, got -1.0"),
    ({"affinity": "radius", "radius": 1e-9}, "radius of {} must reach from some rows to others, got 1e-09"),
    ({"affinity": "radius", "radius": 1e9}, "radius of {} must leave some rows apart, got 1000000000.0"),
    ({"affinity": "precomputed"}, "X of {} must be a square matrix of weights, got shape"),
    ({"n_neighbors": 0}, "n_neighbors of {} must be a whole number >= 1, got 0; ask for 1 or more"),
    ({"n_neighbors": True}, "n_neighbors of {} must be a whole number >= 1, got True"),
    ({"width": 0.0}, "width of {} must be None, 'auto', 'local' or a number > 0, got 0.0"),
    ({"width": "wide"}, "width of {} must be None, 'auto', 'local' or a number > 0, got 'wide'"),
    ({"symmetric": "both"}, "symmetric of {} must be one of .*, got 'both'"),
    ({"neighbors": "ball_tree"}, "neighbors of {} must be one of .*, got 'ball_tree'"),
    ({"eigen_solver": "arpack"}, "eigen_solver of {} must be one of .*, got 'arpack'"),
    ({"tol": 0}, "tol of {} must be a number > 0, got 0; it bounds the residuals"),
]


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_parameters_are_refused(estimator, options, message):
    with pytest.raises(ValueError, match=message.format(estimator.__name__)):
        made(estimator, **options).fit(X)


@pytest.mark.parametrize("estimator", ALL)
def test_bad_parameters_are_refused_before_the_work(estimator, monkeypatch):
    monkeypatch.setattr(base, "walk_spectrum", None)
    monkeypatch.setattr(NeighbourAffinity, "fit", None)
    for options in ({"width": 0.0}, {"eigen_solver": "arpack"}, {"tol": -1.0}, {"neighbors": "x"}, {"symmetric": 1}):
        with pytest.raises(ValueError, match=f"{next(iter(options))} of {estimator.__name__} must be"):
            made(estimator, **options).fit(X)


@pytest.mark.parametrize("estimator", MAPS)
def test_bad_parameters_of_maps_are_refused(estimator):
    name = estimator.__name__
    for n_components in (0, 2.0, True, "two", None):
        with pytest.raises(ValueError, match=f"n_components of {name} must be a whole number >= 1, got"):
            estimator(n_components).fit(X)
    with pytest.raises(
        ValueError, match=f"n_components of {name} must be less than the number of rows of the graph, 80"
    ):
        estimator(80).fit(X)
    assert estimator(79, n_neighbors=20).fit(X).embedding_.shape == (80, 79)
    with pytest.raises(ValueError, match=f"disconnected of {name} must be one of .*, got 'drop'"):
        estimator(disconnected="drop").fit(X)
    apart = np.vstack([X[:30], X[30:] + 100.0])
    with (
        pytest.warns(UserWarning, match="connected parts"),
        pytest.raises(ValueError, match=f"n_components of {name} must be less than .* the largest part, 50, got 60"),
    ):
        estimator(60, disconnected="largest").fit(apart)
    maps = estimator(2).fit(X)
    with pytest.raises(ValueError, match=f"Z of {name} must have 2 columns, one for each coordinate, got 3"):
        maps.inverse_transform(np.ones((4, 3)))
    given = estimator(2, affinity="precomputed").fit(Gaussian(1.0)(X))
    with pytest.raises(TypeError, match=f"{name} was given affinities, so that there are no rows to go back to"):
        given.inverse_transform(np.ones((4, 2)))


def test_bad_parameters_of_diffusion_are_refused():
    for t in (-1, "long", None, np.inf, True):
        with pytest.raises(ValueError, match="t of DiffusionMap must be a number >= 0 or 'auto', got"):
            DiffusionMap(t=t).fit(X)
    for alpha in ("one", None, np.nan, True):
        with pytest.raises(ValueError, match="alpha of DiffusionMap must be a number, got"):
            DiffusionMap(alpha=alpha).fit(X)


@pytest.mark.parametrize("estimator", ALL)
def test_bad_rows_are_refused(estimator):
    with pytest.raises(ValueError, match="NaN"):
        made(estimator).fit(np.where(X > 2, np.nan, X))
    with pytest.raises(ValueError, match="infinity"):
        made(estimator).fit(np.where(X > 2, np.inf, X))
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        made(estimator).fit(X[:1])
    for weights, message in (
        (np.triu(np.ones((5, 5))), "X of .* must be a symmetric matrix of weights, got one that is not; average it"),
        (-np.ones((5, 5)), "X of .* must have finite weights >= 0, got -1"),
        (
            1e300 * np.ones((5, 5)),
            "X of .* must have weights whose sums have squares, got 1e\\+300; divide them by the l",
        ),
        (np.where(np.eye(5) > 0, np.nan, 1.0), "contains NaN"),
        (np.ones((5, 4)), "X of .* must be a square matrix of weights, got shape \\(5, 4\\)"),
    ):
        for stored in (np.asarray, sparse.csr_array):
            with pytest.raises(ValueError, match=message):
                made(estimator, affinity="precomputed").fit(stored(weights))
    with pytest.raises(
        ValueError, match="neighbors of .* must be 'auto' or 'brute' for sparse rows, got 'tree'; a tree needs"
    ):
        made(estimator, neighbors="tree").fit(sparse.csr_array(X))
    fitted = made(estimator).fit(X)
    with pytest.raises(ValueError, match="X has 2 features, but"):
        results(fitted, X[:, :2])
    for bad, message in ((np.nan, "NaN"), (np.inf, "infinity")):
        with pytest.raises(ValueError, match=message):
            results(fitted, np.full((1, 3), bad))
    with pytest.raises(ValueError, match="must be of a size that can be squared"):
        results(fitted, 1e200 * X)
