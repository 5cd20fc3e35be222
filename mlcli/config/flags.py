"""Flags that stand for config paths: from their texts to a layer of options or to a sweep, and back to a command line.

All that their help says comes from the options themselves (`cli/line/options.py`).
"""

import itertools
import math
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.values.column_ranges import split_at_commas
from mlcli.base.values.options import TAG
from mlcli.config import headings
from mlcli.config.build import is_option, with_tags
from mlcli.config.describe import LIST, OptionRow, kinds_at
from mlcli.config.layers import PREFIX, Layer, assignment, value_of
from mlcli.config.run_config import RunConfig, section_rows
from mlcli.config.sweep import MOST_RUNS, SweepVariant, leaves, value_text
from mlcli.data.options.formats import ANNDATA, HDF5
from mlcli.data.options.input import NO_IDS
from mlcli.errors import ConfigError, UsageError


@frozen
class Flag:
    """A flag and the config path that it sets."""

    path: str
    names: tuple[str, ...]
    constant: Any = None  # the value that a flag without one stands for
    says: str = ""  # what DATA is then
    also: str | None = None  # where the value goes for methods that have no option at `path`
    further: str | None = None  # the list of sections, like that of `path`, of a second value and more
    spells: str = ""  # of a flag in the words of AnnData: what of the other flag of `path` its value stands for
    lists: bool = False  # whether a value may be a file of names
    several: bool = False  # whether each value is an item of a list of the method
    heading: str = ""  # of the part of --help that it is in, one of `headings.HEADINGS`


