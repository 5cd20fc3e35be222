"""Prepares a table that is read in blocks: by its sums where these say enough, else by another pass."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.gaps import NO_GAPS
from mlcli.base.rows.moments import Moments
from mlcli.base.rows.source import Rows, as_array
from mlcli.base.rows.sparse import Moved
from mlcli.base.stages.stage import note, unheard
from mlcli.base.types import Array, Indices
from mlcli.data.options.wording import counted
from mlcli.data.prepare import missing
from mlcli.data.prepare.scales import FARTHEST, NEAR_ZERO, Scale, warn_of_constants
from mlcli.data.prepare.transforms import Name, keep_zeros, times_columns, transformed_entries
from mlcli.data.table.cells import refuse_gaps
from mlcli.data.table.row_numbers import RowNumbers, taken
from mlcli.data.table.table import Source, Table
from mlcli.errors import ConfigError, DataError
from mlcli.stages.algebra.gathering import gather


class Treatment(Protocol):
    """How rows are prepared: a `Preparation`."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input."""

    @property
    def fill(self) -> Array:
        """What fills missing cells; empty where nothing does."""

    @property
    def transform(self) -> tuple[Name, ...]:
        """Transforms before the scale."""

    @property
    def chosen(self) -> Indices | None:
        """The columns that are kept after the transforms; all where None."""

    @property
    def exponent(self) -> Indices:
        """Of the scale: x becomes (x 2**-exponent - center) / spread."""

    @property
    def center(self) -> Array:
        """Of the scale."""

    @property
    def spread(self) -> Array:
        """Of the scale; zero where a column becomes zero."""

    def apply(self, table: Table) -> Table:
        """New rows, treated as the first ones were."""

    def parts(self) -> tuple[Any, ...]:
        """What distinguishes it."""


class Asked(Protocol):
    """What is asked for: a `Prepare`."""

    @property
    def missing(self) -> str:
        """The policy for missing cells."""

    @property
    def transform(self) -> tuple[Any, ...]:
        """Transforms before the scale."""

    @property
    def top_variance(self) -> int | None:
        """How many columns are kept."""

    @property
    def scale(self) -> str:
        """The scale of columns."""

    @property
    def divisor(self) -> str:
        """That of the standard deviation."""


T = TypeVar("T", bound=Treatment)


@frozen
class PreparedRows:
    """Rows prepared as they are read, exactly as new rows are."""

    preparation: Treatment
    source: Source | None  # of the table
    places: Indices | None = None  # of the rows among all that were read; None: these are all

    def __reduce__(self) -> tuple[Any, ...]:  # other processes name the file, and do not know its hash
        source = self.source and replace(self.source, digest=str, files={})
        return PreparedRows, (self.preparation, source, self.places)

    def __call__(self, first: int, rows: Array) -> Array:
        here = slice(first, first + len(rows))
        places = np.arange(here.start, here.stop) if self.places is None else self.places[here]
        with unheard():  # what there is to say of all rows was said once
            return self.preparation.apply(
                Table(rows, self.preparation.columns, RowNumbers(places + 1), source=self.source, places=places)).values

    @property
    def keeps_zeros(self) -> bool:
        """Whether zeros stay zero but for a center: cells are not filled, and transforms do not look at zeros."""
        return not self.preparation.fill.size and keep_zeros(self.preparation.transform)

    def of_entries(self, rows: Moved) -> Moved:
        """Sparse rows prepared: (x 2**-e - c) / s is x times 2**-e / s, less c / s."""
        made = self.preparation
        entries = transformed_entries(rows.entries, made.transform)
        entries = entries if made.chosen is None else entries[:, made.chosen]
        constant = made.spread == 0
        shares = np.divide(1.0, made.spread, out=np.zeros(len(made.spread)), where=~constant)
        return Moved(times_columns(entries, np.ldexp(shares, -made.exponent)), made.center * shares)

    def key(self) -> Any:
        """All that it does."""
        return ("prepared", self.preparation.parts())


def completed_rows(table: Table, rows: Rows, policy: str) -> tuple[Rows, Array, list[tuple[int, str]]]:
    """The rows that the policy for missing cells leaves, what fills cells, and which rows it drops, with the reason."""
    gaps = rows.gaps
    if policy == "model":
        raise ConfigError("STREAM", "missing: model needs the table in memory, and it is read in blocks",
                          where="prepare.missing", hint="choose drop or mean, or give more memory (--memory-limit)")
    if rows.finite:
        return rows, _means(rows) if policy == "mean" else missing.NO_FILL, []
    if policy == "error":
        refuse_gaps(gaps.first, (gaps.missing, gaps.infinite), table.ids, table.columns, missing.where_of(table),
                     missing.REMEDY)
    if policy == "mean":
        return rows, _means(rows), []
    if len(gaps.rows) == len(rows):
        raise missing.nothing_left(table, len(rows))
    missing.note_dropped(taken(table.ids, gaps.rows))
    return rows.without(gaps.rows), missing.NO_FILL, list(_reasons(table, rows, gaps.rows))


