from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from mercer.report import METHODS, InputError, MapSettings, Progress, make_map, table_from_frame
from mercer.report.map_pages import map_summary
from mercer.workflows import mapping as mapping_module
from mercer.workflows.map_limits import cautions_about_map
from mercer.workflows.mapping import _wanted


def blobs(n=60, d=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + 4 * (np.arange(n) % 2)[:, None]
    return pl.DataFrame({f"x{j}": X[:, j] for j in range(d)})


def test_a_kind_of_map_that_fails_is_left_out_unless_it_is_asked_for(monkeypatch):
    def fails(self, X, y=None):
        raise ValueError("no graph today")

    monkeypatch.setattr("mercer.graphs.LaplacianEigenmaps.fit", fails)
    monkeypatch.setitem(METHODS, "manifold", METHODS["pca"])
    table = table_from_frame(blobs())
    monkeypatch.setattr(mapping_module, "METHODS", {name: METHODS[name] for name in ("pca", "eigenmaps")})
    result = make_map(table, MapSettings(thorough=True))
    assert list(result.maps) == ["pca"]
    assert any("Laplacian eigenmaps could not be fitted: no graph today" in warning for warning in result.warnings)
    with pytest.raises(InputError, match="Laplacian eigenmaps cannot be fitted: no graph today"):
        make_map(table, MapSettings(method="eigenmaps"))


def test_kinds_of_maps_that_do_not_fit_into_memory_are_left_out(monkeypatch):
    monkeypatch.setattr(mapping_module, "METHODS", {name: METHODS[name] for name in ("pca", "eigenmaps")})
    monkeypatch.setattr("mercer.tables.memory.available_memory", lambda: 1e5)
    result = make_map(table_from_frame(blobs()), MapSettings(thorough=True))
    assert list(result.maps) == ["pca"]
    assert any("would take about" in warning for warning in result.warnings)


def test_another_map_is_taken_if_it_guesses_hidden_entries_better(monkeypatch):
    monkeypatch.setattr(mapping_module, "METHODS", {name: METHODS[name] for name in ("pca", "eigenmaps")})
    t = np.random.default_rng(0).uniform(0, 6, size=200)
    frame = pl.DataFrame({f"x{j}": np.cos((1 + j / 4) * t + j) for j in range(6)})
    result = make_map(table_from_frame(frame), MapSettings(dim=1, thorough=True))
    assert result.model.method == "eigenmaps"
    assert "no other map guesses hidden entries as well" in result.verdict
    assert result.maps["eigenmaps"].quality.hidden_entries < result.maps["pca"].quality.hidden_entries


def test_a_map_that_tears_neighbours_apart_is_named():
    t = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    frame = pl.DataFrame({"a": t[:, 0], "b": t[:, 1], "c": t[:, 0] + t[:, 1]})
    result = make_map(table_from_frame(frame), MapSettings(method="kpca"))
    assert not any("torn" in warning for warning in result.warnings)
    of_pca = result.maps["pca"].quality
    torn = replace(result.maps["kpca"].quality, continuity=of_pca.continuity - 0.2)
    assert "it may have torn groups apart" in cautions_about_map(torn, of_pca)[-1]
    assert not cautions_about_map(torn, None)


def test_few_columns_are_not_hidden():
    result = make_map(table_from_frame(blobs(d=3)), MapSettings(method="pca"))
    assert np.isnan(result.chosen.quality.hidden_entries)


def test_rows_without_any_entry_are_not_on_the_map():
    frame = blobs().with_columns(pl.when(pl.int_range(60) == 7).then(None).otherwise(pl.all()).name.keep())
    result = make_map(table_from_frame(frame), MapSettings(method="pca"))
    assert 7 not in result.rows
    assert "1 row has no usable entry and is not on the map." in result.warnings


def test_labels_of_numbers_and_equal_rows():
    frame = blobs().with_columns(size=pl.col("x0") * 2.0)
    result = make_map(table_from_frame(frame), MapSettings(method="pca"), label="size")
    assert result.chosen.agreement > 0.8
    with pytest.raises(InputError, match="no column that can be used"):
        make_map(table_from_frame(pl.DataFrame({"a": [1.0] * 9, "b": [2.0] * 9})))


def test_the_number_of_coordinates_can_be_left_open():
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, size=80)
    frame = pl.DataFrame(
        {name: f(t) + 0.03 * rng.normal(size=80) for name, f in (("a", np.sin), ("b", np.cos), ("c", np.exp))}
    )
    result = make_map(table_from_frame(frame), MapSettings(method="manifold", dim="auto", topology="interval"))
    assert result.embedding.shape[1] in (1, 2)


