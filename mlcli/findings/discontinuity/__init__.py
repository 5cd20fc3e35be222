"""Discontinuity: where the map of a layout tears, by two scores of each point."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.stages.steps import Step
from mlcli.base.values.options import option
from mlcli.errors import ConfigError
from mlcli.findings.finding import Columns, File, Finding, Json, Place

if TYPE_CHECKING:
    from mlcli.base.values.check import Check
    from mlcli.certify.subject import Subject
    from mlcli.config.run_config import RunConfig
    from mlcli.data.table.table import Table
    from mlcli.findings.frame.finished_run import FinishedRun
    from mlcli.findings.frame.plan import FitPlan
    from mlcli.findings.frame.result import Result
    from mlcli.methods import Method
    from mlcli.report.drawing.html import Part

FIGURES = File("discontinuity.json", Json("mlcli.findings.discontinuity.document:DiscontinuityDocument"))
SCORES = File("discontinuity.csv", Columns(("id", "perturbation", "singularity", "doubtful"), texts=1))
WHERE = "report.discontinuity"


class DiscontinuityFinding(Finding[Mapping[str, Any]]):
    """How far the place of each point moves when its input is moved, and how flat its own loss is there."""

    name = "discontinuity"
    files = (FIGURES, SCORES)
    option = (bool, option(False, "Where the map tears, for tsne, umap, phate, smacof, sammon and nmds: how far each "
                                  "point moves when its input is moved a little, and how flat its own loss is."))
    stage = "Moves the input of each point, and looks where its own loss is least."
    columns = ("doubtful", "doubtful_share", "torn")

    def require(self, config: "RunConfig") -> None:
        """Check that the method is a layout, and that results are written."""
        if not config.report.setting(self.name):
            return
        from mlcli.methods.layouts import LayoutMethod

        if not isinstance(config.method, LayoutMethod):
            raise ConfigError("UNUSED", f"discontinuity has no effect: it is of layouts, and {config.method.name} is "
                              "none", where=WHERE,
                              hint="choose tsne, umap, phate, smacof, sammon or nmds; report.stability measures how "
                              "much the result of another method changes with the rows")
        if config.output == "-":
            raise ConfigError("UNUSED", "discontinuity has no effect: standard output takes the embedding alone",
                              where=WHERE, hint="leave it out, or give a directory (-o)")

    def refuse_blocks(self) -> None:
        """Raise ConfigError: rows outside memory cannot be moved."""
        raise ConfigError("UNUSED", "discontinuity needs all rows in memory", where=WHERE,
                          hint="leave it out, or give {input.stream=never}")

    def compute(self, result: "Result", known: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return figures and scores; None where points have no loss of their own."""
        from mlcli.base.stages.stage import running
        from mlcli.findings.discontinuity.measure import measure_discontinuity

        with running(self.name):
            return measure_discontinuity(result)

    def read(self, folder: Path, run: "FinishedRun") -> Mapping[str, Any] | None:
        """Return figures and scores; raises UnsafeFile where a file does not fit the embedding or the other."""
        from mlcli.findings.discontinuity.measure import require_scores

        value = super().read(folder, run)
        if value is not None:
            require_scores(value[FIGURES.name], value[SCORES.name], run.manifest["embedding"]["rows"],
                           folder / SCORES.name)
        return value

    def sections(self, value: Mapping[str, Any], run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the sentence, the figures as a table, and the map with rings around doubtful points."""
        from mlcli.findings.discontinuity.section import discontinuity

        return [(Place.RESULT, discontinuity(value[FIGURES.name], value[SCORES.name], run))]

    def checks(self, folder: Path, subject: "Subject", method: "Method") -> Iterable["Check"]:
        """Check that doubtful points are those above the thresholds, and singularity by other formulas."""
        figures, scores = (file.read(folder) for file in self.files)
        if figures is None or scores is None:
            return ()
        from mlcli.findings.discontinuity.check import discontinuity_checks

        return discontinuity_checks(figures, scores, subject, method)

    def cells(self, method: "Method", table: "Table") -> float:
        """Return a line for each point."""
        return 3.0 * table.rows

    def facts(self, value: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return how many points are doubtful, their share, and whether that is more than in continuous maps.

        All are None where there is no alarm.
        """
        if value is None:
            return {}
        figures = value[FIGURES.name]
        doubtful = figures["doubtful"]
        return {self.name: {"rows": figures["rows"], "doubtful": doubtful,
                            "doubtful_share": None if doubtful is None else doubtful / max(figures["rows"], 1),
                            "torn": figures["torn"]}}

    def headline(self) -> Sequence[str]:
        """Return all keys of the fact."""
        return ("rows", *self.columns)

    def lines(self, summary: Mapping[str, Any]) -> Iterable[str]:
        """Return the sentence on how many points are doubtful."""
        from mlcli.findings.discontinuity.thresholds import sentence_on

        fact = summary.get(self.name)
        if not fact:
            return ()
        said = sentence_on(fact["doubtful"], fact["rows"], torn=fact["torn"])
        return (f"discontinuity: {said[0].lower()}{said[1:].removesuffix('.')}",)

    def step(self, plan: "FitPlan", fit: Sequence[Step]) -> Step | None:
        """Return the cost of the losses of all points, and of those of moved inputs."""
        from mlcli.methods.layouts import LayoutMethod

        method = plan.method
        if not isinstance(method, LayoutMethod):
            return None
        from mlcli.findings.discontinuity.measure import discontinuity_step

        return discontinuity_step(method, plan.data, plan.compute)
