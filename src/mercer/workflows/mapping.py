"""The map of a table: fit several, choose by what is honest without labels, and say why."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.running import Status, raise_if_interrupted, unless_interrupted
from mercer.tables.errors import InputError, MemoryRefusal
from mercer.tables.labels import labels_of
from mercer.tables.memory import refuse_if_too_large
from mercer.tables.reading import Table
from mercer.tables.schema import TableSchema
from mercer.workflows.closed_loops import gains_upon, is_closed, loop_or_surface
from mercer.workflows.fit_warnings import in_plain_words, unsettled
from mercer.workflows.map_choice import FittedMap, MapChoice
from mercer.workflows.map_limits import cautions_about_map, cautions_about_table, check_rows, rotation_in_words
from mercer.workflows.map_models import MapModel, distances_of
from mercer.workflows.methods import METHODS, MapMethod, MapSettings, methods_in_words
from mercer.workflows.notes import grouped
from mercer.workflows.progress import Progress, Stages
from mercer.workflows.publishing import Publishing
from mercer.workflows.quality import HeldOut, MapQuality, embedding_of, label_agreement, measure, places_of
from mercer.workflows.row_groups import Groups, groups_of
from mercer.workflows.seen_rows import SeenRows, far_distance
from mercer.workflows.true_circles import with_true_circles

# With fewer columns hidden entries are not predicted from the others.
_FEWEST_COLUMNS_TO_HIDE = 4
# With groups of rows no place is far: places between groups have few rows near them.
_FAR_PLACE = 3.0


@dataclass(frozen=True)
class MapResult:
    """A map, what it was chosen from, and why.

    Attributes
    ----------
    table : Table
        What it was made from.
    model : MapModel
        The map.
    rows : array of int
        The rows of the table that it was fitted to: those of which something is known.
    X, embedding, distances : arrays
        The rows as numbers, their coordinates, and their distances from the map.
    maps : dict of str to FittedMap
        All that were tried.
    verdict, reasons : str, list of str
        What the data are like, in a sentence, and what that rests on.
    notes, warnings : list of str
        What was done to the table; what to be careful with.
    label : str or None
        The column of labels.
    settings : MapSettings
        What was asked for.
    partial : bool
        Whether the work was cut short.
    not_compared : list of str
        Names of the other maps, which `MapSettings.thorough` would have added.
    colors : polars.DataFrame or None
        What else it is coloured by, for all rows of the table: predictions of a machine.
    """

    table: Table
    model: MapModel
    rows: Array
    X: Array
    embedding: Array
    distances: Array
    maps: dict[str, FittedMap]
    verdict: str
    reasons: list[str]
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    label: str | None = None
    settings: MapSettings = field(default_factory=MapSettings)
    partial: bool = False
    not_compared: list[str] = field(default_factory=list)
    colors: pl.DataFrame | None = None

    @property
    def chosen(self) -> FittedMap:
        """The map that was chosen."""
        return self.maps[self.model.method]


def make_map(
    table: Table,
    settings: MapSettings | None = None,
    *,
    label: str | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    progress: Progress | None = None,
    publish: Callable[[MapResult], None] | None = None,
) -> MapResult:
    """Make a map of a table.

    Parameters
    ----------
    table : Table
        The rows.
    settings : MapSettings
        Method, number of coordinates, topology and seed.
    label : str, optional
        A column that colours the map, and never enters it; by default that of the table, if it has one.
    drop : sequence of str
        Columns that must not be used.
    keep : sequence of str
        Columns that are used, though they may seem to identify rows.
    progress : Progress, optional
        Called with what is being done; if it returns True, no more maps are tried.
    publish : callable, optional
        Is given the map so far, marked as partial: principal components as soon as they are there, and later ones if
        that takes little of the time.

    Returns
    -------
    MapResult
        After Ctrl-C, of what was finished, marked as partial.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> from mercer.report import MapSettings, make_map, table_from_frame
    >>> t = np.random.default_rng(0).uniform(0, 3, 60)
    >>> frame = pl.DataFrame({"x": np.cos(t), "y": np.sin(t), "z": t})
    >>> make_map(table_from_frame(frame), MapSettings(method="pca")).embedding.shape
    (60, 2)
    """
    settings = settings or MapSettings()
    notes_of_label = []
    if label is None and table.label is not None and table.label not in drop:
        label = table.label
        notes_of_label = [f"The column {label} is the label: it colours the map, and took no part in making it."]
    not_features = table.columns_called(*drop)
    if label is not None:
        table.check_columns(label)
        not_features.append(label)
    schema, notes = TableSchema.learn(table, not_features, keep)
    X, _ = schema.matrix(table.frame)
    rows = np.flatnonzero(~np.isnan(X).all(axis=1))
    check_rows(X[rows], schema, settings, table.name)
    notes = [*table.notes, *grouped(notes), *notes_of_label]
    return _Mapping(table, schema, X[rows], rows, settings, label, progress, notes).result(Publishing(publish))


class _Mapping:
    def __init__(
        self, table: Table, schema: TableSchema, X: Array, rows: Array, settings: MapSettings, label: str | None,
        progress: Progress | None, notes: list[str],
    ):  # fmt: skip
        self._table, self._schema, self._X, self._rows = table, schema, X, rows
        self._settings, self._label = settings, label
        self._wanted, self._slow = _wanted(settings, len(X))
        plan = {words: work for name in self._wanted for words, work in METHODS[name].plan(len(X)).items()}
        self._stages = Stages(progress, plan)
        self._warnings: list[str] = []
        self._notes = notes
        self._maps: dict[str, FittedMap] = {}
        self._interrupted = False
        self._reasons_of_shape: list[str] = []
        self._qualities: dict[int, MapQuality] = {}
        self._no_circles: list[str] = []
        self._objectives: dict[str, float] = {}
        self._filled = np.where(np.isnan(X), 0.0, X)
        self._labels, self._classes = labels_of(table, rows, label)
        self._held_out = HeldOut.split(X, list(schema.groups.values()), settings.seed)
        self._complete = np.asarray(~np.isnan(X[self._held_out.test]).any(axis=1))
        self._hides = len(schema.columns) >= _FEWEST_COLUMNS_TO_HIDE

    def result(self, publishing: Publishing[MapResult]) -> MapResult:
        if self._settings.method != "auto":
            self._check_memory(self._settings.method)  # before anything is published
        status = unless_interrupted(lambda: self._compared(publishing), lambda: Status.INTERRUPTED)
        self._interrupted = status == Status.INTERRUPTED
        if not self._maps:
            raise_if_interrupted(Status.INTERRUPTED)
        self._stages.end()
        return self._so_far()

    def _compared(self, publishing: Publishing[MapResult]) -> Status:
        """Fit and measure one map after the other."""
        for name in list(self._wanted):
            if name in self._no_circles:
                continue
            self._fit(name)
            if self._interrupted:
                return Status.INTERRUPTED
            left = [other for other in self._wanted if other not in self._maps]
            if left:
                publishing.offer(partial(self._so_far, left))
            self._measure(name)
        return Status.OPTIMAL

    def _so_far(self, left: Sequence[str] = ()) -> MapResult:
        """The best of the maps that there are; those that are `left` are still to be compared."""
        wanted = [name for name in self._wanted if name not in left]
        choice = MapChoice(self._maps, self._X, self._settings, self._hides, wanted, self._groups)
        name, verdict, reasons = choice.made()
        chosen, method = self._maps[name], METHODS[name]
        distances = distances_of(chosen.estimator, self._unclipped, method.takes_missing)
        places = chosen.embedding[np.isfinite(chosen.embedding).all(axis=1)]
        model = MapModel(
            chosen.estimator, self._schema, name, method.takes_missing, chosen.embedding.shape[1],
            far_distance(distances), self._label, SeenRows.of(places, seed=self._settings.seed, factor=_FAR_PLACE),
        )  # fmt: skip
        return MapResult(
            self._table, model, self._rows, self._X, chosen.embedding, distances, dict(self._maps), verdict,
            [*reasons, *self._reasons(left)], self._notes, self._cautions(chosen.quality), self._label,
            self._settings, self._interrupted or bool(left), [*choice.spared, *self._slow],
        )  # fmt: skip

    def _reasons(self, left: Sequence[str]) -> list[str]:
        """What else there is to say of the choice."""
        manifold = self._maps.get("manifold")
        found = list(self._reasons_of_shape)
        if manifold is not None:
            found += rotation_in_words(manifold.estimator, self._X.shape[1])
        if self._no_circles:
            found.append(f"Not compared, since it knows no circles: {methods_in_words(self._no_circles)}.")
        if self._slow:
            slow = methods_in_words(self._slow)
            found.append(f"Not compared, since it takes long with so many rows: {slow}. --thorough adds it.")
        if left:
            found.append(f"Still comparing: {methods_in_words(left)}.")
        return found

    def _cautions(self, quality: MapQuality | None) -> list[str]:
        """What to be careful with: in the table, on the map that was chosen, and of the fits."""
        about_table = cautions_about_table(self._table, self._schema, self._X, self._label)
        return [*about_table, *cautions_about_map(quality, self._maps["pca"].quality), *self._warnings]

    @cached_property
    def _groups(self) -> Groups:
        return groups_of(self._X)

    @cached_property
    def _unclipped(self) -> Array:
        if not self._schema.has_fences:
            return self._X
        return self._schema.matrix(self._table.frame, clipped=False)[0][self._rows]

    # Fits ------------------------------------------------------------------------------------------------------------

    def _fit(self, name: str) -> None:
        """Fit one kind of map; one that fails is left out, unless it was asked for."""
        method, asked = METHODS[name], self._settings.method == name
        title = f"{method.words[0].upper()}{method.words[1:]}"
        try:
            self._check_memory(name)
            self._stages.begin(method.fitting)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                if name == "manifold" and self._settings.topology == "auto":
                    estimator = self._fitted_manifold()
                else:
                    estimator = self._fitted(method, self._settings_for(name), self._rows_for(method))
        except (ValueError, np.linalg.LinAlgError) as error:
            if asked or name == "pca":
                raise InputError(f"{title} cannot be fitted: {error}") from None
            self._warnings.append(f"{title} could not be fitted: {error}")
            return
        except MemoryRefusal as refusal:
            if asked or name == "pca":
                raise
            self._warnings.append(str(refusal))
            return
        self._notes += unsettled(method.words, caught)
        self._warnings += in_plain_words(method.words, caught)
        self._interrupted = getattr(estimator, "status_", "") == Status.INTERRUPTED
        self._keep(name, estimator)
        if name == "manifold":
            self._spare_what_knows_no_circles()

    def _check_memory(self, name: str) -> None:
        method, (n, d) = METHODS[name], self._X.shape
        refuse_if_too_large(method.bytes_needed(n, d), f"fitting {method.words} to {n:,} rows of {d} columns")

    def _rows_for(self, method: MapMethod) -> Array:
        return self._X if method.takes_missing else self._filled

    def _fitted(self, method: MapMethod, settings: MapSettings, X: Array) -> Any:
        """An estimator, fitted; it is asked to end with every iteration, whether or not somebody watches."""
        estimator = method.make(settings, len(X))
        if method.n_calls:
            estimator.set_params(callback=partial(self._tell, method))
        estimator.fit(X)
        if method.n_calls:
            estimator.set_params(callback=None)  # which is not for the model file
        return estimator

    def _keep(self, name: str, estimator: Any) -> None:
        Z = embedding_of(estimator, self._filled)
        agreement = np.nan
        if self._labels is not None:
            agreement = label_agreement(places_of(estimator, Z), self._labels, classes=self._classes)
        self._maps[name] = FittedMap(name, estimator, Z, None, agreement, self._interrupted)

    def _fitted_manifold(self) -> Any:
        """A surface, or a closed loop if it tells as much; circles only where they keep neighbours."""
        settings, method = self._settings, METHODS["manifold"]
        X = self._rows_for(method)

        @cache
        def fitted(dim: int, topology: str, all_rows: bool) -> Any:
            rows = X if all_rows else X[self._held_out.training]
            return self._fitted(method, replace(settings, dim=dim, topology=topology), rows)

        def gains(loop: Any) -> bool:
            pca, test = self._maps["pca"].quality, self._held_out.test[self._complete]
            if pca is None or not len(test):
                return True
            if few:
                self._qualities[id(loop)] = quality = self._measured(method, loop)
                densities = quality.log_densities[self._complete]
            else:
                densities = loop.log_likelihood(X[test])
            return gains_upon(densities, pca.log_densities[self._complete])

        # Otherwise shapes are compared on the training rows of the split.
        few = self._held_out.has_all(len(X))
        fit, fit_some = (partial(fitted, all_rows=all_rows) for all_rows in (True, few))
        if self._groups.are_many:  # with nothing between them nothing is closed
            return fit(2 if settings.dim is None else settings.dim, "interval")
        words: list[str] = []
        if settings.dim is None:
            manifold, words = loop_or_surface(fit, fit_some, gains, X)
        else:
            manifold = fit(settings.dim, "auto")
        q = manifold.embedding_.shape[1]
        if q > 1:
            manifold, more = with_true_circles(manifold, lambda: fit(q, "interval"), self._filled)
            words = [*words, *more]
        elif "circle" in getattr(manifold, "topology_", ()) and not is_closed(manifold):
            manifold = fit(1, "interval")
        self._reasons_of_shape = words
        return manifold

    def _spare_what_knows_no_circles(self) -> None:
        """A map on a plane would tear a loop apart, so that it is not fitted where circles were found."""
        manifold = self._maps.get("manifold")
        if manifold is None or manifold.is_flat or "circle" not in getattr(manifold.estimator, "topology_", ()):
            return
        self._no_circles = [name for name in self._wanted if name == "ukr"]
        self._wanted = [name for name in self._wanted if name not in self._no_circles]

    def _tell(self, method: MapMethod, number: int, fit: Any) -> bool:
        # Fits may call more often than expected: progress then approaches the end ever more slowly.
        calls = number / method.n_calls
        behind = calls if calls < 0.5 else 1.0 - 0.5 * np.exp(1.0 - 2.0 * calls)
        # The best objective of all starts, since each new start begins with a worse one.
        self._objectives[method.name] = min(self._objectives.get(method.name, np.inf), float(fit.objective))
        return self._stages.tell(method.silent + (1.0 - method.silent) * behind, self._objectives[method.name])

    def _settings_for(self, name: str) -> MapSettings:
        """With a number of coordinates: where it is to be chosen, the manifold chooses."""
        if self._settings.dim != "auto" or name == "manifold":
            return self._settings
        manifold = self._maps.get("manifold")
        dim = min(2, self._X.shape[1]) if manifold is None else manifold.embedding.shape[1]
        return replace(self._settings, dim=dim)

    def _measure(self, name: str) -> None:
        found = self._maps.get(name)
        if found is None or found.is_flat:
            return
        self._stages.begin(METHODS[name].measuring)
        quality = self._qualities.get(id(found.estimator)) or self._measured(METHODS[name], found.estimator)
        self._maps[name] = replace(found, quality=quality)

    def _measured(self, method: MapMethod, estimator: Any) -> MapQuality:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return measure(method, estimator, self._X, self._held_out, hides=self._hides)


def _wanted(settings: MapSettings, n_rows: int) -> tuple[list[str], list[str]]:
    """Names of the maps that are tried, and of those that are not since they are slow for so many rows."""
    if settings.method != "auto":
        return list(dict.fromkeys(["pca", settings.method])), []
    if "circle" in settings.topology:
        return ["pca", "manifold"], []
    names = [name for name, method in METHODS.items() if settings.thorough or not method.thorough]
    slow = [name for name in names if n_rows > METHODS[name].most_rows and not settings.thorough]
    return [name for name in names if name not in slow], slow
