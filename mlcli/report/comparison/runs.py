"""Statistics of a table of runs: ranks by several measures, the best by each, and measures against options."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mlcli.base.frozen import frozen

Row = Mapping[str, Any]  # a row of the table by column: numbers, texts, or None for an empty cell


@frozen
class RankingMeasure:
    """A figure that ranks runs."""

    column: str
    words: str
    largest: bool  # whether the largest value is the best

    def value(self, row: Row) -> float | None:
        """Return the value of a run; None where it is missing or not finite."""
        value = row.get(self.column)
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None

    def error(self, row: Row) -> float:
        """Return its standard error; 0 where it comes from all points."""
        return float(row.get(f"{self.column}_se") or 0.0)


MEASURES = (RankingMeasure("trustworthiness", "trustworthiness", True),
            RankingMeasure("continuity", "continuity", True),
            RankingMeasure("residual_variance", "residual variance", False))


RESIDUAL = MEASURES[2]
GRAPH = ("method.name", "method.neighbors", "method.graph", "method.metric", "prepare.", "input.")  # change graphs


@frozen
class RankedRun:
    """A run with its rank by each measure, of those in `measures`."""

    row: Row
    ranks: Sequence[int]

    @property
    def mean(self) -> float:
        """The mean of the ranks."""
        return sum(self.ranks) / len(self.ranks)


def graphs_differ(parameters: Sequence[str]) -> bool:
    """Whether runs that differ in these options may have different neighbor graphs."""
    return any(path.startswith(GRAPH) for path in parameters)


def measures_of(rows: Sequence[Row], parameters: Sequence[str]) -> list[RankingMeasure]:
    """Return the measures that rank the runs.

    Residual variance is measured along each run's own graph, so it compares only runs with the same graph.
    """
    return [measure for measure in MEASURES if any(measure.value(row) is not None for row in rows)
            and not (measure is RESIDUAL and graphs_differ(parameters))]


def ranking(rows: Sequence[Row], measures: Sequence[RankingMeasure]) -> list[RankedRun]:
    """Return runs by their mean rank, the best first; of equal ones in their order."""
    by_measure = [ranks(rows, measure) for measure in measures]
    found = [RankedRun(row, own) for row, own in zip(rows, zip(*by_measure, strict=True), strict=False)]
    return sorted(found, key=lambda one: one.mean)


def ranks(rows: Sequence[Row], measure: RankingMeasure) -> list[int]:
    """Return for each run 1 plus the number of runs that are better by more than both errors; last without a value."""
    sign = 1 if measure.largest else -1
    known = [(sign * value, measure.error(row)) for row in rows if (value := measure.value(row)) is not None]
    return [len(rows) if (value := measure.value(row)) is None else 1 + sum(
        other - sign * value > math.hypot(error, measure.error(row)) for other, error in known) for row in rows]


@frozen
class Best:
    """The best run by a measure."""

    measure: RankingMeasure
    row: Row
    value: float
    tied: int  # number of others whose difference from it is within the standard errors


def best(rows: Sequence[Row]) -> list[Best]:
    """Return the best run by each measure that runs have; of equal ones the first."""
    return [found for measure in MEASURES if (found := best_by(measure, rows)) is not None]


def best_by(measure: RankingMeasure, rows: Sequence[Row]) -> Best | None:
    """Return the best run by one measure; None where no run has it."""
    known = [(value if measure.largest else -value, row) for row in rows if (value := measure.value(row)) is not None]
    if not known:
        return None
    top, first = max(known, key=lambda pair: pair[0])
    room = measure.error(first)
    tied = sum(top - value <= math.hypot(room, measure.error(row)) for value, row in known if row is not first)
    return Best(measure, first, abs(top), tied)


@frozen
class SweepLine:
    """A measure as one option changes while the others stay: by ascending values of the option."""

    name: str  # the values of the others
    values: Sequence[float]
    heights: Sequence[float]
    errors: Sequence[float]


def numeric(rows: Sequence[Row], parameters: Sequence[str]) -> list[str]:
    """Return the options that have two or more values, all of them numbers."""
    return [path for path in parameters
            if len({as_number(row.get(path)) for row in rows}) > 1 and all(
                as_number(row.get(path)) is not None for row in rows)]


def lines(rows: Sequence[Row], parameters: Sequence[str], swept: str, measure: RankingMeasure) -> list[SweepLine]:
    """Return a measure against one option: a line for each combination of the others."""
    groups: dict[str, list[tuple[float, float, float]]] = {}
    for row in rows:
        name = ", ".join(f"{path.rpartition('.')[2]}={row.get(path)}" for path in parameters if path != swept)
        value, place = measure.value(row), as_number(row.get(swept))
        if value is not None and place is not None:
            groups.setdefault(name, []).append((place, value, measure.error(row)))
    return [SweepLine(name, *zip(*sorted(points), strict=True)) for name, points in groups.items()]


def as_number(value: Any) -> float | None:
    """Return a value of an option as a number; None where it is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
