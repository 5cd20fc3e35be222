"""Chi-square distances of profiles: of rows of amounts, and of rows of answers. The metrics of correspondence analysis.

They are no choices of `metric`: they go with weights of the rows.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import in_unit, rows_of
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import NO_CATEGORIES, TextColumns
from mlcli.base.values.metric import RowMetric
from mlcli.base.values.scaling import largest_of
from mlcli.core import rows
from mlcli.core.metrics.base import Metric
from mlcli.errors import DataError

SHOWN = 8  # answers that a message lists
SAFE = 500  # binary exponent of numbers whose sums are in range


class ChiSquare(Metric):
    """The chi-square distance of row profiles, √Σ (p - q)² / c with p = x / Σx and c the columns' masses."""

    name: Literal["chi-square"] = "chi-square"

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse numbers below zero and rows of zeros (n x d); raises DataError."""
        require_amounts(points, columns)

    def fitted(self, points: Array, categories: Mapping[int, Sequence[str]] = NO_CATEGORIES) -> "Profiles":
        """Return the comparison with the masses of the columns: their shares of the sum of all points (n x d)."""
        return Profiles(np.sqrt(column_masses(points)))


class Answers(Metric):
    """The chi-square distance of rows of answers: every answer of every question is a column of zeros and ones."""

    name: Literal["answers"] = "answers"
    categories: ClassVar[TextColumns] = "all"
    scalable: ClassVar[bool] = False  # numbers are names of answers

    def fitted(self, points: Array, categories: Mapping[int, Sequence[str]] = NO_CATEGORIES) -> "Indicators":
        """Return the comparison with the answers that occur in the training points (n x d), and their masses.

        A column with the same answer in all rows is left out. Masses are shares of the rows that have an answer.
        """
        return indicators_of([np.unique(column[~np.isnan(column)], return_counts=True) for column in points.T],
                             categories)


class FittedChiSquare(RowMetric):
    """The part that both comparisons share: represented rows are compared by Euclidean distances."""

    roots: Array
    embeds: ClassVar[bool] = True

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of represented rows (m x r, n x r)."""
        return ChiSquare().compare(left, right)

    def lengths(self, squared: Array) -> Array:
        """Return the roots of squared distances (m x n), in place."""
        return np.sqrt(squared, out=squared)


