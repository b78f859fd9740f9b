"""Archives of model files: read within bounds and checked before anything is built from them.

An archive is a ZIP file. `mercer.json` says what it is, `schema.json` is the tree of objects that skops builds, and the
other members are arrays. Whatever is in the file, reading it takes no more memory than the file itself promises, and
nothing in it is run.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mercer.tables.errors import MemoryRefusal
from mercer.tables.memory import in_words, refuse_if_too_large

ABOUT, TREE, DIGEST = "mercer.json", "schema.json", "sha256"
# Archives may grow by this factor when they are unpacked, or to this size: arrays of numbers compress little.
_MOST_GROWTH, _ANY_SIZE = 200, 2**26
# Copies of an array in memory while it is loaded.
_COPIES = 5
# JSON takes some twenty times its size in memory. Trees of models are 30 levels deep.
_MOST_JSON, _MOST_DEPTH, _MOST_NODES = 2**25, 100, 10**6
# Protocol of skops since the first model file.
_FIRST_PROTOCOL = 2
_SPARSE_PARTS = {"data.npy", "indices.npy", "indptr.npy", "shape.npy", "format.npy", "_is_array.npy"}


class Refused(ValueError):
    """Why a model file is not used; its words go on from "... is refused: "."""


def read_archive(path: Path) -> dict[str, bytes]:
    """The members of the archive, no more of them than their sizes promise."""
    n_bytes = path.stat().st_size
    refuse_if_too_large(_COPIES * float(n_bytes), f"opening {path.name}", "use a larger machine")
    with open(path, "rb") as file:
        data = file.read(n_bytes)
    return _members(data, path.name)


def _members(data: bytes, name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if len({entry.filename for entry in entries}) < len(entries):
            raise Refused("it holds two members of one name")
        if any(entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries):
            raise Refused("it is packed in a way that Mercer does not use")
        total = sum(entry.file_size for entry in entries)
        if total > max(_ANY_SIZE, _MOST_GROWTH * len(data)):
            raise Refused(f"its {in_words(len(data))} would become {in_words(total)}")
        refuse_if_too_large(_COPIES * float(total), f"opening {name}", "use a larger machine")
        # The reader stops at the stated size of a member; if it is longer, its checksum is wrong.
        return {entry.filename: archive.read(entry) for entry in entries}


def read_json(content: bytes, what: str) -> dict[str, Any]:
    """A member that is a JSON object."""
    if len(content) > _MOST_JSON:
        raise Refused(f"its {what} takes {in_words(len(content))}")
    try:
        values = json.loads(content)
    except RecursionError:
        raise Refused(f"its {what} is nested too deeply") from None
    if not isinstance(values, dict):
        raise ValueError
    return values


def digest_of(about: Mapping[str, Any], members: Mapping[str, bytes]) -> str:
    """SHA-256 of all that a file holds but for this digest, whatever the order: it reveals damage, not malice."""
    facts = {name: value for name, value in about.items() if name != DIGEST}
    parts = {**members, ABOUT: json.dumps(facts, sort_keys=True).encode()}
    digest = hashlib.sha256()
    for name in sorted(parts):
        digest.update(f"{len(name)} {len(parts[name])} {name}".encode() + parts[name])
    return digest.hexdigest()


# Trees ---------------------------------------------------------------------------------------------------------------


class TreeCheck:
    """Checks the tree of objects as skops will read it: its kinds of nodes, its types, its depth and its size.

    Parameters
    ----------
    members : dict of str to bytes
        Of the archive.
    trusted : iterable of str
        Full names of the types that may be built.
    """

    def __init__(self, members: Mapping[str, bytes], trusted: Iterable[str]):
        self._members, self._trusted = members, frozenset(trusted)
        # Sizes of visited nodes (skops builds each identity once), and the node that each member belongs to: a member
        # that several nodes name would be in memory several times.
        self._sizes: dict[int, int | None] = {}
        self._owners: dict[str, int] = {}
        self._foreign: set[str] = set()

    def run(self, tree: dict[str, Any]) -> None:
        """Refuse a tree that no model of Mercer has."""
        protocol = tree.get("protocol")
        if isinstance(protocol, bool) or not isinstance(protocol, int) or protocol < _FIRST_PROTOCOL:
            raise Refused(f"it was written by protocol {protocol!r} of skops")
        self._size(tree, 0)
        if self._foreign:
            raise Refused(f"it asks for {', '.join(sorted(self._foreign)[:5])}, which no model of Mercer needs")

    def _size(self, node: Any, depth: int) -> int:
        """Number of nodes in a node, itself included, as often as they are named."""
        if not isinstance(node, dict):
            raise Refused("its tree has a node that is none")
        identity = node.get("__id__")
        if isinstance(identity, bool) or not isinstance(identity, int) or identity < 1:
            raise Refused(f"its tree has the identity {identity!r}")
        if identity in self._sizes:
            known = self._sizes[identity]
            if known is None:
                raise Refused("its tree has a node that holds itself")
            return known
        if depth > _MOST_DEPTH:
            raise Refused("its tree is nested too deeply")
        self._sizes[identity] = None
        size = 1 + sum(self._size(part, depth + 1) for part in self._parts(node, identity))
        if size > _MOST_NODES:
            raise Refused(f"its tree has more than {_MOST_NODES:,} nodes")
        self._sizes[identity] = size
        return size

    def _parts(self, node: dict[str, Any], identity: int) -> Iterable[Any]:
        """Nodes in a node, which is of a kind that models have."""
        loader, kind, content = node.get("__loader__"), _full_name(node), node.get("content")
        if loader == "JsonNode":
            _check_value(content)
            return ()
        if loader == "NdArrayNode" and _is_numpy(kind) and node.get("type") == "numpy":
            _check_array(self._content(node.get("file"), identity))
            return ()
        if kind not in self._trusted:
            self._foreign.add(kind)
            return ()
        if loader == "SparseMatrixNode" and kind.startswith("scipy.sparse."):
            _check_sparse(self._content(node.get("file"), identity))
            return ()
        if loader == "TypeNode" and kind in ("builtins.int", "builtins.str"):  # of the keys of a dict
            return ()
        if loader in ("ListNode", "TupleNode") and isinstance(content, list):
            return content
        if loader == "DictNode" and kind == "builtins.dict" and isinstance(content, dict):
            return [node.get("key_types"), *content.values()]
        if loader == "ObjectNode" and not kind.startswith(("builtins.", "scipy.")):
            return () if content is None else (content,)
        raise Refused(f"its tree has {kind} as {loader}")

    def _content(self, name: Any, identity: int) -> bytes:
        if not isinstance(name, str) or name not in self._members:
            raise Refused(f"its tree asks for the member {name!r}, which is not there")
        if self._owners.setdefault(name, identity) != identity:
            raise Refused(f"its tree names the member {name} more than once, and would load it as often")
        return self._members[name]


def _full_name(node: dict[str, Any]) -> str:
    return f"{node.get('__module__')}.{node.get('__class__')}"


def _is_numpy(kind: str) -> bool:
    """Whether a type is that of arrays, or of single numbers in NumPy."""
    module, _, name = kind.rpartition(".")
    return module == "numpy" and (name == "ndarray" or name in {scalar.__name__ for scalar in _SCALARS})


_SCALARS = (np.float64, np.float32, np.int64, np.int32, np.bool_)


def _check_value(content: Any) -> None:
    """Refuse what is not one number, text, truth value or nothing, written as JSON."""
    try:
        value = json.loads(content)
    except (TypeError, ValueError, RecursionError):
        raise Refused("its tree has a value that cannot be read") from None
    if isinstance(value, list | dict):
        raise Refused("its tree has a value that is a list")


def _check_array(content: bytes) -> None:
    """Refuse arrays of objects, and those whose shape does not agree with what is there."""
    file = io.BytesIO(content)
    try:
        major, _ = np.lib.format.read_magic(file)
        read_header = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}[major]
        shape, _, dtype = read_header(file)
    except Exception as error:
        # The header is read by a parser of Python, which fails in many ways: if it is nested too deep, by MemoryError.
        raise Refused(f"it has an array that cannot be read ({type(error).__name__})") from None
    if dtype.kind not in "biufUS" or not dtype.isnative:
        raise Refused(f"it has an array of {dtype}")
    there_are = len(content) - file.tell()
    if min(shape, default=0) < 0 or dtype.itemsize * math.prod(shape) != there_are:
        raise Refused(f"it has an array that says to have the shape {shape}, and holds {there_are:,} bytes of {dtype}")


def _check_sparse(content: bytes) -> None:
    """Refuse sparse arrays whose parts are not what they say."""
    try:
        parts = _members(content, "a sparse array")
    except (Refused, MemoryRefusal, MemoryError):
        raise
    except Exception as error:  # as with the archive itself
        raise Refused(f"it has a sparse array that cannot be read ({type(error).__name__})") from None
    if not set(parts) <= _SPARSE_PARTS:
        raise Refused("it has a sparse array of unknown parts")
    for part in parts.values():
        _check_array(part)
