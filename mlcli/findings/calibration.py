"""Calibration: rows that the fit has not seen, by whose scores new rows are judged as on or off the manifold."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from mlcli.base.stages.steps import Step
from mlcli.base.values.options import Options, option
from mlcli.data.options.wording import counted
from mlcli.errors import ConfigError
from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.config.run_config import RunConfig
    from mlcli.data.table.table import Table
    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.plan import FitPlan
    from mlcli.findings.frame.result import Result
    from mlcli.methods import Method
    from mlcli.report.drawing.html import Part

SCORE = "off_manifold"
ROWS = File("calibration.csv", Columns((SCORE,), texts=1))
WHERE = "report.calibration"
BINS = 20  # of the scores on the page


class Calibration(Options):
    """Rows held out of the fit, for exact p that new rows are off the manifold; null: none, and p is approximate."""

    share: float = option(0.2, "Share of the rows that are held out of the fit, drawn with the seed, and placed by it: "
                          "p of new rows is computed from their scores (default: none; 0.2 of a section without it).",
                          gt=0, lt=1)


class CalibrationFinding(Finding["CsvColumns"]):
    """Coordinates and scores of the rows that were held out of the fit."""

    name = "calibration"
    files = (ROWS,)
    option = (Calibration | None, None)
    stage = "Places the rows that were held out of the fit, and scores how far off the manifold they are."
    of_model = True
    columns = ("calibration_rows", "calibration_median", "calibration_95")

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "CsvColumns":
        """Return ids, coordinates and scores of the rows held out.

        Raises ConfigError where the method places no new rows, or scores none: the rows held out would be lost.
        """
        import numpy as np

        from mlcli.core.similarities.projector import NoProjection
        from mlcli.findings.frame.finished_run import CsvColumns

        projector = result.model.projector
        if isinstance(projector, NoProjection):
            raise ConfigError("CALIBRATION", f"calibration was chosen, and no row that is held out can be placed: "
                              f"{projector.reason}", where=WHERE, hint="leave it out")
        held = None if result.scored is None else result.scored.held_out
        if held is None or held.scores is None:
            raise ConfigError("CALIBRATION", f"calibration was chosen, and rows of this run of "
                              f"{result.config.method.name} have no scores off the manifold", where=WHERE,
                              hint="leave it out")
        table = held.coordinates
        return CsvColumns({"id": list(table.ids), **dict(zip(table.columns, np.array(table.values.T), strict=True)),
                           SCORE: held.scores})

    def sections(self, value: "CsvColumns", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return what p of new rows means, with the scores as a curve."""
        import numpy as np

        from mlcli.report.drawing.html import figure, section, sentence
        from mlcli.report.drawing.text import number
        from mlcli.report.figures.curves import curve

        scores = value.array(SCORE)
        count, scores = len(scores), scores[np.isfinite(scores)]  # without those that a damaged file has beyond range
        said = (f"{number(count)} {'row was' if count == 1 else 'rows were'} held out of the fit and placed by it. "
                "mlcli project compares the score of a new row with theirs: p is the share of scores that are as "
                f"large, the row's own included, and {1 / (count + 1):.2g} at least. Of rows like these, a share of at "
                "most a has p up to a, on average over the draw of the rows held out. A usual row of the fit has a "
                "score of about one.")
        if not scores.size or not np.ptp(scores) > 0:
            return [(Place.RESULT, section("Rows held out", sentence(f"{said} All scores are equal.", "soft")))]
        heights, edges = np.histogram(scores, bins=BINS)
        drawn = curve("Rows held out by their score", "score off the manifold", "rows",
                      ((edges[:-1] + edges[1:]) / 2).tolist(), {"rows": heights.astype(float).tolist()})
        return [(Place.RESULT, section("Rows held out", sentence(said, "soft"), figure(
            drawn, "New rows beyond the right end have the least p.")))]

    def facts(self, value: "CsvColumns | None") -> Mapping[str, Any]:
        """Return the number of rows, and the median and the 95 % quantile of their scores."""
        if value is None:
            return {}
        import numpy as np

        scores = value.array(SCORE)
        middle, high = np.quantile(scores, (0.5, 0.95)).tolist()
        return {self.name: dict(zip(self.columns, (len(scores), middle, high), strict=True))}

    def headline(self) -> Sequence[str]:
        """Return all keys of the fact."""
        return self.columns

    def lines(self, summary: Mapping[str, Any]) -> Iterable[str]:
        """Return the number of rows and their scores in one line."""
        fact = summary.get(self.name)
        if not fact:
            return ()
        count, middle, high = (fact[name] for name in self.columns)
        return (f"calibration: {counted(count, 'row')} held out, whose scores off the manifold have the median "
                f"{middle:.3g} and the 95% quantile {high:.3g}",)

    def cells(self, method: "Method", table: "Table") -> float:
        """Return a line for each row that is held out, at most one for each row."""
        return 3.0 * table.rows

    def require(self, config: "RunConfig") -> None:
        """Raise ConfigError where no rows can be held out: of other inputs, of a sequence, and of a map that grows."""
        if not config.report.setting(self.name):
            return
        if config.onto is not None:
            raise ConfigError("CALIBRATION", "calibration was chosen, and no row that is added to a map can be held "
                              "out of it", where=WHERE, hint="leave it out, and p of new rows is approximate; for an "
                              "exact one give it to a run of all rows, without {onto.run}")
        if config.method.ordered:
            raise ConfigError("CALIBRATION", f"calibration was chosen, and rows of {config.method.name} are one "
                              "sequence: rows from its middle cannot be left out, and rows at its end are not "
                              "exchangeable with those of other sequences", where=WHERE, hint="leave it out: p of new "
                              "rows is then approximate")
        kind = config.input.gives
        if kind not in ("features", "dissimilarities"):
            raise ConfigError("CALIBRATION", f"calibration was chosen, and no rows of a {kind} can be held out",
                              where=WHERE, hint="leave it out, or give features or dissimilarities")

    def refuse_blocks(self) -> NoReturn:
        """Raise ConfigError: rows are held out of a table in memory."""
        raise ConfigError("CALIBRATION", "no rows can be held out of a table that is read in blocks of rows",
                          where=WHERE, hint="leave it out, or give {input.stream=never}")

    def step(self, plan: "FitPlan", fit: Sequence[Step]) -> Step | None:
        """Return the cost of placing the rows that are held out: their share of the fit, at most."""
        share = plan.config.report.setting(self.name).share
        return Step(self.name, f"{share:.0%} of the rows", share * sum(step.seconds for step in fit), plan.memory_after)
