"""From layers to a checked `RunConfig`, and back to the text of `config.yaml`."""

from typing import Any

from pydantic import ValidationError

from mlcli.base.compute import parse_bytes
from mlcli.base.options import Options
from mlcli.config.describe import TAG, alternatives, tag_of
from mlcli.config.explain import explain
from mlcli.config.layers import Layer
from mlcli.config.run_config import RunConfig
from mlcli.config.yaml_write import dump
from mlcli.errors import DependencyMissing


def build(layer: Layer) -> RunConfig:
    """The run that all layers together describe; raises ConfigError or DependencyMissing."""
    complete = Layer(named(RunConfig, layer.values), layer.origins)
    try:
        config = RunConfig.model_validate(complete.values)
    except ValidationError as error:
        raise explain(error, RunConfig, complete) from error
    if config.compute.memory_limit != "auto":
        parse_bytes(config.compute.memory_limit)
    if config.compute.cluster is not None:
        raise DependencyMissing("CLUSTER", "this version computes on one machine", where="compute.cluster",
                                hint="leave --cluster out")
    return config


def named(options: type[Options], values: Any) -> Any:
    """The values with the default's name in each section that chooses by name and has none."""
    if not isinstance(values, dict):
        return values
    filled = dict(values)
    for key, info in options.model_fields.items():
        found = alternatives(info)
        section = filled.get(key)
        if not isinstance(section, dict) or not found:
            continue
        if len(found) > 1 and TAG not in section:
            section = {TAG: tag_of(type(info.default)), **section}
        kind = next((kind for kind in found if len(found) == 1 or tag_of(kind) == section[TAG]), None)
        filled[key] = section if kind is None else named(kind, section)
    return filled


def write(config: RunConfig) -> str:
    """The text of a `config.yaml` that describes this run in full."""
    return dump(config.model_dump())
