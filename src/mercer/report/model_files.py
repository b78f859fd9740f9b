"""Model files: skops archives with a table schema and a version, which run nothing when they are opened.

A file is a ZIP archive. `mercer.json` says what it is and may be read by anybody; `schema.json` and the arrays are
those of skops. Only types of a fixed list are ever built from it.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mercer
from mercer.report.errors import ModelFileError
from mercer.report.memory import refuse_if_too_large
from mercer.report.outputs import json_bytes

# Raised when older programs could not read the file any more; those in _READABLE can be read.
FORMAT = 1
_READABLE = (1,)
_ABOUT = "mercer.json"
# All files bear the same date: the same model gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)

# What a model file may hold besides numbers, texts and the types that skops itself trusts. Explicit, since a type of
# Mercer that calls what it is given (FromFunction, say) would be a way in.
TRUSTED = (
    "mercer.components.kernel_pca.KernelPCA", "mercer.components.preimages.RidgePreimages",
    "mercer.components.preimages.LearnedPreimages",
    "mercer.components.removal.RemovedFunctions",
    "mercer.graphs.affinity.NeighbourAffinity", "mercer.graphs.bandwidth.WidthCurve",
    "mercer.graphs.brute.BruteForce", "mercer.graphs.eigenmaps.LaplacianEigenmaps",
    "mercer.graphs.neighbours.NeighbourSearch", "mercer.graphs.searches.Approximate", "mercer.graphs.searches.Tree",
    "mercer.kernels.algebra.OnColumns", "mercer.kernels.algebra.Product", "mercer.kernels.dot_product.Linear",
    "mercer.kernels.dot_product.Polynomial", "mercer.kernels.periodic.Periodized",
    "mercer.kernels.stationary.Exponential", "mercer.kernels.stationary.Gaussian",
    "mercer.losses.absolute.EpsilonInsensitive", "mercer.losses.absolute.Laplace", "mercer.losses.absolute.Quantile",
    "mercer.losses.margin.Hinge", "mercer.losses.margin.Logistic", "mercer.losses.margin.SquaredHinge",
    "mercer.losses.powers.Huber", "mercer.losses.powers.Squared",
    "mercer.machines.bands.QuantileBand", "mercer.machines.calibration.Calibration",
    "mercer.machines.classifier.SupportVectorClassifier",
    "mercer.machines.parametric.ParametricPart", "mercer.machines.regressor.SupportVectorRegressor",
    "mercer.manifolds.density.Cells", "mercer.manifolds.density.ManifoldDensity",
    "mercer.manifolds.fitting.ManifoldFit", "mercer.manifolds.latent_map.LatentBasis",
    "mercer.manifolds.latent_map.LatentMap", "mercer.manifolds.latent_space.LatentSpace",
    "mercer.manifolds.principal_manifold.PrincipalManifold", "mercer.manifolds.tables.Tables",
    "mercer.manifolds.ukr.gaussian.AllPairs", "mercer.manifolds.ukr.objective.LatentObjective",
    "mercer.manifolds.ukr.projection.SurfaceProjector", "mercer.manifolds.ukr.quartic.NeighbourPairs",
    "mercer.manifolds.ukr.rows.DataRows", "mercer.manifolds.ukr.surface.Surface",
    "mercer.manifolds.ukr.targets.GramTargets", "mercer.manifolds.ukr.targets.VectorTargets",
    "mercer.manifolds.ukr.units.LatentUnits",
    "mercer.manifolds.unsupervised_kernel_regression.UnsupervisedKernelRegression",
    "mercer.quantizers.costs.SquaredCost",
    "mercer.solvers.conjugate_gradients.ConjugateGradients", "mercer.solvers.interior_point.method.InteriorPoint",
    "mercer.solvers.least_squares.LeastSquares", "mercer.solvers.linear_program.LinearProgram",
    "mercer.problems.values.Certificate", "mercer.problems.values.Iterate", "mercer.solvers.result.SolverResult",
    "mercer.solvers.selection.SolverName",
    "mercer.solvers.smo.method.SMO", "mercer.solvers.working_set.WorkingSet",
    "scipy.sparse._csr.csr_array",
)  # fmt: skip


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
    return _in_order(dumps(model.objects), about)


def load_model(path: str | Path) -> ModelFile:
    """Open a model file, or say why not; nothing in it is run, whatever it is."""
    path = Path(path)
    if not path.exists():
        raise ModelFileError(f"{path} does not exist; check the name.")
    refuse_if_too_large(4.0 * path.stat().st_size, f"opening {path.name}", "use a larger machine")
    try:
        data = path.read_bytes()
        about = _about(data)
    except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ModelFileError(
            f"{path.name} is not a model file of Mercer, or it is damaged ({type(error).__name__}); give one that "
            "`mercer map` or `mercer fit` wrote."
        ) from None
    if about["format"] not in _READABLE:
        raise ModelFileError(
            f"{path.name} was written by Mercer {about['mercer']}, and this is Mercer {mercer.__version__}, which "
            f'cannot read it; install that version with: pip install "mercer=={about["mercer"]}".'
        )
    return ModelFile(about["kind"], _objects(data, path.name, about), about["facts"])


def _about(data: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        refuse_if_too_large(float(sum(entry.file_size for entry in archive.infolist())), "opening the model")
        if archive.testzip() is not None:
            raise zipfile.BadZipFile
        about = json.loads(archive.read(_ABOUT))
    if not isinstance(about, dict) or not {"format", "kind", "mercer", "facts"} <= set(about):
        raise ValueError
    return about


def _objects(data: bytes, name: str, about: dict[str, Any]) -> dict[str, Any]:
    from skops.io import get_untrusted_types, loads

    try:
        foreign = sorted(set(get_untrusted_types(data=data)) - set(TRUSTED))
    except Exception as error:
        # skops has no error of its own for archives that it cannot read.
        raise ModelFileError(f"{name} is damaged ({type(error).__name__}: {error}); make it again.") from None
    if foreign:
        raise ModelFileError(
            f"{name} is refused: it asks for {', '.join(foreign[:5])}, which no model of Mercer needs, and nothing in "
            "it was run; make the model again, and do not open files that you do not trust."
        )
    try:
        return dict(loads(data, trusted=list(TRUSTED)))
    except Exception as error:
        raise ModelFileError(
            f"{name} cannot be opened ({type(error).__name__}: {error}); it was written by Mercer {about['mercer']} "
            f"with scikit-learn {about.get('scikit-learn')}: install these, or make it again."
        ) from None


def _in_order(data: bytes, about: dict[str, Any]) -> bytes:
    """The archive with members and identities numbered in order, and without dates.

    skops names members by the addresses of objects, which differ from run to run.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        tree = json.loads(archive.read("schema.json"))
        members: dict[str, str] = {}
        _renumber(tree, {}, members)
        content = {new: archive.read(old) for old, new in members.items()}
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, entry in {_ABOUT: json_bytes(about), "schema.json": json.dumps(tree).encode(), **content}.items():
            info = zipfile.ZipInfo(name, date_time=_DATE)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, entry)
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
