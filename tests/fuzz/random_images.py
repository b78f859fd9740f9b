"""Random folders of images: of all kinds and depths, whole and broken, with names of all kinds."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

Rng = np.random.Generator

_ENDINGS = {"png": "PNG", "jpg": "JPEG", "gif": "GIF", "bmp": "BMP", "tif": "TIFF", "webp": "WEBP"}
_NAMES = (b"caf\xe9", b"\xff\xfe", b"\x1b[31mred", b"two\nlines", b"-x", b" ", b"<b>", b"$a^{$", b"a" * 200, b".hidden")
_CLASSES = (b"cats", b"dogs", b"caf\xe9", b"caf\xe8", b"", b"_private", b"\x1b[2J")
_OTHERS = {b"notes.txt": b"no image", b"Thumbs.db": b"\0\1", b"empty.png": b"", b"text.jpg": b"a,b\n1,2\n"}


def write_random_folder(seed: int, folder: Path) -> None:
    """Write one folder; it may hold nothing that can be used."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    n_images = int(rng.choice([0, 1, 4, 8, 16], p=[0.05, 0.05, 0.2, 0.4, 0.3]))
    places = [b""] if rng.uniform() < 0.5 else [_one(rng, _CLASSES) for _ in range(3)]
    shape = (int(rng.integers(1, 40)), int(rng.integers(1, 40)))
    alike = rng.uniform() < 0.5  # one kind and size, as most folders have
    kind = int(rng.integers(len(_KINDS)))
    for i in range(n_images):
        size = shape if alike else (int(rng.integers(1, 60)), int(rng.integers(1, 60)))
        content, ending = _image(rng, kind if alike else int(rng.integers(len(_KINDS))), size)
        name = _one(rng, _NAMES) if rng.uniform() < 0.1 else b""
        _write(folder, _one(rng, places), name + f"{i}.{ending}".encode(), _damaged(rng, content))
    if rng.uniform() < 0.3:
        name = _one(rng, tuple(_OTHERS))
        _write(folder, _one(rng, places), name, _OTHERS[name])
    if rng.uniform() < 0.1:
        _write(folder, b"deep/deeper", b"0.png", _image(rng, 0, shape)[0])
    if rng.uniform() < 0.05:
        (folder / "folder.png").mkdir()
    if rng.uniform() < 0.05:
        _write(folder, b"", b"huge.png", _encoded(Image.new("1", (10_000, 9_000)), "PNG"))


def _one(rng: Rng, values: Any) -> bytes:
    value: bytes = values[int(rng.integers(len(values)))]
    return value


def _write(folder: Path, sub: bytes, name: bytes, content: bytes) -> None:
    place = os.path.join(os.fsencode(folder), sub)
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, name), "wb") as file:
        file.write(content)


def _bits(rng: Rng, size: tuple[int, int], dtype: str, largest: int) -> Image.Image:
    return Image.fromarray(rng.integers(0, largest + 1, size=size).astype(dtype))


_KINDS = (
    lambda rng, size: _bits(rng, size, "u1", 255),
    lambda rng, size: _bits(rng, (*size, 3), "u1", 255),
    lambda rng, size: _bits(rng, (*size, 4), "u1", 255),
    lambda rng, size: _bits(rng, size, "u2", 4095),
    lambda rng, size: _bits(rng, size, "u2", 65_535),
    lambda rng, size: _bits(rng, size, "i4", 2**31 - 1),
    lambda rng, size: _bits(rng, size, "f4", 255),
    *(
        lambda rng, size, mode=mode: _bits(rng, (*size, 3), "u1", 255).convert(mode)
        for mode in ("1", "P", "LA", "CMYK", "YCbCr", "HSV")
    ),
)


def _image(rng: Rng, kind: int, size: tuple[int, int]) -> tuple[bytes, str]:
    """An image in a format that can hold it."""
    image = _KINDS[kind](rng, size)
    for ending in [*rng.permutation(list(_ENDINGS)), "tif"]:
        try:
            return _encoded(image, _ENDINGS[ending]), str(ending)
        except (OSError, ValueError, KeyError):
            continue
    return _encoded(image.convert("RGB"), "PNG"), "png"


def _encoded(image: Image.Image, form: str) -> bytes:
    file = io.BytesIO()
    image.save(file, form)
    return file.getvalue()


def _damaged(rng: Rng, content: bytes) -> bytes:
    """One image of ten lacks its end, or has other bytes in it."""
    chance = rng.uniform()
    if chance < 0.05:
        return content[: int(rng.integers(len(content)))]
    if chance < 0.1:
        changed = bytearray(content)
        for place in rng.integers(len(content), size=4):
            changed[place] = int(rng.integers(256))
        return bytes(changed)
    return content
