"""Runs as the command line describes them; what else would be refused is said with the first refusal."""

from typing import TYPE_CHECKING

from mlcli.config.build import build
from mlcli.config.layers import Layer, assignment
from mlcli.errors import ConfigError, MlcliError
from mlcli.methods import ALIASES, METHODS, method_instead

if TYPE_CHECKING:
    from mlcli.config.run_config import RunConfig


def built(layer: Layer) -> "RunConfig":
    """The run that layers describe; raises what `build` does."""
    try:
        return build(layer)
    except ConfigError as error:
        method = layer.values.get("method")
        name = method.get("name") if isinstance(method, dict) else None
        near = method_instead(name) if isinstance(name, str) and name not in {*METHODS, *ALIASES} else ""
        if not near:
            raise
        try:
            build(assignment("method.name", near, "").over(layer))
        except MlcliError as other:
            raise error.changed(hint=f"{error.hint}; besides, {other.what}: {other.hint}") from None
        raise
