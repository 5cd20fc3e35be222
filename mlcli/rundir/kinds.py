"""The kinds of values that models hold: the tag of each, and the module that declares it.

A tag never changes: models of earlier versions name it. A module is imported when a model has a value of its kinds.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from mlcli.base.stored import BY_TAG

TAGS: Mapping[str, tuple[str, ...]] = {  # by the module below mlcli
    "data.prepare.prepare": ("preparation",),
    "data.table.coding": ("coding",),
    "findings.decoded.decoded": ("decoded",),
    "findings.images.thumbnails": ("thumbnails",),
    "rundir.reduction": ("reduction",),
    "stages.algebra.centering": ("centering",),
    "stages.algebra.metrics.angles": ("cosine-metric", "correlation-metric"),
    "stages.algebra.metrics.counts": ("braycurtis-metric", "ruzicka-metric", "jaccard-metric", "dice-metric"),
    "stages.algebra.metrics.gower": ("gower-metric", "gower-ranges"),
    "stages.algebra.metrics.haversine": ("haversine-metric",),
    "stages.algebra.metrics.minkowski": ("euclidean-metric", "cityblock-metric", "chebyshev-metric",
                                         "minkowski-metric", "canberra-metric", "hamming-metric"),
    "stages.algebra.metrics.profiles": ("profiles", "indicators"),
    "stages.algebra.metrics.shares": ("hellinger-metric", "jensenshannon-metric", "aitchison-metric"),
    "stages.gaussian.covariances": ("rbf", "linear-term", "bias-term", "covariance"),
    "stages.gaussian.dynamics": ("motion",),
    "stages.gaussian.latents": ("kernel-rows", "hidden-units"),
    "stages.gaussian.posterior": ("gaussian-process",),
    "stages.graph.affinities": ("binary", "heat", "adaptive", "given"),
    "stages.graph.walks.decay": ("decay",),
    "stages.graph.graph": ("graph",),
    "stages.graph.neighborhoods": ("nearest", "within"),
    "stages.kernels.corrections": ("correction",),
    "stages.kernels.functions": ("linear", "polynomial", "gaussian", "sigmoid", "cosine"),
    "stages.kernels.laplacian": ("laplacian",),
    "stages.kernels.radial": ("radial",),
    "stages.latent.gaps": ("normal",),
    "stages.latent.kalman": ("state-space",),
    "stages.latent.model": ("latent",),
    "stages.layout.curve": ("membership-curve",),
    "stages.layout.disparities": ("monotone",),
    "stages.layout.sampling": ("sampling",),
    "stages.linear.classifier": ("classifier",),
    "stages.neural.network": ("layer", "network"),
    "stages.similarities.classes": ("class-projector",),
    "stages.similarities.columns": ("columns",),
    "stages.similarities.layouts.decay": ("decay-steps", "edge-steps"),
    "stages.similarities.decoders": ("decoder",),
    "stages.similarities.diffusion": ("transitions", "edge-transitions"),
    "stages.similarities.layouts.entering": ("calibrated", "entering"),
    "stages.similarities.explained": ("explained",),
    "stages.similarities.models.gaussian": ("latent-points", "view-process", "shared-latent-points", "latent-sequence",
                                     "back-constraint", "gaussian-process-decoder"),
    "stages.similarities.models.joint": ("joint-views",),
    "stages.similarities.kernels": ("kernel-values", "distances", "given-distances"),
    "stages.similarities.models.latent": ("completed",),
    "stages.similarities.models.smoother": ("smoother",),
    "stages.similarities.monomials": ("monomials",),
    "stages.similarities.models.nonnegative": ("part-weights",),
    "stages.similarities.models.styles": ("style-projector",),
    "stages.similarities.models.networks": ("encoder", "network_decoder"),
    "stages.similarities.of_distances": ("of-distances",),
    "stages.similarities.path_lengths": ("geodesics", "given-graph"),
    "stages.similarities.preimages": ("barycentric-decoder", "kernel-ridge-decoder", "fixed-point-decoder"),
    "stages.similarities.projector": ("no-projection", "projector"),
    "stages.similarities.layouts.sampling": ("sampled-forces",),
    "stages.similarities.layouts.stress": ("least-stress",),
    "stages.similarities.represented": ("represented",),
    "stages.similarities.weights": ("barycenters", "affinities", "edge-affinities"),
    "stages.unfolding.unfolded": ("unfolded",),
}
MODULES = {tag: f"mlcli.{module}" for module, tags in TAGS.items() for tag in tags}


class Kinds(Mapping[str, type[Any]]):
    """The kinds of values by tag, each imported when it is looked up; of those to be stored, all that there are."""

    def __getitem__(self, tag: str) -> type[Any]:
        if tag not in BY_TAG:
            import_module(MODULES[tag])
        return BY_TAG[tag].kind

    def __iter__(self) -> Iterator[str]:
        return iter(BY_TAG)

    def __len__(self) -> int:
        return len(BY_TAG)
