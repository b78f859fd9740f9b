"""Model files from before types of maps moved."""

import json

import numpy as np
import pytest

from mercer.report import ModelFileError, load_map
from mercer.workflows.model_files.moved_types import MOVED
from tests.fuzz.edits import unzipped, zipped
from tests.workflows.model_files.test_files import fitted_map, saved


def with_old_names(data, number):
    """A model file whose types are called what they were before they moved, of a format."""
    members = unzipped(data)
    about = {**json.loads(members["mercer.json"]), "format": number}

    def renamed(node):
        if isinstance(node, list):
            return [renamed(entry) for entry in node]
        if not isinstance(node, dict):
            return node
        node = {name: renamed(entry) for name, entry in node.items()}
        for old, new in MOVED.items():
            if f"{node.get('__module__')}.{node.get('__class__')}" == new:
                node["__module__"], _, node["__class__"] = old.rpartition(".")
        return node

    tree = json.dumps(renamed(json.loads(members["schema.json"])))
    assert "mercer.manifolds.latent_map" in tree
    return zipped({**members, "mercer.json": json.dumps(about).encode(), "schema.json": tree.encode()})


def test_maps_of_format_1_are_read(tmp_path):
    model, X = fitted_map("manifold")
    path = saved(model, tmp_path)
    path.write_bytes(with_old_names(path.read_bytes(), 1))
    np.testing.assert_array_equal(load_map(path).coordinates(X), model.coordinates(X))


def test_old_names_are_foreign_in_newer_files(tmp_path):
    path = saved(fitted_map("manifold")[0], tmp_path)
    path.write_bytes(with_old_names(path.read_bytes(), 2))
    with pytest.raises(
        ModelFileError,
        match="principal_manifold.PrincipalManifold, which no model of Mercer needs",
    ):
        load_map(path)
