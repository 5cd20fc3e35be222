"""The predicted cost of the rules for the number of axes."""

from collections.abc import Sequence

from mlcli.base.machine.rates import rates
from mlcli.base.stages.steps import Step
from mlcli.core.costs import neighbors_cost, pass_cost
from mlcli.findings.frame.result import Planned

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
