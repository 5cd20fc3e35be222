"""What each of several tables says about the axes: weights, contributions, RV coefficients."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.core.model import TableGroups
    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

GROUPS = File("groups.csv", Columns(("group", "active", "columns", "eigenvalue", "weight", "square"), texts=1,
                                    counts=("active", "columns")))
AXES = File("groups_axes.csv", Columns(("group", "axis", "coordinate", "contribution", "cos2", "correlation"), texts=1,
                                       counts=("axis",)))
RV = File("groups_rv.csv", Columns(("group",), texts=1))
WHOLE = "all="  # the name of the sum of the kernels, which no group can have
COSINE = "rv."  # begins the names of columns of RV coefficients


class GroupsFinding(Finding["Mapping[str, CsvColumns]"]):
    """The groups of columns of a method of several tables."""

    name = "groups"
    files = (GROUPS, AXES, RV)

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "Mapping[str, CsvColumns] | None":
        """Return each group, each group on each axis, and the RV coefficients of all pairs."""
        import numpy as np

        from mlcli.findings.frame.finished_run import CsvColumns

        found = result.model.groups
        if found is None:
            return None
        count, axes = found.coordinates.shape
        by_axis = {"coordinate": found.coordinates, "contribution": found.contributions, "cos2": found.cosines,
                   "correlation": found.correlations}
        return {
            GROUPS.name: CsvColumns({
                "group": found.names, "active": found.active.astype(np.float64),
                "columns": found.widths.astype(np.float64), "eigenvalue": found.eigenvalues,
                "weight": found.weights, "square": np.diag(found.products)[:-1]}),
            AXES.name: CsvColumns({
                "group": tuple(name for name in found.names for _ in range(axes)),
                "axis": np.tile(np.arange(1.0, axes + 1), count),
                **{name: values.ravel() for name, values in by_axis.items()}}),
            RV.name: CsvColumns({"group": (*found.names, WHOLE), **{
                f"{COSINE}{name}": column for name, column in zip((*found.names, WHOLE), found.rv.T, strict=True)}})}

    def read(self, folder: Path, run: "FinishedRun") -> "Mapping[str, CsvColumns] | None":
        """Return the tables; raises UnsafeFile where they do not fit the embedding or each other."""
        value = super().read(folder, run)
        if value is not None:
            require_fit(folder, value, run.embedding.values.shape[1])
        return value

    def sections(self, value: "Mapping[str, CsvColumns]", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the groups as a table and on the first two axes, and their RV coefficients."""
        from mlcli.findings.groups.section import groups

        return [(Place.RESULT, groups(value[GROUPS.name], value[AXES.name], value[RV.name], run))]

    def facts(self, value: "Mapping[str, CsvColumns] | None") -> Mapping[str, Any]:
        """Return the weight of each group, and its RV coefficient with the sum."""
        if value is None:
            return {}
        table, last = value[GROUPS.name], f"{COSINE}{WHOLE}"
        return {self.name: {
            "weights": dict(zip(table.texts("group"), table.numbers("weight"), strict=True)),
            "rv": dict(zip(table.texts("group"), value[RV.name].numbers(last), strict=False))}}

    def lines(self, summary: Mapping[str, Any]) -> Iterable[str]:
        """Return the groups with their RV coefficients, the one least like the others last."""
        found = (summary.get(self.name) or {}).get("rv") or {}
        if not 1 < len(found) <= MOST_SAID:
            return ()
        ranked = sorted(found.items(), key=lambda pair: -pair[1])
        return ("RV with all tables: " + ", ".join(f"{name} {share:.2f}" for name, share in ranked),)


MOST_SAID = 12  # groups that a line lists


def require_fit(folder: Path, tables: "Mapping[str, CsvColumns]", count: int) -> None:
    """Raise UnsafeFile for tables that do not have a row for each group, axis or both, of `count` axes."""
    from mlcli.rundir.reading import damaged

    names, axes, rv = tables[GROUPS.name].texts("group"), tables[AXES.name], tables[RV.name]
    for file, found, expected in (
            (AXES, list(zip(axes.texts("group"), axes.numbers("axis"), strict=True)),
             [(name, float(axis)) for name in names for axis in range(1, count + 1)]),
            (RV, list(rv.texts("group")), [*names, WHOLE]),
            (RV, list(rv.columns), ["group", *(f"{COSINE}{name}" for name in (*names, WHOLE))])):
        if found != expected:
            raise damaged(folder / file.name, f"it does not fit {len(names)} groups and {count} axes")


def stated_groups(folder: Path, shape: tuple[int, ...]) -> "TableGroups | None":
    """Return the groups that the files of a run state, with partial points where it has some; None without groups.

    `shape` is that of the embedding. Raises UnsafeFile for files that do not fit it, or each other.
    """
    import numpy as np

    from mlcli.core.model import TableGroups
    from mlcli.findings.partial import TABLE as PARTIAL
    from mlcli.rundir.reading import damaged

    table, axes, rv = (file.read(folder) for file in (GROUPS, AXES, RV))
    if table is None or axes is None or rv is None:
        return None
    names, (size, count) = tuple(table.texts("group")), shape
    require_fit(folder, {GROUPS.name: table, AXES.name: axes, RV.name: rv}, count)
    if not (table.array("square") >= 0).all() or not (np.abs(table.array("columns")) < 2**53).all():
        raise damaged(folder / GROUPS.name, "squares or numbers of columns are none")
    cosines = np.array([rv.array(name) for name in list(rv.columns)[1:]])
    roots = np.sqrt(np.append(table.array("square"), 1.0))
    partial, rows = None, PARTIAL.read(folder)
    if rows is not None:
        columns = [rows.array(name) for name in list(rows.columns)[1:]]
        if len(columns) != len(names) * count or len(rows.texts("id")) != size:
            raise damaged(folder / PARTIAL.name, f"it does not fit {size} rows, {len(names)} groups and {count} axes")
        partial = np.array(columns).reshape(len(names), count, size).transpose(0, 2, 1)
    return TableGroups(
        names=names, active=table.array("active") > 0, widths=table.array("columns").astype(np.int64),
        eigenvalues=table.array("eigenvalue"), weights=table.array("weight"), products=cosines * np.outer(roots, roots),
        coordinates=axes.array("coordinate").reshape(len(names), count),
        correlations=axes.array("correlation").reshape(len(names), count), partial=partial)
