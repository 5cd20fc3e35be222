"""Preparation of the views of a table: matched rows, each view's columns treated alike."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.data.prepare import missing
from mlcli.data.prepare.scales import Scale
from mlcli.data.table.table import Table
from mlcli.data.table.views import REASON, REASON_OF_SEVERAL, chain_views, match_views, side_by_side, split_views


class Steps(Protocol):
    """The options of a preparation, with its steps."""

    missing: Any
    unmatched: Any

    def completed(self, table: Table) -> tuple[Table, Array, tuple[Any, ...]]:
        """Apply the policy for missing cells; return the table, the fill of each column, and the dropped rows."""

    def transformed(self, table: Table) -> tuple[Table, Indices | None, Array | None]:
        """Return the table before the scale, its chosen columns, and the sizes of transforms by column."""

    def fit_scale(self, table: Table) -> Scale:
        """Return the centers and spreads of the columns."""

    def scaled(self, table: Table, scale: Scale) -> Table:
        """Center and scale a table's columns."""


@frozen
class PreparedView:
    """The parts of the preparation of a view."""

    columns: tuple[str, ...]  # of the input
    fill: Array  # one for each, or none
    scale: Scale
    chosen: Indices | None  # the columns that are kept; all where None
    sizes: Array | None  # of transforms by column


@frozen
class PreparedViews:
    """A prepared table with its views, and the rows that were left out."""

    table: Table
    views: list[PreparedView]
    alone: list[int]  # rows of the first view that another lacks
    reason: str
    gaps: tuple[Any, ...]  # rows dropped for missing cells


def prepare_views(steps: Steps, tables: Sequence[Table]) -> PreparedViews:
    """Keep the rows of all views, and prepare each view's columns in the same way; raises DataError."""
    pairs = match_views(tables, steps.unmatched)
    if steps.missing == "error":
        for part in tables:
            missing.refuse(part)
    whole, fill, gaps = steps.completed(side_by_side(pairs.table.views))
    ready = [steps.transformed(part) for part in split_views(whole, tables)]  # a row's total is that of its view
    parts = [part for part, _, _ in ready]
    joint = side_by_side(parts)
    scale = steps.fit_scale(joint)
    views = [PreparedView(table.columns, fill[before], scale.of_columns(place), chosen, sizes)
             for table, before, place, (_, chosen, sizes) in zip(tables, places_of(tables), places_of(parts), ready,
                                                          strict=True)]
    return PreparedViews(chain_views(split_views(steps.scaled(joint, scale), parts)), views,
                         _alone(tables, pairs.kept), _reason(tables), gaps)


def match_points(steps: Steps, tables: Sequence[Table]) -> PreparedViews:
    """Keep the points of a square matrix that its views have as well; these need all cells. Raises DataError."""
    pairs = match_views(tables, steps.unmatched)
    for view in tables[1:]:
        missing.refuse(view, "correct them, or leave columns out with {input.view.columns}")
    return PreparedViews(pairs.table, [], _alone(tables, pairs.kept), _reason(tables), ())


def _alone(tables: Sequence[Table], kept: Indices) -> list[int]:
    """Return the rows of the first table that are not among the `kept` ones, an (m,) array."""
    rows: list[int] = np.setdiff1d(np.arange(len(tables[0].ids)), kept).tolist()
    return rows


def _reason(tables: Sequence[Table]) -> str:
    """Return why such a row is dropped."""
    return REASON if len(tables) == 2 else REASON_OF_SEVERAL


def places_of(tables: Sequence[Table]) -> list[slice]:
    """Return the places of each table's columns where the tables lie side by side."""
    return [slice(*pair) for pair in pairwise(np.cumsum([0, *(len(table.columns) for table in tables)]).tolist())]
