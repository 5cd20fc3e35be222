"""Methods that this program does not include, each with the one nearest in meaning; loaded for an unknown name."""

import difflib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from mlcli.base.frozen import frozen

ALIKE = 0.7  # similarity to a known name from which on another counts as a misspelling


@frozen
class NotIncluded:
    """A method of other programs: its names, the nearest method here, and the reason."""

    names: tuple[str, ...]  # in lower case, with hyphens
    nearest: str  # the method here
    why: str
    same: bool = False  # whether the nearest method is it, with the options that `why` names


LACKING = (
    NotIncluded(("densmap",), "umap", "with --set method.density.weight=2", same=True),
    NotIncluded(("parametric-umap",), "umap", "the same graph and layout, without a network"),
    NotIncluded(("largevis", "trimap", "pacmap", "localmap", "vis-ne"), "tsne",
                "both attract neighbors and repel others; here by the divergence of all pairs"),
    NotIncluded(("som", "kohonen", "self-organizing-map", "gtm"), "gplvm",
                "it too leads from a few coordinates to the features by a smooth map, without a grid"),
    NotIncluded(("dca", "decorana"), "mds",
                "principal coordinates of counts or shares, with {method.metric.name=hellinger} or braycurtis"),
    NotIncluded(("canonical-correspondence-analysis", "constrained-correspondence-analysis"), "rda",
                "constrained axes of shares or counts after {prepare.transform=hellinger} (Legendre and Gallagher, "
                "2001)"),
    NotIncluded(("pls", "plsr", "partial-least-squares"), "cca",
                "it relates the columns of two tables, {input.view.path}; ibfa does so with a model of the noise"),
    NotIncluded(("svd", "truncated-svd", "tsvd", "lsa", "lsi"), "chain",
                "with {method.kernel.name=linear} and {method.centering=none}, pca without centering", same=True),
    NotIncluded(("minres", "uls"), "fa", "with {method.estimator=minres}", same=True),
    NotIncluded(("paf", "principal-axis-factoring"), "fa",
                "the same model of factors, by maximum likelihood, which has tests of fit"),
    NotIncluded(("cfa", "confirmatory-factor-analysis", "sem"), "fa",
                "it explores: every column loads on every factor, and none of the loadings can be fixed"),
    NotIncluded(("sparse-pca", "robust-pca", "rpca"), "pca", "it is the plain form; mlcli check finds outliers first"),
    NotIncluded(("randomized-pca", "incremental-pca"), "pca",
                "exact, also of tables that memory does not hold (docs/beyond-memory.md)"),
    NotIncluded(("plda", "qda", "nca", "lmnn"), "lda", "it separates labeled classes, too, by directions"),
    NotIncluded(("hmm", "ssa", "singular-spectrum-analysis", "dmd", "tica"), "sfa",
                "it takes rows in time order; lgssm, gpdm and gpssm have models of their dynamics"),
)
BY_NAME: Mapping[str, NotIncluded] = MappingProxyType({name: lacking for lacking in LACKING for name in lacking.names})


def remedy(asked: str, known: Sequence[str]) -> str:
    """Return the hint for an unknown name: a method of other programs, or a misspelling; otherwise empty.

    Spelling is compared without regard to capitals, underscores and spaces.
    """
    lacking, near = BY_NAME.get(hyphenated(asked)), instead(asked, known)
    if lacking is not None and lacking.same:
        return f"it is {near} {lacking.why}"
    if lacking is not None:
        return f"it is not available; the closest method is {near}: {lacking.why}"
    return f"did you mean {near!r}?" if near else ""


def instead(asked: str, known: Sequence[str]) -> str:
    """Return the method nearest in meaning, else in spelling; empty where there is none.

    The same letters in another order are a misspelling however short the name is.
    """
    name = hyphenated(asked)
    if name in BY_NAME:
        return BY_NAME[name].nearest
    swapped = [other for other in known if sorted(other) == sorted(name)]
    return next(iter(swapped or difflib.get_close_matches(name, known, n=1, cutoff=ALIKE)), "")


def hyphenated(name: str) -> str:
    """Return a name in lower case, with hyphens."""
    return "-".join(name.lower().replace("_", " ").split())
