"""Model files that are damaged or forged: bytes, archive members, nodes of the tree, arrays and facts.

Most of the forged files bear a right digest, since otherwise nothing but the digest would be tested.
"""

import copy
import io
import json
import struct
import zipfile

import numpy as np

from mercer.workflows.model_files.archives import digest_of

# What is put where something else belongs.
JUNK = (
    None, True, False, 0, 1, -1, -3, 2, 7, 2**31, 10**9, 2**62, 2**64, 10**30, 0.5, -0.5, 1e-308, 1e12, 1e150, 1e308,
    -1e308, float("nan"), float("inf"), "", "text", "auto", "circle", "linear", "quartic", [], {}, [1, 2], ["a"],
    {"a": 1}, [[[[[]]]]],
)  # fmt: skip
NUMBERS = (0.0, -1.0, 1e-300, 1e9, 1e18, 1e30, 1e200, 1e308, -1e308, np.nan, np.inf, -np.inf)
DTYPES = ("<f4", ">f8", "<i8", "<i4", "<u8", "<c16", "|b1", "|O", "<U3", "|V8", "<M8[s]")
SHAPES = ((), (0,), (1,), (-1,), (10**9,), (2**40, 8), (2**62, 4), (3, 10**12), (1, 1, 1, 1))


def unzipped(data):
    """The members of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members, *, signed=True):
    """An archive of members, given as a dictionary or, so that names may occur twice, as pairs."""
    pairs = list(members.items()) if isinstance(members, dict) else members
    if signed:
        pairs = [
            (name, resigned(content, dict(pairs)) if name == "mercer.json" else content) for name, content in pairs
        ]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in pairs:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            # writestr of a name that is there warns; open does not for a new ZipInfo under another name.
            archive.NameToInfo.pop(name, None)
            archive.writestr(info, content)
    return file.getvalue()


def resigned(about, members):
    """The facts with the digest of these members; as they are if they are no dictionary."""
    try:
        values = json.loads(about)
        values["sha256"] = digest_of(values, members)
        return json.dumps(values).encode()
    except (ValueError, TypeError, AttributeError, RecursionError):
        return about


def pick(rng, items):
    """One of some things, as it is."""
    return items[int(rng.integers(len(items)))]


# Bytes ---------------------------------------------------------------------------------------------------------------


def bytes_edit(data, rng):
    """Damage as disks and networks make it."""
    content, how = bytearray(data), pick(rng, ("flip", "cut", "zero", "insert", "repeat"))
    place = int(rng.integers(len(content)))
    if how == "flip":
        for spot in rng.integers(len(content), size=int(rng.integers(1, 20))):
            content[spot] ^= 1 << int(rng.integers(8))
    elif how == "cut":
        del content[place:]
    elif how == "zero":
        content[place : place + 64] = bytes(len(content[place : place + 64]))
    elif how == "insert":
        content[place:place] = rng.bytes(int(rng.integers(1, 100)))
    else:
        content = content + content[place:]
    return f"bytes: {how} at {place}", bytes(content)


# Members -------------------------------------------------------------------------------------------------------------


def member_edit(data, rng):
    """Archives that are not what they should be."""
    members = unzipped(data)
    name, other = pick(rng, list(members)), pick(rng, list(members))
    how = pick(
        rng, ("drop", "swap", "empty", "twice", "bomb", "rename", "noise", "cut", "encrypted", "sizes", "method")
    )
    words = f"members: {how} {name}"
    if how == "drop":
        del members[name]
    elif how == "swap":
        members[name], members[other] = members[other], members[name]
    elif how == "empty":
        members[name] = b""
    elif how == "twice":
        return words, zipped([*members.items(), (name, members[other])])
    elif how == "bomb":
        members[name] = bytes(int(rng.integers(2**20, 2**28)))
    elif how == "rename":
        members["../" + name] = members.pop(name)
    elif how == "noise":
        members[name] = rng.bytes(len(members[name]))
    elif how == "cut":
        members[name] = members[name][: int(rng.integers(len(members[name]) + 1))]
    else:
        return words, _headers_edited(zipped(members), how, rng)
    return words, zipped(members)


def _headers_edited(data, how, rng):
    """Another flag, size or method in the directory of the archive, and in the headers before the members."""
    content = bytearray(data)
    # Offsets of flags, methods and sizes in the two kinds of headers.
    where = {"encrypted": (6, 8), "method": (8, 10), "sizes": (22, 24)}[how]
    value = {"encrypted": 1, "method": pick(rng, (1, 12, 14, 99)), "sizes": 0}[how]
    for mark, offset in zip((b"PK\3\4", b"PK\1\2"), where, strict=True):
        place = content.find(mark)
        if how == "sizes":
            struct.pack_into("<I", content, place + offset, int(rng.integers(2**31)))
        else:
            struct.pack_into("<H", content, place + offset, value)
    return bytes(content)


# Nodes ---------------------------------------------------------------------------------------------------------------


# Stands for lists in lists until the tree is written.
_DEEP = "deep"
# An identity that no node of a model has.
NEW = 10**9


def nodes_of(tree):
    """All nodes of the tree of skops, as places: a container and a key."""
    places, open_ = [], [tree]
    while open_:
        container = open_.pop()
        for key, value in list(container.items() if isinstance(container, dict) else enumerate(container)):
            if isinstance(value, dict) and "__loader__" in value:
                places.append((container, key))
            if isinstance(value, dict | list):
                open_.append(value)
    return places


class Scene:
    """The tree of a model, and two of its nodes."""

    def __init__(self, members, rng):
        self.members, self.rng = members, rng
        self.tree = json.loads(members["schema.json"])
        self.places = nodes_of(self.tree)
        self.container, self.key = pick(rng, self.places)
        container, key = pick(rng, self.places)
        self.node, self.other = self.container[self.key], container[key]

    def put(self, value):
        """Another thing in the place of the node."""
        self.container[self.key] = value

    def where(self, condition):
        """A node that a condition holds for."""
        return pick(self.rng, [at[at_key] for at, at_key in self.places if condition(at[at_key])])

    def array(self):
        """The node of an array."""
        return self.where(lambda node: "file" in node)


def _value(scene):
    """Values are most of what can be wrong."""
    node = scene.where(lambda node: node["__loader__"] == "JsonNode")
    node.update(content=json.dumps(pick(scene.rng, JUNK)), __id__=NEW)


def _file(scene):
    scene.array().update(file=pick(scene.rng, [*scene.members, "nothing"]), __id__=NEW)


def _many(scene):
    array = scene.array()
    scene.put(_list_of([{**array, "__id__": NEW + i} for i in range(1, 20_000)], NEW))


def _key(scene):
    scene.node[pick(scene.rng, list(scene.node))] = pick(scene.rng, JUNK)


def _class(scene):
    scene.node.update({name: scene.other[name] for name in ("__class__", "__module__", "__loader__")})


def _identity(scene):
    scene.node["__id__"] = pick(scene.rng, (scene.other.get("__id__"), None, [], -1, 2**70, "a", 1.5))


def _protocol(scene):
    scene.tree["protocol"] = pick(scene.rng, (*JUNK, 0, 1, 3))


NODE_EDITS = {
    "value": _value, "value again": _value, "another value": _value, "file": _file, "many": _many, "key": _key,
    "class": _class, "identity": _identity, "protocol": _protocol,
    "drop": lambda scene: scene.container.pop(scene.key),
    "replace": lambda scene: scene.put(copy.deepcopy(scene.other)),
    "replace again": lambda scene: scene.put(copy.deepcopy(scene.other)),
    "laughs": lambda scene: scene.put(laughs(40)),
    "deep": lambda scene: scene.put(_DEEP),
    "cycle": lambda scene: scene.put({**copy.deepcopy(scene.other), "__id__": scene.tree["__id__"]}),
    "junk": lambda scene: scene.put(pick(scene.rng, JUNK)),
    "foreign": lambda scene: scene.put(pick(scene.rng, FOREIGN)),
}  # fmt: skip


def node_edit(data, rng):
    """Another tree of objects."""
    members = unzipped(data)
    scene, how = Scene(members, rng), pick(rng, list(NODE_EDITS))
    words = f"nodes: {how} at {scene.key} ({scene.node['__class__']}), other {scene.other['__class__']}"
    NODE_EDITS[how](scene)
    text = json.dumps(scene.tree).replace(json.dumps(_DEEP), _deep(int(pick(rng, (5, 50, 200, 20_000)))))
    members["schema.json"] = text.encode()
    return words, zipped(members)


def _list_of(content, identity):
    return {
        "__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": content, "__id__": identity
    }  # fmt: skip


def laughs(depth):
    """Lists of two that hold each other: 2^depth in all."""
    node = _list_of([], NEW)
    for level in range(1, depth):
        node = _list_of([node, _list_of([], node["__id__"])], NEW + level)
    return node


def _deep(depth):
    """Lists in lists, deeper than Python's own writer may go."""
    opened = '{"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": ['
    return opened * depth + "]}" * depth


