"""Graphs of rows: neighbours, Laplacians, and the maps and clusters that their spectra give."""

from mercer.graphs.affinity import KernelAffinity, NeighbourAffinity, PrecomputedAffinity, RadiusAffinity
from mercer.graphs.bandwidth import WidthCurve, auto_width
from mercer.graphs.clustering import SpectralClustering, eigengaps
from mercer.graphs.eigenmaps import DiffusionMap, LaplacianEigenmaps
from mercer.graphs.groups import separate_groups
from mercer.graphs.laplacian import WalkSpectrum, degrees, laplacian, walk_spectrum
from mercer.graphs.neighbours import NeighbourSearch
from mercer.graphs.parts import parts_of, shortest_links

__all__ = [
    "LaplacianEigenmaps", "DiffusionMap", "SpectralClustering",
    "NeighbourAffinity", "RadiusAffinity", "KernelAffinity", "PrecomputedAffinity", "NeighbourSearch",
    "laplacian", "degrees", "walk_spectrum", "WalkSpectrum",
    "auto_width", "WidthCurve", "eigengaps", "parts_of", "separate_groups", "shortest_links",
]  # fmt: skip
