"""Archives that are damaged, forged or too large are refused before anything is built."""

import io
import json
import os
import re
import zipfile

import numpy as np
import pytest

from mercer.report import MemoryRefusal, ModelFileError, load_map, load_model
from mercer.workflows.model_files import archives
from mercer.workflows.model_files.archives import digest_of
from tests.fuzz.edits import laughs, unzipped, zipped
from tests.workflows.model_files.test_files import changed, fitted_map, saved


@pytest.fixture
def path(tmp_path):
    return saved(fitted_map("pca")[0], tmp_path)


@pytest.fixture
def graph(tmp_path):
    """A file with a sparse array."""
    return saved(fitted_map("eigenmaps")[0], tmp_path)


def edited(path, edit):
    """The file with another tree; `edit` gets the tree, and the node of the estimator's attributes by name."""

    def change(members):
        tree = json.loads(members["schema.json"])
        edit(tree, tree["content"]["estimator"]["content"]["content"])
        members["schema.json"] = json.dumps(tree).encode()

    return changed(path, change)


def test_folders_devices_and_empty_files_are_no_models(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ModelFileError, match="is a folder or a device, and no file"):
            load_model(name)


def test_damaged_contents_do_not_have_their_digest(path):
    changed(path, lambda members: members.update({"more.txt": b"more"}), signed=False)
    with pytest.raises(ModelFileError, match="is damaged: its contents do not have the digest that it bears"):
        load_map(path)


def test_the_digest_does_not_depend_on_the_order_and_is_not_part_of_itself():
    about, members = {"a": 1, "b": [0.1]}, {"x": b"1", "y": b"2"}
    digest = digest_of(about, members)
    assert digest == digest_of({"b": [0.1], "a": 1, "sha256": digest}, {"y": b"2", "x": b"1"})
    assert digest != digest_of(about, {"x": b"12", "y": b""})
    assert digest != digest_of({"a": 1, "b": [0.2]}, members)


def test_files_without_a_digest_are_older_and_can_be_read(path):
    def older(members):
        about = json.loads(members["mercer.json"])
        del about["sha256"]
        members["mercer.json"] = json.dumps(about).encode()

    assert load_map(changed(path, older, signed=False)).method == "pca"


def test_damaged_streams_passwords_and_other_packings_are_refused(path):
    data = path.read_bytes()
    inside = data.index(b"schema.json") + 300
    path.write_bytes(data[:inside] + bytes(50) + data[inside + 50 :])
    with pytest.raises(ModelFileError, match="is not a model file of Mercer, or it is damaged"):
        load_map(path)
    locked = bytearray(data)
    for mark, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        locked[locked.index(mark) + offset] |= 1
    path.write_bytes(locked)
    with pytest.raises(ModelFileError, match="or it is damaged .RuntimeError"):
        load_map(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        for name, content in unzipped(data).items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match="is refused: it is packed in a way"):
        load_map(path)


def test_two_members_of_one_name_are_refused(path):
    members = unzipped(path.read_bytes())
    path.write_bytes(zipped([*members.items(), ("schema.json", b"{}")]))
    with pytest.raises(ModelFileError, match="is refused: it holds two members of one name"):
        load_map(path)


def test_archives_that_grow_are_refused_with_their_size(path):
    changed(path, lambda members: members.update({"zeros.npy": bytes(100_000_000)}))
    with pytest.raises(ModelFileError, match="is refused: its .* kB would become 100 MB"):
        load_map(path)


def test_models_that_do_not_fit_into_memory_are_refused(path, monkeypatch):
    monkeypatch.setattr("mercer.tables.memory.available_memory", lambda: 5000.0)
    with pytest.raises(MemoryRefusal, match="Opening model.skops would take about .* kB of memory"):
        load_map(path)


