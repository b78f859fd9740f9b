"""Random tables as files: plausible, odd and broken ones, the same for the same seed."""

from __future__ import annotations

import datetime as dt
import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

Rng = np.random.Generator

_MISSING = ("", "NA", "nan", "?", "-", "null", "none", " ", "#N/A", "n.a.", "unknown", "#¡DIV/0!")
_NAMES = (
    "weight", "a", "", " a ", "größe", "温度", "name, first", 'the "best"', "two\nlines", "\x1b[31mred", "id",
    "customer_id", "date", "1990", "3.5", "#", "0", "1", "row", "far", "distance", "coordinate_1", "x[0]",
    "__index_level_0__",
    "<b>bold</b>", "Segment", "segment", "{{ 7 }}", "$x_{$", "cost $",
    "a" * 300, "pixel_0_0", "\u202eright", "=1+1", "label", "file",
)  # fmt: skip


@dataclass(frozen=True)
class RandomTable:
    """A file by name and bytes, and the names that its columns may have."""

    file: str
    content: bytes
    columns: list[str]


def random_table(seed: int) -> RandomTable:
    """One table."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.choice([0, 1, 2, 5, 8, 12, 30, 60], p=[0.03, 0.04, 0.03, 0.1, 0.1, 0.2, 0.3, 0.2]))
    n_columns = int(rng.choice([1, 2, 3, 4, 6, 9], p=[0.05, 0.1, 0.2, 0.3, 0.2, 0.15]))
    names = [_name(rng, j) for j in range(n_columns)]
    make = _text_file if rng.uniform() < 0.7 else _binary_file
    file, content = make(rng, n_rows, names)
    return RandomTable(file, _damaged(rng, content), names)


def wide_table(seed: int) -> RandomTable:
    """A table of many columns: names as programs make them, or those of plain ones; most columns are numbers."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.integers(12, 60)), int(rng.choice([40, 150, 400]))
    form = str(
        rng.choice(["{}", "gene_{}", "{}_1", "pixel{}", "2019_{}", "x[{}]", "a long name of column {}" + "x" * 60])
    )
    names = [form.format(j) if rng.uniform() < 0.98 else _name(rng, j) for j in range(n_columns)]
    if rng.uniform() < 0.4:
        columns = [pl.Series(rng.normal(size=n_rows)) if j % 9 else _series(rng, n_rows) for j in range(n_columns)]
        file = io.BytesIO()
        pl.DataFrame(dict(zip(names, columns, strict=True))).write_parquet(file)
        return RandomTable("t.parquet", file.getvalue(), names)
    entries = [_numbers(rng, n_rows) if j % 9 else _column(rng, n_rows) for j in range(n_columns)]
    separator = str(rng.choice([",", ";", "\t"]))
    rows = [names, *zip(*entries, strict=True)]
    lines = [separator.join(_quoted(entry, separator, rng) for entry in row) for row in rows]
    return RandomTable("t.csv", "\n".join(lines).encode(), names)


def _name(rng: Rng, position: int) -> str:
    return str(rng.choice(_NAMES)) if rng.uniform() < 0.3 else f"c{position}"


def _damaged(rng: Rng, content: bytes) -> bytes:
    """One file of ten lacks its end, or has bytes that do not belong there."""
    chance = rng.uniform()
    if chance < 0.04:
        return content[: int(rng.integers(0, len(content) + 1))]
    if chance < 0.1 and content:
        place = int(rng.integers(len(content)))
        return (
            content[:place]
            + bytes(rng.integers(0, 256, size=int(rng.integers(1, 5)), dtype=np.uint8))
            + content[place:]
        )
    return content


# Texts ---------------------------------------------------------------------------------------------------------------


def _numbers(rng: Rng, n: int) -> list[str]:
    return [repr(float(x)) for x in np.round(rng.normal(size=n) * 10.0 ** rng.integers(-1, 6), 3)]


def _wholes(rng: Rng, n: int) -> list[str]:
    return [str(x) for x in rng.integers(-5, int(rng.choice([3, 100, 2**62])), size=n)]


