"""Conditions on a column in the form of `--where`: COLUMN OP VALUE."""

import csv
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray
from mlcli.base.values.missing import present_cells
from mlcli.base.values.naming import shown
from mlcli.data.options.numbers import is_number, number
from mlcli.data.options.wording import shown_cell
from mlcli.errors import ConfigError, DataError

OPERATORS: dict[str, Callable[[Any, Any], AnyArray]] = {
    "==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
FORM = re.compile(r"""\s*(?:"([^"]+)"|'([^']+)'|(.+?))\s*(==|!=|<=|>=|<|>|\sin\s)\s*(.*?)\s*""", re.DOTALL)
ORDERED = ("<", "<=", ">", ">=")
POINT = "."  # the decimal point in a condition, independent of the file's
WHERE = "input.where"


@frozen
class Condition:
    """A condition on a row's cell."""

    text: str
    column: str
    operator: str  # one of OPERATORS, or in
    values: tuple[str, ...]

    @property
    def numeric(self) -> bool:
        """Whether all values are numbers."""
        return all(is_number(value, POINT) for value in self.values)

    def holds(self, cells: AnyArray | Sequence[str], decimal: str = POINT) -> AnyArray:
        """Return flags of the cells that fulfill the condition, an (n,) array; a missing cell fulfills none.

        Raises ConfigError for a text compared with numbers, and DataError for an order of texts.
        """
        if isinstance(cells, np.ndarray):
            if not self.numeric:
                raise ConfigError("WHERE", f"column {shown(self.column)} holds numbers, not {self._values}",
                                  where=WHERE, hint="compare it with a number")
            return self._compared(cells) & ~np.isnan(cells)
        there = present_cells(cells)
        texts = np.array([cell.strip() for cell in cells], dtype=object)
        wrong = next((cell for cell in texts[there] if not is_number(cell, decimal)), None)
        if self.numeric and wrong is None:
            values = np.array([number(cell, decimal) for cell in np.where(there, texts, "")])
            return self._compared(values) & there
        if self.operator in ORDERED:
            raise DataError("WHERE", f"column {shown(self.column)} has no order: "
                            f"{self._values if wrong is None else shown_cell(wrong)} is no number", where=WHERE,
                            hint="use ==, != or in")
        among = np.isin(texts.astype(str), self.values)
        return (~among if self.operator == "!=" else among) & there

    def _compared(self, cells: AnyArray) -> AnyArray:
        values = [number(value, POINT) for value in self.values]
        return np.isin(cells, values) if self.operator == "in" else OPERATORS[self.operator](cells, values[0])

    @property
    def _values(self) -> str:
        return ", ".join(map(shown_cell, self.values))


def condition(text: str) -> Condition:
    """Parse a condition; raises ValueError for other texts."""
    found = FORM.fullmatch(text)
    if found is None:
        raise ValueError("a condition is COLUMN OP VALUE, with one of ==, !=, <, <=, >, >=, in: as 'year >= 2000', "
                         "or 'kind in [a, b]'")
    column, sign, value = next(filter(None, found.groups()[:3])), found[4].strip(), found[5]
    if sign == "in":
        inside = value[1:-1] if value[:1] + value[-1:] in ("[]", "()", "{}") else value
        values = tuple(unquote(cell) for cell in next(csv.reader([inside], skipinitialspace=True), []))
    else:
        values = (unquote(value),)
    if not values or (values == ("",) and not value):
        raise ValueError(f"there is no value after {sign}")
    return Condition(text, column.strip(), sign, values)


def unquote(value: str) -> str:
    """Return a value without the quotes around it."""
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
