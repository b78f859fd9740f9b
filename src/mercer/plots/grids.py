"""The data of a plot as arrays, and the grids around them on which estimators are asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from mercer.arrays import Array

# Fraction of its range by which a grid goes beyond the data on either side.
_MARGIN = 0.04


@dataclass(frozen=True)
class Sample:
    """Rows and targets as arrays, with their names, and the kind of table that the rows came in."""

    X: Array
    y: Array
    names: tuple[str, ...]
    table: Any

    @classmethod
    def read(cls, owner: str, X: Any, y: Any, columns: Sequence[int], *, labels: bool = False) -> Sample:
        """Check rows that must have one of these numbers of columns, and their targets."""
        rows = check_array(X, dtype=np.float64)
        if rows.shape[1] not in columns:
            words = " or ".join({1: "one column", 2: "two columns"}[n] for n in columns)
            raise ValueError(
                f"X of {owner} must have {words}, got {rows.shape[1]}; fit and draw fewer columns, for instance "
                "principal components."
            )
        targets = np.asarray(y) if labels else check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if targets.ndim == 2 and targets.shape[1] == 1:
            targets = targets[:, 0]
        if targets.ndim != 1:
            raise ValueError(
                f"y of {owner} must have one column, got shape {targets.shape}; fit and draw one target at a time."
            )
        check_consistent_length(rows, targets)
        table = X if hasattr(X, "columns") else None
        plain = ["x"] if rows.shape[1] == 1 else [f"x{j + 1}" for j in range(rows.shape[1])]
        names = plain if table is None else [str(name) for name in table.columns]
        return cls(rows, targets, (*names, str(getattr(y, "name", None) or "y")), table)

    def axis(self, column: int, n: int) -> Array:
        """Positions, n of them, that span a column and a little more."""
        low, high = self.X[:, column].min(), self.X[:, column].max()
        margin = _MARGIN * (high - low) if high > low else 0.5
        return np.linspace(low - margin, high + margin, n)

    def in_kind(self, rows: Array) -> Any:
        """New rows in the same kind of table, so that an estimator finds the column names it knows."""
        if self.table is None:
            return rows
        return type(self.table)(dict(zip(self.table.columns, rows.T, strict=True)))


def require(owner: str, estimator: Any, methods: Sequence[str], remedy: str, *, parameter: str = "estimator") -> None:
    """Refuse what cannot be drawn, then what is not fitted."""
    if isinstance(estimator, type) or not all(hasattr(estimator, method) for method in methods):
        wanted = " and ".join(methods)
        raise TypeError(f"{parameter} of {owner} must be an estimator with {wanted}, got {estimator!r}; {remedy}.")
    check_is_fitted(estimator)


def drawn_columns(owner: str, X: Any, columns: Sequence[int], n: int) -> tuple[Array, tuple[str, ...], list[int]]:
    """Some columns of a table, which may have missing entries, their names, and their positions."""
    rows = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
    chosen = [int(column) for column in columns]
    if len(chosen) != n or not all(0 <= column < rows.shape[1] for column in chosen):
        raise ValueError(
            f"columns of {owner} must be {n} positions below {rows.shape[1]}, got {columns!r}; choose {n} columns of X."
        )
    names = [f"x{j + 1}" for j in range(rows.shape[1])] if not hasattr(X, "columns") else [str(c) for c in X.columns]
    return rows[:, chosen], tuple(names[column] for column in chosen), chosen


def latent_limits(estimator: Any, margin: float = 0.0) -> Array:
    """Ends (q, 2) of the latent coordinates: -1 and 1, or of the embedding where the domain is defined by its density.

    These are moved outwards by a fraction of the range, except those of circles.
    """
    Z = np.asarray(estimator.embedding_)
    if not _has_domain(estimator):
        return np.tile([-1.0, 1.0], (Z.shape[1], 1))
    ends = np.column_stack([Z.min(axis=0), Z.max(axis=0)])
    beyond = margin * np.diff(ends, axis=1) * [-1.0, 1.0]
    return np.where(np.isfinite(estimator.periods_)[:, None], [-1.0, 1.0], ends + beyond)


def latent_grid(
    owner: str, estimator: Any, n: int, *, centres: bool = False, least: int = 2, margin: float = 0.0
) -> Array:
    """A grid on two latent coordinates, or `least` of them: with the ends of `latent_limits`, or centres of cells."""
    q = np.asarray(estimator.embedding_).shape[1]
    if not least <= q <= 2:
        words = "two coordinates" if least == 2 else "one or two coordinates"
        raise ValueError(f"estimator of {owner} must have {words}, got {q}; fit it with n_components=2.")
    shares = (np.arange(n) + 0.5) / n if centres else np.linspace(0.0, 1.0, n)
    axes = [low + (high - low) * shares for low, high in latent_limits(estimator, margin)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, q)


def images_of(estimator: Any, Z: Array) -> Array:
    """What latent points stand for; NaN outside of the domain of the map, if it has one."""
    images = np.array(estimator.inverse_transform(Z), dtype=np.float64)
    if _has_domain(estimator):
        # The least dense rows define the domain, and belong to it.
        images[estimator.density(Z) < (1 - 1e-9) * estimator.density_threshold_] = np.nan
    return images


def _has_domain(estimator: Any) -> bool:
    return hasattr(estimator, "density_threshold_")


def support_of(estimator: Any, X: Array, *, sparse: bool) -> Array | None:
    """Which rows of X are support vectors; None if X holds other rows than those the estimator was fitted to.

    A sparse solution that was found to a relative gap tol has coefficients that should be zero and are not: those below
    tol times the largest count as zero.
    """
    support = getattr(estimator, "support_", None)
    rows = getattr(estimator, "support_vectors_", None)
    if support is None or rows is None or (len(support) and np.max(support) >= len(X)):
        return None
    rows = np.asarray(rows, dtype=np.float64).reshape(len(support), -1)
    same = rows.shape[1:] == X.shape[1:] and np.allclose(rows, X[support], rtol=1e-6, atol=0.0)
    if not same and len(support):
        return None
    coef = np.abs(np.asarray(estimator.dual_coef_))
    if sparse and len(support) and len(coef) == len(support):
        largest = coef.reshape(len(coef), -1).max(axis=1)
        return np.asarray(support)[largest > getattr(estimator, "tol", 0.0) * largest.max()]
    return np.asarray(support)


def codes_of(owner: str, estimator: Any, y: Array) -> Array | None:
    """The class number of each target of a classifier; None for regression."""
    return class_numbers(owner, estimator, y) if is_classifier(estimator) else None


def class_numbers(owner: str, estimator: Any, y: Array) -> Array:
    """The class number of each target."""
    numbers = {label: code for code, label in enumerate(estimator.classes_.tolist())}
    unknown = sorted({str(label) for label in y.tolist() if label not in numbers})
    if unknown:
        raise ValueError(
            f"y of {owner} must hold classes that the estimator knows, {estimator.classes_.tolist()}, got {unknown}; "
            "draw the rows it was fitted to."
        )
    return np.array([numbers[label] for label in y.tolist()])
