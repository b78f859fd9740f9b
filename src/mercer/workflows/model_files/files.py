"""Model files: skops archives with a table schema and a version, which run nothing when they are opened.

A file is a ZIP archive. `mercer.json` says what it is and may be read by anybody; `schema.json` and the arrays are
those of skops. Only types of a fixed list are ever built from it, and only after its sizes were checked.
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mercer
from mercer.plain_json import json_bytes, plain
from mercer.printable import on_one_line
from mercer.tables.errors import MemoryRefusal, ModelFileError
from mercer.workflows.model_files.archives import (
    ABOUT,
    DIGEST,
    TREE,
    Refused,
    TreeCheck,
    digest_of,
    read_archive,
    read_json,
)
from mercer.workflows.model_files.moved_types import MOVED, with_present_names

# The number grows when older programs cannot read new files; formats in _READABLE can be read. The first files of
# format 1 have no digest; all of format 1 call the types of maps by the names in MOVED.
FORMAT = 2
_READABLE = (1, 2)
# All files bear the same date: the same model gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)

_VERSION = re.compile(r"[\w.+]{1,40}", re.ASCII)
_LONGEST_WORDS = 300

# What a model file may hold besides numbers and texts. Explicit, since a type that calls what it is given, such as
# FromFunction, would be a way in, and since skops itself trusts more types than models need.
TRUSTED = (
    "mercer.components.kernel_pca.KernelPCA", "mercer.components.preimages.RidgePreimages",
    "mercer.components.preimages.LearnedPreimages",
    "mercer.components.removal.RemovedFunctions",
    "mercer.graphs.affinity.NeighbourAffinity", "mercer.graphs.bandwidth.WidthCurve",
    "mercer.graphs.brute.BruteForce", "mercer.graphs.eigenmaps.LaplacianEigenmaps",
    "mercer.graphs.neighbours.NeighbourSearch", "mercer.graphs.searches.Approximate", "mercer.graphs.searches.Tree",
    "mercer.kernels.absolute.ProductLaplace", "mercer.kernels.anova.Anova",
    "mercer.kernels.algebra.OnColumns", "mercer.kernels.algebra.Product", "mercer.kernels.dot_product.Linear",
    "mercer.kernels.dot_product.Polynomial", "mercer.kernels.periodic.Periodized",
    "mercer.kernels.stationary.Exponential", "mercer.kernels.stationary.Gaussian",
    "mercer.losses.absolute.EpsilonInsensitive", "mercer.losses.absolute.Laplace", "mercer.losses.absolute.Quantile",
    "mercer.losses.margin.Hinge", "mercer.losses.margin.Logistic", "mercer.losses.margin.SquaredHinge",
    "mercer.losses.powers.Huber", "mercer.losses.powers.Squared",
    "mercer.machines.bands.QuantileBand", "mercer.machines.calibration.Calibration",
    "mercer.machines.cell.Cell", "mercer.machines.cell_tree.CellTree", "mercer.machines.cells.CellMachine",
    "mercer.machines.classifier.SupportVectorClassifier",
    "mercer.machines.parametric.ParametricPart", "mercer.machines.regressor.SupportVectorRegressor",
    "mercer.manifolds.principal.density.Cells", "mercer.manifolds.principal.density.ManifoldDensity",
    "mercer.manifolds.principal.result.ManifoldFit", "mercer.manifolds.latent.maps.LatentBasis",
    "mercer.manifolds.latent.maps.LatentMap", "mercer.manifolds.latent.space.LatentSpace",
    "mercer.manifolds.principal.principal_manifold.PrincipalManifold", "mercer.manifolds.latent.rotation.Rotation",
    "mercer.manifolds.latent.tables.Tables",  # of the first files; no model uses it
    "mercer.manifolds.ukr.density_kernels.LatentDensity", "mercer.manifolds.ukr.rows.DataRows",
    "mercer.manifolds.ukr.surface.Surface", "mercer.manifolds.ukr.units.LatentUnits",
    # Present models do not use these, but the first files hold them.
    "mercer.manifolds.ukr.gaussian.AllPairs", "mercer.manifolds.ukr.projection.SurfaceProjector",
    "mercer.manifolds.ukr.quartic.NeighbourPairs", "mercer.manifolds.ukr.targets.GramTargets",
    "mercer.manifolds.ukr.targets.VectorTargets",
    "mercer.manifolds.unsupervised_kernel_regression.UnsupervisedKernelRegression",
    "mercer.losses.rows.SquaredRows",
    "mercer.problems.values.Certificate", "mercer.problems.values.Iterate", "mercer.solvers.result.SolverResult",
    "mercer.solvers.conjugate_gradients.ConjugateGradients", "mercer.solvers.interior_point.method.InteriorPoint",
    "mercer.solvers.least_squares.LeastSquares", "mercer.solvers.linear_program.LinearProgram",
    "mercer.solvers.smo.method.SMO", "mercer.solvers.working_set.WorkingSet",
    "scipy.sparse._csr.csr_array", "sklearn.decomposition._pca.PCA",
)  # fmt: skip


# Plain types in the trees of skops.
_PLAIN = ("builtins.dict", "builtins.int", "builtins.list", "builtins.str", "builtins.tuple")


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds.

    Attributes
    ----------
    kind : str
        "map" or "machine".
    objects : dict of str to object
        Fitted estimators, by name.
    facts : dict
        Plain values: the schema of the tables, and what else belongs to the model.
    """

    kind: str
    objects: dict[str, Any]
    facts: dict[str, Any]


