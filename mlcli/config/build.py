"""From layers to checked runs, and from a run to the text of `config.yaml`."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from re import MULTILINE, sub
from typing import Any

from pydantic import ValidationError

from mlcli.base.machine.limits import require_room
from mlcli.base.values.compute import parse_bytes
from mlcli.base.values.extras import require
from mlcli.base.values.options import TAG, Options
from mlcli.config.describe import alternative, is_section, several, tag_of
from mlcli.config.explain import chosen_in, explain
from mlcli.config.layers import (
    Layer,
    assignment,
    at_path,
    from_assignments,
    from_environment,
    from_file,
    merged,
    with_kind,
    without_value,
)
from mlcli.config.run_config import RunConfig
from mlcli.config.sweep import SweepVariant, expand, flatten
from mlcli.config.yaml_file import NEEDS, dump
from mlcli.core.chain.stages import Stages
from mlcli.data.files.formats import file_name
from mlcli.data.options.numbers import EXACT
from mlcli.errors import ConfigError
from mlcli.findings import FINDINGS
from mlcli.methods import METHODS, Method

UNASKED = ("output", "input.path", "input.view.path", "input.labels.path", "compute.threads", "compute.memory_limit",
           "compute.memory_enforce", "compute.cache", "compute.cache_limit", "compute.cluster",
           "compute.cluster_folder")
# options of findings in every fingerprint; a newer option counts only if chosen, so that runs of earlier versions
# keep their fingerprints
HASHED = ("quality", "dimension", "stability")
CODING = ("answers", "reverse", "range", "items", "similarities")  # of the input, which count where they are chosen
FURTHER_VIEWS = "input.view.further"  # counts where there are any
CHAIN = "chain"  # the method of any stages
SECTIONS: dict[str, str] = {}  # texts of `config.yaml` by name and values
MOST_SECTIONS = 64
COMMENTED = "# Values in comments are defaults that the data may change; uncommented they count as chosen.\n"


def outside_layer(environment: Mapping[str, str], assignments: Iterable[str], flags: Layer) -> Layer:
    """Return the layers above the file: environment < `--set` < flags."""
    return flags.over(from_assignments(assignments).over(from_environment(environment)))


def variants_of(path: Path, outside: Layer) -> list[SweepVariant]:
    """Return the runs that a YAML file describes under the layers above it, not yet checked: one, or a sweep's."""
    return expand(from_file(path), outside, f"runs/{'stdin' if str(path) == '-' else path.stem}")


def build(layer: Layer, *, fits: bool = True) -> RunConfig:
    """Return the run that all layers describe; raises ConfigError, DependencyMissing or RefusedByPlan.

    The extras of a method need not be installed if the run is not fitted (`fits` false).
    """
    layer = with_kind(layer)
    complete = resolve_either(replace(layer, values=with_tags(RunConfig, layer.values)))
    config = validate(complete)
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
    after = config.method.name if config.onto is None else f"onto-{file_name(config.onto.run)}"
    default = f"runs/{file_name(config.input.path)}-{after}"  # the input's name without its endings
    return config if config.output is not None else config.replace(output=default)


def validate(layer: Layer) -> RunConfig:
    """Return a complete layer as a run, with names of other programs converted.

    Raises ConfigError, and DependencyMissing for a name of a package that the file needs and that is not installed.
    """
    try:
        return RunConfig.model_validate(layer.values)
    except ValidationError as error:
        from mlcli.config.other_names import convert_synonyms

        converted, said = convert_synonyms(RunConfig, layer)
        if converted.values == layer.values:
            raise explain(error, layer) from error
    return validate(converted).with_conversions(said)


def require_exact(config: RunConfig, layer: Layer) -> None:
    """Raise ConfigError for a whole number of 2^53 or more, which readers of JSON round (RFC 8259, section 6)."""
    for path, value in flatten(config.model_dump()):
        if isinstance(value, int) and abs(value) >= EXACT:
            raise ConfigError("CONFIG", f"{path} must be a whole number below 2^53 = {EXACT}, not {value}",
                              where=layer.origin(tuple(path.split("."))), hint="choose a smaller one")


def require_plotting(config: RunConfig, layer: Layer) -> None:
    """Raise DependencyMissing if figures need a plotting library that is not installed."""
    if formats := sorted({"png", "pdf"} & set(config.report.figures)):
        require("plot", f"drawing {' and '.join(formats)}", layer.origin(("report", "figures")))
    if chosen := config.report.plotting:
        require("plot", chosen[0], layer.origin(("report", *chosen[0].split("."))))


def require_cluster(address: str, where: str) -> None:
    """Raise ConfigError for an invalid address of a cluster, and DependencyMissing without Dask."""
    from mlcli.engine.cluster.address import address_of

    address_of(address, where)
    require("dask", "a cluster", where)


