"""The coding of a questionnaire: answers in words become ordered numbers, and reverse-keyed items are turned."""

from collections.abc import Mapping, Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.missing import is_missing
from mlcli.base.values.naming import LISTED, listed, shown
from mlcli.data.options.wording import counted, joined, place, shown_cell
from mlcli.errors import DataError


@stored("coding")
@frozen
class Coding:
    """The answers of columns of text, and the scales of reverse-keyed columns."""

    answers: Mapping[str, tuple[str, ...]]  # in ascending order: the first becomes 1
    reverse: Mapping[str, tuple[float, ...]]  # least and greatest answer of the declared scale

    def codes(self, texts: Mapping[str, Sequence[str]], names: Sequence[str], path: str) -> list[Array]:
        """Return the numbers of the answers of each column of text, NaN for a missing one, each of shape (n,).

        `texts` are the columns' cells, `names` those of the rows. Raises DataError for answers that are not listed.
        """
        unlisted, columns = list[tuple[int, str, str]](), list[Array]()
        for column in texts:
            answers = self.answers[column]
            codes = {text: float(number) for number, text in enumerate(answers, 1)}
            cells = [text.strip() for text in texts[column]]
            columns.append(np.array([codes.get(cell, np.nan) for cell in cells]))
            unlisted += [(row, column, cell) for row, cell in enumerate(cells)
                         if cell not in codes and not is_missing(cell)]
        if unlisted:
            raise _unlisted(unlisted, self.answers[unlisted[0][1]], names, path)
        return columns

    def turned(self, values: Array, columns: Sequence[str], names: Sequence[str], path: str) -> Array:
        """Return the values (n x d) with reverse-keyed columns turned: least plus greatest answer, minus the answer.

        Raises DataError for numbers outside of the declared scale.
        """
        values = values.copy()
        for column, (least, greatest) in self.reverse.items():
            answers = values[:, columns.index(column)]
            outside = np.flatnonzero((answers < least) | (answers > greatest))
            if outside.size:
                row = int(outside[0])
                raise DataError("SCALE", f"{counted(len(outside), 'answer')} of column {shown(column)} outside of its "
                                f"scale from {least:g} to {greatest:g}: {answers[row]:g} in {_row(row, names)}",
                                where=place(path), hint="correct the cell, or declare the scale with {input.range}")
            values[:, columns.index(column)] = least + greatest - answers
        return values

    def in_words(self) -> str:
        """Return the coding in a sentence for notes."""
        scales: dict[tuple[str, ...], list[str]] = {}
        for column, answers in self.answers.items():
            scales.setdefault(answers, []).append(column)
        parts = [f"{counted(len(columns), 'column')} of answers from {shown_cell(answers[0])} (1) to "
                 f"{shown_cell(answers[-1])} ({len(answers)}): {listed(columns)}"
                 for answers, columns in scales.items()]
        parts += [f"reverse-keyed: {listed(tuple(self.reverse))}"] * bool(self.reverse)
        return "; ".join(parts)


def _unlisted(cells: Sequence[tuple[int, str, str]], answers: Sequence[str], names: Sequence[str],
              path: str) -> DataError:
    """Return the error of cells (row, column, text) that hold no answer of their column's scale."""
    parts = [f"{shown_cell(cell)} in {_row(row, names)}, column {shown(column)}"
             for row, column, cell in cells[:LISTED]]
    near = {answer.casefold(): answer for answer in answers}.get(cells[0][2].casefold())
    said = f"did you mean {shown(near)}? " if near else ""
    return DataError("UNLISTED", f"{counted(len(cells), 'cell')} with an answer that is not listed: "
                     f"{joined(parts, len(cells))}", where=place(path),
                     hint=f"{said}the answers of {shown(cells[0][1])} are {listed(answers, 10)}; correct the "
                     "cell, name it in {input.missing_markers}, or fit a run that lists it in {input.answers}")


def _row(row: int, names: Sequence[str]) -> str:
    """Return a row, counted from 0, in words: its number from 1, and its name if it has another."""
    name = names[row]
    return f"row {row + 1}" + (f" ({shown(name)})" if name != str(row + 1) else "")
