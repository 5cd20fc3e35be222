"""Reliability of a questionnaire: alpha, omega by a Schmid-Leiman solution, and the statistics of each item."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlcli.base.values.options import option
from mlcli.errors import ConfigError
from mlcli.findings.finding import Columns, File, Finding, Json, Place

if TYPE_CHECKING:
    from mlcli.config.run_config import RunConfig
    from mlcli.findings.frame.finished_run import FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

FIGURES = File("reliability.json", Json("mlcli.findings.reliability.document:ReliabilityDocument"))
ITEMS = File("items.csv", Columns(("item", "mean", "deviation", "total_correlation", "corrected_correlation",
                                   "alpha_without", "general", "communality", "uniqueness"), texts=1))


class ReliabilityFinding(Finding[Mapping[str, Any]]):
    """Alpha of the items as they are; omega total and hierarchical of the run's factors; statistics of the items."""

    name = "reliability"
    files = (FIGURES, ITEMS)
    option = (bool, option(False, "Reliability of the sum of the columns as items of a questionnaire, for fa: alpha, "
                                  "omega total, of several factors also hierarchical by a Schmid-Leiman solution, and "
                                  "statistics of each item."))
    columns = ("alpha", "omega_total", "omega_hierarchical")

    def require(self, config: "RunConfig") -> None:
        """Check that the method is factor analysis with noise of each column's own, and that results are written."""
        if not config.report.setting(self.name):
            return
        if config.method.columns_model != "own noise" or getattr(config.method, "noise", "") != "each":
            raise ConfigError("UNUSED", "reliability has no effect: it is of factor analysis with a noise variance of "
                              "each column",
                              where="report.reliability", hint="choose {method.name=fa}, or leave it out")
        if config.output == "-":
            raise ConfigError("UNUSED", "reliability has no effect: standard output takes the embedding alone",
                              where="report.reliability", hint="leave it out, or give a directory (-o)")

    def compute(self, result: "Result", known: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return figures and items; None where fewer than two columns vary."""
        from mlcli.findings.reliability.measure import measure_reliability

        return measure_reliability(result)

    def sections(self, value: Mapping[str, Any], run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the figures, and a table of the items."""
        from mlcli.findings.reliability.section import reliability

        return [(Place.COLUMNS, reliability(value[FIGURES.name], value[ITEMS.name]))]

    def facts(self, value: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return the figures."""
        return {} if value is None else {self.name: dict(value[FIGURES.name])}

    def headline(self) -> Sequence[str]:
        """Return the coefficients."""
        return self.columns

    def lines(self, summary: Mapping[str, Any]) -> Iterable[str]:
        """Return the coefficients in one line."""
        fact = summary.get(self.name)
        if not fact:
            return ()
        parts = [f"{name.replace('_', ' ')} {fact[name]:.3f}" for name in self.columns if fact[name] is not None]
        return (f"reliability of {fact['items']} items: {', '.join(parts)}",) if parts else ()
