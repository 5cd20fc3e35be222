"""The steps of a method on some rows: each a name, a formula, a sentence, and arrays with names of rows and columns."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array

Choice = Literal["random", "consecutive", "crossed"]  # of rows: the last of every pair of some styles and contents


@frozen
class Matrix:
    """An array of numbers, and what its rows and columns are."""

    symbol: str  # as in the formula
    values: Array  # r x c, NaN where there is no entry
    rows: Sequence[str]
    columns: Sequence[str]

    def document(self) -> dict[str, Any]:
        """Return the array for JSON, with all digits; null where there is no entry."""
        entries = [[float(value) + 0.0 if np.isfinite(value) else None for value in row] for row in self.values]
        return {"symbol": self.symbol, "rows": [*self.rows], "columns": [*self.columns], "values": entries}


@frozen
class ExplainedStep:
    """A step of a computation."""

    key: str  # where its numbers come from
    name: str
    formula: str  # in the notation of `mathml.py`; empty for none
    sentence: str
    arrays: Sequence[Matrix]

    def document(self) -> dict[str, Any]:
        """Return the step for JSON."""
        return {"key": self.key, "name": self.name, "formula": self.formula, "sentence": self.sentence,
                "arrays": [array.document() for array in self.arrays]}


@frozen
class Explanation:
    """A method on some rows of a file."""

    method: str
    title: str  # the first line of the method's docstring
    path: str  # of the data, as it was given
    ids: Sequence[str]  # of the rows that were embedded
    of: int  # the rows that they were drawn from
    choice: Choice  # how they were drawn
    changes: Sequence[str]  # what was set otherwise than asked for, because so few rows allow no more
    said: Sequence[str]  # warnings and notes of the run
    command: str  # of the run that gives the same coordinates; empty for none
    command_of_all: str  # of a run of all rows, where no options choose these; else empty
    seed: int
    steps: Sequence[ExplainedStep]

    def document(self) -> dict[str, Any]:
        """Return the explanation for JSON."""
        return {"method": self.method, "path": self.path, "ids": [*self.ids], "of": self.of,
                "choice": self.choice, "seed": self.seed, "changes": [*self.changes], "notes": [*self.said],
                "command": self.command or None, "command_of_all": self.command_of_all or None,
                "steps": [step.document() for step in self.steps]}