FLAGS = {
    "method": Flag("method.name", ("-m", "--method"), heading=headings.OFTEN),
    "components": Flag("method.eigensolve.components", ("-p", "--components"), also="method.axes.components",
                       heading=headings.OFTEN),
    "neighbors": Flag("method.neighbors.count", ("-k", "--neighbors"), also="method.graph.neighbors.count",
                      heading=headings.OFTEN),
    "radius": Flag("method.neighbors.radius", ("--radius",), also="method.graph.neighbors.radius",
                   heading=headings.NEIGHBORS),
    "paths": Flag("method.paths.algorithm", ("--paths",), heading=headings.NEIGHBORS),
    "metric": Flag("method.metric.name", ("--metric",), heading=headings.OFTEN),
    "kernel": Flag("method.kernel.name", ("--kernel",), heading=headings.METHOD),
    "correlations": Flag("method.correlations", ("--correlations",), heading=headings.METHOD),
    "groups": Flag("method.groups", ("--groups",), several=True, heading=headings.METHOD),
    "rotation": Flag("method.rotation.name", ("--rotation",), heading=headings.METHOD),
    "kind": Flag("input.kind", ("--kind",), heading=headings.OFTEN),
    "dissimilarities": Flag("input.kind", ("--dissimilarities",), "dissimilarities",
                            "DATA is a distance (dissimilarity) matrix.", heading=headings.INPUT),
    "similarities": Flag("input.similarities", ("--similarities",), heading=headings.INPUT),
    "graph": Flag("input.kind", ("--graph",), "graph", "DATA is a list of edges or a sparse matrix.",
                  heading=headings.INPUT),
    "id_column": Flag("input.id_column", ("--id-column",), heading=headings.COLUMNS),
    "no_id": Flag("input.id_column", ("--no-id",), NO_IDS, "the file has no ids, and a column that looks like ids "
                  "is data.", heading=headings.COLUMNS),
    "label_column": Flag("input.label_columns", ("--label-column",), heading=headings.OFTEN),
    "labels": Flag("input.labels.path", ("--labels",), heading=headings.INPUT),
    "view": Flag("input.view.path", ("--view",), further="input.view.further", heading=headings.INPUT),
    "columns": Flag("input.columns", ("--columns",), heading=headings.OFTEN),
    "key": Flag("input.key", ("--key",), heading=headings.INPUT),
    "transpose": Flag("input.transpose", ("--transpose",), True, heading=headings.INPUT),
    "missing_markers": Flag("input.missing_markers", ("--missing-markers",), heading=headings.INPUT),
    "answers": Flag("input.answers", ("--answers",), heading=headings.COLUMNS),
    "reverse": Flag("input.reverse", ("--reverse",), heading=headings.COLUMNS),
    "range": Flag("input.range", ("--range",), heading=headings.COLUMNS),
    "rows": Flag("input.rows", ("--rows",), heading=headings.INPUT),
    "where": Flag("input.where", ("--where",), heading=headings.INPUT),
    "layer": Flag("input.key", ("--layer",), says="the matrix to read.", spells="layers/{}", heading=headings.INPUT),
    "obs": Flag("input.where", ("--obs",), says="the cells to use. Repeatable.", spells="{}", heading=headings.INPUT),
    "genes": Flag("input.columns", ("--genes",), says="the genes to use, or files with a gene on each line. "
                  "Repeatable.", spells="{}", lists=True, heading=headings.COLUMNS),
    "transform": Flag("prepare.transform", ("--transform",), heading=headings.COLUMNS),
    "top_variance": Flag("prepare.top_variance", ("--top-variance",), heading=headings.COLUMNS),
    "variable_genes": Flag("prepare.variable_genes.count", ("--variable-genes",), heading=headings.COLUMNS),
    "flavor": Flag("prepare.variable_genes.flavor", ("--flavor",), heading=headings.COLUMNS),
    "counts_layer": Flag("prepare.variable_genes.layer", ("--counts-layer",), heading=headings.COLUMNS),
    "scale": Flag("prepare.scale", ("--scale",), heading=headings.OFTEN),
    "reduce": Flag("prepare.reduce", ("--reduce",), heading=headings.COLUMNS),
    "onto": Flag("onto.run", ("--onto",), heading=headings.ONTO),
    "onto_way": Flag("onto.way", ("--onto-way",), heading=headings.ONTO),
    "onto_weight": Flag("onto.weight", ("--onto-weight",), heading=headings.ONTO),
    "changed": Flag("onto.changed", ("--changed",), heading=headings.ONTO),
    "output": Flag("output", ("-o", "--output"), heading=headings.OFTEN),
    "format": Flag("report.formats", ("--format",), heading=headings.OUTPUT),
    "outputs": Flag("report.outputs", ("--outputs",), heading=headings.OUTPUT),
    "keep": Flag("report.keep", ("--keep",), heading=headings.OUTPUT),
    "draw_graph": Flag("report.draw_graph", ("--draw-graph",), True, heading=headings.REPORT),
    "reliability": Flag("report.reliability", ("--reliability",), True, heading=headings.REPORT),
    "calibrate": Flag("report.calibration.share", ("--calibrate",), heading=headings.REPORT),
    "contributions": Flag("report.contributions", ("--contributions",), True, heading=headings.REPORT),
    "discontinuity": Flag("report.discontinuity", ("--discontinuity",), True, heading=headings.REPORT),
    "interactive": Flag("report.interactive", ("--interactive",), True, heading=headings.REPORT),
    "seed": Flag("compute.seed", ("--seed",), heading=headings.COMPUTE),
    "threads": Flag("compute.threads", ("--threads",), heading=headings.COMPUTE),
    "portable": Flag("compute.portable", ("--portable",), True, heading=headings.COMPUTE),
    "memory_limit": Flag("compute.memory_limit", ("--memory-limit",), heading=headings.COMPUTE),
    "time_limit": Flag("compute.time_limit", ("--time-limit",), heading=headings.COMPUTE),
    "cluster": Flag("compute.cluster", ("--cluster",), heading=headings.COMPUTE),
}
DRAWING = {  # how the figures of a finished run are drawn again
    "title": Flag("report.title", ("--title",), heading=headings.REPORT),
    "figures": Flag("report.figures", ("--figures",), heading=headings.REPORT),
    "point_labels": Flag("report.point_labels", ("--point-labels",), heading=headings.REPORT),
    "outlines": Flag("report.outlines.name", ("--outlines",), heading=headings.REPORT),
    "level": Flag("report.outlines.level", ("--level",), heading=headings.REPORT),
    "arrows": Flag("report.arrows", ("--arrows",), heading=headings.REPORT),
    "size": Flag("report.look.size", ("--size",), heading=headings.REPORT),
    "font_size": Flag("report.look.font_size", ("--font-size",), heading=headings.REPORT),
    "marker_size": Flag("report.look.marker_size", ("--marker-size",), heading=headings.REPORT),
    "palette": Flag("report.look.palette", ("--palette",), heading=headings.REPORT),
    "color_scale": Flag("report.look.scale", ("--color-scale",), heading=headings.REPORT),
    "aspect": Flag("report.look.aspect", ("--aspect",), heading=headings.REPORT),
}
EVERY = {**FLAGS, **DRAWING}
READING = ("kind", "dissimilarities", "similarities", "graph", "id_column", "no_id", "label_column", "labels",
           "columns", "key", "transpose", "missing_markers", "answers", "reverse", "range", "rows", "where", "layer",
           "obs", "genes", "transform", "top_variance", "scale", "reduce",
           "metric")  # flags of data that is examined before a run
# lists whose items may be separated by commas
COMMAS = ("input.columns", "input.label_columns", "input.missing_markers", "input.answers", "input.reverse",
          "input.range", "prepare.transform", "report.outputs", "report.keep", "report.figures", "report.look.size")
