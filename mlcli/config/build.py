"""From layers to checked runs, and from a run back to the text of `config.yaml`."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from re import MULTILINE, sub
from typing import Any

from pydantic import ValidationError

from mlcli.base.machine.limits import require_room
from mlcli.base.values.compute import parse_bytes
from mlcli.base.values.extras import require
from mlcli.base.values.options import Options
from mlcli.config.describe import TAG, alternatives, tag_of
from mlcli.config.explain import applies, explain
from mlcli.config.layers import Layer, assignment, from_assignments, from_environment, from_file
from mlcli.config.run_config import RunConfig, described
from mlcli.config.run_names import file_name, flattened
from mlcli.config.sweep import Variant, expanded
from mlcli.config.yaml_write import dump
from mlcli.data.options.numbers import EXACT
from mlcli.engine.cluster.address import address_of
from mlcli.errors import ConfigError
from mlcli.findings import FINDINGS
from mlcli.methods import METHODS, Method
from mlcli.methods.chain import Chain
from mlcli.stages.chain.stages import Stages

UNASKED = ("output", "input.path", "input.view.path", "input.labels.path", "compute.threads", "compute.memory_limit",
           "compute.memory_enforce", "compute.cache", "compute.cache_limit", "compute.cluster",
           "compute.cluster_folder")
# options of findings that every fingerprint holds: one that came later counts where it was chosen, so that runs of
# earlier versions keep theirs
HASHED = ("quality", "dimension", "stability")
COMMENTED = "# Values in comments are defaults that the data may change; uncommented they count as chosen.\n"


def from_outside(environment: Mapping[str, str], assignments: Iterable[str], flags: Layer) -> Layer:
    """The layers above the file: environment < `--set` < flags."""
    return flags.over(from_assignments(assignments).over(from_environment(environment)))


def variants_of(path: Path, outside: Layer) -> list[Variant]:
    """The runs that a YAML file describes under the layers from outside, not yet checked: one, or a sweep's."""
    return expanded(from_file(path), outside, f"runs/{'stdin' if str(path) == '-' else path.stem}")


def build(layer: Layer, *, fits: bool = True) -> RunConfig:
    """The run that all layers together describe; raises ConfigError, DependencyMissing or RefusedByPlan.

    The extras that a method needs must be there only where it `fits`.
    """
    complete = placed(Layer(named(RunConfig, layer.values), layer.origins, layer.either))
    try:
        config = RunConfig.model_validate(complete.values)
    except ValidationError as error:
        raise explain(error, RunConfig, complete) from error
    if config.compute.memory_limit != "auto":
        parse_bytes(config.compute.memory_limit)
    parse_bytes(config.compute.cache_limit, "compute.cache_limit")
    require_room(config.compute.thread_count())
    if fits:
        require_exact(config, layer)
    if config.compute.cluster is not None:
        require_cluster(config.compute.cluster, layer.origin(("compute", "cluster")))
    for extra in config.method.requires() if fits else ():
        require(extra, config.method.name, complete.origin(("method", "name")))
    require_plotting(config, layer)
    if config.report.interactive and fits:
        require_plotly(layer.origin(("report", "interactive")))
    return config if config.output is not None else config.replace(output=default_output(config))


def require_exact(config: RunConfig, layer: Layer) -> None:
    """Raise ConfigError for a whole number of 2^53 or more, which readers of JSON round (RFC 8259, section 6)."""
    for path, value in flattened(config.model_dump()):
        if isinstance(value, int) and abs(value) >= EXACT:
            raise ConfigError("CONFIG", f"{path} must be a whole number below 2^53 = {EXACT}, not {value}",
                              where=layer.origin(tuple(path.split("."))), hint="choose a smaller one")


def require_plotly(where: str) -> None:
    """Raises DependencyMissing where the library is not installed whose script the interactive page holds."""
    require("interactive", "the interactive page", where)


def require_plotting(config: RunConfig, layer: Layer) -> None:
    """Raises DependencyMissing where figures are asked for that need a plotting library, and there is none."""
    if formats := sorted({"png", "pdf"} & set(config.report.figures)):
        require("plot", f"drawing {' and '.join(formats)}", layer.origin(("report", "figures")))
    if chosen := config.report.plotting:
        require("plot", chosen[0], layer.origin(("report", *chosen[0].split("."))))


