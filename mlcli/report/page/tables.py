"""The tables of `mlcli report --table`, by their names."""

from collections.abc import Callable, Mapping

from mlcli.errors import ConfigError
from mlcli.findings.dimension import DimensionFinding
from mlcli.findings.dimension.rules import FACTORS, words
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.loadings.tables import correlations_table, factors_table, loadings_table
from mlcli.findings.quality import QualityFinding
from mlcli.findings.quality.measure import relevant_measures, share_kept
from mlcli.findings.quality.section import measure_name
from mlcli.findings.reliability import ITEMS, ReliabilityFinding
from mlcli.findings.reliability.section import items_of
from mlcli.findings.spectrum import SpectrumFinding
from mlcli.report.drawing.text import in_words
from mlcli.report.tables import Form, Name
from mlcli.report.tables.table import Cell, ReportTable, Row


def spectrum_table(run: FinishedRun, cutoff: float = 0.0) -> ReportTable | None:
    """Return the rows of spectrum.csv."""
    spectrum = SpectrumFinding.of(run)
    if spectrum is None:
        return None
    columns = spectrum.columns
    rows: list[Row] = [(int(place), *numbers) for place, *numbers in zip(
        spectrum.numbers("component"), *(spectrum.numbers_or_none(name) for name in list(columns)[1:]), strict=True)]
    what = run.spectrum_facts.get("ranked_by", "eigenvalues")
    return ReportTable(f"Spectrum: {what}, with shares of the trace.", tuple(columns), rows, words=())


def quality_table(run: FinishedRun, cutoff: float = 0.0) -> ReportTable | None:
    """Return the measures of quality with their standard errors, by the names of the page."""
    document = QualityFinding.measures_of(run)
    kept = share_kept(document, document.get("neighbors"))
    rows: list[Row] = [] if kept is None else [("neighbor recall", kept, None)]
    rows += [(measure_name(key, document.get("label")), value, document.get(f"{key}_se"))
             for key, value in relevant_measures(document).items()
             if isinstance(value, float) and not key.endswith("_se")]
    return ReportTable("Quality of the embedding.", ("measure", "value", "standard error"), rows) if rows else None


def fit_table(run: FinishedRun, cutoff: float = 0.0) -> ReportTable | None:
    """Return the single figures of the fit."""
    rows: list[Row] = [(in_words(key), _plain(value)) for key, value in run.fit.items()
                       if value is None or isinstance(value, bool | int | float)]
    return ReportTable("Fit indices.", ("figure", "value"), rows) if rows else None


def dimension_table(run: FinishedRun, cutoff: float = 0.0) -> ReportTable | None:
    """Return the answer of each rule for the number of axes."""
    document = DimensionFinding.of(run) or {}
    rules = document.get("rules", {})
    rows: list[Row] = [(words(name, FACTORS in rules), rule.get("components"), rule.get("detail") or "")
                       for name, rule in rules.items()]
    return ReportTable("How many axes to keep, by rule.", ("rule", "axes", "found"), rows,
                       words=(0, 2)) if rows else None


def items_table(run: FinishedRun, cutoff: float = 0.0) -> ReportTable | None:
    """Return the statistics of a questionnaire's items."""
    found = ReliabilityFinding.of(run)
    return None if found is None else items_of(found[ITEMS.name])


def _plain(value: float | None) -> Cell:
    return ("yes" if value else "no") if isinstance(value, bool) else value


TABLES: Mapping[Name, Callable[[FinishedRun, float], ReportTable | None]] = {
    "loadings": loadings_table, "factors": factors_table, "correlations": correlations_table,
    "spectrum": spectrum_table, "quality": quality_table, "fit": fit_table, "dimension": dimension_table,
    "items": items_table}


def tables_of(run: FinishedRun, name: Name, form: Form, cutoff: float | None) -> list[ReportTable]:
    """Return the table of this name; with loadings also the correlations of their factors, except for CSV.

    Without a cutoff the run's own is used. Raises ConfigError where the run has no such table.
    """
    least = run.config.report.cutoff if cutoff is None else cutoff
    names: tuple[Name, ...] = ("loadings", "correlations") if name == "loadings" and form != "csv" else (name,)
    found = [TABLES[each](run, least) for each in names]
    if found[0] is None:
        known = ", ".join(other for other, made in TABLES.items() if made(run, 0.0) is not None)
        raise ConfigError("NO-TABLE", f"the run has no table of this kind: {name}", where="--table",
                          hint=f"it has {known}" if known else "it has none")
    return [table for table in found if table is not None]
