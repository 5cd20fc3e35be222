"""Vectors of styles and contents: those of the symmetric bilinear model."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.base.types import Array
    from mlcli.data.table.table import Table
    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.methods import Method
    from mlcli.report.drawing.html import Part

TEXTS = ("name", "factor")
TABLE = File("factors.csv", Columns((*TEXTS, "rows"), texts=2, counts=("rows",)))
STYLE, CONTENT = "style", "content"  # in the column `factor`
MOST = 200  # rows of the table on the page


class FactorsFinding(Finding["CsvColumns"]):
    """The vectors of styles and of contents, of the symmetric bilinear model."""

    name = "factors"
    files = (TABLE,)

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "CsvColumns | None":
        """Return each style and each content with its number of rows and its vector; empty beyond its own axes."""
        import numpy as np

        from mlcli.findings.frame.finished_run import CsvColumns
        from mlcli.methods.views.style_projector import FactorProjector

        found = result.model.projector
        if not isinstance(found, FactorProjector):
            return None
        vectors = found.style_vectors, found.content_vectors
        width = max(part.shape[1] for part in vectors)

        def padded(part: "Array") -> "Array":
            return np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.nan)

        numbers = np.vstack([padded(part) for part in vectors])
        counts = [*(result.model.fit["styles"][name] for name in found.styles),
                  *(result.model.fit["contents"][name] for name in found.contents)]
        return CsvColumns({"name": (*found.styles, *found.contents),
                           "factor": (STYLE,) * len(found.styles) + (CONTENT,) * len(found.contents),
                           "rows": np.array(counts, dtype=np.float64),
                           **{f"v{axis}": column for axis, column in enumerate(numbers.T, start=1)}})

    def cells(self, method: "Method", table: "Table") -> float:
        """Return as many numbers as vectors of styles and contents have, for a method that has them."""
        axes = getattr(method, "style_axes", None)
        if axes is None:
            return 0
        return sum(len(set(texts)) for texts in [*table.labels.values()][:2]) * max(axes, method.axes.count)

    def sections(self, value: "CsvColumns", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the vectors of styles in a figure of their first two axes, and a table of all."""
        import numpy as np

        from mlcli.report.drawing.html import figure, fold, section, sentence, table
        from mlcli.report.figures.coloring import coloring
        from mlcli.report.figures.scatter import Points, scatter

        names = [name for name in value.columns if name.startswith("v")]
        kinds = np.array(value.texts("factor"))
        styles = np.flatnonzero(kinds == STYLE)
        vectors = np.column_stack([value.array(name)[styles] for name in names])
        vectors = vectors[:, np.isfinite(vectors).all(axis=0)]
        ids = [value.texts("name")[row] for row in styles.tolist()]
        drawn = [] if vectors.shape[1] < 2 else [figure(scatter(
            Points(vectors[:, :2], ids, coloring(STYLE, ids), len(ids), axes=("Style 1", "Style 2")), "Styles"))]
        rows = [(name, factor, f"{number:.0f}", *("" if cell != cell else f"{cell:.4g}" for cell in cells))
                for name, factor, number, *cells in zip(*map(value.texts, TEXTS), value.numbers("rows"),
                                                        *map(value.numbers, names), strict=True)][:MOST]
        share = run.fit.get("explained_share")
        said = ("Styles have vectors as contents do, and each row is made of both by one interaction"
                + (f", which explains {share:.1%} of the sum of squares of the means" if share is not None else "")
                + ". Styles near each other change contents alike (factors.csv).")
        numeric = tuple(range(2, len(names) + 3))
        return [(Place.RESULT, section("Styles and contents", sentence(said), *drawn, fold(
            "vectors", table((*TEXTS, "rows", *names), rows, numeric, (0,)))))]