def _commas(rng: Rng, n: int) -> list[str]:
    marks = [("", ","), (".", ","), (",", "."), (" ", ","), ("'", ".")][int(rng.integers(5))]
    texts = [f"{x:,.{int(rng.integers(0, 4))}f}" for x in rng.normal(size=n) * 5000]
    return [text.replace(",", "\0").replace(".", marks[1]).replace("\0", marks[0]) for text in texts]


def _money(rng: Rng, n: int) -> list[str]:
    form = str(rng.choice(["€ {}", "${}", "{} %", "CHF {}", "({})", "{}%"]))
    return [form.format(f"{x:,.2f}") for x in rng.uniform(0, 5000, size=n)]


def _extremes(rng: Rng, n: int) -> list[str]:
    if rng.uniform() < 0.3:
        return list(rng.choice(["\u0661.\u0665", "\uff11\uff12", "-999", "9999", "20240131", "1.5", "3"], size=n))
    return list(rng.choice(["1.7e308", "-1.7e308", "1e-320", "0", "1", "inf", "-inf", "1e400", "5", "9e99"], size=n))


def _dates(rng: Rng, n: int) -> list[str]:
    form = str(rng.choice(["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%y", "%Y-%m-%d %H:%M:%S", "%H:%M", "%d %b %Y"]))
    start = dt.datetime(2020, 1, 1, 3, 30)
    texts = [(start + dt.timedelta(hours=int(h))).strftime(form) for h in rng.integers(0, 40_000, size=n)]
    return [str(rng.choice(["9999-12-31", "0001-01-01"])) if rng.uniform() < 0.05 else text for text in texts]


def _categories(rng: Rng, n: int) -> list[str]:
    return list(rng.choice(["red", "blue", "none", "true", "\x1b[2Jgreen", "a,b", 'say "hi"', "x;y", "$a^{$"], size=n))


def _words(rng: Rng, n: int) -> list[str]:
    return [f"name {i}" if rng.uniform() < 0.9 else str(i) for i in rng.permutation(n)]


def _codes(rng: Rng, n: int) -> list[str]:
    return [f"{x:05d}" for x in rng.integers(0, 20_000, size=n)]


def _constant(rng: Rng, n: int) -> list[str]:
    return [str(rng.choice(["1", "x", "", "2024-01-01"]))] * n


def _mixed(rng: Rng, n: int) -> list[str]:
    kinds = [_numbers(rng, n), _dates(rng, n), _categories(rng, n), _commas(rng, n)]
    return [kinds[int(rng.integers(4))][i] for i in range(n)]


_KINDS: tuple[Callable[[Rng, int], list[str]], ...] = (
    _numbers, _numbers, _numbers, _wholes, _commas, _money, _extremes, _dates, _categories, _words, _codes, _constant,
    _mixed,
)  # fmt: skip


def _column(rng: Rng, n: int) -> list[str]:
    entries = _KINDS[int(rng.integers(len(_KINDS)))](rng, n)
    share = float(rng.choice([0.0, 0.0, 0.1, 0.6]))
    return [str(rng.choice(_MISSING)) if rng.uniform() < share else entry for entry in entries]


def _text_file(rng: Rng, n_rows: int, names: list[str]) -> tuple[str, bytes]:
    separator = str(rng.choice([",", ",", ";", "\t", "|", " ", "  "]))
    careless = rng.uniform() < 0.15
    rows = [names, *zip(*[_column(rng, n_rows) for _ in names], strict=True)]
    if rng.uniform() < 0.1:
        rows = rows[1:]  # no header
    if rng.uniform() < 0.1 and rows:
        rows += [rows[-1]] * 3
    lines = [separator.join(entry if careless else _quoted(entry, separator, rng) for entry in row) for row in rows]
    if rng.uniform() < 0.05:
        lines.insert(
            0, str(rng.choice([f"sep={separator[0]}", "A title", "A title,,", "# made, by hand", ",,", "", "\ufeff"]))
        )
    end = str(rng.choice(["\n", "\n", "\r\n", "\r", "\r\r\n"]))
    text = end.join(lines) + (end if rng.uniform() < 0.8 else "") + ("\x1a" if rng.uniform() < 0.02 else "")
    encoding = str(rng.choice([*["utf-8"] * 8, "utf-8-sig", "latin-1", "utf-16"]))
    content = text.encode(encoding, errors="replace")
    ending = str(rng.choice([".csv", ".csv", ".tsv", ".txt", ".csv.gz"]))
    return f"t{ending}", gzip.compress(content, mtime=0) if ending.endswith("gz") else content


