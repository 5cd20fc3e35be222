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


def load_method(name: str) -> type[Method]:
    """Return the method of this name, which the file of the same name declares."""
    kinds: list[Any] = list(vars(import_module(f"mlcli.methods.{name}")).values())
    return next(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Method)
                and "name" in kind.model_fields and kind.model_fields["name"].default == name)


METHODS = {name: load_method(name) for name in NAMES}
ALIASES = {alias: name for name, kind in METHODS.items() for alias in kind.aliases}

if TYPE_CHECKING:
    AnyMethod = Method
else:
    AnyMethod = Annotated[Union[tuple(METHODS.values())], Field(discriminator="name")]  # noqa: UP007

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
