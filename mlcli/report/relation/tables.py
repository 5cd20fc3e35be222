"""The tables of a relation: as CSV files, and on its page."""

from collections.abc import Mapping

from mlcli.report.relation.contents import Relation
from mlcli.report.tables.table import ReportTable, Row

HEAD = ("Df", "Sum of squares", "R²", "F", "p")
KINDS = {"wa": "weighted averages of the sites", "expanded": "weighted averages of the sites, spread as these are",
         "correlations": "correlations with the axes"}


def tables_of(found: Relation) -> Mapping[str, ReportTable]:
    """Return the tables by the names of their files, those that the relation has."""
    made = {"vectors.csv": _vectors(found), "factors.csv": _factors(found), "centroids.csv": _centroids(found),
            "permanova.csv": _partition(found), "dispersion.csv": _dispersion(found),
            "dispersion_pairs.csv": _pairs(found), "distances_to_centers.csv": _distances(found),
            "species.csv": _species(found)}
    return {name: table for name, table in made.items() if table is not None and table.rows}


def _vectors(found: Relation) -> ReportTable:
    rows: list[Row] = [(one.name, one.rows, *one.fit.direction.tolist(), one.fit.r2, one.fit.p_value)
                       for one in found.vectors]
    return ReportTable("Variables of numbers: direction of increase, of length one.",
                       ("variable", "rows", *found.columns, "r²", "p"), rows,
                       keys=("variable", "rows", *found.columns, "r2", "p_value"))


def _factors(found: Relation) -> ReportTable:
    rows: list[Row] = [(one.name, one.rows, len(one.levels), one.fit.r2, one.fit.p_value) for one in found.factors]
    return ReportTable("Factors.", ("factor", "rows", "levels", "r²", "p"), rows,
                       keys=("factor", "rows", "levels", "r2", "p_value"))


def _centroids(found: Relation) -> ReportTable:
    rows: list[Row] = [(one.name, level, count, *means) for one in found.factors
                       for level, count, means in zip(one.levels, one.counts, one.fit.means.tolist(), strict=True)]
    return ReportTable("Means of the levels of factors.", ("factor", "level", "rows", *found.columns), rows,
                       words=(0, 1))


def _partition(found: Relation) -> ReportTable | None:
    if found.partition is None:
        return None
    rows: list[Row] = [(row.term, row.freedom, row.squares, row.share, row.ratio, row.p_value)
                       for row in found.partition.table]
    return ReportTable("Permutational analysis of variance.", ("term", *HEAD), rows,
                       keys=("term", "df", "sum_of_squares", "r2", "F", "p_value"))


def _dispersion(found: Relation) -> ReportTable | None:
    if found.spread is None:
        return None
    rows: list[Row] = [(level, count, float(mean)) for level, count, mean in zip(
        found.spread.levels, found.spread.counts, found.spread.found.means, strict=True)]
    return ReportTable("Mean distance to the center of the group.", ("group", "rows", "mean distance"), rows,
                       keys=("group", "rows", "mean_distance"))


def _pairs(found: Relation) -> ReportTable | None:
    spread = found.spread
    if spread is None:
        return None
    rows: list[Row] = [(spread.levels[pair.first], spread.levels[pair.second], pair.t, pair.p_value)
                       for pair in spread.found.pairs]
    return ReportTable("Every two groups.", ("first", "second", "t", "p"), rows, words=(0, 1),
                       keys=("first", "second", "t", "p_value"))


def _distances(found: Relation) -> ReportTable | None:
    spread = found.spread
    if spread is None:
        return None
    rows: list[Row] = list(zip(spread.ids, spread.groups, spread.found.distances.tolist(), strict=True))
    return ReportTable("Distance of each row to the center of its group.", ("id", "group", "distance"), rows,
                       words=(0, 1))


def _species(found: Relation) -> ReportTable | None:
    if found.species is None:
        return None
    rows: list[Row] = [(name, *scores) for name, scores in zip(
        found.species.names, found.species.scores.tolist(), strict=True)]
    return ReportTable(f"Species: {KINDS[found.species.kind]}.", ("species", *found.columns), rows)
