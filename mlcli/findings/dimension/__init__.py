"""The number of axes to keep: every rule that applies, the others with the reason, and one recommendation."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.stages.steps import Step
from mlcli.base.values.options import option
from mlcli.core.eigen.options import AUTO
from mlcli.findings.finding import File, Finding, Json, Place

if TYPE_CHECKING:
    from mlcli.config.report_options import Report
    from mlcli.config.run_config import RunConfig
    from mlcli.findings.frame.finished_run import FinishedRun
    from mlcli.findings.frame.plan import FitPlan
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

RULES = File("dimension.json", Json("mlcli.findings.dimension.document:DimensionDocument"))
TABLE = File("dimension.csv")


class DimensionFinding(Finding[Mapping[str, Any]]):
    """The answers of the rules for the number of axes."""

    name = "dimension"
    files = (RULES, TABLE)
    option = (bool, option(True, "Whether the dimension rules, which recommend a number of axes, are applied."))
    output = True
    stage = "Asks several rules how many axes to keep."

    def compute(self, result: "Result", known: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return recommendation, rules and those left out."""
        from mlcli.findings.dimension.rules import rules_of

        return rules_of(result)

    def write(self, value: Mapping[str, Any], folder: Path, result: "Result") -> None:
        """Write dimension.json and dimension.csv."""
        from mlcli.findings.dimension.rules import dimension_table
        from mlcli.findings.frame.files import write_text

        super().write(value, folder, result)
        write_text(folder / TABLE.name, dimension_table(value))

    def sections(self, value: Mapping[str, Any], run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the recommendation, a table of rules and a curve of residual variances."""
        from mlcli.findings.dimension.section import dimension

        return [(Place.ADVICE, dimension(value, run.embedding.values.shape[1]))]

    def facts(self, value: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return the recommendation."""
        return {self.name: None if value is None else value["recommendation"]}

    def headline(self) -> Sequence[str]:
        """Return the count, and the rule that gives it."""
        return ("components", "by")

    def lines(self, summary: Mapping[str, Any]) -> Iterable[str]:
        """Return the recommendation in a sentence."""
        return ((summary.get(self.name) or {}).get("sentence", ""),)

    def step(self, plan: "FitPlan", fit: Sequence[Step]) -> Step | None:
        """Return the cost of the rules."""
        from mlcli.findings.dimension.rules import rules_step

        return rules_step(plan, fit, twice=self.precedes_fit(plan.config))

    def precedes_fit(self, config: "RunConfig") -> bool:
        """Whether the rules determine how many axes are kept."""
        return config.method.axes_options.components == AUTO

    def wanted(self, report: "Report") -> bool:
        """Whether the rules are applied."""
        return bool(report.setting(self.name))
