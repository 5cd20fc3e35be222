"""Models on disk: `model.json` holds the tree of an archive, `model.npz` its arrays; only declared kinds of values.

A tag never changes: models of earlier versions name it. A module is imported when a model has a value of its kinds.
The tag of a kind of another package is its place, MODULE:CLASS; it is imported if that package is installed and adds
to a table of the program. A model that was read has parts that fit together: shapes by letters, places within range.
"""

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from contextvars import copy_context
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import numpy as np

from mlcli.base.rows.blocks import in_order
from mlcli.base.stored import BY_KIND, BY_TAG, Storable
from mlcli.base.values.naming import listed
from mlcli.base.values.plugins import Plugin, missing, packages, root
from mlcli.base.values.scaling import all_finite
from mlcli.core.graph.graph import Graph
from mlcli.core.metrics import METRICS
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.off_manifold import ManifoldScore
from mlcli.core.similarities.projector import OF_COVARIANCE, NoProjection, Projector
from mlcli.data.options.input import Input
from mlcli.data.prepare.prepare import Preparation
from mlcli.data.table.table import axis_names
from mlcli.errors import UnsafeFile
from mlcli.rundir.manifest import read_manifest, require_intact
from mlcli.rundir.model import Reduction, StoredModel
from mlcli.rundir.names import ARRAYS, MODEL
from mlcli.rundir.reading import is_intact, raw_json
from mlcli.storage.archive import Archive
from mlcli.storage.fields import Unfit, is_of, nested_parts

TAGS: Mapping[str, tuple[str, ...]] = {  # by the module below mlcli
    "core.centering": ("centering",),
    "core.classifier": ("classifier",),
    "core.graph.affinities": ("binary", "heat", "adaptive", "given"),
    "core.graph.graph": ("graph",),
    "core.graph.neighbors": ("nearest", "approximate-nearest", "within"),
    "core.kernels.corrections": ("correction",),
    "core.kernels.functions": ("linear", "polynomial", "gaussian", "sigmoid", "cosine", "laplacian", "radial",
                              "halved-squares"),
    "core.kernels.sums": ("kernel-sum",),
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
    "core.similarities.off_manifold": ("reference-rows", "manifold-score"),
    "core.similarities.path_lengths": ("geodesics", "given-graph"),
    "core.similarities.preimages": ("barycentric-decoder", "kernel-ridge-decoder", "fixed-point-decoder"),
    "core.similarities.projector": ("no-projection", "projector", "decoder"),
    "core.similarities.registration": ("registration", "registered"),
    "core.similarities.weights": ("barycenters", "affinities", "edge-affinities"),
    "data.prepare.prepare": ("preparation",),
    "data.table.coding": ("coding",),
    "data.table.similarities": ("similarity-rule",),
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
    "methods.networks.posteriors": ("free-posteriors",),
    "methods.networks.network": ("layer", "network", "encoder", "network_decoder", "view-decoder"),
    "methods.networks.vib": ("bottleneck-encoder",),
    "methods.ordination.correspondence": ("represented",),
    "methods.parts.nmf": ("part-weights",),
    "methods.processes.dynamics": ("motion",),
    "methods.processes.kalman": ("state-space", "smoother"),
    "methods.processes.latents": ("kernel-rows", "hidden-units"),
    "methods.processes.markov": ("markov",),
    "methods.processes.new_points": ("latent-points", "view-process", "shared-latent-points", "latent-sequence",
                                     "back-constraint", "gaussian-process-decoder"),
    "methods.processes.process": ("rbf", "linear-term", "bias-term", "covariance", "gaussian-process"),
    "methods.processes.transitions": ("smoothed-sequence",),
    "methods.tables.blocks": ("blocks", "cell-completion", "of-tables"),
    "methods.views.style_projector": ("style-projector", "factor-projector"),
    "methods.views.ib": ("soft-assignments",),
    "rundir.onto": ("map-rows",),
    "rundir.model": ("reduction",),
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
    "rule": None, "invented": False, "score": None, "onto": None, "files": {}}
FORMER_NAMES = {"growth": "onto"}  # of parts
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
            model = {**LATER, **{FORMER_NAMES.get(name, name): part for name, part in model.items()}}
            if model["projector"] is None and model["kind"] in ("covariance", "correlation"):  # of an older version
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


def read_model(folder: Path, manifest: Mapping[str, Any] | None = None) -> StoredModel:
    """Loads a run's model; raises InputMissing where there is none and UnsafeFile where it was changed.

    `manifest` is the content of run.json, where it was read already.
    """
    require_intact(folder, manifest or read_manifest(folder), (MODEL, ARRAYS))
    return _loaded(folder)


