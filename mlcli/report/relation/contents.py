"""The relation of a run to variables of its rows as plain values, and as the tables of its CSV files and its page."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.core.relation.dispersion import Center, Dispersion
from mlcli.core.relation.permanova import AnalysisRow, By
from mlcli.core.relation.vectors import Centroids, Vector
from mlcli.report.tables.table import ReportTable, Row


@frozen
class FittedVector:
    """A variable of numbers, fitted to the axes."""

    name: str
    rows: int  # that have a value
    fit: Vector


@frozen
class FittedFactor:
    """A factor, fitted to the axes."""

    name: str
    rows: int
    levels: Sequence[str]
    counts: Sequence[int]  # rows of each level
    fit: Centroids


@frozen
class Partition:
    """The table of a permutational analysis of variance."""

    formula: str
    by: By
    rows: int
    table: Sequence[AnalysisRow]


@frozen
class Spread:
    """The dispersion of the groups of a factor."""

    name: str
    center: Center
    levels: Sequence[str]
    counts: Sequence[int]
    ids: Sequence[str]  # of the rows that have a group
    groups: Sequence[str]
    found: Dispersion


@frozen
class Species:
    """Scores of the columns of the run's input on the axes."""

    kind: str  # wa, expanded or correlations
    names: Sequence[str]
    scores: Array  # s x p


@frozen
class Relation:
    """All that was computed; parts that were not asked for are None or empty."""

    run: str
    environment: str
    sha256: str
    rows: int  # that both have
    alone: tuple[int, int]  # rows of the run alone, and of the file alone
    axes: Sequence[int]  # numbers of the axes, from 1
    axis_names: Sequence[str]
    points: Array  # m x p: coordinates of the rows
    ids: Sequence[str]
    colors: tuple[str, Sequence[str]] | None  # the factor that colors the points
    vectors: Sequence[FittedVector]
    factors: Sequence[FittedFactor]
    partition: Partition | None
    spread: Spread | None
    species: Species | None
    distances: str  # in words; empty where none were needed
    permutations: int
    seed: int | None  # None: they were given
    strata: str | None
    stress: str = ""  # of the run's layout, in words
    weights: str = ""  # in words, where rows have weights
    notes: Sequence[str] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the axes in tables, as embedding.csv has them."""
        return [f"y{axis}" for axis in self.axes]

    def document(self) -> dict[str, Any]:
        """Return the relation as plain values, for JSON."""
        return {
            "run": self.run, "with": self.environment, "with_sha256": self.sha256, "rows": self.rows,
            "rows_of_run_alone": self.alone[0], "rows_of_file_alone": self.alone[1], "axes": list(self.axes),
            "permutations": self.permutations, "seed": self.seed, "strata": self.strata,
            "distances": self.distances or None, "weights": self.weights or None,
            "vectors": {one.name: {"rows": one.rows, "direction": one.fit.direction.tolist(), "r2": one.fit.r2,
                                   "p_value": one.fit.p_value} for one in self.vectors},
            "factors": {one.name: {"rows": one.rows, "r2": one.fit.r2, "p_value": one.fit.p_value,
                                   "centroids": dict(zip(one.levels, one.fit.means.tolist(), strict=True))}
                        for one in self.factors},
            "permanova": None if self.partition is None else _partition_document(self.partition),
            "dispersion": None if self.spread is None else _spread_document(self.spread)}


def _partition_document(found: Partition) -> Mapping[str, Any]:
    return {"formula": found.formula, "by": found.by, "rows": found.rows, "terms": [
        {"term": row.term, "df": row.freedom, "sum_of_squares": row.squares, "r2": row.share, "F": row.ratio,
         "p_value": row.p_value} for row in found.table]}


def _spread_document(found: Spread) -> Mapping[str, Any]:
    test = found.found
    return {"factor": found.name, "center": found.center, "rows": len(found.ids),
            "group_rows": dict(zip(found.levels, found.counts, strict=True)),
            "mean_distances": dict(zip(found.levels, test.means.tolist(), strict=True)),
            "df": list(test.freedom), "sums_of_squares": list(test.squares), "F": test.ratio, "p_value": test.p_value,
            "pairs": [{"first": found.levels[pair.first], "second": found.levels[pair.second], "t": pair.t,
                       "p_value": pair.p_value} for pair in test.pairs]}


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
                       ("variable", "rows", *found.axis_names, "r²", "p"), rows,
                       keys=("variable", "rows", *found.columns, "r2", "p_value"))


def _factors(found: Relation) -> ReportTable:
    rows: list[Row] = [(one.name, one.rows, len(one.levels), one.fit.r2, one.fit.p_value) for one in found.factors]
    return ReportTable("Factors.", ("factor", "rows", "levels", "r²", "p"), rows,
                       keys=("factor", "rows", "levels", "r2", "p_value"))


def _centroids(found: Relation) -> ReportTable:
    rows: list[Row] = [(one.name, level, count, *means) for one in found.factors
                       for level, count, means in zip(one.levels, one.counts, one.fit.means.tolist(), strict=True)]
    return ReportTable("Means of the levels of factors.", ("factor", "level", "rows", *found.axis_names), rows,
                       words=(0, 1), keys=("factor", "level", "rows", *found.columns))


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
    return ReportTable(f"Species: {KINDS[found.species.kind]}.", ("species", *found.axis_names), rows,
                       keys=("species", *found.columns))