@stored("profiles", roots="d")
@frozen
class Profiles(FittedChiSquare):
    """Row profiles over the roots of the columns' masses."""

    roots: Array  # d: of the masses of the columns
    name: ClassVar[str] = "chi-square"

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse numbers below zero and rows of zeros (n x d); raises DataError."""
        require_amounts(points, columns)

    def represent(self, points: Array) -> Array:
        """Return x / Σx / √c (n x d)."""
        return rows.shares(points) / self.roots


@stored("indicators", within={"questions": "d"}, questions="q", counts="q", levels="l", roots="l")
@frozen
class Indicators(FittedChiSquare):
    """Answers as zeros and ones over the number of questions, over the roots of the answers' masses."""

    questions: Indices  # the columns with several answers
    counts: Indices  # of the answers of each
    levels: Array  # the number that stands for each answer, ascending for each question
    roots: Array  # of the masses of the answers
    texts: tuple[str, ...]  # of the answers
    name: ClassVar[str] = "answers"
    scalable: ClassVar[bool] = False
    closed: ClassVar[bool] = True

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse answers (n x d) that no training row has, unless they are missing; raises DataError."""
        for question, start, levels in self._questions():
            unknown = np.flatnonzero(~(np.isin(points[:, question], levels) | np.isnan(points[:, question])))
            if len(unknown):
                row, known = int(unknown[0]), self.texts[start:start + len(levels)]
                given = level_text(float(points[row, question]), None)
                coded = known[0] != level_text(levels[0], None)  # the number stands for a text
                raise unknown_answer("its text" if coded else given, columns[question], known, row, str(ids[row]))

    def represent(self, points: Array) -> Array:
        """Return zeros and ones over the number of questions and √c (n x l), of answers that are known (n x d)."""
        found = np.zeros((len(points), len(self.levels)))
        for question, start, levels in self._questions():
            places = np.minimum(np.searchsorted(levels, points[:, question]), len(levels) - 1)
            found[np.arange(len(points)), start + places] = 1.0
        found /= max(len(self.questions), 1) * self.roots
        return found

    def _questions(self) -> list[tuple[int, int, Array]]:
        """Return for every question its column, the place of its first answer, and the numbers of its answers."""
        ends = np.cumsum(self.counts)
        return [(question, end - count, self.levels[end - count:end]) for question, count, end in zip(
            self.questions.tolist(), self.counts.tolist(), ends.tolist(), strict=True)]


def indicators_of(answers: Sequence[tuple[Array, Indices]],
                  categories: Mapping[int, Sequence[str]] = NO_CATEGORIES) -> Indicators:
    """Return the comparison by the answers of each column, ascending, with the number of rows that have each of them.
    """
    kept = [(place, levels, counts) for place, (levels, counts) in enumerate(answers) if len(levels) > 1]
    texts = [level_text(level, categories.get(place)) for place, levels, _ in kept for level in levels.tolist()]
    sizes = np.concatenate([np.zeros(0), *(counts for _, _, counts in kept)])
    wholes = np.concatenate([np.zeros(0), *(np.full(len(counts), counts.sum()) for _, _, counts in kept)])
    return Indicators(questions=np.array([place for place, _, _ in kept], dtype=np.int64),
                      counts=np.array([len(levels) for _, levels, _ in kept], dtype=np.int64),
                      levels=np.concatenate([np.zeros(0), *(levels for _, levels, _ in kept)]),
                      roots=np.sqrt(sizes / (wholes * len(kept))), texts=tuple(texts))


def column_masses(points: Array) -> Array:
    """Return the columns' shares (d) of the sum of all numbers of zero or more (n x d), in memory or in a file.

    Sums are in a unit in which they neither overflow nor lose digits near the end of the range.
    """
    rows = rows_of(points)
    largest = largest_of(points)
    exponent = 0 if 2.0 ** -SAFE < largest < 2.0 ** SAFE else -int(np.frexp(largest)[1])
    if rows is not None:
        means = in_unit(rows, exponent).means
    else:
        means = (points if exponent == 0 else np.ldexp(points, exponent)).mean(axis=0)
    return np.asarray(means / means.sum())


def require_amounts(points: Array, columns: Sequence[str]) -> None:
    """Raise DataError for the first number below zero, and for rows of zeros, of points (n x d)."""
    if (points < 0).any():
        row, column = np.argwhere(points < 0)[0].tolist()
        raise DataError("COUNTS", f"column {columns[column]!r}: correspondence analysis is defined for counts and "
                        f"amounts of zero or more, not {points[row, column]:g}", where="input", row=row,
                        hint="correct the cell, leave the column out with {input.columns}, or choose pca")
    if (empty := np.flatnonzero(~points.any(axis=1))).size:
        raise DataError("COUNTS", "a row of zeros has no profile", where="input", row=int(empty[0]),
                        hint="leave the row out ({input.where} or {input.rows})")


def unknown_answer(what: str, column: str, known: Sequence[str], row: int, name: str) -> DataError:
    """Return the error for an answer or a category that no training row has, and the first of those that are `known`.
    """
    listed = ", ".join(repr(text[:40]) for text in known[:SHOWN]) + (", ..." if len(known) > SHOWN else "")
    return DataError("ANSWER", f"column {column!r}: no row of the fit has {what}", where="input", row=row,
                     name=repr(name), hint=f"those have {listed}; correct the cell, leave the row out, or fit it with "
                     "the others")


def level_text(level: float, texts: Sequence[str] | None) -> str:
    """Return the text that a number stands for, or else the number itself."""
    if texts is not None:
        return texts[int(level)]
    return str(int(level)) if level == int(level) else repr(float(level))
