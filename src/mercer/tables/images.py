"""Rows that are images: folders of them, and columns whose names say so."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from mercer.arrays import Array
from mercer.printable import distinct
from mercer.tables.columns import counted
from mercer.tables.errors import InputError
from mercer.tables.features import some_of
from mercer.tables.memory import refuse_if_too_large

if TYPE_CHECKING:
    from PIL.Image import Image

# Height and width of grey images; of colour images, three channels more.
ImageShape = tuple[int, ...]

ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")
CHANNELS = ("red", "green", "blue")
# The column of the sub-folders' names.
CLASS = "class"
# Images are scaled down to this many pixels along their longer side. Colour images have three numbers for each pixel,
# and the time of fits grows with the numbers.
_LONGEST_SIDE, _LONGEST_IN_COLOUR = 32, 20
# An image that declares more pixels is not opened: a small file may unpack to any size.
_MOST_PIXELS = 80_000_000
# Bytes of memory for each number of an image, from the bytes in the table to the rows of a model.
_BYTES = 40.0
# Channels that differ by at most this are grey, since compression of photographs leaves traces of colour.
_GREY = 8
# Bits of cameras and scanners. The fewest bits that hold the largest value of a folder define what is white, so that
# new images of the same camera are equally bright.
_BITS = (8, 10, 12, 14, 16, 32)
_WHITE = 2.0**16 - 1.0
# Fewest pixels along a side of an image.
_FEWEST = 4
# pixel_3_5 (row, column) or pixel17 (counted row by row) after a word for pixels; pixel_3_5_red is one channel of a
# colour. 3x5 and 3_5 have no word, and must count from 0 or 1.
_WORD = r"(?:.*[\W_])?(?:pixels?|px|pix)_?"
_NAMED = re.compile(rf"^({_WORD})?(\d+)[x_](\d+)(?:_(red|green|blue))?$", re.IGNORECASE)
_COUNTED = re.compile(rf"^{_WORD}(\d+)$", re.IGNORECASE)
# Largest value of pixels without a word.
_LARGEST = 255


# Folders -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ImageFolder:
    """Images of a folder as the rows of a table.

    Attributes
    ----------
    frame : polars.DataFrame
        The column "file", "class" if there are sub-folders, and the pixels as whole numbers from 0 to 255.
    shape : ImageShape
        Of each image.
    pixels : tuple of str
        The columns of the pixels.
    notes : tuple of str
        What was done.
    """

    frame: pl.DataFrame
    shape: ImageShape
    pixels: tuple[str, ...]
    notes: tuple[str, ...]


def read_image_folder(folder: Path, shape: ImageShape | None = None) -> ImageFolder:
    """Read all images of a folder, and of its sub-folders, whose names are then the classes.

    Parameters
    ----------
    folder : Path
        Images, or one sub-folder of images for each class.
    shape : ImageShape, optional
        What the images are brought to; by default as the first image, with colours if any image has some.
    """
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise InputError('A folder of images needs Pillow; install it with: pip install "mercer[cli]".') from None
    paths, deeper = _images_in(folder)
    values, read, notes = _Images(paths, folder, shape).read()
    if values.shape[-1] == 1:
        values = values[..., 0]
    names = pixel_names(values.shape[1:])
    columns: dict[str, Any] = {"file": [_shown(path, folder) for path in read]}
    classes = [None if path.parent == folder else distinct(path.parent.name) for path in read]
    if any(classes):
        columns[CLASS] = classes
        n_classes = len({name for name in classes if name is not None})
        notes.append(f"The names of {counted(n_classes, 'sub-folder is', 'sub-folders are')} the column {CLASS}.")
    if deeper:
        notes.append(f"Folders inside of sub-folders are not read: {some_of(deeper)}.")
    columns |= dict(zip(names, np.ascontiguousarray(values.reshape(len(values), -1).T), strict=True))
    return ImageFolder(pl.DataFrame(columns), values.shape[1:], tuple(names), tuple(notes))


def pixel_names(shape: ImageShape) -> list[str]:
    """Names of the columns of images."""
    places = [f"pixel_{r}_{c}" for r in range(shape[0]) for c in range(shape[1])]
    return places if len(shape) == 2 else [f"{place}_{channel}" for place in places for channel in CHANNELS]


def _images_in(folder: Path) -> tuple[list[Path], list[str]]:
    """Images of a folder and of its sub-folders, and folders below these that hold images, too."""
    inside = _folders_in(folder)
    paths = [*_files_in(folder), *(path for sub in inside for path in _files_in(sub))]
    below = [low for sub in inside for low in _folders_in(sub) if _files_in(low)]
    deeper = [_shown(low, folder) for low in below]
    if paths:
        return paths, deeper
    if deeper:
        raise InputError(
            f"{folder} must hold images, or one sub-folder of images for each class, got images in {deeper[0]} only; "
            f"give the folder {below[0].parent}."
        )
    raise InputError(
        f"{folder} holds no images ({', '.join(ENDINGS)}); give a folder with images, with one sub-folder of images "
        "for each class, or a table."
    )


def _shown(path: Path, folder: Path) -> str:
    """What an image or a folder is called in tables and messages."""
    return distinct(path.relative_to(folder).as_posix())


def _files_in(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in ENDINGS and p.name[0] != "." and p.is_file())


def _folders_in(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.is_dir() and p.name[0] not in "._")


class _Images:
    """Opens images one by one; what cannot be opened is left out and named."""

    def __init__(self, paths: list[Path], folder: Path, shape: ImageShape | None):
        self._paths, self._folder, self._shape = paths, folder, shape
        self._size: tuple[int, int] | None = None if shape is None else (shape[1], shape[0])
        self._sizes: set[tuple[int, int]] = set()
        self._broken: list[str] = []
        # Largest values of images with more than 8 bits, by file; and what is white in them.
        self._largest: dict[Path, float] = {}
        self._white = _WHITE

    def read(self) -> tuple[Array, list[Path], list[str]]:
        """Values of shape (n, height, width, channels), the files that they are of, and notes."""
        values: Array | None = None
        read: list[Path] = []
        for path in self._paths:
            pixels = self._opened(path)
            if pixels is None:
                continue
            if values is None:
                values = self._room(pixels.shape)
            values[len(read)] = pixels
            read.append(path)
        if values is None:
            raise InputError(f"{self._folder} holds no image that can be opened; look at {self._broken[0]}.")
        values = values[: len(read)]
        self._whiten(values, read)
        if not self._in_colour(values):
            values = _grey(values)
        elif self._shape is None:
            values = _resized(values, _small(values.shape[2:0:-1], _LONGEST_IN_COLOUR))
        return values, read, self._notes(values)

    def _whiten(self, values: Array, read: list[Path]) -> None:
        """Open images of more than 8 bits again if their largest value shows that they do not use all 16."""
        n_bits = next(n for n in _BITS if max(self._largest.values(), default=0.0) < 2**n)
        if not self._largest or 2**n_bits - 1 == self._white:
            return
        self._white = 2.0**n_bits - 1.0
        for place, path in enumerate(read):
            if path in self._largest:
                pixels = self._opened(path)
                values[place] = 0 if pixels is None else pixels

    def _room(self, shape: ImageShape) -> Array:
        """An array for all images, if there is memory for it."""
        n, (height, width) = len(self._paths), shape[:2]
        numbers = max(height * width, 3 * prod(_small((width, height), _LONGEST_IN_COLOUR)))
        work = f"reading {n:,} images of {height} x {width} pixels"
        refuse_if_too_large(n * (_BYTES * numbers + prod(shape)), work, "give fewer images")
        return np.empty((n, *shape), dtype=np.uint8)

    def _opened(self, path: Path) -> Array | None:
        """Red, green and blue of one image, from 0 to 255."""
        from PIL import Image, ImageOps

        name = _shown(path, self._folder)
        try:
            with warnings.catch_warnings():
                # Pillow only warns of implausibly large images, and of broken metadata.
                warnings.simplefilter("ignore")
                with Image.open(path) as image:
                    if image.width * image.height > _MOST_PIXELS:
                        self._broken.append(f"{name} ({image.width:,} x {image.height:,} pixels are too many)")
                        return None
                    size, upright = image.size, self._size or _small(image.size)
                    image.draft("RGB", (2 * max(upright), 2 * max(upright)))  # large photographs open much faster
                    turned = ImageOps.exif_transpose(image)
                    pixels = _in_rgb(self._in_8_bits(turned, path))
        except Image.DecompressionBombError:
            self._broken.append(f"{name} (too many pixels)")
            return None
        except MemoryError:
            raise
        except Exception:  # decoders of broken files raise whatever they like
            self._broken.append(f"{name} (broken)")
            return None
        if self._size is None:
            self._size = _small(pixels.size)
        self._sizes.add(size)
        return np.asarray(pixels if pixels.size == self._size else pixels.resize(self._size), dtype=np.uint8)

    def _in_8_bits(self, image: Image, path: Path) -> Image:
        """Grey values from 0 to 255 where an image has more bits; others as they are."""
        from PIL import Image as images

        if not image.mode.startswith("I"):
            return image
        values = np.asarray(image, dtype=np.float64)
        self._largest[path] = float(values.max())
        return images.fromarray((values * (255.0 / self._white)).clip(0, 255).astype(np.uint8))

    def _in_colour(self, values: Array) -> bool:
        if self._shape is not None:
            return len(self._shape) == 3
        return any(np.ptp(image.astype(np.int16), axis=-1).max() > _GREY for image in values)

    def _notes(self, values: Array) -> list[str]:
        n, height, width, channels = values.shape
        kind = "grey image was" if channels == 1 else "colour image was"
        notes = [f"{counted(n, kind, kind.replace('image was', 'images were'))} brought to {height} x {width} pixels."]
        if self._largest:
            deep = counted(len(self._largest), "image has", "images have")
            notes.append(
                f"{deep} more than 8 bits: {self._white:,.0f} is taken as white, the largest is "
                f"{max(self._largest.values()):,.0f}."
            )
        if len(self._sizes) > 1:
            notes.append(f"They come in {len(self._sizes)} sizes: proportions may have changed.")
        if self._broken:
            lost = counted(len(self._broken), "file that cannot be opened was", "files that cannot be opened were")
            notes.append(f"{lost} left out: {some_of(self._broken)}.")
        return notes


def _small(size: tuple[int, ...], longest: int = _LONGEST_SIDE) -> tuple[int, int]:
    """Width and height with the same proportions and no longer side than that."""
    shrink = max(1.0, max(size) / longest)
    return max(1, round(size[0] / shrink)), max(1, round(size[1] / shrink))


def _resized(values: Array, size: tuple[int, int]) -> Array:
    from PIL import Image as images

    if values.shape[2:0:-1] == size:
        return values
    return np.stack([np.asarray(images.fromarray(image).resize(size)) for image in values])


def _in_rgb(image: Image) -> Image:
    """An image in red, green and blue: what is transparent is put on white."""
    from PIL import Image as images

    if image.mode == "F":
        raise ValueError("pixels are fractions, and nothing says which is white")
    if "A" in image.mode or "transparency" in image.info:
        see_through = image.convert("RGBA")
        paper = images.new("RGBA", see_through.size, "white")
        return images.alpha_composite(paper, see_through).convert("RGB")
    return image.convert("RGB")


def _grey(values: Array) -> Array:
    """Brightness of colours, as Pillow weighs them."""
    weights = np.array([299, 587, 114], dtype=np.int32)
    grey = np.empty((*values.shape[:-1], 1), dtype=np.uint8)
    for target, image in zip(grey, values, strict=True):
        target[..., 0] = (image @ weights + 500) // 1000
    return grey


# Tables --------------------------------------------------------------------------------------------------------------


def images_in(frame: pl.DataFrame) -> tuple[ImageShape, list[str]] | None:
    """The shape of images whose pixels are columns, and the columns in order, if names and values say so.

    Names without a word for pixels may be those of anything, such as years and quarters: then they must count rows and
    columns from 0 or 1, and the values must be those of pixels.
    """
    found = image_shape_of(frame.columns)
    if found is None or re.match(_WORD, found[1][0], re.IGNORECASE):
        return found
    return found if all(_may_be_pixels(frame[name]) for name in found[1]) else None


def _may_be_pixels(series: pl.Series) -> bool:
    if not series.dtype.is_numeric():
        return False
    known = series.cast(pl.Float64).fill_nan(None).drop_nulls()
    return bool(known.is_between(0, _LARGEST if series.dtype.is_integer() else 1).all())


def image_shape_of(names: Sequence[str]) -> tuple[ImageShape, list[str]] | None:
    """The shape of images whose pixels are columns, and the columns in order, if their names say so."""
    return _from_pairs(names) or _from_counts(names)


def _from_pairs(names: Sequence[str]) -> tuple[ImageShape, list[str]] | None:
    matches = [m for name in names if (m := _NAMED.match(name))]
    has_word = any(m[1] for m in matches)
    places = {(int(m[2]), int(m[3]), (m[4] or "").lower()): m[0] for m in matches if bool(m[1]) == has_word}
    if not places:
        return None
    rows, columns = sorted({r for r, _, _ in places}), sorted({c for _, c, _ in places})
    if not has_word and not all(
        places in (list(range(len(places))), list(range(1, len(places) + 1))) for places in (rows, columns)
    ):
        return None
    channels = CHANNELS if any(channel for _, _, channel in places) else ("",)
    wanted = [(r, c, channel) for r in rows for c in columns for channel in channels]
    if min(len(rows), len(columns)) < _FEWEST or set(wanted) != set(places):
        return None
    shape = (len(rows), len(columns))
    return shape if len(channels) == 1 else (*shape, len(channels)), [places[place] for place in wanted]


def _from_counts(names: Sequence[str]) -> tuple[ImageShape, list[str]] | None:
    places = {int(m[1]): name for name in names if (m := _COUNTED.match(name))}
    side = isqrt(len(places))
    if side < _FEWEST or side**2 != len(places):
        return None
    return (side, side), [places[i] for i in sorted(places)]
