"""Loadings: the weights of the data's columns on each axis."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.data.table.table import Table
    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.methods import Method
    from mlcli.report.drawing.html import Part

TABLE = File("loadings.csv", Columns(("column",), texts=1))


class LoadingsFinding(Finding["CsvColumns"]):
    """The loadings, of methods whose axes are combinations of the columns."""

    name = "loadings"
    files = (TABLE,)

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "CsvColumns | None":
        """Return the name of each column with its loadings on the axes y1..yp."""
        from mlcli.findings.frame.finished_run import CsvColumns

        loadings = result.model.loadings
        if loadings is None:
            return None
        axes = {f"y{axis + 1}": column for axis, column in enumerate(loadings.values.T)}
        return CsvColumns({"column": tuple(loadings.columns), **axes})

    def cells(self, method: "Method", table: "Table") -> float:
        """Return about as many numbers as there are weights of columns."""
        from mlcli.methods.method import weights_memory

        return weights_memory(method, table.data()) / 8

    def lines(self, summary: Mapping[str, Any]) -> Iterable[str]:
        """Return the test of fit of a factor analysis, with its leading indices."""
        fit = summary.get("fit") or {}
        if fit.get("chi_square") is None or not fit.get("degrees_of_freedom"):
            return ()
        indices = [f"{name} {fit[key]:.3f}" for name, key in (("RMSEA", "rmsea"), ("TLI", "tli"))
                   if fit.get(key) is not None]
        return (", ".join([f"chi-square {fit['chi_square']:.4g} on {fit['degrees_of_freedom']} degrees of freedom",
                           f"p = {fit['p_value']:.2g}", *indices]),)

    def sections(self, value: "CsvColumns", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the table of loadings, and axes as images where rows are images."""
        from mlcli.findings.images.sections import axes
        from mlcli.findings.loadings.tables import loadings

        cutoff = run.config.report.cutoff if run.cutoff is None else run.cutoff
        return [(Place.COLUMNS, loadings(run, cutoff)), (Place.DETAIL, axes(run, run.config.report.picture))]