SWEPT = ("prepare.scale", "compute.seed")  # options besides those of methods whose flags may have several values
YAML = ("[", "{", '"', "'")  # with which a list or a text begins that is one value
LETTERS = {"method.name": "-m", "method.neighbors.count": "-k",
           "input.rows": "--rows"}  # flags of a command that is shown
OF_THE_COMMAND = ("output", "time_limit")  # flags of the command that shows another, not of the run
METHOD = "method"


def rows_of(flag: Flag) -> list[OptionRow]:
    """Return the descriptions of a flag's config paths."""
    return rows_at(flag.path) + (rows_at(flag.also) if flag.also else [])


def rows_at(path: str) -> list[OptionRow]:
    """Return the descriptions of a config path, one for each method that has it."""
    return [row for row in section_rows(path.partition(".")[0]) if row.path == path]


def type_of(path: str) -> str:
    """Return the type of a config path in words; empty for a method's and for names of a table, which take one value.
    """
    kind = "" if path.startswith("method.") else next(kinds_at(RunConfig, path))
    return kind if isinstance(kind, str) else ""


def repeats(flag: Flag) -> bool:
    """Whether a flag may be given more than once."""
    return flag.further is not None or flag.several or takes_list(flag.path)


def takes_list(path: str) -> bool:
    """Whether a config path takes several values."""
    return type_of(path).startswith(LIST)


def layer_of(values: Mapping[str, Any]) -> Layer:
    """Return the options that flags set, as a layer; raises UsageError for two flags that disagree."""
    layer, set_by = Layer(), dict[str, tuple[Flag, Any]]()
    for name, given in values.items():
        if given is None or given is False:
            continue
        flag = EVERY[name]
        given = value_for(flag, given)
        if flag.further is not None and isinstance(given, list):
            given, *more = given
            key = flag.path.rpartition(".")[2]
            layer = assignment(flag.further, [{key: value} for value in more], flag.names[0]).over(layer) if more else (
                layer)
        other, same = set_by.setdefault(flag.path, (flag, given))
        if same != given or other.spells != flag.spells:
            what = (f"{other.names[0]} means {same}, but {flag.names[0]} means {given}" if other.spells == flag.spells
                    else f"{other.names[0]} and {flag.names[0]} are two names of one option")
            raise UsageError("FLAGS-DIFFER", what, where=flag.path, hint="leave one of the two out")
        whole = isinstance(given, dict)  # a section in full, whose name alone the flag takes otherwise
        path = flag.path.removesuffix(f".{TAG}") if whole else flag.path
        layer = assignment(path, given, flag.names[0], other=flag.also).over(layer)
    return layer