def _reasons(table: Table, rows: Rows, gaps: Indices) -> Any:
    """The rows with gaps, each with the reason why it is dropped."""
    for some in row_blocks(len(gaps), 1 << 22, rows.shape[1]):
        for row, values in zip(gaps[some].tolist(), rows.read(gaps[some]), strict=True):
            yield row, missing.reason(values, table.columns)


def _means(rows: Rows) -> Array:
    """The means of the columns' finite cells, in rows with gaps and without; raises DataError where there are none."""
    moments, gaps = rows.moments, rows.gaps
    assert moments is not None
    count = moments.rows + np.asarray(gaps.present)
    if not np.all(count > 0):
        raise DataError("ALL-MISSING", f"{counted(int(np.sum(count == 0)), 'column')} without any finite number",
                        hint="leave them out with --columns")
    means = moments.shift + (moments.sums + gaps.sums) / count  # of gaps in the same units
    return np.asarray(means if moments.exponent is None else np.ldexp(means, moments.exponent))


def prepared_rows(options: Asked, table: Table, rows: Rows, make: Callable[[Array, Scale | None, Indices | None], T],
                  ) -> tuple[Table, T, list[tuple[int, str]]]:
    """The table with its rows prepared, how that is done, and the rows that were dropped.

    `make` makes the preparation of columns, what fills cells, a scale and a choice of columns.
    """
    whole, fill, dropped = completed_rows(table, rows, options.missing)
    kept = table if not dropped else replace(_without(table, rows.gaps.rows), values=as_array(whole))
    if options.missing == "mean" and not rows.finite:
        cells = rows.gaps.missing + rows.gaps.infinite
        note("W-FILLED", f"{counted(cells, 'cell')} missing or infinite, filled with the means of the columns",
             cells=cells)
    plain = make(fill, None, None)
    between = whole
    if options.transform or (fill.size and not rows.finite):
        between = whole.mapped(PreparedRows(plain, table.source, kept.places))
        between = replace(between, moments=gather(between).moments, gaps=NO_GAPS)
    moments = between.moments
    assert moments is not None
    chosen = _chosen(options, moments)
    moments = moments if chosen is None else moments.of_columns(chosen)
    names = table.columns if chosen is None else tuple(table.columns[place] for place in chosen.tolist())
    scale = None if options.scale == "none" else fitted_to(moments, names, options.scale, options.divisor)
    preparation = make(fill, scale, chosen)
    if between is whole and chosen is None and scale is None:
        return replace(kept, values=as_array(replace(whole, gaps=NO_GAPS))), preparation, dropped
    if scale is not None:
        moments = scaled_by(moments, scale)
    ready = whole.mapped(PreparedRows(preparation, table.source, kept.places), moments, len(names))
    return replace(kept, values=as_array(replace(ready, gaps=NO_GAPS)), columns=names), preparation, dropped


def _without(table: Table, gaps: Indices) -> Table:
    """The table's ids, labels and places without some rows."""
    left = np.delete(np.arange(len(table.ids)), gaps)
    labels = {name: tuple(texts[row] for row in left.tolist()) for name, texts in table.labels.items()}
    return replace(table, ids=taken(table.ids, left), labels=labels, places=table.numbers[left] - 1)


def _chosen(options: Asked, moments: Moments) -> Indices | None:
    """The columns of the largest variances; None for all."""
    count = options.top_variance
    if count is None or count >= len(moments.sums):
        return None
    known = moments.exponent
    spreads = moments.squares if known is None else np.ldexp(np.sqrt(moments.squares), known)
    return np.sort(np.argsort(-spreads, kind="stable")[:count])


def scaled_by(moments: Moments, scale: Scale) -> Moments:
    """The moments of scaled columns."""
    factor = np.divide(1.0, scale.spread, out=np.zeros(len(scale.spread)), where=scale.spread != 0)
    return moments.times_power(-scale.exponent).scaled(factor, scale.center)


def fitted_to(moments: Moments, columns: tuple[str, ...], scale: str, divisor: str) -> Scale:
    """The center and spread of every column from its moments, as `scales.fitted` has them."""
    if scale == "robust":
        raise ConfigError("STREAM", "robust needs all numbers of a column at once, and the table is read in blocks",
                          where="prepare.scale", hint="choose standard or range, or give more memory (--memory-limit)")
    exponent = np.clip(moments.exponents, -FARTHEST, FARTHEST)
    known = moments.times_power(-exponent)
    if scale == "center":
        return Scale(exponent, known.means, np.ldexp(1.0, -exponent))
    deviation = np.sqrt(known.squares / known.rows)
    constant = known.constant | (deviation <= NEAR_ZERO * np.maximum(known.most, -known.least))
    center, spread = known.means, deviation
    if scale == "range":
        center, spread = known.least, known.most - known.least
    elif divisor == "n-1":
        spread = np.sqrt(known.squares / max(1, known.rows - 1))
    warn_of_constants(constant, columns)
    return Scale(exponent, center, np.where(constant, 0.0, spread))
