"""What a frame takes once its texts are no longer shared."""

from __future__ import annotations

import polars as pl

# Columns of texts.
TEXTS = pl.selectors.by_dtype(pl.String, pl.Categorical, pl.Enum)


def frame_bytes(frame: pl.DataFrame) -> float:
    """Bytes of a frame in which equal texts each have their own: polars stores those of a dictionary once.

    Examples
    --------
    >>> import polars as pl
    >>> from mercer.tables.frame_sizes import frame_bytes
    >>> frame_bytes(pl.DataFrame({"name": ["x" * 1000]}).select(pl.col("name").repeat_by(50).explode())) >= 50_000
    True
    """
    return float(frame.with_columns(TEXTS.cast(pl.String)).estimated_size())