def test_long_and_deep_json_is_refused(path, monkeypatch):
    deep = b'{"format": ' + b"[" * 100_000
    with pytest.raises(ModelFileError, match="is refused: its mercer.json is nested too deeply"):
        load_map(changed(path, lambda members: members.update({"mercer.json": deep})))
    path.write_bytes(zipped(unzipped(saved(fitted_map("pca")[0], path.parent).read_bytes())))
    with pytest.raises(ModelFileError, match="is refused: its schema.json is nested too deeply"):
        load_map(changed(path, lambda members: members.update({"schema.json": b"[" * 100_000})))
    with pytest.raises(ModelFileError, match="is refused: its schema.json cannot be read"):
        load_map(changed(path, lambda members: members.update({"schema.json": b"[]"})))
    monkeypatch.setattr("mercer.workflows.model_files.archives._MOST_JSON", 100)
    with pytest.raises(ModelFileError, match="is refused: its mercer.json takes .* "):
        load_map(path)


def test_members_are_loaded_once(path):
    """2000 references to one array of 400 kB would take 800 MB."""

    def many(tree, attributes):
        mean = attributes["mean_"]
        nodes = [{**mean, "__id__": 1000 + i} for i in range(2000)]
        attributes["more"] = {**mean, "__loader__": "ListNode", "__module__": "builtins", "__class__": "list",
                              "content": nodes, "__id__": 999}  # fmt: skip

    with pytest.raises(ModelFileError, match=r"is refused: its tree names the member \d+.npy more than once"):
        load_map(edited(path, many))


def value(content):
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": content, "__id__": 998}


def list_node(content, identity=999):
    return {
        "__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": content, "__id__": identity
    }  # fmt: skip


def nested(depth):
    node = list_node([], 5000)
    for level in range(depth):
        node = list_node([node], 5001 + level)
    return node


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (laughs(40), "its tree has more than 1,000,000 nodes"),
        (nested(150), "its tree is nested too deeply"),
        (list_node([list_node([], 999)]), "its tree has a node that holds itself"),
        ("text", "its tree has a node that is none"),
        ({**value("1"), "__id__": "a"}, "its tree has the identity 'a'"),
        ({**value("1"), "__id__": 0}, "its tree has the identity 0"),
        (value("[" * 100_000), "its tree has a value that cannot be read"),
        (value("[1, 2]"), "its tree has a value that is a list"),
        (value(None), "its tree has a value that cannot be read"),
        ({**value("1"), "__loader__": "SetNode"}, "its tree has builtins.str as SetNode"),
        ({**list_node([]), "__loader__": "ObjectNode"}, "its tree has builtins.list as ObjectNode"),
        ({**list_node([]), "__class__": "map", "__loader__": "TypeNode"}, "it asks for builtins.map"),
        ({**value("1"), "__loader__": "FunctionNode", "__module__": "os", "__class__": "system"}, "asks for os.system"),
        (
            {**value("1"), "__loader__": "ObjectNode", "__module__": "sklearn.cluster._kmeans", "__class__": "KMeans"},
            "it asks for sklearn.cluster._kmeans.KMeans",
        ),
        (
            {**value("1"), "__loader__": "NdArrayNode", "__module__": "numpy", "__class__": "ndarray", "type": "numpy",
             "file": "../a.npy"},
            "its tree asks for the member '../a.npy', which is not there",
        ),
    ],
    ids=lambda entry: entry if isinstance(entry, str) else "",
)  # fmt: skip
def test_trees_that_no_model_has_are_refused(path, node, words):
    with pytest.raises(ModelFileError, match="is refused: .*" + re.escape(words)):
        load_map(edited(path, lambda tree, attributes: attributes.update(more=node)))


def test_other_protocols_are_refused(path):
    for protocol in (0, True, None, "2"):
        with pytest.raises(ModelFileError, match=f"is refused: it was written by protocol {protocol!r} of skops"):
            load_map(edited(path, lambda tree, _, protocol=protocol: tree.update(protocol=protocol)))


def with_array(name, content):
    return lambda members: members.update({name: content})


