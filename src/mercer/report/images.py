"""Rows that are images: folders of them, and columns whose names say so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isqrt
from pathlib import Path

import numpy as np
import polars as pl

from mercer.report.columns import counted
from mercer.report.errors import InputError

ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")
# Images are made smaller until they have no more pixels than this along their longer side.
_LONGEST_SIDE = 32
# Fewer pixels than this along a side are no image.
_FEWEST = 4
# pixel_3_5 (row, column), 3x5, or pixel17 (counted row by row).
_NAMED = re.compile(r"^(?:\D*_)?(\d+)[x_](\d+)$")
_COUNTED = re.compile(r"^(?:pixel|px|pix)_?(\d+)$", re.IGNORECASE)


def read_image_folder(folder: Path) -> tuple[pl.DataFrame, tuple[int, int], tuple[str, ...]]:
    """Grey values of all images in a folder, the first column being their names; their shape; and notes."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise InputError('A folder of images needs Pillow; install it with: pip install "mercer[cli]".') from None
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in ENDINGS)
    if not paths:
        raise InputError(f"{folder} holds no images ({', '.join(ENDINGS)}); give a folder with images, or a table.")
    rows, sizes, names = [], set(), []
    broken = []
    target: tuple[int, int] | None = None
    for path in paths:
        try:
            with Image.open(path) as image:
                sizes.add(image.size)
                if target is None:
                    shrink = max(1.0, max(image.size) / _LONGEST_SIDE)
                    target = (max(1, round(image.width / shrink)), max(1, round(image.height / shrink)))
                grey = image.convert("L")
                rows.append(np.asarray(grey if grey.size == target else grey.resize(target), dtype=np.float64).ravel())
                names.append(path.name)
        except (UnidentifiedImageError, OSError):
            broken.append(path.name)
    if target is None:
        raise InputError(f"{folder} holds no image that can be opened; {broken[0]} is broken, for one.")
    width, height = target
    notes = [f"{counted(len(rows), 'image was', 'images were')} turned grey and brought to {height} x {width} pixels."]
    if len(sizes) > 1:
        notes.append(f"They come in {len(sizes)} sizes: proportions may have changed.")
    if broken:
        lost = counted(len(broken), "file that cannot be opened was", "files that cannot be opened were")
        notes.append(f"{lost} left out: {', '.join(broken[:5])}.")
    pixels = np.array(rows)
    columns = {f"pixel_{r}_{c}": pixels[:, r * width + c] for r in range(height) for c in range(width)}
    return pl.DataFrame({"file": names, **columns}), (height, width), tuple(notes)


def image_shape_of(names: Sequence[str]) -> tuple[tuple[int, int], list[str]] | None:
    """The shape of images whose pixels are columns, and the columns in order, if their names say so."""
    return _from_pairs(names) or _from_counts(names)


def _from_pairs(names: Sequence[str]) -> tuple[tuple[int, int], list[str]] | None:
    places = {(int(m[1]), int(m[2])): name for name in names if (m := _NAMED.match(name))}
    if not places:
        return None
    rows, columns = (sorted({place[axis] for place in places}) for axis in (0, 1))
    if min(len(rows), len(columns)) < _FEWEST or len(places) != len(rows) * len(columns):
        return None
    return (len(rows), len(columns)), [places[r, c] for r in rows for c in columns]


def _from_counts(names: Sequence[str]) -> tuple[tuple[int, int], list[str]] | None:
    places = {int(m[1]): name for name in names if (m := _COUNTED.match(name))}
    side = isqrt(len(places))
    if side < _FEWEST or side**2 != len(places):
        return None
    return (side, side), [places[i] for i in sorted(places)]
