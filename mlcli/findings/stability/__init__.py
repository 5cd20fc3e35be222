"""Stability: the change of a result with other rows, by fits to rows that are drawn again."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.stages.steps import Step
from mlcli.base.values.options import Options, option
from mlcli.errors import ConfigError
from mlcli.findings.finding import Columns, File, Finding, Json, Place

if TYPE_CHECKING:
    from mlcli.config.run_config import RunConfig
    from mlcli.data.table.table import Table
    from mlcli.findings.frame.finished_run import FinishedRun
    from mlcli.findings.frame.plan import FitPlan
    from mlcli.findings.frame.result import Result
    from mlcli.findings.stability.measure import StabilityResult
    from mlcli.methods import Method
    from mlcli.report.drawing.html import Part

NUMBERS = File("stability.json", Json("mlcli.findings.stability.document:StabilityDocument"))
MOVES = File("stability.csv", Columns(("resamples", "y1"), texts=1))
WHERE = "report.stability"


class Stability(Options):
    """Stability of the result, by fits to resampled rows; null: not measured."""

    resamples: int = option(50, "Number of fits to resampled rows: a bootstrap sample (with replacement), or for "
                            "methods based on neighbors a subsample (without).", ge=2)
    share: float = option(0.8, "Share of the rows in a subsample.", gt=0, lt=1)
    level: float = option(0.95, "Confidence level of intervals and ellipses.", gt=0, lt=1)


class StabilityFinding(Finding["StabilityResult"]):
    """Intervals of eigenvalues and shares, angles of axes, and how far each point moves."""

    name = "stability"
    files = (NUMBERS, MOVES)
    needs = ("spectrum",)  # for the shares in the labels of the axes
    option = (Stability | None, None)
    stage = "Fits the method again to resampled rows, and compares."

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "StabilityResult | None":
        """Return intervals and deviations over the fits; None where too few of them succeeded."""
        from mlcli.findings.stability.measure import stability_of

        return stability_of(result, result.config.report.setting(self.name))

    def write(self, value: "StabilityResult", folder: Path, result: "Result") -> None:
        """Write stability.json and stability.csv."""
        from mlcli.data.write.table import text_names
        from mlcli.findings.frame.files import write_text
        from mlcli.findings.stability.measure import stability_table

        table = result.embedding
        NUMBERS.write(folder, value.figures)
        write_text(folder / MOVES.name, stability_table(text_names(table)[0], table.ids, value))

    def cells(self, method: "Method", table: "Table") -> float:
        """Return a line for each point."""
        return 5.0 * table.rows

    def read(self, folder: Path, run: "FinishedRun") -> "StabilityResult | None":
        """Return the figures, and the deviations of each point where the run has them."""
        figures, moves = (file.read(folder) for file in self.files)
        if figures is None:
            return None
        from mlcli.findings.stability.measure import read_stability

        return read_stability(figures, moves, run.embedding.values.shape, folder / MOVES.name)

    def sections(self, value: "StabilityResult", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return intervals as a table, the angle of the axes, and an ellipse for each point."""
        from mlcli.findings.stability.section import stability

        return [(Place.RESULT, stability(value, run))]

    def require(self, config: "RunConfig") -> None:
        """Raise ConfigError where rows cannot be drawn again, or the options do not fit the method."""
        kind = config.method.resampling(config.input.gives)
        if kind is None:
            raise ConfigError("RESAMPLING", f"stability was chosen, and the rows of {config.input.gives} cannot be "
                              f"drawn again for {config.method.name}", where=WHERE,
                              hint="leave it out, or choose a linear method or one of distances or neighbors, of "
                              "features or dissimilarities")
        if kind == "bootstrap":
            setting: Stability = config.report.setting(self.name)
            setting.refuse_unused(f"{config.method.name} is fitted to bootstrap samples of all rows", "share",
                                  where=WHERE)

    def refuse_blocks(self) -> None:
        """Raise ConfigError: rows outside memory cannot be drawn again."""
        raise ConfigError("RESAMPLING", "stability cannot be measured for a table that is read in blocks of rows",
                          where=WHERE,
                          hint="leave it out, or give {input.stream=never}")

    def step(self, plan: "FitPlan", fit: Sequence[Step]) -> Step | None:
        """Return the cost of the fits: each as much as the run's own, though some have fewer rows."""
        count = plan.config.report.setting(self.name).resamples
        return Step("stability", f"{count} fits to resampled rows",
                    count * sum(step.seconds for step in fit),
                    max([plan.memory_after, *(step.memory for step in fit)]))
