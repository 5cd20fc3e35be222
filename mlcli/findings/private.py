"""Private factors: the noise that only one view has, by the loadings of its principal axes."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.data.table.table import Table
    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.methods import Method
    from mlcli.report.drawing.html import Part

TABLE = File("private.csv", Columns(("column", "view", "variance"), texts=1, counts=("view",)))
SHOWN, MOST = 3, 200  # private factors, and columns, on the page


class PrivateFinding(Finding["CsvColumns"]):
    """The private factors of each view, of inter-battery factor analysis."""

    name = "private"
    files = (TABLE,)

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "CsvColumns | None":
        """Return each column with its view, the variance of its noise, and its loadings on the view's private factors.

        A view with fewer columns than another has fewer factors; the others are zero.
        """
        import numpy as np

        from mlcli.findings.frame.finished_run import CsvColumns

        private = result.model.private
        if private is None:
            return None
        views = result.method_input.views
        numbers = np.repeat(np.arange(1.0, len(views) + 1), [len(view.columns) for view in views])
        with np.errstate(over="ignore", under="ignore"):
            variances = (private.values**2).sum(axis=1)
        factors = {f"p{factor + 1}": column for factor, column in enumerate(private.values.T)}
        return CsvColumns({"column": tuple(private.columns), "view": numbers, "variance": variances, **factors})

    def cells(self, method: "Method", table: "Table") -> float:
        """Return as many numbers as columns of all views times those of the widest view, for a method that has them."""
        widths = [len(view.columns) for view in table.views]
        return sum(widths) * max(widths) if method.name == "ibfa" else 0

    def sections(self, value: "CsvColumns", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return a table of the first private factors of each view."""
        from mlcli.report.drawing.html import fold, section, sentence, table

        names = ["variance", *[name for name in value.columns if name.startswith("p")][:SHOWN]]
        rows = [(name, f"{number:.0f}", *(f"{cell:.4g}" for cell in cells)) for name, number, *cells in zip(
            value.texts("column"), value.numbers("view"), *map(value.numbers, names), strict=True)][:MOST]
        said = ("The noise of each view, and its loadings on the first factors that only this view has: the principal "
                "axes of the noise. private.csv has all of them.")
        numeric = tuple(range(1, len(names) + 2))
        return [(Place.COLUMNS, section("Private factors", sentence(said, "soft"),
                                        fold("by column", table(("column", "view", *names), rows, numeric, (0,)))))]