def several_values(values: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the texts of flags that have several values, separated by commas; raises UsageError for an empty one."""
    several = {}
    for name, given in values.items():
        path = FLAGS[name].path
        if (isinstance(given, str) and "," in given and not given.lstrip().startswith(YAML)
                and (path.startswith("method.") or path in SWEPT)):
            several[name] = [part.strip() for part in given.split(",")]
            if not all(several[name]):
                raise UsageError("EMPTY-VALUE", f"{given[:80]!r} has an empty value", where=FLAGS[name].names[0],
                                 hint="separate values by single commas, as in 5,8,12")
    return several


def value_for(flag: Flag, given: Any) -> Any:
    """A flag's value: texts as they are, lists of names also split at commas, anything else by YAML's rules."""
    if flag.constant:
        return flag.constant
    if flag.lists:
        return [name for item in given for name in names_in(item, flag.names[0])]
    if isinstance(given, list):
        parts = [part for item in given for part in split_at_commas(item)] if flag.path in COMMAS else given
        numbers = type_of(flag.path).startswith(f"{LIST}a number")
        return [value_of(part, flag.names[0]) for part in parts] if numbers else parts
    given = flag.spells.format(given) if flag.spells else given
    return given if type_of(flag.path) == "a text" else value_of(given, flag.names[0])


def first_name(path: str) -> str:
    """Return the name of the first flag of a config path."""
    return next(flag.names[-1] for flag in FLAGS.values() if flag.path == path)


def names_in(item: str, flag: str) -> list[str]:
    """Return the names that a text lists, separated by commas, or those in the file that it names, one a line.

    Raises UsageError for a file that is not text, or empty.
    """
    if not os.path.isfile(item):  # noqa: PTH113 - a list may be longer than any name, of which a path raises
        return split_at_commas(item)
    try:
        lines = Path(item).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UsageError("NAMES-FILE", f"{item} is not a text in UTF-8", where=flag,
                         hint="give a file with one name on each line") from None
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise UsageError("NAMES-FILE", f"{item} is empty", where=flag, hint="give a file with one name on each line")
    return found


def require_annotated(values: Mapping[str, Any], files: Iterable[str]) -> None:
    """Raise UsageError for a flag in the words of AnnData with a folder, or a file whose name is of another format."""
    for flag in (EVERY[name] for name, given in values.items() if given not in (None, False) and EVERY[name].spells):
        from mlcli.data.files.formats import may_be

        other = next((file for file in files if Path(file).is_dir() or not may_be(file, HDF5)), None)
        if other is not None:
            raise UsageError("NOT-H5AD", f"{flag.names[0]} is for {ANNDATA} files, and the input is {other[:80]}",
                             where=flag.names[0], hint=f"for other files it is {first_name(flag.path)}")


def flag_sweep(flags: Mapping[str, Any], several: Mapping[str, Sequence[str]],
               outer: Callable[[Layer], Layer]) -> list[SweepVariant]:
    """Return the runs that flags describe, one for each combination of values; the last flag varies fastest.

    `several` holds the texts of the flags that have several values, and `outer` puts the layer of flags above the other
    ones. Of several methods each gets the options that it has, those from other layers too. An option that none of them
    has stays in all, to be refused.
    """
    if (count := math.prod(map(len, several.values()))) > MOST_RUNS:
        raise ConfigError("SWEEP", f"the flags make {count} runs, more than {MOST_RUNS}",
                          where=", ".join(FLAGS[name].names[0] for name in several))
    variants = []
    for combination in itertools.product(*several.values()):
        chosen = dict(zip(several, combination, strict=True))
        values = {FLAGS[name].path: value_for(FLAGS[name], text) for name, text in chosen.items()}
        variants.append(SweepVariant(outer(layer_of({**flags, **chosen})), values))
    return [*distinct_variants(suited(variants))] if "method" in several else variants


def suited(variants: Sequence[SweepVariant]) -> Iterator[SweepVariant]:
    """Yield the variants without the options that their own method has not, but another one has."""
    foreign = [foreign_options(variant.layer) for variant in variants]
    unknown = frozenset.intersection(*foreign)
    for variant, options in zip(variants, foreign, strict=True):
        layer, left_out = variant.layer, options - unknown
        for keys in left_out:
            layer = layer.drop(keys)
        yield SweepVariant(layer, {path: value for path, value in variant.values.items()
                                   if tuple(path.split(".")) not in left_out})


def foreign_options(layer: Layer) -> frozenset[tuple[str, ...]]:
    """Return the paths of those values of a layer that are no options of its method."""
    complete = with_tags(RunConfig, layer.values)
    given = [keys for keys in leaves(layer.values) if keys[0] == METHOD and keys != (METHOD, TAG)]
    paths = {keys: ".".join(keys) for keys in given}
    return frozenset(keys for keys, path in paths.items()
                     if not any(is_option(other, complete) for other in (path, layer.either.get(path, path))))


def distinct_variants(variants: Iterator[SweepVariant]) -> Iterator[SweepVariant]:
    """Yield each variant once: those that differed only in an option that their method has not are one."""
    known: list[Mapping[str, Any]] = []
    for variant in variants:
        if variant.values not in known:
            known.append(variant.values)
            yield variant


def command_line(data: str, flags: Mapping[str, Any], assignments: Sequence[str], environment: Mapping[str, str],
                 setting: Any, axes: int, *, output: Path) -> str:
    """Return the command of a run by a setting's options, without that of the axes, and with a place."""
    values = {path: value for path, value in setting.values.items() if not path.endswith(".components")}
    return embed_command(data, flags, assignments, environment, values, "-p", str(axes), "-o", str(output))


def embed_command(data: str, flags: Mapping[str, Any], assignments: Sequence[str], environment: Mapping[str, str],
                  values: Mapping[str, Any], *rest: str) -> str:
    """Return a line for a shell: `mlcli embed` with the input's own flags, the options by their paths, and the rest.

    What came from the environment stands in it as well, so that it holds elsewhere.
    """
    words = list[str]()
    for name, value in flags.items():
        if name not in OF_THE_COMMAND and value not in (None, False):
            words += flag_words(FLAGS[name].names[-1], value)
    for name in sorted(name for name in environment if name.startswith(PREFIX)):
        words += ["--set", f"{'.'.join(name.removeprefix(PREFIX).lower().split('__'))}={environment[name]}"]
    for assigned in assignments:
        words += ["--set", assigned]
    for path, value in values.items():
        words += [LETTERS[path], value_text(value)] if path in LETTERS else ["--set", f"{path}={value_text(value)}"]
    words += rest
    return shlex.join(["mlcli", "embed", *([*words, "--", data] if data.startswith("-") else [data, *words])])


def flag_words(flag: str, value: Any) -> list[str]:
    """A flag with its value, once for each of several."""
    if value is True:
        return [flag]
    return [part for one in (value if isinstance(value, list | tuple) else [value]) for part in (flag, str(one))]