def with_tags(options: type[Options], values: Any) -> Any:
    """Return nested values with all sections, and with the default's name in each section that lacks one."""
    if not isinstance(values, dict):
        return values
    filled = dict(values)
    for key, info in options.model_fields.items():
        section = filled.get(key, {} if info.is_required() else None)
        if not (isinstance(section, dict) and is_section(info)):
            continue
        named = several(info)
        if named and TAG not in section:
            section = {TAG: tag_of(type(info.default)), **section}
        kind = alternative(info, str(section.get(TAG)))  # names ignore case
        if kind is not None:
            section = with_tags(kind, {**section, TAG: tag_of(kind)} if named else section)
        filled[key] = section
    return filled


def resolve_either(layer: Layer) -> Layer:
    """Return the layer with each value that has two possible paths at the one that is an option."""
    for first, second in layer.either.items():
        if is_option(second, layer.values) and not is_option(first, layer.values):
            keys = tuple(first.split("."))
            moved = assignment(second, at_path(layer.values, keys), layer.origin(keys))
            layer = moved.over(layer.drop(keys))
    return layer


def is_option(path: str, values: Mapping[str, Any]) -> bool:
    """Whether there is an option at a path, under the alternatives that the values choose."""
    kind: type[Options] | None = RunConfig
    section = ""
    for key in path.split("."):
        info = None if kind is None else kind.model_fields.get(key)
        if info is None:
            return False
        section = f"{section}.{key}" if section else key
        kind = alternative(info, str(chosen_in(values, section)))
    return True


def chain_document(method: Method, kind: str = "features") -> str:
    """Return a YAML text with a method written as a chain; raises ConfigError if it is not one."""
    chain = method.chain(kind)
    if chain is None:
        chains = [name for name, other in METHODS.items() if other.model_validate({TAG: name}).chain()]
        raise ConfigError("NO-CHAIN", f"{method.name} is not a chain of stages", where="--yaml",
                          hint=f"these are: {', '.join(chains)}")
    stages = {name: value for name, value in option_values(chain).items() if name in Stages.model_fields}
    text = dump({"method": {TAG: CHAIN, **stages}})
    return COMMENTED + sub("^( *)'# (\\w+)':", r"\1# \2:", text, flags=MULTILINE)


def option_values(options: Options, mark: str = "") -> dict[str, Any]:
    """Return all values of some options; the key of a default that depends on the data has a comment mark."""
    values = {}
    for name in type(options).model_fields:
        value, own = getattr(options, name), "# " if options.adapts_to_data(name) else mark
        values[own + name] = option_values(value, own) if isinstance(value, Options) else value
    return values


def fingerprint(config: RunConfig) -> str:
    """Return the hash of a run's options, without file locations and the resources of the machine."""
    values = {**config.model_dump(mode="json"), "name": config.method.name}
    if added := [plugin.facts() for plugin in config.plugins()]:
        values["plugins"] = added
    later = [f"report.{name}" for name, finding in FINDINGS.own.items() if finding.option and name not in HASHED
             and getattr(config.report, name) == finding.default]
    later += [f"method.{name}" for name in config.method.later
              if getattr(config.method, name) == type(config.method).model_fields[name].default]
    later += [f"input.{name}" for name in CODING if getattr(config.input, name) in ((), None)]
    later += ["prepare.variable_genes"] if config.prepare.variable_genes is None else []
    later += [] if config.compute.portable else ["compute.portable"]
    later += ["onto"] if config.onto is None else ["onto.run"]  # whose run.json is compared beside the options
    later += ["onto.weight"] if config.onto is not None and config.onto.way != "tied" else []
    for path, options in (("", config.method), ("graph.", getattr(config.method, "graph", None))):
        if "neighbors" in getattr(type(options), "model_fields", ()) and (
                getattr(getattr(options, "neighbors", None), "search", "") == "exact"):
            later.append(f"method.{path}neighbors.search")
    if getattr(getattr(config.method, "kernel", None), "search", "") == "exact":
        later.append("method.kernel.search")
    for path in (*UNASKED, *later):
        values = without_value(values, path.split("."))
    further, values = at_path(values, FURTHER_VIEWS.split(".")), without_value(values, FURTHER_VIEWS.split("."))
    if further:
        places = [{name: value for name, value in view.items() if name != "path"} for view in further]
        values = merged(values, assignment(FURTHER_VIEWS, places, "").values)
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def write(config: RunConfig) -> str:
    """Return the text of a `config.yaml` that describes this run in full."""
    values = config.model_dump()
    if config.onto is None:
        del values["onto"]
    values["method"] = {TAG: config.method.name, **values["method"]}  # its name first, of chains too
    needed = dict.fromkeys(f"{NEEDS}{plugin.owner}\n" for plugin in config.plugins())
    return "".join((*needed, *(_section(name, value) for name, value in values.items())))


def _section(name: str, value: Any) -> str:
    """Return the text of a section; most are the same in all runs of a batch, and are written once."""
    key = repr((name, value))
    if key not in SECTIONS:
        if len(SECTIONS) >= MOST_SECTIONS:
            SECTIONS.clear()
        SECTIONS[key] = dump({name: value})
    return SECTIONS[key]
