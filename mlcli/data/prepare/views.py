"""Preparation of the views of a table: matched rows, each view's columns treated alike."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from mlcli.base.types import Indices
from mlcli.data.prepare import missing
from mlcli.data.prepare.missing import Dropped, dropped_row
from mlcli.data.prepare.prepare import Prepare, Prepared, no_preparation, preparation_of
from mlcli.data.table.table import Table
from mlcli.data.table.views import REASON, REASON_OF_SEVERAL, chain_views, match_views, side_by_side, split_views


def prepare_views(options: Prepare, table: Table) -> Prepared:
    """Keep the rows of all views, and prepare each view's columns in the same way; raises DataError."""
    tables = table.views
    pairs = match_views(tables, options.unmatched)
    if options.missing == "error":
        for part in tables:
            missing.refuse(part)
    whole, fill, gaps = options.completed(side_by_side(pairs.table.views))
    ready = [options.transformed(part) for part in split_views(whole, tables)]  # a row's total is that of its view
    parts = [part for part, _, _ in ready]
    joint = side_by_side(parts)
    scale = options.fit_scale(joint)
    first, *others = [
        preparation_of(part.columns, options.missing, fill[before], scale.of_columns(place), options.transform, chosen,
                       sizes)
        for part, before, place, (_, chosen, sizes) in zip(tables, places_of(tables), places_of(parts), ready,
                                                           strict=True)]
    return Prepared(chain_views(split_views(options.scaled(joint, scale), parts)), first,
                    (*_alone(tables, pairs.kept), *gaps), tuple(others))


def match_points(options: Prepare, table: Table) -> Prepared:
    """Keep the points of a square matrix that its views have as well; these need all cells. Raises DataError."""
    pairs = match_views(table.views, options.unmatched)
    for view in table.views[1:]:
        missing.refuse(view, "correct them, or leave columns out with {input.view.columns}")
    return Prepared(pairs.table, no_preparation(()), tuple(_alone(table.views, pairs.kept)))


def _alone(tables: Sequence[Table], kept: Indices) -> list[Dropped]:
    """Return the rows of the first table that are not among the `kept` ones, an (m,) array."""
    reason = REASON if len(tables) == 2 else REASON_OF_SEVERAL
    alone = np.setdiff1d(np.arange(len(tables[0].ids)), kept)
    return [dropped_row(tables[0], row, reason) for row in alone.tolist()]


def places_of(tables: Sequence[Table]) -> list[slice]:
    """Return the places of each table's columns where the tables lie side by side."""
    return [slice(*pair) for pair in pairwise(np.cumsum([0, *(len(table.columns) for table in tables)]).tolist())]