def _loaded(folder: Path) -> StoredModel:
    stored = load(folder, whole=True)
    return StoredModel(**{part.name: stored[part.name] for part in fields(StoredModel)})


def model_to_bytes(model: StoredModel) -> tuple[bytes, ...]:
    """Return the contents of model.json and model.npz, as a run writes them."""
    with TemporaryDirectory() as folder:
        save(Path(folder), {**vars(model), "unfolded": None})  # which only the certificate of a run reads
        return tuple((Path(folder) / name).read_bytes() for name in (MODEL, ARRAYS))


def model_from_bytes(files: Sequence[bytes]) -> StoredModel:
    """Return the model of the contents of model.json and model.npz; raises UnsafeFile where they were changed."""
    with TemporaryDirectory() as folder:
        for name, content in zip((MODEL, ARRAYS), files, strict=True):
            (Path(folder) / name).write_bytes(content)
        return _loaded(Path(folder))


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


def require_finite(model: Mapping[str, Any]) -> None:
    """Raises Unfit where an array of a model holds a number that is not finite."""
    for name, value in model.items():
        for place, part in nested_parts(value, name):
            for field in fields(part):
                array = getattr(part, field.name)
                if isinstance(array, np.ndarray) and not all_finite(array):
                    raise Unfit(f"{place}.{field.name} holds a number that is not finite")


def require_fit(model: Mapping[str, Any]) -> None:
    """Raises Unfit where the parts of a whole model do not fit together, or this version knows one of them not."""
    if unknown := sorted({*model} - {"unfolded", *(part.name for part in fields(StoredModel))}):
        raise Unfit(f"this version knows no part {listed(unknown)} of a model")
    preparation, projector, unfolded = model["preparation"], model["projector"], model["unfolded"]
    if not (isinstance(preparation, Preparation) and isinstance(projector, Projector | NoProjection)
            and is_of(model["reductions"], tuple[Reduction, ...])
            and is_of(model["views"], tuple[Reduction, ...])
            and (model["joint"] is None or declaration(model["joint"]).tag == "joint-views")
            and (unfolded is None or declaration(unfolded).tag == "unfolded")
            and is_of(model["trained"], tuple[str, ...])
            and isinstance(model["transpose"], bool) and isinstance(model["categories"], dict)
            and all(is_of(texts, tuple[str, ...]) for texts in model["categories"].values())
            and (model["coding"] is None or is_coding(model["coding"]))
            and (model["rule"] is None or declaration(model["rule"]).tag == "similarity-rule")
            and isinstance(model["id_name"], str) and model["kind"] in get_args(Input.model_fields["kind"].annotation)
            and isinstance(model["invented"], bool)
            and (model["onto"] is None or declaration(model["onto"]).tag == "map-rows")
            and isinstance(model["files"], dict)
            and all(is_of(columns, tuple[str, ...]) for columns in model["files"].values())):
        raise Unfit("a part of the model is of another type")
    if not isinstance(model["score"], ManifoldScore | None):
        raise Unfit("score is of another type")
    width = None if model["kind"] == "features" else len(model["trained"])
    for number, step in enumerate(model["reductions"]):
        place = f"reductions.{number}."
        require_step(step.preparation, step.projector, nested_parts(step, place[:-1]), place, width)
        following = [*(later.preparation for later in model["reductions"]), preparation][number + 1]
        if isinstance(step.projector, Projector) and following.columns != axis_names(step.projector.axes.shape[1]):
            raise Unfit(f"{place}projector has other axes than the next step has columns")
        width = None
    parts = [*nested_parts(preparation, "preparation"), *nested_parts(projector, "projector"),
             *nested_parts(model["score"], "score"), *nested_parts(unfolded, "unfolded"),
             *nested_parts(model["joint"], "joint"), *nested_parts(model["onto"], "onto")]
    require_step(preparation, projector, parts, "", width)
    require_views(projector, model["views"], model["joint"])
    first = model["reductions"][0].preparation if model["reductions"] else preparation
    if (files := model["files"]) and sum(map(len, files.values())) != len(first.columns):
        raise Unfit("files have other columns than the preparation")


def is_coding(part: Any) -> bool:
    """Whether a part is a coding of answers, with texts in order and scales of two numbers."""
    return declaration(part).tag == "coding" and all(
        isinstance(name, str) and is_of(texts, tuple[str, ...]) for name, texts in part.answers.items()) and all(
        isinstance(name, str) and is_of(scale, tuple[float, float]) for name, scale in part.reverse.items())