def test_a_map_that_guesses_worse_than_the_mean_says_so():
    noise = np.random.default_rng(0).normal(size=(60, 6))
    table = table_from_frame(pl.DataFrame({f"x{j}": noise[:, j] for j in range(6)}))
    result = make_map(table, MapSettings("pca"))
    assert result.chosen.quality.hidden_entries > 1
    assert any("worse than their means" in warning for warning in result.warnings)


def test_what_thorough_work_would_add_is_said(monkeypatch):
    few = {name: METHODS[name] for name in ("pca", "eigenmaps")}
    monkeypatch.setattr(mapping_module, "METHODS", few)
    result = make_map(table_from_frame(blobs()))
    assert list(result.maps) == ["pca"]
    assert result.not_compared == ["kpca", "eigenmaps"]
    assert "kernel principal components, Laplacian eigenmaps. --thorough adds them." in result.reasons[-1]
    assert map_summary(result, "mercer map")["not_compared"] == result.not_compared
    for settings in (MapSettings(thorough=True), MapSettings("eigenmaps")):
        more = make_map(table_from_frame(blobs()), settings)
        assert list(more.maps) == ["pca", "eigenmaps"]
        assert more.not_compared == []
        assert "--thorough" not in "".join(more.reasons)


def only(monkeypatch, *names, **others):
    """Of all kinds of maps these alone are compared."""
    monkeypatch.setattr(mapping_module, "METHODS", {**{name: METHODS[name] for name in names}, **others})


def columns_of(X):
    return table_from_frame(pl.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])}))


