"""Quality: how well an embedding keeps neighborhoods, distances, labels and the data itself."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from mlcli.base.stages.steps import Step
from mlcli.base.values.options import Options, option
from mlcli.findings.finding import Columns, File, Finding, Json, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.contents import Contents
    from mlcli.findings.frame.result import Planned, Result
    from mlcli.findings.quality.measure import QualityResult
    from mlcli.report.drawing.html import Part

NUMBERS = File("quality.json", Json("mlcli.findings.quality.shape:Quality"))
PAIRS = File("shepard.csv", Columns(("distance", "embedded")))
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
        from mlcli.findings.frame.files import write_document, write_text
        from mlcli.findings.quality.measures import shepard_table

        write_document(folder / NUMBERS.name, value.figures)
        write_text(folder / PAIRS.name, shepard_table(value.pairs))

    def read(self, folder: Path, run: "Contents") -> "QualityResult | None":
        """Return the measures, and the pairs where the run has them."""
        figures, pairs = (file.read(folder) for file in self.files)
        if figures is None:
            return None
        from mlcli.findings.quality.measure import QualityResult
        from mlcli.findings.quality.measures import pairs_of

        return QualityResult(figures, pairs_of(pairs))

    def sections(self, value: "QualityResult", run: "Contents") -> Iterable[tuple[Place, "Part"]]:
        """Return the measures in words, and as a table with the Shepard diagram and the curve of neighborhoods."""
        from mlcli.findings.quality.section import in_words, quality

        method, fit = run.config.method, run.manifest.get("fit") or {}
        of_ranks = fit.get("stress") if method.keeps_order else None
        return [(Place.WORDS, in_words(value.figures, method.loss(), of_ranks)), (Place.RESULT, quality(value))]

    @classmethod
    def measures_of(cls, run: "Contents") -> Mapping[str, Any]:
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

    def step(self, planned: "Planned") -> Step | None:
        """Return the predicted cost of measuring from all points, or from a sample."""
        if not planned.points:
            return None
        from mlcli.findings.quality.cost import quality_step

        return quality_step(planned.config.report.setting(self.name).sample, planned)