def require_views(projector: Projector | NoProjection, views: Sequence[Reduction], joint: Any) -> None:
    """Raises Unfit where second and further views do not have the axes of the first, or a decoder the columns of one.
    """
    decoder = projector.decoder if isinstance(projector, Projector) else None
    target = -1 if decoder is None else decoder.view - 2  # among the further views; -1 for the first one
    if target >= len(views):
        raise Unfit("projector.decoder leads to a view that the model does not have")
    for number, step in enumerate(views):
        place = f"views.{number}."
        require_step(step.preparation, step.projector, nested_parts(step, place[:-1]), place, None)
        if isinstance(projector, Projector) and decoder and number == target and (
                isinstance(step.projector, NoProjection)):
            if decoder(np.zeros((0, projector.axes.shape[1]))).shape[1] != len(step.preparation.exponent):
                raise Unfit("projector.decoder leads to another number of columns than the view has")
        elif not (isinstance(step.projector, Projector) and isinstance(projector, Projector)
                  and step.projector.axes.shape[1] == projector.axes.shape[1]):
            raise Unfit(f"{place}projector has other axes than that of the first view")
    if joint is not None and joint.precisions is not None and len(joint.precisions) != len(views) + 1:
        raise Unfit("joint.precisions are not those of the views")


def require_step(preparation: Preparation, projector: Projector | NoProjection, within: Iterable[tuple[str, Any]],
                 place: str, width: int | None) -> None:
    """Raises Unfit where the parts of one step do not fit together; `width` is that of a new row of a square input."""
    known = {"i": len(preparation.columns)}
    if preparation.chosen is None:
        known["k"] = known["i"]
    if isinstance(projector, Projector):
        known["d"] = len(preparation.exponent) if width is None else width
    parts = list(within)
    for name, part in parts:
        if isinstance(part, Graph):
            require_rows(part, name)
            known["n"] = part.size
        if isinstance(part, Similarity) and getattr(part, "points", part) is None:
            if width is None:
                raise Unfit(f"{name}.points are missing, from which distances are taken")
            known.setdefault("n", width)  # new rows say how far each training point is
    for name, part in parts:
        require_shape(part, name, known)
    for name, part in parts:
        require_within(part, name, known)
    if preparation.fill.shape not in ((0,), (known["i"],)):
        raise Unfit(f"{place}preparation.fill is of another length")
    if isinstance(projector, Projector) and projector.similarity.width(known["d"]) != known["c"]:
        raise Unfit(f"{place}projector.centering.means is of another length")


def declaration(part: Any) -> Storable:
    """Return the declared shapes of a part's arrays; an empty declaration for options."""
    return BY_KIND.get(type(part)) or Storable("", type(part), {}, {}, ())


def require_shape(part: Any, place: str, known: dict[str, int]) -> None:
    """Raises Unfit where an array does not have the shape of its letters; new letters are recorded, but `_` is none."""
    for name, letters in declaration(part).shapes.items():
        array = getattr(part, name)
        if array is not None and (array.ndim != len(letters) or any(
                letter != "_" and known.setdefault(letter, size) != size
                for letter, size in zip(letters, array.shape, strict=True))):
            raise Unfit(f"{place}.{name} is of the shape {array.shape}, which does not fit the other parts")


def require_within(part: Any, place: str, known: Mapping[str, int]) -> None:
    """Raises Unfit where an array of places is out of range, or one of sizes is not above zero."""
    for name in declaration(part).positive:
        if not (getattr(part, name) > 0).all():
            raise Unfit(f"{place}.{name} holds a number that is not above zero")
    for name, letter in declaration(part).within.items():
        array = getattr(part, name)
        if array is not None and array.size and not (array.min() >= 0 and array.max() < known[letter]):
            raise Unfit(f"{place}.{name} names places that are not there")


def require_rows(graph: Graph, place: str) -> None:
    """Raises Unfit where the rows of a graph are not one after the other."""
    starts = graph.starts
    if starts.ndim != 1 or not len(starts) or starts[0] != 0 or starts[-1] != graph.indices.size or (
            np.diff(starts) < 0).any():
        raise Unfit(f"{place}.starts does not cut the edges into rows")
    if graph.lengths.size and graph.lengths.min() < 0:
        raise Unfit(f"{place}.lengths holds a number below zero")
