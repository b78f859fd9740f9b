"""Types that moved since model files of format 1 were written."""

from __future__ import annotations

from typing import Any

_ROOM = "mercer.manifolds"
# Full names in files of format 1, and where these types are now.
MOVED = {
    f"{_ROOM}.density.Cells": f"{_ROOM}.principal.density.Cells",
    f"{_ROOM}.density.ManifoldDensity": f"{_ROOM}.principal.density.ManifoldDensity",
    f"{_ROOM}.fitting.ManifoldFit": f"{_ROOM}.principal.result.ManifoldFit",
    f"{_ROOM}.latent_map.LatentBasis": f"{_ROOM}.latent.maps.LatentBasis",
    f"{_ROOM}.latent_map.LatentMap": f"{_ROOM}.latent.maps.LatentMap",
    f"{_ROOM}.latent_space.LatentSpace": f"{_ROOM}.latent.space.LatentSpace",
    f"{_ROOM}.principal_manifold.PrincipalManifold": f"{_ROOM}.principal.principal_manifold.PrincipalManifold",
    f"{_ROOM}.rotation.Rotation": f"{_ROOM}.latent.rotation.Rotation",
    "mercer.quantizers.costs.SquaredCost": "mercer.losses.rows.SquaredRows",
    f"{_ROOM}.tables.Tables": f"{_ROOM}.latent.tables.Tables",
    f"{_ROOM}.ukr.objective.LatentObjective": f"{_ROOM}.ukr.density_kernels.LatentDensity",
}


def with_present_names(node: Any) -> Any:
    """A checked tree of skops whose types are called by their present names."""
    if isinstance(node, list):
        return [with_present_names(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    node = {name: with_present_names(entry) for name, entry in node.items()}
    name = MOVED.get(f"{node.get('__module__')}.{node.get('__class__')}")
    if name is not None:
        node["__module__"], _, node["__class__"] = name.rpartition(".")
    return node
