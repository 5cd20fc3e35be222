"""The settings of an exploration: methods with options that are worth a trial, their configurations, the budget."""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.values.inputs import Given
from mlcli.checkup.report import Report
from mlcli.config.layers import Layer, assignment
from mlcli.config.run_config import RunConfig
from mlcli.config.sweep import flatten, without
from mlcli.errors import UsageError
from mlcli.explore.verdict import Structure
from mlcli.methods import METHODS
from mlcli.methods.layouts import LayoutMethod
from mlcli.methods.trials import InputSummary

COUNTS = (12, 8, 20, 5, 30)  # numbers of neighbors, in the order of their trials
AXES = 8  # largest number of axes that methods are compared with, unless the user chooses more
FEWEST = 2
OUTPUTS = ["embedding", "spectrum", "dimension"]
COMPONENTS = "components"
FACTORS = "fa"
SECTIONS = ("input", "prepare", "compute", "output")


@frozen
class Setting:
    """A method with options, as in YAML."""

    method: str
    options: Mapping[str, Any]
    seconds: float = 0.0  # predicted, without the search for neighbors

    @property
    def values(self) -> Mapping[str, Any]:
        """The values that differ between settings, by config path."""
        return {"method.name": self.method, **dict(flatten(self.options, "method."))}

    @property
    def words(self) -> str:
        """The options in short, such as "k=12, rate=0.5"."""
        short = {path.rpartition(".")[2]: value for path, value in flatten(self.options)}
        names = {"count": "k"}
        return ", ".join(f"{names.get(name, name)}={value}" for name, value in short.items()
                         if name not in ("pieces", COMPONENTS))

    def with_axes(self, count: int) -> "Setting":
        """Return the setting with `count` axes as an option, where a fit with fewer axes is another fit."""
        if has_nested_axes(self.method) or self.method == FACTORS:
            return self
        return Setting(self.method, {**self.options, METHODS[self.method].axes_section(): {COMPONENTS: count}})

    @property
    def name(self) -> str:
        """The method with its options."""
        return f"{self.method} {self.words}".strip()


@frozen
class Exclusion:
    """A setting, or a whole method, without a finished trial, and the reason."""

    name: str
    reason: str
    seconds: float | None = None  # predicted


def neighbor_counts(size: int, report: Report, *, whole: bool) -> tuple[Sequence[int], str]:
    """Return the numbers of neighbors to try, and the policy for a graph in pieces.

    All are below half the number of points. No fewer neighbors are tried than connect the graph. If these are more than
    the first number, or the points examined are not the `whole` table, the shortest links connect the pieces.
    """
    possible = [count for count in COUNTS if count <= max((size - 1) // 2, 1)] or [max((size - 1) // 2, 1)]
    connecting = report.graph.connecting_k if report.graph else 1
    if not whole or report.rows_compared < report.rows or connecting > possible[0]:
        return possible, "connect"
    enough = [count for count in possible if count >= connecting]
    return ([*enough, connecting] if connecting > min(possible) and connecting not in possible else enough), "error"


def choose_axes(asked: int | None, report: Report, most: int, structure: Structure | None) -> tuple[int, str]:
    """Return the number of axes that methods are compared with, and the reason."""
    if asked is not None:
        return asked, "as asked for"
    if structure is not None and structure.groups is not None and not structure.groups.inside:
        return max(structure.groups.axes, min(FEWEST, most)), "so many keep the groups apart"
    if structure is not None and structure.factors is not None:
        return structure.factors.count, "so many factors have the smallest BIC"
    near = report.intrinsic_dimension
    known = [] if near is None else [value for value in (near.two_nn, near.maximum_likelihood) if value < 2**31]
    if not known:
        return min(FEWEST, most), "the intrinsic dimension is not known"
    value = min(known)
    count = max(min(round(value), AXES, most), min(FEWEST, most), 1)
    beyond = f", and no more than {AXES} are compared" if value > AXES + 0.5 else ""
    return count, (f"the intrinsic dimension is about {value:.1f}, the smaller of two estimates by neighbors{beyond}")


def settings_of(data: Given, summary: InputSummary,
                structure: Structure | None) -> tuple[list[Setting], list[Exclusion]]:
    """Return the settings that the methods propose, the first of each, then the second, ..., and the exclusions.

    Factor analysis is tried where its model explains the covariance best.
    """
    rows, left = [], []
    for name, kind in METHODS.items():
        trials = kind.trials(summary) if isinstance(data, kind.accepts) else None
        if trials is None:
            continue
        rows.append([Setting(name, options) for options in trials.settings])
        if trials.reason:
            left.append(Exclusion(name, trials.reason))
    if structure is not None and structure.factors is not None:
        rows.insert(1, [Setting(FACTORS, {METHODS[FACTORS].axes_section(): {COMPONENTS: structure.factors.count}})])
    return [setting for rank in zip_longest(*rows) for setting in rank if setting is not None], left


def require_explorable(layer: Layer) -> None:
    """Refuse options that every trial decides for itself; raises UsageError."""
    method = layer.values.get("method", {})
    inside = [f"method.{key}" for key in method if key != "metric"] if isinstance(method, dict) else ["method"]
    others = [key for key in layer.values if key not in (*SECTIONS, "method")]
    for path in (*others, *inside):
        raise UsageError("EXPLORE-OPTION", f"{path[:80]!r} cannot be set: explore chooses methods and their options "
                         "itself", where=layer.origin(tuple(path.split("."))),
                         hint="only input, prepare, compute and method.metric can be set; or use a sweep (mlcli run)")


def layer_of(setting: Setting, base: Layer) -> Layer:
    """Return the layers of one trial: the method's options over the shared ones, with the metric where it has one."""
    kind = METHODS[setting.method]
    metric = base.values.get("method", {}).get("metric") if "metric" in kind.model_fields else None
    options = {**({} if metric is None else {"metric": metric}), **setting.options}
    named = Layer({"method": {"name": setting.method, **options}}, {("method",): f"explore: {setting.name}"})
    layer = named.over(assignment("report.outputs", OUTPUTS, "explore")).over(without(base, "method"))
    return assignment("report.discontinuity", True, "explore").over(layer) if issubclass(kind, LayoutMethod) else layer


def with_axes(config: RunConfig, count: int) -> RunConfig:
    """Return the configuration with at most `count` axes, as a default: options that the user chose stay."""
    method = config.method
    options = method.axes_options
    if options.chosen(COMPONENTS):
        return config
    axes = type(options).model_construct({*options.model_fields_set}, **{**dict(options), COMPONENTS: count})
    return config.replace(method=method.replace(**{method.axes_section(): axes}))


def has_nested_axes(method: str) -> bool:
    """Whether the first axes of a fit are those of a fit with fewer."""
    return METHODS[method].axes_section() == "eigensolve"


@frozen
class Clock:
    """The start and the budget of an exploration or of its examination, and the time of reading."""

    begun: float  # start, on the monotonic clock
    budget: float  # seconds
    reading: float = 0.0  # seconds

    @property
    def end(self) -> float:
        """The end of the budget, on the monotonic clock."""
        return self.begun + self.budget

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.begun


def within_budget(settings: Sequence[Setting], room: float) -> Iterator[tuple[int, bool]]:
    """Yield the position of each setting and whether it fits into `room` seconds after the settings before it.

    The first one always fits.
    """
    used = 0.0
    for place, setting in enumerate(settings):
        fits = place == 0 or used + setting.seconds <= room
        used += setting.seconds * fits
        yield place, fits
