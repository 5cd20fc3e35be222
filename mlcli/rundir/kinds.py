"""The kinds of values that models hold: the tag of each, and the module that declares it.

A tag never changes: models of earlier versions name it. A module is imported when a model has a value of its kinds.
The tag of a kind of another package is its place, MODULE:CLASS; it is imported if that package is installed and adds
to a table of the program.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from mlcli.base.stored import BY_TAG
from mlcli.base.values.plugins import Plugin, packages, root

TAGS: Mapping[str, tuple[str, ...]] = {  # by the module below mlcli
    "core.centering": ("centering",),
    "core.classifier": ("classifier",),
    "core.graph.affinities": ("binary", "heat", "adaptive", "given"),
    "core.graph.graph": ("graph",),
    "core.graph.neighborhoods": ("nearest", "within"),
    "core.kernels.corrections": ("correction",),
    "core.kernels.functions": ("linear", "polynomial", "gaussian", "sigmoid", "cosine"),
    "core.kernels.laplacian": ("laplacian",),
    "core.kernels.radial": ("radial",),
    "core.latent.missing_cells": ("normal",),
    "core.latent.probabilistic": ("latent",),
    "core.layouts.new_points": ("least-stress",),
    "core.layouts.ranks": ("monotone",),
    "core.metrics.angles": ("cosine-metric", "correlation-metric"),
    "core.metrics.counts": ("braycurtis-metric", "ruzicka-metric", "jaccard-metric", "dice-metric"),
    "core.metrics.gower": ("gower-metric", "gower-ranges"),
    "core.metrics.haversine": ("haversine-metric",),
    "core.metrics.minkowski": ("euclidean-metric", "cityblock-metric", "chebyshev-metric", "minkowski-metric",
                               "canberra-metric", "hamming-metric"),
    "core.metrics.profiles": ("profiles", "indicators"),
    "core.metrics.shares": ("hellinger-metric", "jensenshannon-metric", "aitchison-metric"),
    "core.similarities.columns": ("columns",),
    "core.similarities.decoders": ("decoder",),
    "core.similarities.kernels": ("kernel-values", "distances", "given-distances"),
    "core.similarities.of_distances": ("of-distances",),
    "core.similarities.path_lengths": ("geodesics", "given-graph"),
    "core.similarities.preimages": ("barycentric-decoder", "kernel-ridge-decoder", "fixed-point-decoder"),
    "core.similarities.projector": ("no-projection", "projector"),
    "core.similarities.views": ("joint-views",),
    "core.similarities.weights": ("barycenters", "affinities", "edge-affinities"),
    "core.unfolded": ("unfolded",),
    "data.prepare.prepare": ("preparation",),
    "data.table.coding": ("coding",),
    "findings.decoded.decoded": ("decoded",),
    "findings.images.thumbnails": ("thumbnails",),
    "methods.discriminant.class_projector": ("class-projector",),
    "methods.discriminant.sfa": ("monomials",),
    "methods.factors.completed": ("completed",),
    "methods.factors.imputed_rows": ("explained",),
    "methods.laplacian.diffusion": ("transitions", "edge-transitions"),
    "methods.neighbor_embedding.negative_sampling": ("membership-curve", "sampling"),
    "methods.neighbor_embedding.new_points": ("calibrated", "entering", "decay-steps", "edge-steps", "sampled-forces"),
    "methods.neighbor_embedding.walk": ("decay",),
    "methods.networks.network": ("layer", "network"),
    "methods.networks.projection": ("encoder", "network_decoder"),
    "methods.ordination.correspondence": ("represented",),
    "methods.parts.weights": ("part-weights",),
    "methods.processes.covariances": ("rbf", "linear-term", "bias-term", "covariance"),
    "methods.processes.dynamics": ("motion",),
    "methods.processes.kalman": ("state-space", "smoother"),
    "methods.processes.latents": ("kernel-rows", "hidden-units"),
    "methods.processes.posterior": ("gaussian-process",),
    "methods.processes.projection": ("latent-points", "view-process", "shared-latent-points", "latent-sequence",
                                     "back-constraint", "gaussian-process-decoder"),
    "methods.views.bilinear": ("style-projector",),
    "rundir.reduction": ("reduction",),
}
MODULES = {tag: f"mlcli.{module}" for module, tags in TAGS.items() for tag in tags}


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