def along(angle, noise=0.05):
    """Rows of six columns along a bent curve of so many angles."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.cos(angle), np.sin(angle), 0.3 * np.cos(2 * angle)])
    return X @ rng.normal(size=(3, 6)) + noise * rng.normal(size=(len(angle), 6))


@pytest.mark.parametrize("noise", [0.02, 0.06])
def test_a_closed_loop_is_one_and_nothing_that_knows_no_circles_is_compared(noise):
    angle = np.random.default_rng(1).uniform(0, 2 * np.pi, 120)
    result = make_map(columns_of(along(angle, noise)))
    assert result.verdict == "The rows lie along a closed loop: the map unrolls it."
    assert result.embedding.shape == (120, 1)
    assert list(result.maps) == ["pca", "manifold"]
    assert "Not compared, since it knows no circles: unsupervised kernel regression." in result.reasons
    assert any(reason.startswith("A closed loop ") for reason in result.reasons)
    # The nearest rows are also found across the place where the circle begins.
    assert result.chosen.quality.continuity > 0.97
    assert not any("torn" in warning for warning in result.warnings)


def test_an_open_curve_is_no_loop_and_a_number_that_is_asked_for_stays(monkeypatch):
    only(monkeypatch, "pca", "manifold")
    arc = columns_of(along(np.random.default_rng(1).uniform(0, 4.0, 120), 0.02))
    assert make_map(arc).embedding.shape == (120, 2)
    loop = columns_of(along(np.random.default_rng(1).uniform(0, 2 * np.pi, 80)))
    assert make_map(loop, MapSettings(dim=2, method="manifold")).embedding.shape == (80, 2)
    one = make_map(loop, MapSettings(dim=1, method="manifold"))
    assert one.model.estimator.topology_ == ("circle",)


@pytest.mark.parametrize(("end", "dim"), [(2 * np.pi, 1), (4.0, 2)])
def test_of_many_rows_some_tell_whether_they_lie_along_a_loop(monkeypatch, end, dim):
    only(monkeypatch, "pca", "manifold")
    monkeypatch.setattr("mercer.workflows.quality._MOST_TRAINING", 100)
    fits = []
    fit = METHODS["manifold"].make

    def make(settings, n):
        fits.append((settings.dim, n))
        return fit(settings, n)

    monkeypatch.setitem(mapping_module.METHODS, "manifold", replace(METHODS["manifold"], make=make))
    result = make_map(columns_of(along(np.random.default_rng(1).uniform(0, end, 200), 0.02)))
    assert result.embedding.shape == (200, dim)
    assert fits == [(1, 100), (dim, 200)]
    if dim == 1:
        assert "next to nothing of the variance" in " ".join(result.reasons)


class _Asking:
    """Its fit goes on until it is told to end."""

    n_calls = 0

    def set_params(self, callback):
        self.callback = callback
        return self

    def fit(self, X):
        fit = SimpleNamespace(objective=1.0)
        self.status_ = "max_iter"
        while self.n_calls < 1000 and self.status_ != "interrupted":
            self.n_calls += 1
            self.status_ = "interrupted" if self.callback(self.n_calls, fit) else "max_iter"
        self.embedding_ = X[:, :2]
        return self

    def transform(self, X):
        return X[:, :2]

    def inverse_transform(self, Z):
        return np.hstack([Z, np.zeros((len(Z), self.n_features_in_ - 2))])

    n_features_in_ = 5


@pytest.mark.parametrize(("last", "n_calls"), [("fitting a map that asks", 3), ("measuring principal components", 0)])
def test_the_end_is_heard_inside_fits_and_between_them_though_nobody_watches(monkeypatch, last, n_calls):
    """A command with -q has no bar, and ends as soon as one with it."""
    asking = _Asking()
    method = replace(METHODS["ukr"], name="asking", words="a map that asks", make=lambda settings, n: asking)
    only(monkeypatch, "pca", asking=method)
    monkeypatch.setitem(METHODS, "asking", method)

    class Ending(Progress):
        heard = 0

        def __call__(self, words, share=0.0, objective=None):
            self.heard += words == last
            return self.heard > n_calls

    result = make_map(table_from_frame(blobs()), progress=Ending())
    assert asking.n_calls == n_calls
    assert result.partial
    assert list(result.maps) == ["pca", "asking"][: 1 + (n_calls > 0)]


def test_a_first_map_is_given_away_before_the_others_are_fitted(monkeypatch):
    only(monkeypatch, "pca", "eigenmaps")
    told = []
    monkeypatch.setattr("mercer.graphs.LaplacianEigenmaps.fit", lambda self, X, y=None: told.append("fit") or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        make_map(table_from_frame(blobs()), MapSettings(thorough=True), publish=told.append)
    first, last = told
    assert last == "fit"
    assert first.partial
    assert first.model.method == "pca"
    assert first.embedding.shape == (60, 2)
    assert first.reasons[-1] == "Still comparing: Laplacian eigenmaps."


def test_later_maps_are_given_away_if_that_takes_little_of_the_time(monkeypatch):
    only(monkeypatch, "pca", "eigenmaps", "kpca")
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr("mercer.workflows.publishing.time.monotonic", lambda: float(next(clock)))
    told = []
    result = make_map(table_from_frame(blobs()), MapSettings(thorough=True), publish=told.append)
    assert [list(given.maps) for given in told] == [["pca"]]  # ten seconds after a first set that took ten
    assert not result.partial
    monkeypatch.setattr("mercer.workflows.publishing._SHARE", 1.0)
    told.clear()
    make_map(table_from_frame(blobs()), MapSettings(thorough=True), publish=told.append)
    assert [list(given.maps) for given in told] == [["pca"], ["pca", "eigenmaps"]]


def test_what_takes_long_with_many_rows_is_compared_only_if_asked_for():
    assert _wanted(MapSettings(), 20_000) == (["pca", "manifold", "ukr"], [])
    assert _wanted(MapSettings(), 20_001) == (["pca", "manifold"], ["ukr"])
    assert "ukr" in _wanted(MapSettings(thorough=True), 20_001)[0]
    assert _wanted(MapSettings(method="ukr"), 20_001) == (["pca", "ukr"], [])


def test_what_takes_long_is_named(monkeypatch):
    slow = replace(METHODS["kpca"], most_rows=50, thorough=False)
    only(monkeypatch, "pca", kpca=slow)
    result = make_map(table_from_frame(blobs()))
    assert list(result.maps) == ["pca"]
    assert "kpca" in result.not_compared
    assert (
        "Not compared, since it takes long with so many rows: kernel principal components. --thorough adds it."
        in result.reasons
    )


def test_the_variance_that_a_rotation_leaves_out_is_said():
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(60, 2)) @ rng.normal(size=(2, 50)) + 0.3 * rng.normal(size=(60, 50))])
    result = make_map(columns_of(X), MapSettings(method="manifold", dim=1, topology="interval"))
    left_out = 100 * result.maps["manifold"].estimator.rotation_error_
    assert 0 < left_out < 5
    said = (
        f"was fitted to the 40 leading principal components of 50 columns of numbers; the others have {left_out:.2g}%"
    )
    assert any(said in reason for reason in result.reasons)
    assert any(said in reason for reason in map_summary(result, "mercer map")["reasons"])
