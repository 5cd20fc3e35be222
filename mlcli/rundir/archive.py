"""Models on disk: `model.json` holds the tree of an archive, `model.npz` its arrays; only declared kinds of values.

A tag never changes: models of earlier versions name it. A module is imported when a model has a value of its kinds.
The tag of a kind of another package is its place, MODULE:CLASS; it is imported if that package is installed and adds
to a table of the program.
"""

import hashlib
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from contextvars import copy_context
from importlib import import_module
from pathlib import Path
from typing import Any

from mlcli.base.rows.blocks import in_order
from mlcli.base.stored import BY_TAG
from mlcli.base.values.plugins import Plugin, missing, packages, root
from mlcli.core.metrics import METRICS
from mlcli.core.similarities.projector import OF_COVARIANCE
from mlcli.errors import UnsafeFile
from mlcli.rundir.names import ARRAYS, MODEL
from mlcli.rundir.parts import require_finite, require_fit
from mlcli.rundir.reading import is_intact, raw_json
from mlcli.storage.archive import Archive
from mlcli.storage.fields import Unfit

TAGS: Mapping[str, tuple[str, ...]] = {  # by the module below mlcli
    "core.centering": ("centering",),
    "core.classifier": ("classifier",),
    "core.graph.affinities": ("binary", "heat", "adaptive", "given"),
    "core.graph.graph": ("graph",),
    "core.graph.neighbors": ("nearest", "within"),
    "core.kernels.corrections": ("correction",),
    "core.kernels.functions": ("linear", "polynomial", "gaussian", "sigmoid", "cosine", "laplacian", "radial"),
    "core.latent.missing_cells": ("normal",),
    "core.latent.probabilistic": ("latent",),
    "core.layouts.new_points": ("least-stress",),
    "core.layouts.ranks": ("monotone",),
    "core.metrics.gower": ("gower-ranges",),
    "core.metrics.profiles": ("profiles", "indicators"),
    "core.model": ("joint-views", "unfolded"),
    "core.similarities.base": ("columns",),
    "core.similarities.kernels": ("kernel-values", "distances", "given-distances"),
    "core.similarities.of_distances": ("of-distances",),
    "core.similarities.path_lengths": ("geodesics", "given-graph"),
    "core.similarities.preimages": ("barycentric-decoder", "kernel-ridge-decoder", "fixed-point-decoder"),
    "core.similarities.projector": ("no-projection", "projector", "decoder"),
    "core.similarities.weights": ("barycenters", "affinities", "edge-affinities"),
    "data.prepare.prepare": ("preparation",),
    "data.table.coding": ("coding",),
    "findings.decoded.decode": ("decoded",),
    "findings.images.sections": ("thumbnails",),
    "methods.discriminant.discriminants": ("class-projector",),
    "methods.discriminant.sfa": ("monomials",),
    "methods.factors.ppca": ("completed",),
    "methods.factors.fa": ("explained",),
    "methods.laplacian.diffusion": ("transitions", "edge-transitions"),
    "methods.neighbor_embedding.negative_sampling": ("membership-curve", "sampling"),
    "methods.neighbor_embedding.new_points": ("calibrated", "entering", "decay-steps", "edge-steps", "sampled-forces"),
    "methods.neighbor_embedding.walk": ("decay",),
    "methods.networks.network": ("layer", "network", "encoder", "network_decoder"),
    "methods.ordination.correspondence": ("represented",),
    "methods.parts.nmf": ("part-weights",),
    "methods.processes.dynamics": ("motion",),
    "methods.processes.kalman": ("state-space", "smoother"),
    "methods.processes.latents": ("kernel-rows", "hidden-units"),
    "methods.processes.new_points": ("latent-points", "view-process", "shared-latent-points", "latent-sequence",
                                     "back-constraint", "gaussian-process-decoder"),
    "methods.processes.process": ("rbf", "linear-term", "bias-term", "covariance", "gaussian-process"),
    "methods.views.bilinear": ("style-projector",),
    "rundir.reduction": ("reduction",),
}
MODULES = {**{tag: f"mlcli.{module}" for module, tags in TAGS.items() for tag in tags},
           **{f"{name}-metric": place.partition(":")[0] for name, place in METRICS.own.items()}}


class Kinds(Mapping[str, type[Any]]):
    """The kinds of values by tag, each imported when it is looked up; of those to be stored, all that there are."""

    def __getitem__(self, tag: str) -> type[Any]:
        if tag not in BY_TAG and tag in MODULES:
            import_module(MODULES[tag])
        elif tag not in BY_TAG:
            import_of_package(tag)
        return BY_TAG[tag].kind

    def __iter__(self) -> Iterator[str]:
        return iter(BY_TAG)

    def __len__(self) -> int:
        return len(BY_TAG)


def import_of_package(tag: str) -> None:
    """Import the module of a kind of another package; raises KeyError where no installed package has such a tag.

    Raises DependencyMissing for a package that cannot be imported.
    """
    module, colon, _ = tag.partition(":")
    if not colon or root(module) not in packages():
        raise KeyError(tag)
    with packages()[root(module)].blamed():
        import_module(module)


def packages_in(tree: Any) -> dict[str, Plugin]:
    """Return the packages that declare kinds of values in the tree of a model, by the names that they are imported by.
    """
    parts: list[Any] = [tree]
    found = dict[str, Plugin]()
    for part in parts:
        parts += part if isinstance(part, list) else part.values() if isinstance(part, dict) else ()
        tag = part.get("type") if isinstance(part, dict) else None
        if isinstance(tag, str) and ":" in tag and (name := root(tag)) in packages():
            found[name] = packages()[name]
    return found