def require_cluster(address: str, where: str) -> None:
    """Raises ConfigError for what is no cluster, and DependencyMissing where there is nothing to reach one with."""
    address_of(address, where)
    require("dask", "a cluster", where)


def default_output(config: RunConfig) -> str:
    """runs/DATA-METHOD, where DATA is the input's name without its endings."""
    return f"runs/{file_name(config.input.path)}-{config.method.name}"


def named(options: type[Options], values: Any) -> Any:
    """The values with the default's name in each section that chooses by name and has none, and no section missing."""
    if not isinstance(values, dict):
        return values
    filled = dict(values)
    for key, info in options.model_fields.items():
        kinds = alternatives(info)
        section = filled.get(key, {} if info.is_required() else None)
        if not isinstance(section, dict) or not kinds:
            continue
        if len(kinds) > 1 and TAG not in section:
            section = {TAG: tag_of(type(info.default)), **section}
        name = str(section.get(TAG)).lower()  # capitals tell no names apart
        kind = next((kind for kind in kinds if len(kinds) == 1 or name in (tag_of(kind), *aliases(kind))), None)
        if kind is not None and len(kinds) > 1:
            section = {**section, TAG: tag_of(kind)}
        filled[key] = section if kind is None else named(kind, section)
    return filled


def placed(layer: Layer) -> Layer:
    """The layer with each value that may stand at either of two paths at the one that is an option."""
    for first, second in layer.either.items():
        there = {row.path for row in described() if row.path in (first, second) and applies(row, layer.values)}
        if there == {second}:
            keys = tuple(first.split("."))
            value, values = taken(layer.values, keys)
            moved = assignment(second, value, layer.origin(keys))
            origins = {path: origin for path, origin in layer.origins.items() if path[: len(keys)] != keys}
            layer = moved.over(Layer(values, origins))
    return layer


def chain_document(method: Method, kind: str = "features") -> str:
    """The text of a YAML file whose method is the chain that a method is; raises ConfigError where it is none."""
    chain = method.chain(kind)
    if chain is None:
        chains = [name for name, other in METHODS.items() if other.model_validate({TAG: name}).chain()]
        raise ConfigError("NO-CHAIN", f"{method.name} is no chain of stages", where="--yaml",
                          hint=f"these are: {', '.join(chains)}")
    stages = {name: value for name, value in written_out(chain).items() if name in Stages.model_fields}
    text = dump({"method": {TAG: tag_of(Chain), **stages}})
    return COMMENTED + sub("^( *)'# (\\w+)':", r"\1# \2:", text, flags=MULTILINE)


def written_out(options: Options, mark: str = "") -> dict[str, Any]:
    """All values of some options; a default that depends on the data stands behind the mark of a comment."""
    values = {}
    for name in type(options).model_fields:
        value, own = getattr(options, name), "# " if options.adapts_to_data(name) else mark
        values[own + name] = written_out(value, own) if isinstance(value, Options) else value
    return values


def taken(values: dict[str, Any], keys: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """The value at a path, and the nested values without it, nor a section that held nothing else."""
    key, *rest = keys
    if not rest:
        return values[key], {name: value for name, value in values.items() if name != key}
    value, inner = taken(values[key], rest)
    others = {name: value for name, value in values.items() if name != key}
    return value, {**others, key: inner} if inner else others


def aliases(kind: type[Options]) -> tuple[str, ...]:
    """Other names that people type for one of several kinds."""
    return getattr(kind, "aliases", ())


def fingerprint(config: RunConfig) -> str:
    """The hash of what a run is asked for: all options but where files lie, and how much of the machine it may use."""
    values = {**config.model_dump(mode="json"), "name": config.method.name}
    later = [f"report.{name}" for name, finding in FINDINGS.items() if finding.option and name not in HASHED
             and getattr(config.report, name) == finding.default]
    for path in (*UNASKED, *later):
        _, values = taken(values, path.split("."))
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def write(config: RunConfig) -> str:
    """The text of a `config.yaml` that describes this run in full."""
    values = config.model_dump()
    return dump({**values, "method": {TAG: config.method.name, **values["method"]}})  # its name first, of chains too
