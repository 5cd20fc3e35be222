"""The predicted cost of measuring quality."""

import math
from collections.abc import Sequence

from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.steps import Passes, Step
from mlcli.base.values.sample_size import GROUP, automatic
from mlcli.core.costs import dijkstra_cost, product_rate
from mlcli.engine.executor import WORTH
from mlcli.findings.frame.result import Planned
from mlcli.native import available

SMALL = 0.03  # constant part of the time, in starts of the program
NEIGHBORS = 6  # edges for each point of a usual graph
BESIDE = 0.65  # time of the measures of a baseline, in those of an embedding: the order in the data is there
OBSERVED = 32  # numbers for each anchor in the sums of all measures, about


def quality_step(sample: int | str, planned: Planned) -> Step:
    """Return the predicted cost of measuring the embedding from all points or from a sample."""
    table, threads = planned.table, planned.threads
    rows, columns = table.values.shape
    count = min(automatic(rows, columns) if sample == "auto" else int(sample), rows)
    steps: Sequence[Step] = ()
    if planned.method.beside_baseline:
        from mlcli.findings.quality.baseline import baseline_steps

        steps = baseline_steps(planned.method, table.data(), planned.config.compute)
    measured = rates().measured * (1 + BESIDE * bool(steps))
    found_again = count < rows and any(step.stage == "paths" for step in planned.fit)
    one_pass = next((step.passes.seconds for step in planned.fit if step.stage == "eigensolve" and step.passes),
                    math.inf)  # which finds the paths from all points

    def seconds_on(cores: int) -> float:
        each = min(dijkstra_cost(rows, NEIGHBORS * rows, cores, available()).seconds, one_pass / cores)
        paths = each * count / rows
        return count * rows * (measured / cores + 2 * columns / product_rate(cores)) + (
            paths if found_again else 0.0)

    alone, small = seconds_on(1), SMALL * rates().start + sum(step.seconds for step in steps)
    memory = max([planned.memory, *(step.memory for step in steps)])
    travels = table.kind == "features" and alone > WORTH
    return Step("quality", f"from {'all' if count == rows else count} of {rows} points", small + seconds_on(threads),
                memory, passes=Passes(1, alone, len(row_blocks(count, GROUP, rows)), sent=0.0,
                                              once=float(table.bytes), returned=8.0 * OBSERVED * count, here=small,
                                              working=8.0 * min(GROUP, count * rows)) if travels else None)