def _quoted(entry: str, separator: str, rng: Rng) -> str:
    if separator[0] in entry or '"' in entry or "\n" in entry or rng.uniform() < 0.05:
        return '"' + entry.replace('"', '""') + '"'
    return entry


# Binary files --------------------------------------------------------------------------------------------------------


def _binary_file(rng: Rng, n_rows: int, names: list[str]) -> tuple[str, bytes]:
    file = io.BytesIO()
    ending = str(rng.choice(["parquet", "parquet", "arrow", "npy", "npz"]))
    if ending == "npy":
        shape = (n_rows, *rng.integers(1, 6, size=int(rng.integers(0, 4))).tolist())
        kind = str(rng.choice(["f8", "f4", "f2", ">f8", "i4", "?", "c16", "U3", "M8[D]"]))
        np.save(file, _array(rng, shape, kind))
    elif ending == "npz":
        arrays = {f"x{j}": _array(rng, (n_rows, j + 1), "f8") for j in range(int(rng.integers(0, 3)))}
        np.savez_compressed(file, y=_array(rng, (n_rows,), "U3"), **arrays)
    else:
        frame = pl.DataFrame([_series(rng, n_rows).alias(name) for name in dict.fromkeys(names)])
        frame.write_parquet(file) if ending == "parquet" else frame.write_ipc(file)
    return f"t.{ending}", file.getvalue()


def _array(rng: Rng, shape: tuple[int, ...], kind: str) -> Any:
    return rng.integers(0, 50, size=shape).astype(kind)


def _series(rng: Rng, n: int) -> pl.Series:
    x = rng.normal(size=n)
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 900, size=n)]
    makers: list[Callable[[], pl.Series]] = [
        lambda: pl.Series(x),
        lambda: pl.Series((np.clip(x, -3.0, 3.0) * 1e38).astype("f4")),
        lambda: pl.Series(_column(rng, n), dtype=pl.String),
        lambda: pl.Series(_column(rng, n), dtype=pl.String).cast(pl.Categorical),
        lambda: pl.Series([[float(v), 2.0] for v in x], dtype=pl.List(pl.Float64)),
        lambda: pl.Series([[1.0] * int(rng.integers(0, 3)) for _ in x], dtype=pl.List(pl.Float64)),
        lambda: pl.Series([[v, v, 1] for v in range(n)], dtype=pl.Array(pl.Int64, 3)),
        lambda: pl.Series([{"x": 1, "y": "b"}] * n, dtype=pl.Struct({"x": pl.Int64, "y": pl.String})),
        lambda: pl.Series([b"bytes"] * n, dtype=pl.Binary),
        lambda: pl.Series([None] * n, dtype=pl.Null),
        lambda: pl.Series(days, dtype=pl.Date),
        lambda: pl.Series(rng.integers(-(2**31), 2**31 - 1, size=n), dtype=pl.Int32).cast(pl.Date),
        lambda: pl.Series(rng.integers(-(2**62), 2**62, size=n)).cast(pl.Datetime("us")),
        lambda: pl.Series(rng.integers(-(2**62), 2**62, size=n)).cast(pl.Duration("ns")),
        lambda: pl.Series(days, dtype=pl.Date).cast(pl.Datetime("ms", "Europe/Berlin")),
        lambda: pl.Series([dt.time(int(h), 5) for h in rng.integers(0, 24, size=n)], dtype=pl.Time),
        lambda: pl.Series(np.round(x, 2)).cast(pl.Decimal(20, 2)),
        lambda: pl.Series(rng.integers(0, 2, size=n).astype(bool)),
        lambda: pl.Series(rng.integers(0, 2**63, size=n, dtype=np.uint64)),
        lambda: pl.Series(np.where(rng.uniform(size=n) < 0.3, np.nan, x)),
        lambda: pl.Series(rng.choice([1.7e308, -1.7e308, 1e-320, 0.0, np.inf], size=n)),
        lambda: pl.Series(range(n), dtype=pl.Int64),
    ]
    return makers[int(rng.integers(len(makers)))]()
