"""The methods: a room for each family, and the table that names them."""

from typing import TYPE_CHECKING, Annotated

from mlcli.base.values.choices import Choices
from mlcli.core.similarities.projector import Projector
from mlcli.methods.method import Method
from mlcli.methods.model import Model
from mlcli.methods.not_included import instead, remedy

NAMES = {  # each with its family, and with other names that people type
    "pca": ("principal", ("principal-components", "prcomp", "princomp", "eigenfaces")),
    "ppca": ("factors", ("probabilistic-pca",)),
    "fa": ("factors", ("factanal", "factor-analysis", "efa")),
    "mds": ("scaling", ("pcoa", "cmdscale", "classical-mds", "principal-coordinates")),
    "smacof": ("scaling", ("metric-mds", "stress-mds")),
    "sammon": ("scaling", ("sammon-mapping",)),
    "nmds": ("scaling", ("non-metric-mds", "nonmetric-mds", "metamds", "monomds", "isomds", "mdscale")),
    "kpca": ("kernel", ("kernel-pca",)),
    "isomap": ("geodesic", ()),
    "lle": ("local", ("locally-linear-embedding",)),
    "mlle": ("local", ("modified-lle",)),
    "ltsa": ("local", ("local-tangent-space-alignment",)),
    "hlle": ("local", ("hessian-lle", "hessian-eigenmaps")),
    "npe": ("local", ("neighborhood-preserving-embedding",)),
    "lpp": ("laplacian", ("locality-preserving-projections", "locality-preserving-projection", "laplacianfaces")),
    "lltsa": ("local", ("linear-local-tangent-space-alignment", "linear-ltsa")),
    "laplacian": ("laplacian", ("spectral-embedding", "laplacian-eigenmaps", "eigenmaps")),
    "tsne": ("neighbor_embedding", ("t-sne", "bh-tsne", "fit-sne", "opentsne", "sne")),
    "diffusion": ("laplacian", ("diffusion-maps", "diffusion-map", "diffmap", "dm")),
    "phate": ("neighbor_embedding", ("potential-of-heat-diffusion",)),
    "umap": ("neighbor_embedding", ("umap-learn", "uniform-manifold-approximation-and-projection")),
    "sde": ("unfolding", ("mvu", "maximum-variance-unfolding")),
    "chain": ("kernel", ()),
    "lda": ("discriminant", ("linear-discriminant-analysis", "discriminant-analysis")),
    "bilinear": ("views", ("style-and-content", "bilinear-model", "asymmetric-bilinear-model")),
    "rda": ("ordination", ("redundancy-analysis",)),
    "dbrda": ("ordination", ("db-rda", "capscale", "cap", "distance-based-redundancy-analysis")),
    "ca": ("ordination", ("correspondence-analysis", "coa", "simple-correspondence-analysis")),
    "mca": ("ordination", ("multiple-correspondence-analysis", "homals", "mjca", "dudi.acm")),
    "cca": ("views", ("canonical-correlation",)),
    "ibfa": ("views", ("inter-battery",)),
    "gib": ("views", ("gaussian-information-bottleneck", "information-bottleneck")),
    "sfa": ("discriminant", ("slow-feature-analysis",)),
    "lgssm": ("processes", ("state-space", "kalman", "lds")),
    "ica": ("discriminant", ("fastica",)),
    "nmf": ("parts", ("nnmf", "non-negative-matrix-factorization", "nonnegative-matrix-factorization")),
    "random": ("parts", ("random-projection", "johnson-lindenstrauss")),
    "autoencoder": ("networks", ("ae",)),
    "vae": ("networks", ("variational-autoencoder",)),
    "gplvm": ("processes", ("gp-lvm",)),
    "mvgplvm": ("processes", ("mrd", "manifold-relevance-determination", "multi-view-gplvm")),
    "gpdm": ("processes", ("gp-dm",)),
}
FAMILIES = tuple(dict.fromkeys(family for family, _ in NAMES.values()))
ALIASES = {alias: name for name, (_, others) in NAMES.items() for alias in others}
HOMES = {name: f"mlcli.methods.{family}.{name}" for name, (family, _) in NAMES.items()}
METHODS = Choices(Method, HOMES, ALIASES)

if TYPE_CHECKING:
    AnyMethod = Method
else:
    AnyMethod = Annotated[Method, METHODS]

__all__ = [
    "ALIASES",
    "METHODS",
    "AnyMethod",
    "Method",
    "Model",
    "Projector",
    "method_instead",
    "methods_accepting",
    "methods_in_blocks",
    "methods_with_decoder",
    "methods_with_metric",
    "remedy_for",
]


def remedy_for(name: str) -> str:
    """Return the hint for an unknown method's name: the nearest in meaning, or in spelling."""
    return remedy(name, [*METHODS, *ALIASES])


def method_instead(name: str) -> str:
    """Return the method nearest to an unknown name; empty where there is none."""
    return instead(name, [*METHODS, *ALIASES])


def methods_accepting(kind: str) -> list[str]:
    """Return the methods that take input of a kind."""
    return [name for name, method in METHODS.items() if any(accepted.kind == kind for accepted in method.accepts)]


def methods_with_metric() -> list[str]:
    """Return the methods that take a metric."""
    return [name for name, method in METHODS.items() if "metric" in method.model_fields]


def methods_with_decoder() -> str:
    """Return the methods that decode coordinates to features, each with its condition, as a list in words."""
    return ", ".join(f"{name} ({kind.decodes})" if kind.decodes else name
                     for name, kind in METHODS.items() if kind.decodes is not None)


def methods_in_blocks() -> tuple[str, ...]:
    """Return the methods that take features in blocks of rows, each with its condition."""
    return tuple(f"{name} ({kind.in_blocks})" if kind.in_blocks else name
                 for name, kind in METHODS.items() if kind.in_blocks is not None)
