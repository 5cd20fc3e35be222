"""Contributions of rows and columns to the axes, and squared cosines: how well an axis shows each of them.

With rows z of mean zero and weights w, coordinates f = V'z and variances λ = Σ w f², a row contributes w f² / λ to an
axis, and its squared cosine is f² / z'z. A column contributes v², and its squared cosine is its squared correlation
with the axis (Lebart, Morineau and Warwick, 1984; `contrib` and `cos2` of FactoMineR).
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.values.options import option
from mlcli.errors import ConfigError
from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.base.types import Array
    from mlcli.base.values.check import Check
    from mlcli.certify.subject import Subject
    from mlcli.config.run_config import RunConfig
    from mlcli.data.table.table import Table
    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.methods import Method, Model
    from mlcli.report.drawing.html import Part

ROWS = File("contributions.csv", Columns(("id",), texts=1))
COLUMNS = File("contributions_columns.csv", Columns(("column",), texts=1))
SHOWN, MOST_AXES = 10, 2  # rows and columns in each table, and axes


class ContributionsFinding(Finding["Mapping[str, CsvColumns]"]):
    """The contributions and squared cosines of rows and columns."""

    name = "contributions"
    files = (ROWS, COLUMNS)
    option = (bool, option(False, "Whether to compute what each row and each column contributes to each axis, and its "
                           "squared cosine (pca, ca, mca, mfa, famd, statis)."))

    def wanted(self, report: Any) -> bool:
        """Whether the option is switched on."""
        return bool(report.setting(self.name))

    def require(self, config: "RunConfig") -> None:
        """Raise ConfigError for a method without axes of weighted rows, and an input without rows."""
        if not config.method.weighs_rows(config.input.kind):
            raise ConfigError("CONTRIBUTIONS", f"{config.method.name} has no contributions of rows and columns here",
                              where=f"report.{self.name}", hint="leave it out, or choose pca, ca, mca, mfa, famd or "
                              "statis of a table")

    def refuse_blocks(self) -> None:
        """Raise ConfigError: rows are all needed at once."""
        raise ConfigError("BLOCKS", "contributions need all rows in memory", where=f"report.{self.name}",
                          hint="leave it out, or give {input.stream=never}")

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "Mapping[str, CsvColumns] | None":
        """Return contributions and squared cosines of rows, and of columns."""
        from mlcli.findings.frame.finished_run import CsvColumns

        model = result.model
        rows, columns = shares_of(result.config.method, result.prepared.values, model)
        names = result.prepared.columns if model.loadings is None else model.loadings.columns

        def listed(contributions: "Array", cosines: "Array") -> dict[str, "Array"]:
            return {f"{what}_y{axis}": column for what, values in (("contribution", contributions), ("cos2", cosines))
                    for axis, column in enumerate(values.T, 1)}

        return {ROWS.name: CsvColumns({"id": tuple(result.embedding.ids), **listed(*rows)}),
                COLUMNS.name: CsvColumns({"column": tuple(names), **listed(*columns)})}

    def checks(self, folder: Path, subject: "Subject", method: "Method") -> Iterable["Check"]:
        """Check all shares against rows by the method's definition."""
        from mlcli.base.values.check import skipped
        from mlcli.certify.contributions import contribution_checks

        stated = [file.read(folder) for file in self.files]
        if None in stated:
            return ()
        if subject.model.registration is not None:
            return [skipped("contributions", "the axes were turned onto those of another run")]
        count = subject.embedding.shape[1]
        rows, columns = ((shares(table, "contribution", count), shares(table, "cos2", count)) for table in stated)
        return contribution_checks(rows, columns, subject.embedding, method.weighted_rows(subject))

    def cells(self, method: "Method", table: "Table") -> float:
        """Return two numbers for each row and axis."""
        return 2.0 * table.rows * method.axes_of(table.data())

    def sections(self, value: "Mapping[str, CsvColumns]", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the rows and columns that contribute most to the first axes."""
        from mlcli.report.drawing.html import fold, section, sentence, side_by_side
        from mlcli.rundir.reading import damaged

        labels = run.axis_names(run.embedding.values.shape[1])[:MOST_AXES]
        said = ("The share of a row or a column in the variance of an axis, and its squared cosine: the share of its "
                "own variance that the axis shows. Rows and columns of a large contribution decide an axis; those of a "
                "small squared cosine lie elsewhere than the picture shows (contributions.csv, "
                "contributions_columns.csv).")
        given = {f"{kind}_y{axis}" for kind in ("contribution", "cos2") for axis in range(1, len(labels) + 1)}
        for file in (ROWS, COLUMNS):
            if not given <= value[file.name].columns.keys():
                raise damaged(Path(file.name), f"it does not have the contributions to {len(labels)} axes")
        parts = [fold(f"the {what} that contribute most to {label}", most_of(value[file.name], what[:-1], axis))
                 for axis, label in enumerate(labels, 1) for what, file in (("rows", ROWS), ("columns", COLUMNS))]
        return [(Place.DETAIL, section("Contributions", sentence(said, "soft"), side_by_side(*parts)))]


def shares_of(method: "Method", values: "Array", model: "Model") -> tuple[tuple["Array", "Array"], ...]:
    """Return contributions and squared cosines of the rows (n x p, n x p) of a fit, then those of columns (c x p).

    `values` are the rows of the fit (n x d), prepared.
    """
    import numpy as np

    projector = model.required_projector
    measured, similarity = projector.input_unit.measured(values), projector.similarity
    weights, lengths = method.row_weights(measured), np.linalg.norm(projector.axes, axis=0)
    axes = projector.axes / np.where(lengths > 0, lengths, 1.0)
    rows = projector.centering(similarity.rows(measured))
    coordinates = rows @ axes
    variances = weights @ coordinates**2
    described = similarity.columns(measured)
    described = described - weights @ described
    shared, own = described.T @ (coordinates * weights[:, None]), weights @ described**2
    squares = coordinates**2
    return ((ratios(squares * weights[:, None], variances), ratios(squares, np.sum(rows**2, axis=1)[:, None])),
            (axes**2, ratios(shared**2, np.outer(own, variances))))


def shares(table: "CsvColumns", what: str, axes: int) -> "Array":
    """Return the columns of contributions or squared cosines on the axes, an (n, p) array."""
    import numpy as np

    found = [table.array(f"{what}_y{axis}") for axis in range(1, axes + 1) if f"{what}_y{axis}" in table.columns]
    return np.column_stack(found) if found else np.zeros((0, 0))


def ratios(parts: "Array", wholes: "Array") -> "Array":
    """Return parts over wholes, arrays of one shape or that of a row or a column; zero where a whole is zero."""
    import numpy as np

    wholes = np.broadcast_to(wholes, parts.shape)
    return np.divide(parts, wholes, out=np.zeros_like(parts), where=wholes > 0)


def most_of(columns: "CsvColumns", what: str, axis: int) -> "Part":
    """Return a table of the rows or columns that contribute most to an axis."""
    import numpy as np

    from mlcli.report.drawing.html import table

    contributions, cosines = columns.array(f"contribution_y{axis}"), columns.numbers(f"cos2_y{axis}")
    order = np.argsort(-contributions, kind="stable")[:SHOWN].tolist()
    names = columns.texts(next(iter(columns.columns)))
    rows = [(names[place], f"{100 * float(contributions[place]):.1f}%", f"{cosines[place]:.3f}") for place in order]
    return table((what, "contribution", "cos²"), rows, (1, 2), (0,))
