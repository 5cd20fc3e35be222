"""Quality: how well an embedding keeps neighborhoods, distances, labels and the data itself."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from mlcli.base.stages.steps import Passes, Step
from mlcli.base.values.options import Options, option
from mlcli.findings.finding import Columns, File, Finding, Json, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.finished_run import FinishedRun
    from mlcli.findings.frame.plan import FitPlan
    from mlcli.findings.frame.result import Result
    from mlcli.findings.quality.measure import QualityResult
    from mlcli.report.drawing.html import Part

NUMBERS = File("quality.json", Json("mlcli.findings.quality.document:QualityDocument"))
KINDS = ("distance", "embedded")  # of the distances of a pair
PAIRS = File("shepard.csv", Columns(KINDS))
SampleSize = Annotated[int, Field(ge=2)]


class Quality(Options):
    """How well the embedding preserves neighborhoods, distances and labels; null: not measured."""

    neighbors: int = option(12, "Size of the neighborhoods that are compared.", ge=1)
    sample: SampleSize | Literal["auto"] = option(
        "auto", "Points whose neighborhoods and distances are measured (auto: all up to 2,000 points, above that a "
        "seeded sample of 32 to 250, with standard errors).")
    label: str | None = option(None, "The label column for 1-NN error and silhouette (default: the first with two "
                               "classes or more).")


class QualityFinding(Finding["QualityResult"]):
    """Measures of an embedding, and pairs of distances for its Shepard diagram."""

    name = "quality"
    files = (NUMBERS, PAIRS)
    option = (Quality | None, Quality())
    output = True
    stage = "Measures how well the embedding preserves distances and neighborhoods."
    columns = ("trustworthiness", "trustworthiness_se", "continuity", "continuity_se", "residual_variance",
               "residual_variance_se", "recall", "label_1nn_error")

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "QualityResult | None":
        """Return the measures over rows without missing cells; None where there are no rows."""
        if not result.prepared.rows or not result.prepared.data().apart:
            return None
        from mlcli.findings.quality.measure import measure_quality

        return measure_quality(result, result.config.report.setting(self.name))

    def write(self, value: "QualityResult", folder: Path, result: "Result") -> None:
        """Write quality.json and shepard.csv."""
        import numpy as np

        from mlcli.findings.frame.finished_run import CsvColumns

        pairs = np.empty((0, 2)) if value.pairs is None else value.pairs
        NUMBERS.write(folder, value.figures)
        PAIRS.write(folder, CsvColumns(dict(zip(KINDS, pairs.T, strict=True))))

    def read(self, folder: Path, run: "FinishedRun") -> "QualityResult | None":
        """Return the measures, and the pairs where the run has them."""
        figures, pairs = (file.read(folder) for file in self.files)
        if figures is None:
            return None
        import numpy as np

        from mlcli.findings.quality.measure import QualityResult

        return QualityResult(figures, None if pairs is None else np.column_stack([pairs.array(kind) for kind in KINDS]))

    def sections(self, value: "QualityResult", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the measures in words, and as a table with the Shepard diagram and the curve of neighborhoods."""
        from mlcli.findings.quality.section import in_words, quality

        method, fit = run.config.method, run.fit
        of_ranks = fit.get("stress") if method.keeps_order else None
        added = (run.manifest.get("onto") or {}).get("way") == "fixed" and "spectrum" in run.manifest and (
            method.judged_by == "residual_variance" or not method.isometric)
        return [(Place.WORDS, in_words(value.figures, method.loss(), of_ranks)),
                (Place.RESULT, quality(value, method, own_diagram="stress" in run.findings, added=added))]

    @classmethod
    def measures_of(cls, run: "FinishedRun") -> Mapping[str, Any]:
        """Return the measures of a finished run; empty where it has none."""
        value = cls.of(run)
        return {} if value is None else value.figures

    def facts(self, value: "QualityResult | None") -> Mapping[str, Any]:
        """Return the measures that are single numbers, with the recall: Q_NX at the size of the neighborhoods."""
        if value is None:
            return {self.name: {}}
        from mlcli.findings.quality.measure import share_kept

        single = {key: figure for key, figure in value.figures.items() if not isinstance(figure, (dict, list))}
        return {self.name: {**single, "recall": share_kept(value.figures, value.figures.get("neighbors"))}}

    def headline(self) -> Sequence[str]:
        """Return the leading measures, each with its standard error."""
        from mlcli.findings.quality.measure import LEADING

        return [key for name in LEADING for key in (name, f"{name}_se")]

    def lines(self, summary: Mapping[str, Any]) -> Iterable[str]:
        """Return the leading measures, with standard errors where they come from a sample."""
        if not summary.get(self.name):
            return ()
        from mlcli.findings.quality.measure import line

        return (line(summary[self.name], summary.get("fit") or {}),)

    def step(self, plan: "FitPlan", fit: Sequence[Step]) -> Step | None:
        """Return the predicted cost of measuring from all points, or from a sample."""
        return quality_step(plan.config.report.setting(self.name).sample, plan, fit) if plan.points else None


SMALL = 0.03  # constant part of the time, in starts of the program
EDGES = 6  # for each point of a usual graph
BESIDE = 0.65  # time of the measures of a baseline, in those of an embedding: the order in the data is there
OBSERVED = 32  # numbers for each anchor in the sums of all measures, about


def quality_step(sample: int | str, plan: "FitPlan", fit: Sequence[Step]) -> Step:
    """Return the predicted cost of measuring the embedding from all points or from a sample."""
    from mlcli.base.machine.rates import product_rate, rates
    from mlcli.base.rows.blocks import row_blocks
    from mlcli.base.values.sample_size import anchors_in_group, automatic
    from mlcli.core.paths.geodesics import dijkstra_cost
    from mlcli.engine.executor import WORTH
    from mlcli.native import available

    table, threads = plan.table, plan.compute.thread_count()
    rows, columns = table.values.shape
    count = min(automatic(rows, columns) if sample == "auto" else int(sample), rows)
    steps: Sequence[Step] = ()
    if plan.method.beside_baseline:
        from mlcli.findings.quality.measure import baseline_steps

        steps = baseline_steps(plan.method, table.data(), plan.compute)
    measured = rates().measured * (1 + BESIDE * bool(steps))
    found_again = count < rows and any(step.stage == "paths" for step in fit)
    one_pass = next((step.passes.seconds for step in fit if step.stage == "eigensolve" and step.passes),
                    math.inf)  # which finds the paths from all points

    def seconds_on(cores: int) -> float:
        each = min(dijkstra_cost(rows, EDGES * rows, cores, available()).seconds, one_pass / cores)
        paths = each * count / rows
        return count * rows * (measured / cores + 2 * columns / product_rate(cores)) + (
            paths if found_again else 0.0)

    alone, small = seconds_on(1), SMALL * rates().start + sum(step.seconds for step in steps)
    memory = max([plan.memory_after, *(step.memory for step in steps)])
    travels = table.kind == "features" and alone > WORTH
    together = anchors_in_group(rows)
    return Step("quality", f"from {'all' if count == rows else count} of {rows} points", small + seconds_on(threads),
                memory, passes=Passes(1, alone, len(row_blocks(count, together)), sent=0.0, once=float(table.bytes),
                                      returned=8.0 * OBSERVED * count, here=small,
                                      working=8.0 * rows * min(together, count)) if travels else None)
