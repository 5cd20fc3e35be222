"""Parameters of an estimator: the options of its method, each under one keyword.

A keyword is the option's config path below `method` with underscores (`eigensolve_solver`), or the keyword that
`mlcli.embed` has for it (`neighbors`). An option that belongs to one of several alternatives, as the rate of a
gaussian kernel, is None unless it is given; so is one whose default depends on the data.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from mlcli.api import KEYWORDS, layer_in_memory
from mlcli.base.frozen import frozen
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, LengthGraph, Similarities
from mlcli.base.values.options import TAG, Options
from mlcli.config.describe import SECTION, OptionRow, rows
from mlcli.config.layers import Layer, assignment, value_of
from mlcli.config.run_config import RunConfig
from mlcli.core.chain.stages import Stages
from mlcli.core.paths.paths import Paths
from mlcli.data.prepare.prepare import Prepare
from mlcli.data.table.table import HERE
from mlcli.methods import Method
from mlcli.methods.layouts import LayoutMethod

CONNECTED = "method.neighbors.pieces"  # an estimator has to place every row, also those of a fold
AXES = "components"  # whose default is clipped to the axes that the data has
KIND, EDGES = "input.kind", "input.edges"
PAIRS = (Dissimilarities, Similarities)
AFFINITIES = "affinities"
GRAPHS = {LengthGraph: LengthGraph.kind, AffinityGraph: AFFINITIES}  # kinds of rows that are a graph's
START = "start"  # the parameter that takes an array, beside the names of an option where there is one
RESOURCES = ("seed", "threads", "portable", "memory_limit")


@frozen
class Parameter:
    """A parameter of an estimator."""

    path: str  # of the option
    default: Any  # a text, a number, a tuple or None
    words: str  # type and range
    sentence: str
    usual: Any = None  # the option's default, where the data may change it and `default` is None

    def layer(self, name: str, value: Any) -> Layer:
        """Return a chosen value as a layer of options: a mapping is a whole section."""
        whole = isinstance(value, Mapping) and self.path.rpartition(".")[2] in (TAG, "algorithm")
        path = self.path.rpartition(".")[0] if whole else self.path
        return assignment(path, python_value(dict(value) if isinstance(value, Mapping) else value), name)

    def chosen(self, value: Any) -> bool:
        """Whether a value is not the default."""
        return not (type(value) is type(self.default) and value == self.default)


def parameters_of(method: type[Method]) -> dict[str, Parameter]:
    """Return the parameters of the estimator of a method by their keywords."""
    found: dict[str, Parameter] = {}
    usual = method.model_construct()
    for row in rows(method, "method", fields=[field for field in method.model_fields if field != TAG]):
        keyword = KEYWORDS.get(row.path) or row.path.removeprefix("method.").removesuffix(f".{TAG}").replace(".", "_")
        if row.path in KEYWORDS or (row.type != SECTION and keyword not in found):
            default, adapts = default_of(usual, row)
            found[keyword] = Parameter(row.path, None if adapts else default, row.words, row.sentence,
                                       default if adapts else None)
    kinds = [Features.kind, *(accepted.kind for accepted in method.accepts if issubclass(accepted, PAIRS)),
             *(GRAPHS[accepted] for accepted in method.accepts if accepted in GRAPHS)]
    if len(dict.fromkeys(kinds)) > 1:
        found["kind"] = Parameter(KIND, Features.kind, " or ".join(map(repr, dict.fromkeys(kinds))),
                                  "What the rows hold: features, numbers of pairs in a square matrix, or the edges of "
                                  "a graph, as lengths (graph) or affinities, in a sparse matrix or one with zeros for "
                                  "pairs without an edge.")
    if takes_start(method):
        known = found.get(START)
        found[START] = Parameter(
            START, None, "an array (n x p)", "Coordinates of the rows that the first of the starts has (default: "
            "classical scaling).") if known is None else replace(
            known, words=f"{known.words}, or an array (n x p)",
            sentence=f"{known.sentence} An array holds coordinates of the rows.")
    if method.missing:
        found["missing"] = option_parameter("prepare", Prepare, "missing")
    return {**found, **{name: option_parameter("compute", Compute, name) for name in RESOURCES}}


def takes_start(method: type[Method]) -> bool:
    """Whether a method starts from coordinates, which an estimator takes as an array."""
    return issubclass(method, LayoutMethod) and method.takes_start


def option_parameter(section: str, options: type[Options], name: str) -> Parameter:
    """Return the parameter of an option outside of the method."""
    [row] = rows(options, section, fields=[name])
    return Parameter(row.path, options.model_fields[name].default, row.words, row.sentence)


def default_of(usual: Options, row: OptionRow) -> tuple[Any, bool]:
    """Return the default of an option, of a method's `usual` options, and whether the data may change it.

    The default is None for an option of one of several alternatives.
    """
    if row.path == CONNECTED:
        return "connect", False
    if row.only:
        return None, False
    *sections, last = row.path.split(".")[1:]
    holder = reduce(lambda found, name: None if found is None else getattr(found, name), sections, usual)
    if not isinstance(holder, Options):
        return None, False
    value = getattr(holder, last)
    return None if isinstance(value, Options) else value, holder.adapts_to_data(last) or last == AXES


def config_layer(method: str, parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> Layer:
    """Return the configuration of a fit: the parameters that are not at their defaults, and those of estimators."""
    rows_are = assignment(KIND, Features.kind, "kind")  # whatever they look like
    layer = rows_are.over(layer_in_memory(HERE, method))
    for name, parameter in parameters.items():
        if parameter.path == KIND and values[name] == AFFINITIES:
            layer = assignment(EDGES, AFFINITIES, name).over(assignment(KIND, LengthGraph.kind, name)).over(layer)
        elif parameter.chosen(values[name]):
            layer = parameter.layer(name, values[name]).over(layer)
        elif parameter.path == CONNECTED and values.get("kind") not in GRAPHS.values():
            layer = assignment(CONNECTED, parameter.default, name).over(layer)
    return layer


def along_graph(config: RunConfig) -> RunConfig:
    """Return a configuration whose chain has paths where it needs distances, and is given the edges of a graph."""
    chain = config.method
    if not isinstance(chain, Stages) or config.input.gives != LengthGraph.kind or chain.paths is not None:
        return config
    return config.replace(method=chain.replace(paths=Paths())) if chain.kernel.of_distances else config


def chosen_in(config: RunConfig, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return the parameters that give the options of a configuration, where these are not the defaults."""
    found: dict[str, Any] = {}
    for name, parameter in parameters.items():
        value: Any = config
        for part in parameter.path.split("."):
            value = getattr(value, part, None)
        if value is not None and not isinstance(value, Options) and value not in (parameter.default, parameter.usual):
            found[name] = value
    return found


def python_value(value: Any) -> Any:
    """Return a value in Python's own types, as a grid of NumPy's numbers holds others."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: python_value(item) for name, item in value.items()}
    return [python_value(item) for item in value] if isinstance(value, list | tuple) else value


def keyword_of(parameters: Mapping[str, Parameter], path: str, value: str) -> str | None:
    """Return an option with its value as a keyword of an estimator; None where it has none."""
    names = {parameter.path: name for name, parameter in parameters.items()}
    keyword = next((names[known] for known in (path, f"{path}.{TAG}") if known in names), KEYWORDS.get(path))
    if keyword not in parameters:
        return None
    return f"{keyword}={value_of(value, path)!r}" if value else keyword
