"""The number of axes by the rules, for `components: auto`: from a fit with the default count, before the final one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlcli.base.machine.rates import pass_cost, rates
from mlcli.base.stages.stage import mute_notes, note, running
from mlcli.base.stages.steps import Step
from mlcli.base.values.inputs import Input
from mlcli.core.eigen.options import AUTO
from mlcli.core.graph.search import neighbors_cost
from mlcli.errors import ConfigError
from mlcli.findings.dimension.rules import dimension
from mlcli.findings.frame.result import Planned, Result, as_compared
from mlcli.methods import Method
from mlcli.rundir.json_values import json_value

COUNT = "give a count, as in {method.eigensolve.components=2}"


def has_auto_axes(method: Method) -> bool:
    """Whether the rules determine how many axes are kept."""
    return bool(method.axes_options.components == AUTO)


def with_recommended_axes(method: Method, data: Input, advise: Callable[[], Mapping[str, Any]]) -> Method:
    """Return the method with the recommended number of axes, at least one, by a fit with the default count.

    `advise` makes that fit and returns its document. Notes of that fit are suppressed. Raises ConfigError where no rule
    has a vote.
    """
    where = f"{method.axes_options.where}.components"
    if not method.rules:
        raise ConfigError("NO-RULES", f"there is no dimension rule for {method.name}", where=where, hint=COUNT)
    with running("dimension"), mute_notes():
        document = advise()
    advice = document["recommendation"]
    if advice["components"] is None:
        raise ConfigError("NO-RULES", f"the dimension rules recommend no number of axes: {advice['sentence']}",
                          where=where, hint=COUNT)
    count = min(max(advice["components"], 1), max(method.limit(data), 1))
    note("N-AUTO", f"axes kept: {count}, recommended by the dimension rules for a fit with {document['kept']} axes",
         components=count, by=advice["by"])
    return method.replace(**{method.axes_section(): method.axes_options.replace(components=count)})


def rules_of(result: Result, *, long: bool = False) -> Mapping[str, Any]:
    """Return the answers of the rules about a run; with `long`, of those too that take longer than the fit."""
    table = result.prepared if result.source.rows else result.method_input
    answers: Mapping[str, Any] = json_value(dimension(result.config.method, result.model, as_compared(result, table),
                                                 result.config.compute, long=long))
    return answers


MOST, FEW = 6, 150  # fits of the rule of layouts, and points up to which all their runs make them
SAMPLED = 2000  # rows in the rules' search for neighbors
SMALL = 0.008  # constant part of the time, in starts of the program
COLUMNS = 0.03  # additional part for rules about columns


def rules_step(planned: Planned, first: Sequence[Step] = ()) -> Step:
    """Return the cost of the rules: a search for neighbors, and passes over the columns.

    `first` are the steps of the fit for `components: auto`, which come first.
    """
    rows, columns = min(planned.table.values.shape[0], SAMPLED), planned.table.values.shape[1]
    of_columns = planned.method.columns_model != "none"
    seconds = rates().start * (SMALL + COLUMNS * of_columns) + neighbors_cost(
        points=rows, columns=columns, count=10, tree=False, threads=planned.threads, native=True)
    seconds += of_columns * 20 * pass_cost(rows * columns)
    seconds += sum(step.seconds for step in first)
    memory = planned.memory
    if "stress" in planned.method.rules and (first or planned.table.values.shape[0] <= FEW):
        starts = getattr(planned.method, "starts", 1)
        seconds += MOST * sum(step.seconds for step in planned.fit) / starts
        memory += max((step.memory for step in planned.fit), default=0.0)
    return Step("dimension", f"rules for the number of axes{', and a fit for them' if first else ''}", seconds, memory)
