"""The methods: a room for each family, and the table that names them."""

from typing import TYPE_CHECKING, Annotated

from mlcli.base.values.choices import Choices
from mlcli.core.similarities.projector import Projector
from mlcli.methods.method import Method
from mlcli.methods.model import Model
from mlcli.methods.not_included import instead, remedy

NAMES = {  # each with other names that people type
    "pca": ("principal-components", "prcomp", "princomp", "eigenfaces"),
    "ppca": ("probabilistic-pca",),
    "fa": ("factanal", "factor-analysis", "efa"),
    "mds": ("pcoa", "cmdscale", "classical-mds", "principal-coordinates"),
    "smacof": ("metric-mds", "stress-mds"),
    "sammon": ("sammon-mapping",),
    "nmds": ("non-metric-mds", "nonmetric-mds", "metamds", "monomds", "isomds", "mdscale"),
    "kpca": ("kernel-pca",),
    "isomap": (),
    "lle": ("locally-linear-embedding",),
    "mlle": ("modified-lle",),
    "ltsa": ("local-tangent-space-alignment",),
    "hlle": ("hessian-lle", "hessian-eigenmaps"),
    "npe": ("neighborhood-preserving-embedding",),
    "lpp": ("locality-preserving-projections", "locality-preserving-projection", "laplacianfaces"),
    "lltsa": ("linear-local-tangent-space-alignment", "linear-ltsa"),
    "laplacian": ("spectral-embedding", "laplacian-eigenmaps", "eigenmaps"),
    "tsne": ("t-sne", "bh-tsne", "fit-sne", "opentsne", "sne"),
    "diffusion": ("diffusion-maps", "diffusion-map", "diffmap", "dm"),
    "phate": ("potential-of-heat-diffusion",),
    "umap": ("umap-learn", "uniform-manifold-approximation-and-projection"),
    "sde": ("mvu", "maximum-variance-unfolding"),
    "chain": (),
    "lda": ("linear-discriminant-analysis", "discriminant-analysis"),
    "bilinear": ("style-and-content", "bilinear-model", "asymmetric-bilinear-model"),
    "rda": ("redundancy-analysis",),
    "dbrda": ("db-rda", "capscale", "cap", "distance-based-redundancy-analysis"),
    "ca": ("correspondence-analysis", "coa", "simple-correspondence-analysis"),
    "mca": ("multiple-correspondence-analysis", "homals", "mjca", "dudi.acm"),
    "cca": ("canonical-correlation",),
    "ibfa": ("inter-battery",),
    "gib": ("gaussian-information-bottleneck", "information-bottleneck"),
    "sfa": ("slow-feature-analysis",),
    "lgssm": ("state-space", "kalman", "lds"),
    "ica": ("fastica",),
    "nmf": ("nnmf", "non-negative-matrix-factorization", "nonnegative-matrix-factorization"),
    "random": ("random-projection", "johnson-lindenstrauss"),
    "autoencoder": ("ae",),
    "vae": ("variational-autoencoder",),
    "gplvm": ("gp-lvm",),
    "mvgplvm": ("mrd", "manifold-relevance-determination", "multi-view-gplvm"),
    "gpdm": ("gp-dm",),
}
ALIASES = {alias: name for name, others in NAMES.items() for alias in others}
FAMILIES = {
    "principal": ("pca",),
    "factors": ("ppca", "fa"),
    "scaling": ("mds", "smacof", "sammon", "nmds"),
    "geodesic": ("isomap",),
    "local": ("lle", "mlle", "ltsa", "hlle", "npe", "lltsa"),
    "laplacian": ("laplacian", "lpp", "diffusion"),
    "kernel": ("kpca", "chain"),
    "unfolding": ("sde",),
    "neighbor_embedding": ("tsne", "umap", "phate"),
    "discriminant": ("lda", "sfa", "ica"),
    "ordination": ("rda", "dbrda", "ca", "mca"),
    "views": ("cca", "ibfa", "gib", "bilinear"),
    "parts": ("nmf", "random"),
    "networks": ("autoencoder", "vae"),
    "processes": ("gplvm", "mvgplvm", "gpdm", "lgssm"),
}
HOMES = {name: f"mlcli.methods.{family}.{name}" for family, names in FAMILIES.items() for name in names}
METHODS = Choices(Method, {name: HOMES[name] for name in NAMES}, ALIASES)

if TYPE_CHECKING:
    AnyMethod = Method
else:
    AnyMethod = Annotated[Method, METHODS]

__all__ = [
    "ALIASES",
    "METHODS",
    "NAMES",
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