def _json_node(value):
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value)}


# What calls something, or is something that no model needs.
FOREIGN = (
    {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode", "content": "system"},
    {"__class__": "exp", "__module__": "numpy", "__loader__": "FunctionNode", "content": "exp"},
    {"__class__": "map", "__module__": "builtins", "__loader__": "TypeNode"},
    {"__class__": "KMeans", "__module__": "sklearn.cluster._kmeans", "__loader__": "ObjectNode"},
    {"__class__": "FromFunction", "__module__": "mercer.kernels.given", "__loader__": "ObjectNode"},
    {"__class__": "Path", "__module__": "pathlib", "__loader__": "ConstructorFromReduceNode",
     "content": {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode",
                 "content": [_json_node("/")]}},
    {"__class__": "slice", "__module__": "builtins", "__loader__": "SliceNode",
     "content": {"start": 0, "stop": 10**12, "step": 1}},
    {"__class__": "set", "__module__": "builtins", "__loader__": "SetNode", "content": [_json_node([1])]},
)  # fmt: skip


# Arrays --------------------------------------------------------------------------------------------------------------


def _an_array(members, rng):
    return pick(rng, [name for name in members if name.endswith(".npy")])


def header_edit(data, rng):
    """Arrays that say to be larger, or something else, than they are."""
    members = unzipped(data)
    name = _an_array(members, rng)
    array = np.load(io.BytesIO(members[name]))
    shape, dtype = array.shape, array.dtype.str
    how = pick(rng, ("shape", "dtype", "both", "order", "noise"))
    if how in ("shape", "both"):
        shape = pick(rng, SHAPES)
    if how in ("dtype", "both"):
        dtype = pick(rng, DTYPES)
    header = f"{{'descr': {dtype!r}, 'fortran_order': {how == 'order'}, 'shape': {shape!r}, }}"
    if how == "noise":
        header = pick(rng, ("{}", "[" * 5000, "__import__('os')", "{'descr': 1}", header[:-9]))
    header = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    members[name] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + array.tobytes()
    return f"headers: {name} {dtype}{shape} {how}", zipped(members)


def value_edit(data, rng):
    """Arrays of wrong values, types or shapes."""
    members = unzipped(data)
    name = pick(rng, [name for name in members if name.endswith((".npy", ".npz"))])
    if name.endswith(".npz"):
        parts = unzipped(members[name])
        inner = _an_array(parts, rng)
        words, parts[inner] = _other_array(parts[inner], rng)
        members[name] = zipped(parts, signed=False)
        name = f"{name}/{inner}"
    else:
        words, members[name] = _other_array(members[name], rng)
    return f"values: {name} {words}", zipped(members)


def _other_array(content, rng):
    array = np.load(io.BytesIO(content))
    how = pick(rng, ("one", "one", "one", "all", "dtype", "flat", "fewer", "more", "turn", "empty", "sort"))
    words = f"{array.dtype}{array.shape}: {how}"
    if how in ("one", "all") and array.size and array.dtype.kind in "iuf":
        whole = (-1, -2, -(2**31), 2**31 - 1, array.size, 10**9, 7)
        number = pick(rng, NUMBERS if array.dtype.kind == "f" else whole)
        array = np.array(array, order="C")
        array.reshape(-1)[slice(None) if how == "all" else rng.integers(array.size)] = number
        words += f" is {number}"
    elif how == "dtype":
        dtype = pick(rng, ("f4", "i8", "i4", "c16", "U5", ">f8", "?"))
        with np.errstate(invalid="ignore"):
            array = array.astype(dtype if array.dtype.kind != "U" else "U2")
        words += f" {dtype}"
    elif how == "flat":
        array = array.ravel()
    elif array.ndim and how in ("fewer", "more"):
        array = array[:-1] if how == "fewer" else np.concatenate([array, array])
    elif array.ndim and how == "turn":
        array = np.ascontiguousarray(array.T[..., ::-1])
    elif array.ndim and how == "empty":
        array = array[:0]
    elif array.ndim:
        array = np.sort(array, axis=0)
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return words, file.getvalue()


# Facts ---------------------------------------------------------------------------------------------------------------


def fact_edit(data, rng):
    """Facts of another kind, or none."""
    members = unzipped(data)
    about = json.loads(members["mercer.json"])
    places, open_ = [], [about]
    while open_:
        container = open_.pop()
        for key, value in list(container.items() if isinstance(container, dict) else enumerate(container)):
            places.append((container, key))
            if isinstance(value, dict | list):
                open_.append(value)
    container, key = pick(rng, [place for place in places if place[1] != "sha256"])
    how = pick(rng, ("drop", "junk", "junk", "junk", "copy"))
    words = f"facts: {how} {key}"
    if how == "drop":
        del container[key]
    elif how == "junk":
        container[key] = pick(rng, JUNK)
        words += f": {container[key]!r}"
    else:
        source, name = pick(rng, places)
        container[key] = copy.deepcopy(source[name])
        words += f" of {name}"
    members["mercer.json"] = json.dumps(about).encode()
    return words, zipped(members)


EDITS = (bytes_edit, member_edit, node_edit, header_edit, value_edit, fact_edit)
SHARES = (0.08, 0.12, 0.34, 0.1, 0.22, 0.14)


def edited(data, rng):
    """What was done, and the forged file."""
    return EDITS[rng.choice(len(EDITS), p=SHARES)](data, rng)