def model_bytes(model: ModelFile) -> bytes:
    """The content of a model file: the same model gives the same bytes."""
    from skops.io import dumps

    about = {
        "format": FORMAT, "kind": model.kind, "mercer": mercer.__version__, "scikit-learn": version("scikit-learn"),
        "facts": model.facts,
    }  # fmt: skip
    members = _in_order(dumps(model.objects))
    about = plain(about)
    about[DIGEST] = digest_of(about, members)
    return _archive({ABOUT: json_bytes(about), **members})


def load_model(path: str | Path) -> ModelFile:
    """Open a model file, or say why not; nothing in it is run, whatever it is."""
    path = Path(path)
    if not os.path.exists(path):  # names may be too long to be
        raise ModelFileError(f"{path} does not exist; check the name.")
    if not path.is_file():
        raise ModelFileError(f"{path} is a folder or a device, and no file; give a model.skops that Mercer wrote.")
    with refusals(path.name):
        try:
            members = read_archive(path)
            about = _about(members)
            intact = about.get(DIGEST) in (None, digest_of(about, members))
        except (Refused, MemoryRefusal, MemoryError):
            raise
        except Exception as error:
            # Other files, and damaged archives, raise many kinds of errors: checksums, streams, passwords, encodings.
            raise ModelFileError(
                f"{path.name} is not a model file of Mercer, or it is damaged ({type(error).__name__}); give one that "
                "`mercer map` or `mercer fit` wrote."
            ) from None
        if about["format"] not in _READABLE:
            raise ModelFileError(
                f"{path.name} was written by Mercer {about['mercer']}, and this is Mercer {mercer.__version__}, which "
                f'cannot read it; install that version with: pip install "mercer=={about["mercer"]}".'
            )
        if not intact:
            raise ModelFileError(
                f"{path.name} is damaged: its contents do not have the digest that it bears; copy or make it again."
            )
        return ModelFile(about["kind"], _objects(members, path.name, about), about["facts"])


@contextmanager
def refusals(name: str) -> Iterator[None]:
    """Say which file is refused, and what to do."""
    try:
        yield
    except Refused as error:
        raise ModelFileError(
            f"{name} is refused: {_shown(error)}, and nothing in it was run; make the model again, and do not open "
            "files that you do not trust."
        ) from None


def _shown(error: Exception) -> str:
    """The words of an error on one line; a file may put anything into them."""
    return on_one_line(str(error)[:_LONGEST_WORDS], "?")


def _about(members: dict[str, bytes]) -> dict[str, Any]:
    about = read_json(members[ABOUT], ABOUT)
    kinds = {"format": int, "kind": str, "mercer": str, "facts": dict}
    if not all(isinstance(about[name], kind) for name, kind in kinds.items()):
        raise ValueError
    # These are printed, one of them in a command to copy.
    if not all(_VERSION.fullmatch(str(about.get(name))) for name in ("kind", "mercer", "scikit-learn")):
        raise ValueError
    return about


def _objects(members: dict[str, bytes], name: str, about: dict[str, Any]) -> dict[str, Any]:
    from skops.io import loads

    if TREE not in members:
        raise Refused(f"it has no {TREE}")
    try:
        tree = read_json(members[TREE], TREE)
    except ValueError as error:
        raise error if isinstance(error, Refused) else Refused(f"its {TREE} cannot be read") from None
    is_old = about["format"] == 1
    TreeCheck(members, (*TRUSTED, *(MOVED if is_old else ()), *_PLAIN)).run(tree)
    if is_old:
        members = {**members, TREE: json.dumps(with_present_names(tree)).encode()}
    try:
        return dict(loads(_archive(members, zipfile.ZIP_STORED), trusted=list(TRUSTED)))
    except MemoryError:
        raise
    except Exception as error:
        # skops has no class of errors, and objects with a wrong state raise any kind.
        raise ModelFileError(
            f"{name} cannot be opened ({type(error).__name__}: {_shown(error)}); it was written by Mercer "
            f"{about['mercer']} with scikit-learn {about.get('scikit-learn')}: install these, or make it again."
        ) from None


def _in_order(data: bytes) -> dict[str, bytes]:
    """The members of an archive of skops, with these and identities numbered in order.

    skops names them by the addresses of objects, which differ from run to run.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        tree = json.loads(archive.read(TREE))
        names: dict[str, str] = {}
        _renumber(tree, {}, names)
        return {TREE: json.dumps(tree).encode(), **{new: archive.read(old) for old, new in names.items()}}


def _archive(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive without dates."""
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", compression) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, date_time=_DATE)
            info.compress_type, info.external_attr = compression, 0o644 << 16
            archive.writestr(info, content)
    return result.getvalue()


def _renumber(node: Any, identities: dict[int, int], members: dict[str, str]) -> None:
    if isinstance(node, dict):
        if "__id__" in node:
            node["__id__"] = identities.setdefault(node["__id__"], len(identities) + 1)
        if "__loader__" in node and isinstance(node.get("file"), str):
            ending = node["file"].rpartition(".")[2]
            node["file"] = members.setdefault(node["file"], f"{len(members) + 1}.{ending}")
        for entry in node.values():
            _renumber(entry, identities, members)
    elif isinstance(node, list):
        for entry in node:
            _renumber(entry, identities, members)
