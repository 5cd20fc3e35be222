"""The relation of a run to variables of its rows as plain values: the source of the tables, the page and the figure."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.core.relation.dispersion import Center, Dispersion
from mlcli.core.relation.permanova import AnalysisRow, By
from mlcli.core.relation.vectors import Centroids, Vector


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
            "permanova": None if self.partition is None else _partition(self.partition),
            "dispersion": None if self.spread is None else _spread(self.spread)}


def _partition(found: Partition) -> Mapping[str, Any]:
    return {"formula": found.formula, "by": found.by, "rows": found.rows, "terms": [
        {"term": row.term, "df": row.freedom, "sum_of_squares": row.squares, "r2": row.share, "F": row.ratio,
         "p_value": row.p_value} for row in found.table]}


def _spread(found: Spread) -> Mapping[str, Any]:
    test = found.found
    return {"factor": found.name, "center": found.center, "rows": len(found.ids),
            "group_rows": dict(zip(found.levels, found.counts, strict=True)),
            "mean_distances": dict(zip(found.levels, test.means.tolist(), strict=True)),
            "df": list(test.freedom), "sums_of_squares": list(test.squares), "F": test.ratio, "p_value": test.p_value,
            "pairs": [{"first": found.levels[pair.first], "second": found.levels[pair.second], "t": pair.t,
                       "p_value": pair.p_value} for pair in test.pairs]}