def npy(header):
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(24)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"),
            "the shape (1000000000000,), and",
        ),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }"), "the shape (-3,), and holds 24 bytes"),
        (npy("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }"), "it has an array of object"),
        (npy("{'descr': '>f8', 'fortran_order': False, 'shape': (3,), }"), "it has an array of >f8"),
        (npy("__import__('os')"), "it has an array that cannot be read (ValueError)"),
        (npy("-" * 9000 + "1"), "it has an array that cannot be read ("),
        (b"", "it has an array that cannot be read (ValueError)"),
        (b"\x93NUMPY\x09\x00" + bytes(50), "it has an array that cannot be read ("),
    ],
)
def test_arrays_are_what_they_say(path, content, words):
    name = next(name for name in unzipped(path.read_bytes()) if name.endswith(".npy"))
    with pytest.raises(ModelFileError, match="is refused: .*" + re.escape(words)):
        load_map(changed(path, with_array(name, content)))


def test_parts_of_sparse_arrays_are_what_they_say(graph):
    members = unzipped(graph.read_bytes())
    name = next(name for name in members if name.endswith(".npz"))
    parts = unzipped(members[name])
    huge = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }")
    for content, words in (
        (zipped({**parts, "data.npy": huge}, signed=False), r"says to have the shape \(1000000000000,\)"),
        (zipped({**parts, "more.npy": huge}, signed=False), "it has a sparse array of unknown parts"),
        (zipped({**parts, "data.npy": bytes(10**8)}, signed=False), "would become 100 MB"),
        (b"no archive", r"it has a sparse array that cannot be read \(BadZipFile\)"),
    ):
        with pytest.raises(ModelFileError, match=f"is refused: .*{words}"):
            load_map(changed(graph, with_array(name, content)))


def test_sparse_arrays_that_point_outside_of_themselves_are_refused(graph):
    members = unzipped(graph.read_bytes())
    name = next(name for name in members if name.endswith(".npz"))
    parts = unzipped(members[name])
    indices = np.load(io.BytesIO(parts["indices.npy"]))
    indices[0] = 10**9
    file = io.BytesIO()
    np.save(file, indices)
    forged = zipped({**parts, "indices.npy": file.getvalue()}, signed=False)
    with pytest.raises(
        ModelFileError, match="is refused: graph_ of its LaplacianEigenmaps is no graph .indices must be < 60"
    ):
        load_map(changed(graph, with_array(name, forged)))


def test_words_from_a_file_are_shown_on_one_line_and_not_as_a_command(path):
    def forge(members):
        about = json.loads(members["mercer.json"])
        members["mercer.json"] = json.dumps({**about, "format": 99, "mercer": '1"; rm -rf ~ #'}).encode()

    def name(tree, attributes):
        attributes["more"] = {**value("1"), "__loader__": "ObjectNode", "__class__": "a\x1b[2J\n" + 1000 * "b"}

    with pytest.raises(ModelFileError, match=r"is refused: it asks for builtins.a\?\[2J\?b+, and") as error:
        load_map(edited(path, name))
    assert len(str(error.value)) < 600
    with pytest.raises(ModelFileError, match="is not a model file of Mercer"):
        load_map(changed(path, forge))


@pytest.mark.parametrize(
    "place",
    ["mercer.workflows.model_files.files.read_archive", "skops.io.loads", "sklearn.decomposition.PCA.transform"],
)
def test_a_lack_of_memory_is_no_fault_of_the_file(path, monkeypatch, place):
    def fails(*words, **options):
        raise MemoryError("of the machine")

    monkeypatch.setattr(place, fails)
    with pytest.raises(MemoryError, match="of the machine"):
        load_map(path)


def test_a_lack_of_memory_is_no_fault_of_a_sparse_array(graph, monkeypatch):
    def fails(content, name):
        if name == "a sparse array":
            raise MemoryError("of the machine")
        return members(content, name)

    members = archives._members
    monkeypatch.setattr(archives, "_members", fails)
    with pytest.raises(MemoryError, match="of the machine"):
        load_map(graph)
