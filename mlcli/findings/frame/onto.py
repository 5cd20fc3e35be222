"""Rows that are added to the map of a finished run: which are that run's, where they are there, and which may move."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.core.model import Model
from mlcli.rundir.model import StoredModel


@frozen
class OntoRows:
    """The rows of a finished run, the first n of the table, and what happens to them."""

    parent: StoredModel
    coordinates: Array  # n x p, theirs in that run
    moving: Indices  # rows of the table without a fixed place: those placed anew, then the new ones
    fresh: Indices  # the new ones, by their places in the file that was read
    way: str
    facts: Mapping[str, Any]  # of run.json
    model: Model | None = None  # the former run's, in plain numbers, unless all rows are fitted anew
    weight: float | None = None  # of the penalty of rows that are tied to their places
    fit_rows: int = 0  # of the fit that the map began with, whose projector places new rows

    @property
    def parts(self) -> tuple[Any, ...]:
        """The values that coordinates depend on beside the rows, for keys of checkpoints."""
        return self.coordinates, self.moving, self.way, self.weight

    @property
    def is_fixed(self) -> bool:
        """Whether the rows of the run keep their coordinates."""
        return self.way == "fixed"

    def places(self, rows: int) -> Array:
        """Return the places of so many rows in the former map (n x p), NaN for new ones and those placed anew."""
        found = np.full((rows, self.coordinates.shape[1]), np.nan)
        found[self.kept] = self.coordinates[self.kept]
        return found

    def distances(self, embedding: Array) -> Array:
        """Return how far kept rows (m) of an embedding (n x p) lie from their former places."""
        gaps = embedding[self.kept] - self.coordinates[self.kept]
        return np.asarray(np.sqrt(np.sum(gaps * gaps, axis=1)))

    @property
    def count(self) -> int:
        """The number of rows of the run."""
        return len(self.coordinates)

    @cached_property
    def kept(self) -> Indices:
        """The rows of the run that are not placed anew, ascending."""
        return np.setdiff1d(np.arange(self.count), self.moving)


def fit_alone(summary: Mapping[str, Any]) -> str:
    """Return which rows a run's figures of its fit are of, where it has others; empty where they are of all.

    `summary` is that of a run at its end, or its run.json.
    """
    onto = summary.get("onto") or {}
    count, rows = onto.get("fit_rows"), summary["embedding"]["rows"]
    return "" if count is None or count >= rows else (
        f"of the {count:,} rows of the fit, without the {rows - count:,} that were added")
