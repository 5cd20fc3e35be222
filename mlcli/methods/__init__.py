"""The methods: one file each, and the table that names them."""

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Field

from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Model
from mlcli.methods.frame.not_included import instead, remedy
from mlcli.stages.similarities import Projector

NAMES = (
    "pca",
    "ppca",
    "fa",
    "mds",
    "kpca",
    "isomap",
    "lle",
    "laplacian",
    "diffusion",
    "sde",
    "chain",
    "lda",
    "cca",
    "ibfa",
    "sfa",
    "lgssm",
    "ica",
    "autoencoder",
    "vae",
    "gplvm",
    "gpdm",
)


def declared(name: str) -> type[Method]:
    """The method of this name: the one that its file declares."""
    kinds: list[Any] = list(vars(import_module(f"mlcli.methods.{name}")).values())
    return next(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Method)
                and "name" in kind.model_fields and kind.model_fields["name"].default == name)


METHODS = {name: declared(name) for name in NAMES}
ALIASES = {alias: name for name, kind in METHODS.items() for alias in kind.aliases}

if TYPE_CHECKING:
    AnyMethod = Method
else:
    AnyMethod = Annotated[Union[tuple(METHODS.values())], Field(discriminator="name")]  # noqa: UP007

__all__ = ["ALIASES", "METHODS", "NAMES", "AnyMethod", "Method", "Model", "Projector", "accepting", "comparing",
           "decoding", "method_instead", "remedy_for", "streaming"]


def remedy_for(name: str) -> str:
    """What to say to a name that no method here has: of methods of other programs, the nearest in meaning."""
    return remedy(name, [*METHODS, *ALIASES])


def method_instead(name: str) -> str:
    """The method nearest to a name that no method here has; empty where there is none."""
    return instead(name, [*METHODS, *ALIASES])


def accepting(kind: str) -> list[str]:
    """The methods that take input of a kind."""
    return [name for name, method in METHODS.items() if any(accepted.kind == kind for accepted in method.accepts)]


def comparing() -> list[str]:
    """The methods that take a metric."""
    return [name for name, method in METHODS.items() if "metric" in method.model_fields]


def decoding() -> str:
    """The methods whose coordinates lead back to features, each with its condition."""
    return ", ".join(f"{name} ({kind.decodes})" if kind.decodes else name
                     for name, kind in METHODS.items() if kind.decodes is not None)


def streaming() -> tuple[str, ...]:
    """The methods that take a table of features which is read in blocks, each with its condition."""
    return tuple(f"{name} ({kind.in_blocks})" if kind.in_blocks else name
                 for name, kind in METHODS.items() if kind.in_blocks is not None)