FORMER = 1


def upgrade_model(model: dict[str, Any]) -> dict[str, Any]:
    """The tree of a whole model; raises KeyError, TypeError or AttributeError where it never was one."""
    projector = model.get("projector")
    if projector is None or "neighbors" not in projector["fields"]["similarity"]["fields"]:
        return model
    fields = {**projector["fields"], "similarity": _similarity(projector["fields"]["similarity"])}
    return {**model, "projector": {**projector, "fields": fields}}


def _similarity(former: dict[str, Any]) -> dict[str, Any]:
    """A similarity that held options and a radius in the units of the computation; dissimilarities had a class."""
    fields = dict(former["fields"])
    count, radius = fields.pop("neighbors")["options"]["count"], fields.pop("radius")
    within = {"type": "nearest", "fields": {"count": count}} if radius is None else (
        {"type": "within", "fields": {"radius": radius}})
    if former["type"] == "given-barycenters":
        fields = {"points": fields.pop("distances"), "square": True, **fields}
    kind = former["type"].removeprefix("given-")
    return {"type": kind, "fields": {**fields, "neighbors": within}}


FORMAT = 2
PACKAGES = "packages"  # others that declare kinds of values in the model, by the names that they are imported by
LARGEST_HEADER = 2**20  # bytes
MANY = 2**22  # bytes of arrays that are hashed while they are written or read
LATER: dict[str, Any] = {  # what earlier versions did not have
    "transpose": False, "categories": {}, "reductions": (), "views": (), "joint": None, "coding": None,
    "invented": False}
ARCHIVE = Archive(Kinds())


def save(folder: Path, model: dict[str, Any]) -> dict[str, Any]:
    """Writes model.json and model.npz for a mapping of names to values of archivable types.

    Returns size and hash of model.npz.
    """
    tree, stored = ARCHIVE.stored(model)
    size = sum(part.nbytes for part in stored)

    def write() -> None:
        with (folder / ARRAYS).open("wb") as file:
            file.writelines(stored)

    _, sha256 = _together(size, write, lambda: _sha256(stored))
    entry = {"bytes": size, "sha256": sha256}
    used = {name: {"package": one.package, "version": one.version} for name, one in packages_in(tree).items()}
    header = {"format": FORMAT, "arrays": {"file": ARRAYS, **entry}, **({PACKAGES: used} if used else {}),
              "model": tree}
    (folder / MODEL).write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")
    return entry


def load(folder: Path, *, finite: bool = True, whole: bool = False, held: Mapping[str, Any] | None = None,
         ) -> dict[str, Any]:
    """Reads what `save` wrote; raises UnsafeFile for anything else, with `finite` for numbers that are not.

    With `whole` it must be the model of a run, with all of its parts. Arrays of the parts that are `held` in memory
    are compared with the file and not read into memory again.
    """
    path, arrays = folder / MODEL, folder / ARRAYS
    header = _header(path)
    for name, facts in header.get(PACKAGES, {}).items():
        if name not in packages():
            raise missing("the model", facts.get("package"), facts.get("version"), str(path))

    def restored() -> dict[str, Any]:
        with arrays.open("rb") as stream:
            tree = upgrade_model(header["model"]) if header["format"] == FORMER else header["model"]
            known = ARCHIVE.pack(held or {})[1]
            return ARCHIVE.restored(tree, stream, header["arrays"]["bytes"], known)

    try:
        with closing(_together(arrays.stat().st_size if arrays.is_file() else 0,
                               lambda: is_intact(arrays, header["arrays"]), restored)) as steps:
            if not next(steps):
                raise _unsafe("its hash is not the one in the header", arrays)
            model = next(steps)
        if whole or "preparation" in model:
            model = {**LATER, **model}
            if model["projector"] is None:  # as older versions had it
                model["projector"] = OF_COVARIANCE
            require_fit(model)
        if finite:
            require_finite(model)
    except Unfit as error:
        raise _unsafe(str(error), path) from error
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise _unsafe("its parts do not fit together", path) from error
    except OSError as error:
        raise _unsafe("its arrays cannot be read", arrays) from error
    return model


def _together(size: int, *works: Callable[[], Any]) -> Generator[Any, None, None]:
    """Yield the results of works with so many bytes in their order: of many, both are done at once."""
    own = [(copy_context(), work) for work in works]
    return in_order(lambda step: step[0].run(step[1]), own, most=0 if size > MANY else 1)


def _header(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise _unsafe("it is missing", path)
    if path.stat().st_size > LARGEST_HEADER:
        raise _unsafe("its header is too large", path)
    header = raw_json(path)
    known = header.get("format") if isinstance(header, dict) else None
    if known not in (FORMER, FORMAT):
        raise _unsafe(f"its format is {str(known)[:40]} and this version reads {FORMER} and {FORMAT}", path)
    for key in ("arrays", "model"):
        if not isinstance(header.get(key), dict):
            raise _unsafe(f"{key} is missing", path)
    kept = header.get(PACKAGES, {})
    if not (isinstance(kept, dict) and all(isinstance(facts, dict) for facts in kept.values())):
        raise _unsafe(f"{PACKAGES} is no mapping of packages", path)
    return dict(header)


def _unsafe(why: str, path: Path) -> UnsafeFile:
    return UnsafeFile("MODEL", f"the model cannot be used: {why}", where=str(path),
                      hint="make the run again with this version of mlcli")


def _sha256(stored: Sequence[memoryview]) -> str:
    hashed = hashlib.sha256()
    for part in stored:
        hashed.update(part)
    return hashed.hexdigest()
