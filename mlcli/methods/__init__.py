"""The methods: a room for each family, and the table that names them."""

from typing import TYPE_CHECKING, Annotated

from mlcli.base.values.choices import Choices
from mlcli.core.model import Model
from mlcli.core.similarities.projector import Projector
from mlcli.methods.method import Method

NAMES = {  # the module below this package and the class of each, and other names that people type
    "pca": ("principal.pca:PCA", ("principal-components", "prcomp", "princomp", "eigenfaces")),
    "ppca": ("factors.ppca:PPCA", ("probabilistic-pca",)),
    "fa": ("factors.fa:FA", ("factanal", "factor-analysis", "efa")),
    "mds": ("scaling.mds:MDS", ("pcoa", "cmdscale", "classical-mds", "principal-coordinates")),
    "smacof": ("scaling.smacof:SMACOF", ("metric-mds", "stress-mds")),
    "sammon": ("scaling.sammon:Sammon", ("sammon-mapping",)),
    "nmds": ("scaling.nmds:NMDS", ("non-metric-mds", "nonmetric-mds", "metamds", "monomds", "isomds", "mdscale")),
    "kpca": ("kernel.kpca:KernelPCA", ("kernel-pca",)),
    "isomap": ("geodesic.isomap:Isomap", ()),
    "lle": ("local.lle:LLE", ("locally-linear-embedding",)),
    "mlle": ("local.mlle:MLLE", ("modified-lle",)),
    "ltsa": ("local.ltsa:LTSA", ("local-tangent-space-alignment",)),
    "hlle": ("local.hlle:HLLE", ("hessian-lle", "hessian-eigenmaps")),
    "npe": ("local.npe:NPE", ("neighborhood-preserving-embedding",)),
    "lpp": ("laplacian.lpp:LPP", ("locality-preserving-projections", "locality-preserving-projection",
                                  "laplacianfaces")),
    "lltsa": ("local.lltsa:LLTSA", ("linear-local-tangent-space-alignment", "linear-ltsa")),
    "laplacian": ("laplacian.laplacian:Laplacian", ("spectral-embedding", "laplacian-eigenmaps", "eigenmaps")),
    "tsne": ("neighbor_embedding.tsne:TSNE", ("t-sne", "bh-tsne", "fit-sne", "opentsne", "sne")),
    "diffusion": ("laplacian.diffusion:Diffusion", ("diffusion-maps", "diffusion-map", "diffmap", "dm")),
    "phate": ("neighbor_embedding.phate:PHATE", ("potential-of-heat-diffusion",)),
    "umap": ("neighbor_embedding.umap:UMAP", ("umap-learn", "uniform-manifold-approximation-and-projection")),
    "sde": ("unfolding.sde:SDE", ("mvu", "maximum-variance-unfolding")),
    "chain": ("kernel.chain:Chain", ()),
    "lda": ("discriminant.lda:LDA", ("linear-discriminant-analysis", "discriminant-analysis")),
    "bilinear": ("views.bilinear:Bilinear", ("style-and-content", "bilinear-model", "asymmetric-bilinear-model")),
    "rda": ("ordination.rda:RDA", ("redundancy-analysis",)),
    "dbrda": ("ordination.dbrda:DBRDA", ("db-rda", "capscale", "cap", "distance-based-redundancy-analysis")),
    "ca": ("ordination.ca:CA", ("correspondence-analysis", "coa", "simple-correspondence-analysis")),
    "mca": ("ordination.mca:MCA", ("multiple-correspondence-analysis", "homals", "mjca", "dudi.acm")),
    "mfa": ("tables.mfa:MFA", ("multiple-factor-analysis", "afm")),
    "famd": ("tables.famd:FAMD", ("factor-analysis-of-mixed-data", "afdm", "pcamix", "dudi.mix", "hill-smith")),
    "statis": ("tables.statis:STATIS", ("compromise",)),
    "cca": ("views.cca:CCA", ("canonical-correlation",)),
    "ibfa": ("views.ibfa:IBFA", ("inter-battery",)),
    "gib": ("views.gib:GIB", ("gaussian-information-bottleneck", "information-bottleneck")),
    "ib": ("views.ib:IB", ("discrete-information-bottleneck", "iterative-information-bottleneck")),
    "sfa": ("discriminant.sfa:SFA", ("slow-feature-analysis",)),
    "lgssm": ("processes.lgssm:LGSSM", ("state-space", "kalman", "lds")),
    "ica": ("discriminant.ica:ICA", ("fastica",)),
    "nmf": ("parts.nmf:NMF", ("nnmf", "non-negative-matrix-factorization", "nonnegative-matrix-factorization")),
    "random": ("parts.random:RandomProjection", ("random-projection", "johnson-lindenstrauss")),
    "autoencoder": ("networks.autoencoder:Autoencoder", ("ae",)),
    "vae": ("networks.vae:VAE", ("variational-autoencoder",)),
    "vib": ("networks.vib:VIB", ("variational-information-bottleneck",)),
    "gplvm": ("processes.gplvm:GPLVM", ("gp-lvm",)),
    "mvgplvm": ("processes.mvgplvm:MVGPLVM", ("mrd", "manifold-relevance-determination", "multi-view-gplvm")),
    "gpdm": ("processes.gpdm:GPDM", ("gp-dm",)),
    "gpssm": ("processes.gpssm:GPSSM", ("gp-ssm", "gaussian-process-state-space")),
}
FAMILIES = tuple(dict.fromkeys(place.partition(".")[0] for place, _ in NAMES.values()))
ALIASES = {alias: name for name, (_, others) in NAMES.items() for alias in others}
METHODS = Choices(Method, {name: f"mlcli.methods.{place}" for name, (place, _) in NAMES.items()}, ALIASES, "methods",
                  lambda kind: "" if hasattr(kind, "accepts") else "it does not declare the inputs that it `accepts`")

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
    from mlcli.methods.not_included import remedy

    return remedy(name, [*METHODS, *ALIASES])


def method_instead(name: str) -> str:
    """Return the method nearest to an unknown name; empty where there is none."""
    from mlcli.methods.not_included import instead

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
